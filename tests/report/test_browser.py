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

import numpy as np  # noqa: E402
import pandas  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

from greedygp.report import write_report  # noqa: E402
from greedygp.tables.training import Recipe, train  # noqa: E402
from report_problems import fitted_by  # noqa: E402

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
ESSENTIAL = ["predictions", "relevance", "effects", "calibration", "residuals"]


def houses_table(n=400):
    """Numbers, words, truth values and dates; large prices whose noise grows with the size."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "area": rng.uniform(30, 200, n),
            "district": rng.choice(["Old town", "University quarter", "North shore"], n),
            "garden": rng.random(n) < 0.4,
            "sold": pandas.Timestamp("2019-01-01") + pandas.to_timedelta(np.arange(n) * 4, "D"),
            "built": rng.integers(1900, 2020, n),
        }
    )
    level = 1 + 0.4 * (frame["district"] == "Old town") + 0.1 * frame["garden"]
    level = level + 0.3 * np.arange(n) / n  # prices rise
    frame["price"] = 2000 * frame["area"] * level + 100 * frame["area"] * rng.normal(size=n)
    return frame


def rare_table(n=600):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.normal(size=(n, 4)), columns=["amount", "hour", "age", "orders"])
    odds = np.exp(2 * frame["amount"] - 4)
    frame["fraud"] = np.where(rng.random(n) < odds / (1 + odds), "fraud", "fine")
    return frame


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


@pytest.fixture(scope="module")
def reports(demo, tmp_path_factory):
    """Reports by name: the demo's, houses with columns of every kind, and a rare class."""
    folder = tmp_path_factory.mktemp("reports")
    houses = train(houses_table(), Recipe("price", settings={"max_iter": 20}))
    rare = fitted_by(LogisticRegression(), "classification", "fraud", rare_table())
    write_report(houses, folder / "houses.html")
    write_report(rare, folder / "rare.html", "rows that were held out")
    return {name: folder / f"{name}.html" for name in ("houses", "rare")} | {
        "demo": demo / "report.html"
    }


@pytest.fixture
def opened(browser, reports):
    """Open a report in a way of viewing it; at the end, nothing may have gone wrong."""
    contexts, troubles = [], []

    def open_page(report="demo", **view):
        context = browser.new_context(**({"viewport": {"width": 1100, "height": 900}} | view))
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(reports[report].as_uri())
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
                      t.ownerSVGElement.getBoundingClientRect().width /
                      t.ownerSVGElement.viewBox.baseVal.width))"""
    )
    assert size > 8.8


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


# -------------------------------------------------------------------------- what is on the page

VIEWS = [(1200, "light"), (1200, "dark"), (390, "light"), (390, "dark")]
OVERPRINTS = """() => {
  // Pairs of texts of one drawing that overlap; boxes of slanted ones are larger than they need.
  const found = [];
  for (const svg of document.querySelectorAll("section svg")) {
    if (!svg.checkVisibility()) continue;
    const texts = [...svg.querySelectorAll("text")].filter(
      (t) => !/rotate\\(-3/.test(t.getAttribute("transform") || ""));
    const boxes = texts.map((t) => t.getBoundingClientRect());
    for (let i = 0; i < texts.length; i++)
      for (let j = 0; j < i; j++) {
        const a = boxes[i], b = boxes[j];
        const w = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (w > 1 && h > 2) found.push(`${texts[i].textContent} | ${texts[j].textContent}`);
      }
  }
  return found;
}"""


@pytest.mark.parametrize("report", ["demo", "houses", "rare"])
@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_nothing_overprints_or_overflows(opened, report, width, scheme):
    page = opened(report, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERPRINTS) == []


@pytest.mark.parametrize("report", ["demo", "houses", "rare"])
def test_no_row_is_half_empty(opened, report):
    """Sections fill the width in ones or twos, whichever figures a model has."""
    page = opened(report, viewport={"width": 1200, "height": 900})
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("main > section")].map(s => {
            const r = s.getBoundingClientRect(); return [Math.round(r.top), r.width] })"""
    )
    whole = page.evaluate("document.querySelector('main').getBoundingClientRect().width")
    for top in {top for top, _ in boxes}:
        filled = sum(width for other, width in boxes if other == top)
        assert filled > 0.95 * whole


@pytest.mark.parametrize("width", [700, 1200])
@pytest.mark.parametrize("report", ["demo", "houses", "rare"])
def test_charts_of_a_figure_are_of_one_size(opened, report, width):
    """Also the last of five, which once filled the page."""
    page = opened(report, viewport={"width": width, "height": 900})
    sizes = page.evaluate(
        """() => [...document.querySelectorAll(".charts")].map(c => [...c.querySelectorAll(
            ":scope > svg")].map(s => s.getBoundingClientRect().width).filter(w => w > 0))"""
    )
    assert any(len(widths) > 1 for widths in sizes)
    for widths in sizes:
        assert max(widths, default=0) <= 1.6 * min(widths, default=0)


@pytest.mark.parametrize("width", [390, 700, 1200])
def test_a_legend_has_its_colours(opened, width):
    """They were once a rule of wide screens only."""
    page = opened("rare", viewport={"width": width, "height": 900})
    swatches = page.locator("#effects .legend .swatch")
    assert swatches.count() >= 1
    assert all(swatches.nth(k).bounding_box()["width"] > 8 for k in range(swatches.count()))


def test_the_table_of_columns_fits_a_phone(opened):
    page = opened("houses", viewport={"width": 390, "height": 800})
    hidden = page.evaluate(
        """() => [...document.querySelectorAll("#made .scroll")].map(
            (box) => box.scrollWidth - box.clientWidth)"""
    )
    assert max(hidden) <= 1


def test_verdict_comes_first(opened):
    page = opened("houses")
    questions = page.locator(".verdict h2").all_inner_texts()
    assert questions == ["How good is it?", "Can the error bars be trusted?", "What next?"]
    verdict = page.locator(".verdict").bounding_box()
    assert verdict["y"] + verdict["height"] < 900
    assert verdict["y"] < page.locator(".figures").bounding_box()["y"]
    cards = page.locator(".figures").inner_text()
    for name in ("R\u00b2", "NMSE", "NLPD", "mean alone"):
        assert name in cards


def test_columns_have_their_names_and_bands(opened):
    page = opened("houses")
    ticks = page.locator("#effects text.tick").all_text_contents()
    assert {"no", "yes", "Old town", "University quarter"} <= set(ticks)
    assert any("," in tick for tick in ticks)  # 200,000
    assert "2020" in ticks
    assert page.locator("#effects .ribbon").count() >= 1
    assert "yes or no" in page.locator("#made").inner_text()


def test_learning_has_a_point_for_each_iteration(opened):
    page = opened("houses")
    assert page.locator("#learning circle").count() >= 3
    assert "new round" not in page.locator("#learning").inner_text()  # a full GP has none


def test_rare_class_has_recall_and_curves(opened):
    page = opened("rare")
    assert page.locator("#ranking svg").count() == 2
    table = page.locator(".each-class").inner_text()
    assert "recall" in table
    assert "fraud" in table
    page.locator("#ranking .ghost").nth(3).hover(force=True)
    page.locator("#tip.on").wait_for()
    assert "found" in page.locator("#tip").inner_text()


def test_folds_open(opened):
    page = opened("houses")
    folds = page.locator("details")
    for k in range(folds.count()):
        folds.nth(k).locator("summary").click()
        assert folds.nth(k).locator("table").is_visible()
