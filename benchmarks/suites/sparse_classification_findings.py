"""What the additive-model paper finds in its Figures 2 and 3, and the same read off the records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import wilcoxon

from benchmarks import pages
from benchmarks.frame import Record, Suite
from benchmarks.suites import rank_tests

SIZES = (40, 80, 160, 320)
SMALL = (40, 80)
MEASURES = {"error": "error", "nlp": "NLP"}
TESTED = ("adaptive2", "validation", "entropy", "info_gain")
LEVEL, DUNN_LEVEL = 0.05, 0.1
ALIKE = 0.02  # nats, below which two NLPs are called similar
FEWEST = 6  # partitions: with five pairs no difference is significant at 0.05

Cells = dict[tuple[str, str, int], dict[int, float]]  # (set, method, size) -> partition -> value


def collect(suite: Suite, records: Sequence[Record], measure: str) -> Cells:
    """(set, method, size) -> partition -> value, where there are any."""
    found: Cells = {}
    for record in records:
        if record["status"] == "ok":
            for size in SIZES:
                key = record["task"], record["method"], size
                value = record["metrics"][f"{measure}_{size}"]
                found.setdefault(key, {})[record["partition"]] = value
    return found


def pair(cells: Cells, task: str, left: str, right: str, size: int) -> tuple[list, list]:
    """Values of two methods on the partitions that both have."""
    a, b = cells.get((task, left, size), {}), cells.get((task, right, size), {})
    common = sorted(set(a) & set(b))
    return [a[p] for p in common], [b[p] for p in common]


def differences(suite: Suite, cells: Cells, left: str, right: str, size: int) -> dict[str, float]:
    """Set -> mean of left minus right, where both have partitions in common."""
    found = {}
    for task in suite.tasks:
        a, b = pair(cells, task.name, left, right, size)
        if a:
            found[task.name] = float(np.mean(a) - np.mean(b))
    return found


def averages(suite: Suite, cells: Cells, size: int) -> np.ndarray:
    """Means (sets, methods tested) over the common partitions, of the sets that have all."""
    rows = []
    for task in suite.tasks:
        each = [cells.get((task.name, method, size), {}) for method in TESTED]
        common = sorted(set.intersection(*(set(values) for values in each)))
        if common:
            rows.append([np.mean([values[p] for p in common]) for values in each])
    return np.array(rows).reshape(-1, len(TESTED))


def friedman_values(suite: Suite, cells: Cells) -> dict[int, float]:
    """Size -> p-value, where at least two sets have all four methods."""
    return {
        s: rank_tests.friedman(values)
        for s in SIZES
        if len(values := averages(suite, cells, s)) > 1
    }


def title_of(suite: Suite, method: str) -> str:
    return next(m.title for m in suite.methods if m.name == method)


def set_title_of(suite: Suite, name: str) -> str:
    return next(task.title for task in suite.tasks if task.name == name)


# Claims -------------------------------------------------------------------------------------------


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
        _better(suite, cells["nlp"], "entropy", "the entropy's"),
        _better(suite, cells["nlp"], "info_gain", "the information gain's"),
        _better_by_dunn(suite, cells["nlp"]),
        _friedman_claim(suite, cells["nlp"]),
        *_between_rivals(suite, cells),
        _lower(
            suite,
            cells["error"],
            "With 40 and 80 basis vectors validation has a lower error than adaptive (2)",
            [("validation", "adaptive2")],
            SMALL,
        ),
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
        "Two adaptive candidates suffice for the NLP of validation with 59",
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


def _better(suite: Suite, cells: Cells, rival: str, whose: str) -> pages.Claim:
    return _lower(
        suite,
        cells,
        f"With 40 and 80 basis vectors adaptive (2) has a lower NLP than {whose}",
        [("adaptive2", rival)],
        SMALL,
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


def _between_rivals(suite: Suite, cells: dict[str, Cells]) -> list[pages.Claim]:
    """Information gain and entropy, of which each is better somewhere."""
    found = []
    for text, measures, left, right, names, sizes in (
        (
            "Information gain is better than entropy on Banana, Waveform and Ringnorm",
            tuple(MEASURES),
            "info_gain",
            ("entropy",),
            ("banana", "waveform", "ringnorm"),
            SIZES,
        ),
        (
            "Entropy has a lower error than information gain on Twonorm",
            ("error",),
            "entropy",
            ("info_gain",),
            ("twonorm",),
            SIZES,
        ),
        (
            "On Image entropy is better than all others with few basis vectors (40, 80)",
            tuple(MEASURES),
            "entropy",
            ("info_gain", "adaptive1", "adaptive2", "validation"),
            ("image",),
            SMALL,
        ),
    ):
        values = {
            (name, measure, rival, size): pair(cells[measure], name, left, rival, size)
            for name in names
            for measure in measures
            for rival in right
            for size in sizes
        }
        cases = [bool(np.mean(a) < np.mean(b)) if a else None for a, b in values.values()]
        lower = [f"{n} {m} at {s}" for (n, m, _, s), case in zip(values, cases) if case is False]
        not_so = ", ".join(dict.fromkeys(lower)) or "none"
        found.append(pages.counted(text, f"not so: {not_so}", cases))
    return found


def _better_by_dunn(suite: Suite, cells: Cells) -> pages.Claim:
    parts, significant = [], []
    for size in SMALL:
        values = averages(suite, cells, size)
        if len(values) > 1:
            p, ranks = rank_tests.bonferroni_dunn(values)[0], rank_tests.mean_ranks(values)
            for rival in ("entropy", "info_gain"):
                k = TESTED.index(rival)
                parts.append(f"{title_of(suite, rival)} p {p[k]:.3f} at {size}")
                significant.append(p[k] < DUNN_LEVEL and ranks[0] < ranks[k])
    return pages.counted(
        "That is significant for small bases (Dunn, 0.1)",
        ", ".join(parts),
        significant or [None],
    )


def _friedman_claim(suite: Suite, cells: Cells) -> pages.Claim:
    p = friedman_values(suite, cells)
    return pages.counted(
        "The four methods differ in NLP with 40, 80 and 160 basis vectors (Friedman, 0.05)",
        ", ".join(f"p {value:.4f} at {s}" for s, value in p.items()),
        [bool(p[s] < LEVEL) if s in p else None for s in (40, 80, 160)],
        what="sizes",
    )


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
