"""Names that are imported when first used: listed once, seen by `dir`, `import *` and mypy."""

import subprocess
import sys

import pytest

import greedygp

PACKAGES = ["greedygp", "greedygp.tables", "greedygp.plotting", "greedygp.persistence"]


def run(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there(package):
    pytest.importorskip("pandas")
    module = __import__(package, fromlist=["x"])
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in vars(module)  # kept, so that the next look costs nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_other_names_are_refused(package):
    module = __import__(package, fromlist=["x"])
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_heavy_is_imported_before_it_is_used(package):
    heavy = "('numpy', 'scipy', 'pandas', 'sklearn', 'matplotlib', 'skops')"
    script = f"import sys, {package}; print(*[m for m in {heavy} if m in sys.modules])"
    assert run(script) == []


def test_star_import():
    assert run("from greedygp import *; print(GPRegressor.__name__, __version__)") == [
        "GPRegressor",
        greedygp.__version__,
    ]


@pytest.mark.slow
def test_type_checkers_see_the_names(tmp_path):
    api = pytest.importorskip("mypy.api")
    (tmp_path / "user.py").write_text(
        "import greedygp\nfrom greedygp import GPRegressor\nfrom greedygp.tables import read\n"
        "reveal_type(GPRegressor)\ngreedygp.GPRegresor\n"
    )
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--no-error-summary"]
    cache = ["--cache-dir", str(tmp_path / "cache")]
    skip = tmp_path / "mypy.ini"
    skip.write_text("[mypy-sklearn.*,scipy.*,pandas.*,numpy.*,torch.*]\nfollow_imports = skip\n")
    out, _, _ = api.run([str(tmp_path / "user.py"), *options, *cache, "--config-file", str(skip)])
    lines = out.splitlines()
    assert len(lines) == 2, out
    assert "greedygp.dense.estimator.GPRegressor" in lines[0]
    assert 'has no attribute "GPRegresor"' in lines[1]
