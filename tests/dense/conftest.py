"""Fixtures of the tests of full GP regression."""

import pytest

from dense.problems import Problem


@pytest.fixture(name="Problem")
def problem_class():
    return Problem
