"""The demo's report in a real browser: drawn, quiet, readable small, dark, printed, without script.

Needs the package playwright and a Chromium: one on the path, or the one that the environment
variable GREEDYGP_CHROMIUM names. Without them these tests are skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # runs the demo, and starts a browser

for package in ("click", "rich", "skops", "pandas"):
    pytest.importorskip(package)
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
ESSENTIAL = ["predictions", "calibration", "path", "relevance", "residuals", "basis"]


def chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    found = [os.environ.get("GREEDYGP_CHROMIUM"), *map(shutil.which, names)]
    return next((path for path in found if path), None)


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None:
        pytest.skip("no Chromium: install it, or name it by GREEDYGP_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that `make demo` leaves."""
    if not DEMO.exists():
        pytest.skip("the examples are not part of the installed package")
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run([sys.executable, DEMO, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "NMSE" in done.stdout
    return folder


@pytest.fixture
def opened(browser, demo):
    """Open the report in a way of viewing it; at the end, nothing may have gone wrong."""
    contexts, troubles = [], []

    def open_page(**view):
        context = browser.new_context(**({"viewport": {"width": 1100, "height": 900}} | view))
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((demo / "report.html").as_uri())
        return page

    asked = []
    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []
    assert all(url.startswith("file:") for url in asked)


def test_demo_leaves_everything(demo):
    names = {path.name for path in demo.iterdir()}
    assert names == {"diabetes.csv", "model.skops", "predictions.csv", "report.html"}
    assert len((demo / "predictions.csv").read_text().splitlines()) == 443


def drawn(page):
    """Return the size of every drawing that is meant to be seen, by its section."""
    return page.evaluate(
        """() => [...document.querySelectorAll("section svg")]
            .filter(svg => svg.checkVisibility())
            .map(svg => [svg.closest("section").id, svg.getBoundingClientRect().width,
                         svg.querySelectorAll("path, circle, rect").length])"""
    )


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_every_figure_is_drawn(opened, script):
    page = opened(java_script_enabled=True) if script else None
    if page is None:
        page = opened(java_script_enabled=False)
        for key in ESSENTIAL:
            box = page.locator(f"#{key} svg").first.bounding_box()
            assert box["width"] > 250
            assert box["height"] > 60
        return
    figures = drawn(page)
    assert {key for key, _, _ in figures} >= set(ESSENTIAL)
    assert all(width > 250 and marks >= 3 for _, width, marks in figures)


def test_tip_follows_the_pointer(opened):
    page = opened()
    assert page.locator("svg title").count() == 0
    page.locator("#relevance rect.bar").first.hover()
    tip = page.locator("#tip.on")
    tip.wait_for()
    assert ":" in tip.inner_text()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_switches(opened, script):
    page = opened(java_script_enabled=script)
    intervals = page.locator("#predictions .interval")
    assert intervals.is_visible()
    page.uncheck("#show-intervals")
    assert not intervals.is_visible()
    first, second = page.locator(".panel-0 svg"), page.locator(".panel-1 svg")
    assert first.is_visible()
    assert not second.is_visible()
    page.check("#relevance-1")
    assert second.is_visible()
    assert not first.is_visible()


def test_phone(opened):
    page = opened(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    size = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll("section svg text")]
            .filter(t => t.checkVisibility())
            .map(t => parseFloat(getComputedStyle(t).fontSize) *
                      t.ownerSVGElement.getBoundingClientRect().width / 420))"""
    )
    assert size > 7.5


def test_dark(opened):
    colours = [
        opened(color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    brightness = [sum(map(int, c[4:-1].split(","))) for c in colours]
    assert brightness[0] > 600
    assert brightness[1] < 150


def test_print(opened):
    page = opened(color_scheme="dark")
    assert len(page.pdf()) > 20_000
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    assert page.locator(".panel-1 svg").is_visible()
