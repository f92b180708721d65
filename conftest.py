"""Which folder a bare `pytest` means: the benchmarks if a model is named, else the tests."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """No path on the command line: `benchmarks/` with a model, `tests/` without."""
    if config.args_source is not config.ArgsSource.ARGS and not config.getoption("vqa_benchmark", None):
        folder = "benchmarks" if config.getoption("vqa_model", None) else "tests"
        config.args = [str(config.rootpath / folder)]
