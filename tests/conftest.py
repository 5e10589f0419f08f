"""What all tests share: the same examples of hypothesis and the same signals on every machine."""

import os
import signal
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from hypothesis import settings


class NotTheFolder:
    """Finder of modules that knows `tests/sparse` from a package called `sparse`.

    `tests/` is on the path, so its folders can be imported by name. Dask tries to import `sparse`,
    and takes what it finds for the sparse arrays of that name.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "sparse":
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and spec.origin is None:  # a folder, no package
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NotTheFolder)


@pytest.fixture
def paths_of_a_program(monkeypatch):
    """The path without `tests/`: processes that Dask starts get it, and have no `NotTheFolder`."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if Path(path).name != "tests"])


# A run is judged by its tests, not by the machine: no time limit for an example, and the same
# examples each time. `make test-everywhere` also looks at other examples.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("GREEDYGP_HYPOTHESIS", "same"))

# A shell starts background jobs with Ctrl-C ignored, and so would be the programs that tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    """Skip a test that asks for callbacks where scikit-learn has none."""
    try:
        return (yield)
    except AttributeError as error:
        from scikit_versions import HAS_CALLBACKS, NO_CALLBACKS

        if error.name != "set_callbacks" or HAS_CALLBACKS:
            raise
        pytest.skip(NO_CALLBACKS)
