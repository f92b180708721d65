"""What `python -m pytest_vqaeval` can do: one module per command, each with ABOUT, `arguments` and `run`."""
