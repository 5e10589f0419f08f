"""Where the additive-model paper finds one way to choose a basis better than another.

Its statements are about sets, measures and sizes, each by Wilcoxon's test of the partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks import pages
from benchmarks.suites import rank_tests
from benchmarks.suites.sparse_classification_cells import (
    FEWEST,
    LEVEL,
    RIVALS,
    SIZES,
    SMALL,
    Cells,
    pair,
)

BOTH = ("error", "nlp")


@dataclass(frozen=True)
class Better:
    """That one method is significantly better than others, on these sets, by these measures."""

    text: str
    measures: tuple[str, ...]
    left: str
    right: tuple[str, ...]
    sets: tuple[str, ...]
    sizes: tuple[int, ...]

    def claim(self, cells: dict[str, Cells]) -> pages.Claim:
        """Wilcoxon's test of the partitions, case by case, as the paper has it."""
        cases: list[bool | None] = []
        not_so: dict[str, list[int]] = {}
        lower = known = 0
        for name in self.sets:
            for measure in self.measures:
                for rival, size in product(self.right, self.sizes):
                    a, b = pair(cells[measure], name, self.left, rival, size)
                    below = bool(a) and bool(np.mean(a) < np.mean(b))
                    known += bool(a)
                    lower += below
                    enough = len(a) >= FEWEST
                    clear = below and enough and rank_tests.signed_rank(a, b) < LEVEL
                    cases.append(clear if enough else None)
                    if enough and not clear:
                        sizes = not_so.setdefault(f"{name} {measure}", [])
                        sizes += [size] if size not in sizes else []
        words = f"Wilcoxon, {LEVEL:g}; lower on average in {lower} of {known}"
        if not_so:
            places = (f"{what} at {', '.join(map(str, at))}" for what, at in not_so.items())
            words += f"; not so: {'; '.join(places)}"
        return pages.counted(self.text, words if known else "", cases)


def over_rivals(cells: dict[str, Cells]) -> list[pages.Claim]:
    """Adaptive sampling beside entropy and information gain, as far as the paper goes."""
    return [
        claim.claim(cells)
        for claim in (
            Better(
                "Adaptive (2) is significantly better in error and NLP than entropy and "
                "information gain on Banana, Waveform and Splice, at all sizes",
                BOTH,
                "adaptive2",
                RIVALS,
                ("banana", "waveform", "splice"),
                SIZES,
            ),
            Better(
                "Adaptive (2) is significantly better in NLP than entropy and information gain on "
                "Twonorm and Ringnorm, at all sizes",
                ("nlp",),
                "adaptive2",
                RIVALS,
                ("twonorm", "ringnorm"),
                SIZES,
            ),
            Better(
                "Adaptive (2) is significantly better in error than entropy on Ringnorm, at all "
                "sizes",
                ("error",),
                "adaptive2",
                ("entropy",),
                ("ringnorm",),
                SIZES,
            ),
            Better(
                "With 40 and 80 basis vectors validation is significantly better in error than "
                "adaptive (2)",
                ("error",),
                "validation",
                ("adaptive2",),
                ("banana", "waveform", "twonorm", "ringnorm", "splice", "image"),
                SMALL,
            ),
        )
    ]


def between_rivals(cells: dict[str, Cells]) -> list[pages.Claim]:
    """Information gain and entropy, of which each is better somewhere."""
    return [
        claim.claim(cells)
        for claim in (
            Better(
                "Information gain is significantly better than entropy on Banana, Waveform and "
                "Ringnorm",
                BOTH,
                "info_gain",
                ("entropy",),
                ("banana", "waveform", "ringnorm"),
                SIZES,
            ),
            Better(
                "Entropy is significantly better in error than information gain on Twonorm",
                ("error",),
                "entropy",
                ("info_gain",),
                ("twonorm",),
                SIZES,
            ),
            Better(
                "On Image entropy is significantly better than all others with few basis vectors "
                "(40, 80)",
                BOTH,
                "entropy",
                ("info_gain", "adaptive1", "adaptive2", "validation"),
                ("image",),
                SMALL,
            ),
        )
    ]
