"""The benchmark of two threads: a line for each family, one thread and two in turns."""

from threadpoolctl import threadpool_info

from benchmarks import speed_threads


def test_a_quick_run_has_a_line_for_each_family(capsys):
    speed_threads.main(["--quick"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    names = [line.split("|")[1].strip() for line in lines[1:]]
    assert names == list(speed_threads.work(0.05))
    assert lines[1].endswith("| 1.00 |")  # the bare products beside themselves


def test_tasks_see_one_thread_and_two_in_turns():
    seen = []

    def note():
        blas = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
        seen.append(max(blas))

    found = speed_threads.measure({"note": note}, repeats=2)
    assert seen == [1, 2, 1, 2]
    assert min(found["note"]) >= 0
