"""The page of the additive-model paper's Figures 2 and 3: findings, curves, tests, tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import log_ndtr

from benchmarks import pages
from benchmarks.frame import Record, Suite
from benchmarks.suites import rank_tests
from benchmarks.suites.sparse_classification_cells import (
    DUNN_LEVEL,
    LEVEL,
    MEASURES,
    SIZES,
    TESTED,
    Cells,
    averages,
    collect,
    pair,
    title_of,
)
from benchmarks.suites.sparse_classification_findings import claims

PAPER = (
    "S. Sundararajan, S. Shevade, *An Additive Model View to Sparse Gaussian Process Classifier "
    "Design*"
)
# p-values that the paper prints for Friedman's test at the four sizes.
PRINTED = {"error": (0.02, 0.04, 0.04, 0.39), "nlp": (0.002, 0.002, 0.01, 0.09)}
MODERATION = 0.5  # the variance in Figure 1
PAIRS_NEEDED = 6  # of Wilcoxon's test, to be significant at 0.05
OF_FIGURE_2 = {"adaptive2": "moment matching", "optimized": "optimised sites"}


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """Write the page."""
    cells = {measure: collect(suite, records, measure) for measure in MEASURES}
    lines = [
        f"# {suite.title}",
        "",
        *introduction(suite, records),
        "## Findings",
        "",
        *pages.claims_table(claims(suite, records, cells)),
        *curves(suite, cells, folder),
        *loss_functions(suite, folder),
        *sites_on_the_way(suite, records, folder),
        "## Tests over the sets",
        "",
        *set_tests(suite, cells, folder),
        "## Tests over the partitions",
        "",
        *partition_tests(suite, cells),
    ]
    for measure, title, unit, digits in (
        ("error", "Error, per cent of the test rows", 100.0, 2),
        ("nlp", "NLP, nats a test row", 1.0, 4),
    ):
        lines += [f"## {title}", "", "Bold: the smallest mean.", ""]
        lines += value_table(suite, cells[measure], unit, digits)
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def loss_functions(suite: Suite, folder: Path) -> list[str]:
    """Figure 1: losses of a row against `y f`, without and with a variance of one half."""
    margin = np.linspace(-3.0, 3.0, 200)
    drawing, axes = pages.new_figure(1, 1, width=6.0)
    axis = axes[0, 0]
    for variance, line in ((0.0, "-"), (MODERATION, "--")):
        moderated = margin / np.sqrt(1.0 + variance)
        note = f", variance {variance:g}" if variance else ""
        axis.plot(margin, np.exp(-moderated), f"C0{line}", label=f"exponential{note}")
        binomial = np.logaddexp(0.0, -2.0 * moderated) / np.log(2.0)
        axis.plot(margin, binomial, f"C1{line}", label=f"binomial{note}")
        probit = -log_ndtr(moderated) / np.log(2.0)
        axis.plot(margin, probit, f"C2{line}", label=f"probit{note}")
    axis.axhline(1.0, color="0.7")
    axis.set(ylim=(0, 6), xlabel="y f", ylabel="loss")
    pages.add_legend(axis)
    caption = "Exponential, binomial and probit loss, without and with moderation"
    shown = pages.save_figure(drawing, folder, f"{suite.name}_losses", caption)
    return ["## Figure 1: loss functions", "", *shown]


def sites_on_the_way(suite: Suite, records: Sequence[Record], folder: Path) -> list[str]:
    """Figure 2: training and test rows as basis vectors come in, one partition."""
    kept = [r for r in records if r["status"] == "ok" and "on_the_way" in r["curves"]]
    tasks = [t for t in suite.tasks if any(r["task"] == t.name for r in kept)]
    if not tasks:
        return []
    drawing, axes = pages.new_figure(len(MEASURES), 2 * len(tasks), 3.2, 2.6)
    for column, (task, part) in enumerate((t, p) for t in tasks for p in ("training", "test")):
        for axis, (measure, name) in zip(axes[:, column], MEASURES.items(), strict=True):
            for line, (method, label) in zip(("C0--", "C3-"), OF_FIGURE_2.items(), strict=True):
                of_method = [r for r in kept if (r["task"], r["method"]) == (task.name, method)]
                for record in sorted(of_method, key=lambda r: r["partition"])[:1]:
                    curves = record["curves"]
                    axis.plot(curves["on_the_way"], curves[f"{measure}_{part}"], line, label=label)
            axis.set_title(f"{task.title}, {part} rows: {name}", fontsize="small")
    pages.add_legend(axes[0, 0])
    caption = "Error and NLP of training and test rows as basis vectors come in"
    return [
        "## Figure 2: sites on the way",
        "",
        "One partition, two adaptive candidates a step, as in the paper; there the basis is that "
        "of the last round of learning.",
        "",
        *pages.save_figure(drawing, folder, f"{suite.name}_figure2", caption),
    ]


def introduction(suite: Suite, records: Sequence[Record]) -> list[str]:
    """What was done, and how it differs from the paper."""
    return [
        f"{PAPER}, Figures 2 and 3 and the tests of section 5. Training rows: 4000 (Banana, "
        "Waveform, Twonorm, Ringnorm: a partition's training part and its first 3600 test rows), "
        "2000 (Splice), 1300 (Image). Gaussian kernel with one length scale, inputs standardised, "
        "sites by moment matching, 40 to 320 basis vectors.",
        "",
        "Unlike the paper, which learns hyperparameters for every method by its own basis, kernel "
        "and bias are learnt once for each partition, by the evidence of a full GP on 500 training "
        "rows, and all methods share them: only the choice of the basis differs "
        "({doc}`sparse_classification_learnt` has each method's own). Partitions "
        "beyond the stored ones (all of Splice) are random splits. In brackets: candidates a "
        "step. `random (2)` takes the better of two random rows.",
        "",
        pages.partitions_line(suite, records)
        + " The paper has 25 of the first four sets and 20 of the others.",
        "",
    ]


# Tests -------------------------------------------------------------------------------------------


def set_tests(suite: Suite, cells: dict[str, Cells], folder: Path) -> list[str]:
    """Friedman's test and Bonferroni-Dunn, as numbers and as diagrams."""
    sets = len(averages(suite, cells["nlp"], SIZES[0]))
    rows = []
    for measure, name in MEASURES.items():
        for size, printed in zip(SIZES, PRINTED[measure], strict=True):
            values = averages(suite, cells[measure], size)
            if len(values) < 2:
                continue
            ranks = rank_tests.mean_ranks(values)
            dunn = rank_tests.bonferroni_dunn(values)[0, 1:]
            rows.append(
                [
                    f"{name}, {size}",
                    *(f"{rank:.2f}" for rank in ranks),
                    f"{rank_tests.friedman(values):.4f}",
                    f"{printed:g}",
                    *(f"{p:.3f}" for p in dunn),
                ]
            )
    titles = [title_of(suite, name) for name in TESTED]
    header = ["", *titles, "Friedman p", "paper's p", *(f"Dunn p: {t}" for t in titles[1:])]
    text = [
        f"On the means of {sets} sets (the paper: 6): mean ranks of four methods, Friedman's test, "
        "and Bonferroni-Dunn's of adaptive (2) against the other three.",
        "",
    ]
    if sets > 1:
        difference = rank_tests.critical_difference(sets, len(TESTED), DUNN_LEVEL)
        text[0] += f" Ranks that differ by {difference:.2f} differ significantly at 0.1."
    return [*text, *pages.table(header, rows), *diagrams(suite, cells, folder)]


