"""What the additive-model paper finds in its Figures 2 and 3, and the same read off the records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import wilcoxon

from benchmarks import pages
from benchmarks.frame import Record, Suite
from benchmarks.suites import rank_tests
from benchmarks.suites.sparse_classification_cells import (
    DUNN_LEVEL,
    FEWEST,
    LEVEL,
    MEASURES,
    RIVALS,
    SIZES,
    SMALL,
    TESTED,
    TESTED_SIZES,
    Cells,
    averages,
    differences,
    friedman_values,
    pair,
    set_title_of,
    title_of,
)
from benchmarks.suites.sparse_classification_pairs import between_rivals, over_rivals

ALIKE = 0.02  # nats, below which two NLPs are called similar


def claims(suite: Suite, records: Sequence[Record], cells: dict[str, Cells]) -> list[pages.Claim]:
    """What the paper says, and the same read off our records."""
    return [
        *choice_claims(suite, cells),
        _sites_claim(suite, cells["nlp"]),
        _time_claim(records),
    ]


def choice_claims(suite: Suite, cells: dict[str, Cells]) -> list[pages.Claim]:
    """What the paper says of the ways to choose a basis."""
    return [
        _as_good_as_validation(suite, cells["nlp"]),
        _no_difference_by_dunn(suite, cells),
        *over_rivals(cells),
        _by_dunn(suite, cells["nlp"]),
        _alike_in_error_by_dunn(suite, cells["error"]),
        *_friedman_claims(suite, cells),
        *between_rivals(cells),
        _lower(
            suite,
            cells["nlp"],
            "Adaptive sampling has a lower NLP than random sampling with as many candidates (1, 2)",
            [("adaptive1", "random1"), ("adaptive2", "random2")],
            SMALL,
        ),
        _shrinking(suite, cells["nlp"]),
    ]


def _as_good_as_validation(suite: Suite, cells: Cells) -> pages.Claim:
    found = {s: differences(suite, cells, "adaptive2", "validation", s) for s in SIZES}
    known = {s: float(np.mean(list(v.values()))) for s, v in found.items() if v}
    return pages.Claim(
        "Two adaptive candidates suffice for the NLP of validation with 59 (Figure 3, left)",
        "adaptive (2) less validation, mean over the sets: "
        + ", ".join(f"{value:+.4f} at {s}" for s, value in known.items())
        if known
        else pages.MISSING,
        all(value < ALIKE for value in known.values()) if known else None,
    )


def _no_difference_by_dunn(suite: Suite, cells: dict[str, Cells]) -> pages.Claim:
    p = {
        (measure, s): rank_tests.bonferroni_dunn(values)[0, TESTED.index("validation")]
        for measure in MEASURES
        for s in SIZES
        if len(values := averages(suite, cells[measure], s)) > 1
    }
    known: list[bool | None] = [bool(value >= LEVEL) for value in p.values()]
    return pages.counted(
        "Adaptive (2) and validation do not differ significantly, in error and NLP (Dunn, 0.05)",
        f"smallest p {min(p.values()):.3f}" if p else "",
        known + [None] * (len(MEASURES) * len(SIZES) - len(known)),
    )


def _lower(
    suite: Suite,
    cells: Cells,
    text: str,
    pairs: Sequence[tuple[str, str]],
    sizes: Sequence[int],
) -> pages.Claim:
    """A claim that the first of each pair is lower, on every set each time."""
    parts: list[str] = []
    cases: list[bool | None] = []
    for left, right in pairs:
        for size in sizes:
            found = differences(suite, cells, left, right, size)
            cases += [found[t.name] < 0 if t.name in found else None for t in suite.tasks]
            if found:
                lower = [name for name, value in found.items() if value < 0]
                note = f" against {title_of(suite, right)}" if len(pairs) > 1 else ""
                mean = np.mean(list(found.values()))
                parts.append(
                    f"{len(lower)} of {len(found)} sets at {size}{note} (mean {mean:+.4f})"
                )
    return pages.counted(text, "; ".join(parts), cases)


def _dunn(suite: Suite, cells: Cells, sizes: Sequence[int]) -> dict[tuple[str, int], float]:
    """(Rival, size) -> p-value of adaptive (2) against it, signed: minus where it is worse."""
    found = {}
    for size in sizes:
        values = averages(suite, cells, size)
        if len(values) > 1:
            p, ranks = rank_tests.bonferroni_dunn(values)[0], rank_tests.mean_ranks(values)
            for rival in RIVALS:
                k = TESTED.index(rival)
                found[rival, size] = float(p[k] if ranks[0] < ranks[k] else -p[k])
    return found


def _words(suite: Suite, found: dict[tuple[str, int], float]) -> str:
    return ", ".join(f"{title_of(suite, m)} p {abs(p):.3f} at {s}" for (m, s), p in found.items())


def _by_dunn(suite: Suite, cells: Cells) -> pages.Claim:
    found = _dunn(suite, cells, SMALL)
    return pages.counted(
        "Adaptive (2) is significantly better in NLP than entropy and information gain with small "
        "bases (Dunn, 0.1)",
        _words(suite, found),
        [0 < p < DUNN_LEVEL for p in found.values()] or [None],
    )


def _alike_in_error_by_dunn(suite: Suite, cells: Cells) -> pages.Claim:
    found = _dunn(suite, cells, TESTED_SIZES)
    absent = len(RIVALS) * len(TESTED_SIZES) - len(found)
    return pages.counted(
        "Adaptive (2) does not differ significantly in error from entropy and information gain "
        "(Dunn, 0.1)",
        _words(suite, found),
        [abs(p) >= DUNN_LEVEL for p in found.values()] + [None] * absent,
    )


def _friedman_claims(suite: Suite, cells: dict[str, Cells]) -> list[pages.Claim]:
    """All four methods differ with 40 to 160 basis vectors, and do not with 320."""
    p = {measure: friedman_values(suite, cells[measure]) for measure in MEASURES}
    largest = SIZES[-1]
    last = {m: values[largest] for m, values in p.items() if largest in values}
    return [
        *(
            pages.counted(
                f"The four methods differ in {name} with 40, 80 and 160 basis vectors "
                f"(Friedman, {LEVEL:g})",
                ", ".join(f"p {value:.4f} at {s}" for s, value in p[measure].items()),
                [bool(p[measure][s] < LEVEL) if s in p[measure] else None for s in TESTED_SIZES],
                what="sizes",
            )
            for measure, name in MEASURES.items()
        ),
        pages.counted(
            f"With {largest} they differ neither in error nor in NLP (Friedman, {LEVEL:g})",
            ", ".join(f"{MEASURES[m]} p {value:.4f}" for m, value in last.items()),
            [bool(last[m] >= LEVEL) if m in last else None for m in MEASURES],
            what="measures",
        ),
    ]


def _sites_claim(suite: Suite, cells: Cells) -> pages.Claim:
    found = {s: differences(suite, cells, "optimized", "adaptive2", s) for s in SIZES}
    parts = [
        f"{set_title_of(suite, name)} {value:+.4f} at {s}"
        for s, each in found.items()
        for name, value in each.items()
    ]
    alike: list[bool | None] = []
    for size, each in found.items():
        for name in each:
            a, b = pair(cells, name, "optimized", "adaptive2", size)
            alike.append(None if len(a) < FEWEST else bool(wilcoxon(a, b).pvalue >= LEVEL))
    return pages.counted(
        "Optimised sites and matched ones do not differ significantly (Figure 2)",
        f"Wilcoxon, {LEVEL:g}; NLP, optimised less matched: " + ", ".join(parts),
        alike or [None],
    )


def _shrinking(suite: Suite, cells: Cells) -> pages.Claim:
    spread = {
        s: float(np.mean(np.ptp(values, axis=1)))
        for s in SIZES
        if len(values := averages(suite, cells, s))
    }
    return pages.Claim(
        "The methods' differences shrink with the basis",
        "range of the four NLPs, mean over the sets: "
        + ", ".join(f"{value:.3f} at {s}" for s, value in spread.items())
        if spread
        else pages.MISSING,
        all(np.diff(list(spread.values())) < 0) if spread else None,
    )


def _time_claim(records: Sequence[Record]) -> pages.Claim:
    seconds: dict[str, dict] = {"adaptive1": {}, "validation": {}}
    for r in records:
        if r["status"] == "ok" and r["method"] in seconds:
            seconds[r["method"]][r["task"], r["partition"]] = r["metrics"]["seconds"]
    common = set(seconds["adaptive1"]) & set(seconds["validation"])
    ratio = [seconds["validation"][key] / seconds["adaptive1"][key] for key in common]
    return pages.Claim(
        "Adaptive (1) is 5 times as fast as validation (59), or faster",
        f"{np.median(ratio):.1f} times to 320 basis vectors (median, by the clock)"
        if ratio
        else pages.MISSING,
        bool(np.median(ratio) >= 5.0) if ratio else None,
    )
