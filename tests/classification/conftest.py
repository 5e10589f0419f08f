"""Fixtures of the classification tests."""

import pytest

from classification.problems import SmallProblem


@pytest.fixture
def problem():
    return SmallProblem()