def diagrams(suite: Suite, cells: dict[str, Cells], folder: Path) -> list[str]:
    """Critical difference diagrams, measure by size."""
    if len(averages(suite, cells["nlp"], SIZES[0])) < 2:
        return []
    if not rank_tests.can_draw():
        return ["The diagrams of critical differences need scikit-posthocs.", ""]
    drawing, axes = pages.new_figure(len(MEASURES), len(SIZES), 3.4, 1.9)
    titles = [title_of(suite, name) for name in TESTED]
    for row, (measure, name) in zip(axes, MEASURES.items(), strict=True):
        for axis, size in zip(row, SIZES, strict=True):
            values = averages(suite, cells[measure], size)
            rank_tests.draw_ranks(axis, titles, values, DUNN_LEVEL)
            axis.set_title(f"{name}, {size} basis vectors", fontsize="small")
    caption = "Mean ranks; methods that a bar joins do not differ significantly at 0.1"
    return [f"{caption}.", "", *pages.save_figure(drawing, folder, f"{suite.name}_ranks", caption)]


def partition_tests(suite: Suite, cells: dict[str, Cells]) -> list[str]:
    """Wilcoxon's test of adaptive (2) against the others, on each set."""
    lines = [
        "Wilcoxon's signed-rank test of adaptive (2) against each method, at 40 / 80 / 160 / 320 "
        "basis vectors: + significantly better at 0.05, - worse, = neither. Fewer than "
        f"{PAIRS_NEEDED} partitions cannot be significant and are shown as a dot.",
        "",
    ]
    rivals = ("entropy", "info_gain", "validation", "random1")
    for measure, name in MEASURES.items():
        rows = [
            [task.title, *(_signs(cells[measure], task.name, rival) for rival in rivals)]
            for task in suite.tasks
        ]
        lines += pages.table([name, *(title_of(suite, rival) for rival in rivals)], rows)
    return lines


