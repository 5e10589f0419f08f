"""What a selection asks of a device, counted where there is none."""

import pytest

pytest.importorskip("torch")

from benchmarks import speed_gpu


def test_a_step_waits_for_the_device_a_few_times(capsys):
    """Each wait leaves a GPU without work: a step of nlgpp had 14 of them once."""
    speed_gpu.operations(steps=20)
    lines = [
        line.split("|")[1:-1]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("| `")
    ]
    waits = {line[0].strip(" `"): float(line[2]) for line in lines}
    assert set(waits) == {"nlgpp", "loo_cve", "nlml", "matching_pursuit"}
    assert waits["matching_pursuit"] <= 4.5
    assert waits["nlgpp"] <= 5.0
    assert waits["loo_cve"] <= 5.0
    assert waits["nlml"] <= 3.0


def test_what_operations_move():
    import torch

    with speed_gpu.counted_operations() as count:
        a, b = torch.ones(7), torch.ones(7)  # writes 14
        a *= b  # reads 14, writes 7
        (a[2:] + a[2:]).cpu()  # reads 5, writes 5
    assert count["moved"] == 14 + 21 + 10
    assert count["answers"] == 1
    assert count["sent"] == 0
