"""The suite of sets that nothing was chosen on: its runs on made-up data, and its page."""

import json

import numpy as np
import pytest

from benchmarks.peers import in_process
from benchmarks.peers.exchange import Request
from benchmarks.peers.sets import CHOSEN_ON, REPORTED_ON
from benchmarks.suites import SUITES, untouched

SUITE = SUITES["untouched"]


def test_no_set_is_one_that_defaults_were_chosen_on():
    assert not {task.name for task in SUITE.tasks} & {*CHOSEN_ON, *REPORTED_ON}


def test_the_front_door_predicts():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(80, 2))
    request = Request(X, np.sin(X[:, 0]), X[:9], {"basis": 10, "seed": 0, "threads": 1})
    answer = in_process.greedygp_auto(request)
    assert np.max(np.abs(answer.mean - np.sin(X[:9, 0]))) < 0.2
    assert np.all(answer.std > 0)


def records():
    """Two partitions of each cell; the second method is the best, a third has no runs yet."""
    found = []
    for task in SUITE.tasks:
        for number, method in enumerate(SUITE.methods):
            for partition in range(2 if number != 2 else 0):
                metrics = dict.fromkeys(SUITE.metrics, 1.5 + (number != 1))
                found.append(
                    {
                        "suite": SUITE.name,
                        "task": task.name,
                        "method": method.name,
                        "partition": partition,
                        "seed": partition,
                        "status": "ok",
                        "error": None,
                        "seconds": 1.0,
                        "metrics": metrics,
                        "curves": {},
                        "peer_versions": {},
                        "parameters": {"task": task.parameters, "method": method.parameters},
                        "versions": {"python": "3.11"},
                        "machine": {"cpu": "made up"},
                    }
                )
    return json.loads(json.dumps(found))


def test_the_page(tmp_path):
    text = untouched.render(SUITE, records(), tmp_path).read_text()
    line = next(line for line in text.splitlines() if line.startswith("| Yacht |"))
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells[1] == "**1.500 ± 0.000**"
    assert cells[0] == "2.500 ± 0.000"
    assert cells[2] == "-"
    assert "python -m benchmarks run untouched" in text
    findings = [line for line in text.splitlines() if line.startswith("| lower than")]
    assert "| 0 of 5 sets | 0 of 5 sets |" in findings[0]
    assert "| not enough runs | not enough runs |" in findings[1]


@pytest.mark.parametrize("task", SUITE.tasks, ids=lambda task: task.name)
def test_sizes(task):
    rows = untouched.ROWS[task.name][1]
    assert task.parameters["n_train"] + task.parameters["n_test"] <= rows
    assert task.parameters["basis"] >= 20