def _signs(cells: Cells, task: str, rival: str) -> str:
    signs = []
    for size in SIZES:
        ours, theirs = pair(cells, task, "adaptive2", rival, size)
        if len(ours) < PAIRS_NEEDED:
            signs.append(".")
        elif rank_tests.signed_rank(ours, theirs) >= LEVEL:
            signs.append("=")
        else:
            signs.append("+" if np.mean(ours) < np.mean(theirs) else "-")
    return " ".join(signs)


# Curves and tables -------------------------------------------------------------------------------


def curves(suite: Suite, cells: dict[str, Cells], folder: Path) -> list[str]:
    """Error and NLP against the size of the basis, set by set."""
    drawing, axes = pages.new_figure(len(suite.tasks), len(MEASURES), 4.6, 2.6)
    for row, task in zip(axes, suite.tasks, strict=True):
        for axis, (measure, name) in zip(row, MEASURES.items(), strict=True):
            for k, method in enumerate(suite.methods):
                known = [s for s in SIZES if (task.name, method.name, s) in cells[measure]]
                means = [
                    np.mean(list(cells[measure][task.name, method.name, s].values())) for s in known
                ]
                style = "--" if method.name in ("random1", "random2", "optimized") else "-"
                axis.plot(known, means, style + "os^vD<>x"[k], label=method.title, markersize=4)
            axis.set_xscale("log")
            axis.set_xticks(SIZES, [str(s) for s in SIZES])
            axis.minorticks_off()
            axis.set_title(f"{task.title}: {name}", fontsize="small")
    handles, labels = max(
        (axis.get_legend_handles_labels() for axis in axes.flat), key=lambda pair: len(pair[0])
    )
    drawing.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    caption = "Error and NLP on the test rows against the number of basis vectors"
    return pages.save_figure(drawing, folder, f"{suite.name}_curves", caption)


def value_table(suite: Suite, cells: Cells, unit: float, digits: int) -> list[str]:
    """A row for each set and size, a column for each method."""
    rows = []
    for task in suite.tasks:
        for size in SIZES:
            found = {m.name: cells.get((task.name, m.name, size), {}) for m in suite.methods}
            best = pages.best_and_worse(found)[0]
            texts = {
                name: pages.mean_and_deviation([unit * v for v in values.values()], digits)
                for name, values in found.items()
            }
            row = [f"**{text}**" if name == best else text for name, text in texts.items()]
            rows.append([f"{task.title}, {size}", *row])
    return pages.table(["data set, basis", *(m.title for m in suite.methods)], rows)
