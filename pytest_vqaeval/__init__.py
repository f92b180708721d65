"""pytest-vqaeval: visual-question-answering benchmarks as pytest test suites."""
