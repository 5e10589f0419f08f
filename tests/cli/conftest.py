"""Fixtures of the tests of the command line."""

import pytest

for package in ("click", "rich", "skops", "pandas"):
    pytest.importorskip(package)

from cli.program import QUICK, Program, houses  # noqa: E402


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with a table, new rows, and a model of them."""
    folder = tmp_path_factory.mktemp("fitted")
    houses().to_csv(folder / "houses.csv", index=False)
    houses(25, seed=1).drop(columns="price").to_csv(folder / "new.csv", index=False)
    program = Program(folder)
    program("fit", "houses.csv", "--target", "price", *QUICK)
    return folder
