"""The package as others get it: wheel, source distribution, time to import."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLOWEST_IMPORT = 0.5  # of the time that scikit-learn takes


def run(*command, cwd=None):
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the source distribution."""
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("the source is not beside the tests")
    pytest.importorskip("hatchling", reason="building needs hatchling")
    folder = tmp_path_factory.mktemp("dist")
    build = (
        "import sys; from hatchling.build import build_wheel, build_sdist; "
        "build_wheel(sys.argv[1]); build_sdist(sys.argv[1])"
    )
    done = run(sys.executable, "-c", build, folder, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_wheel_is_typed_and_whole(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry = next(name for name in names if name.endswith("entry_points.txt"))
        assert b"greedygp = greedygp.cli:main" in archive.read(entry)
    package = ROOT / "src" / "greedygp"
    ours = {
        f"greedygp/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert "greedygp/py.typed" in names
    assert ours <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "docs/")) for name in names)


@pytest.mark.slow
def test_the_source_distribution_has_what_a_checkout_has(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    for name in ("LICENSE", "README.md", "Makefile", "tests/test_packaging.py", "docs/index.md"):
        assert name in names
    assert not any(".venv" in name or name.startswith("demo-output") for name in names)


@pytest.mark.slow
def test_the_description_can_be_shown(built):
    pytest.importorskip("twine", reason="the check needs twine")
    files = [str(path) for path in sorted(built.iterdir())]
    done = run(sys.executable, "-m", "twine", "check", "--strict", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


@pytest.mark.slow
def test_links_of_the_description_are_whole(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        text = archive.read(name).decode()
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) > 5
    assert all(target.startswith("https://") for target in targets), targets
    source = project()["urls"]["Source"]
    assert f"{source}/blob/main/docs/" in text
    assert "https://raw.githubusercontent.com/" in text


# --------------------------------------------------------- what stands beside the package


def beside(name):
    """The text of a file of the project."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not beside the tests")
    return path.read_text(encoding="utf-8")


def project():
    return tomllib.loads(beside("pyproject.toml"))["project"]


def test_what_the_readme_links_to_is_there():
    targets = re.findall(r"\]\(([^)\s#]+)\)", beside("README.md"))
    inside = [target for target in targets if not target.startswith("https://")]
    assert len(inside) > 5
    assert [target for target in inside if not (ROOT / target).exists()] == []


@pytest.mark.parametrize(
    "name",
    [
        "CITATION.cff",
        "SECURITY.md",
        ".github/ISSUE_TEMPLATE/config.yml",
        "conda/meta.yaml",
    ],
)
def test_one_address(name):
    source = project()["urls"]["Source"]
    found = re.findall(r"https://github\.com/[\w-]+/[\w-]+", beside(name))
    assert set(found) == {source}


@pytest.mark.parametrize(
    "name",
    [
        "CITATION.cff",
        ".github/workflows/ci.yml",
        ".github/ISSUE_TEMPLATE/config.yml",
        ".github/ISSUE_TEMPLATE/bug_report.yml",
        ".github/ISSUE_TEMPLATE/feature_request.yml",
    ],
)
def test_yaml_can_be_read(name):
    yaml = pytest.importorskip("yaml")
    assert len(yaml.safe_load(beside(name))) > 1


def test_conda_needs_what_pip_needs():
    run_part = re.search(r"  run:\n((?:    - .*\n)+)", beside("conda/meta.yaml"))[1]
    conda = {line.strip("- ").replace(" ", "") for line in run_part.splitlines()}
    python = f"python{project()['requires-python']}"
    assert conda == {python, *project()["dependencies"]}


def test_continuous_integration_runs_what_there_is():
    workflow, makefile = beside(".github/workflows/ci.yml"), beside("Makefile")
    assert ".ci/run" in workflow
    for target in re.findall(r"make ([a-z-]+)", workflow):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    known = re.findall(r'Setting\("([^"]+)", "([\d.]+)"', beside("tools/versions.py"))
    listed = re.findall(r'setting: ([\w.-]+), python: "([\d.]+)"', workflow)
    assert len(listed) > 3
    assert set(listed) <= set(known)


# ------------------------------------------------------------------------------- import

THEIRS = (
    "import numpy, scipy.linalg, scipy.optimize, sklearn.base\n"
    "import greedygp.versions, sklearn.gaussian_process, sklearn.utils.multiclass\n"
)


def test_importing_takes_little_longer_than_scikit_learn():
    """The best of three, each in a process of its own, in processor time of that process."""
    code = (
        "import time\n"
        "begin = time.process_time()\n"
        f"{THEIRS}"
        "theirs = time.process_time() - begin\n"
        "import greedygp\n"
        "for name in greedygp.__all__: getattr(greedygp, name)\n"
        "print((time.process_time() - begin - theirs) / theirs)\n"
    )
    shares = []
    for _ in range(3):
        done = run(sys.executable, "-c", code)
        assert done.returncode == 0, done.stderr
        shares.append(float(done.stdout))
        if shares[-1] < SLOWEST_IMPORT:
            break
    assert min(shares) < SLOWEST_IMPORT


def test_importing_loads_nothing_optional():
    code = THEIRS + (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import greedygp\n"
        "for name in greedygp.__all__: getattr(greedygp, name)\n"
        "optional = {'torch', 'matplotlib', 'pandas', 'skops', 'rich', 'click', 'pyarrow'}\n"
        "print(sorted(optional & set(sys.modules) - before))\n"
    )
    done = run(sys.executable, "-c", code)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
