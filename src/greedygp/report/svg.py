"""Charts as SVG, just enough of it: one pair of axes, drawn with classes that the page colours.

Why not matplotlib: a page of its pictures is ten times larger, its marks do not answer to the
pointer, and its colours do not follow the reader's light or dark setting. Nothing here has a colour
of its own, so one drawing serves in light, in dark and on paper. Marks carry a `title`, which
browsers show on hover, and which the page's script makes nicer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np

from greedygp.report.numbers import plain, tick_labels, ticks

__all__ = ["NORMAL", "SMALL", "Chart", "horizontal_bars"]

# Width and height of charts in pixels; small ones stand three in a row.
NORMAL, SMALL = (420, 290), (330, 235)
RIGHT, TOP, BOTTOM = 14, 12, 44
FEW_PLACES = 3  # more whole numbers along an axis have whole ticks
LETTER = 6.4  # pixels of a character, about
LINE = 15  # pixels of a line of text
SLANT = math.radians(32)
LONGEST_NAME = 18  # characters

Named = Sequence[tuple[float, str]]


class Chart:
    """One pair of axes.

    Parameters
    ----------
    x, y : arrays
        Everything that must be inside (or the two ends).
    x_label, y_label : str
    label : str
        What the chart shows, for those who cannot see it.
    size : pair of int
        Width and height in pixels.
    margin : float
        Room around the data, as a share of their range.
    x_names : pairs of a place and a name, optional
        What stands along the x axis in place of numbers.
    y_log : bool
        Whether the y axis is logarithmic; y is positive then.
    """

    def __init__(
        self,
        x,
        y,
        x_label: str,
        y_label: str,
        *,
        label: str,
        margin: float = 0.04,
        size: tuple[int, int] = NORMAL,
        x_names: Named | None = None,
        y_log: bool = False,
    ):
        self.width, self.height, self.y_log = size[0], float(size[1]), y_log
        self.x_low, self.x_high = _ends(x, margin)
        self.whole = len(x) > FEW_PLACES and bool(np.all(np.asarray(x) == np.round(x)))
        self.y_low, self.y_high = _ends(np.log10(y) if y_log else y, margin)
        self.label = label
        self.parts: list[str] = []
        y_ticks, names = self._y_ticks()
        self.left = max(46, 31 + LETTER * max(map(len, names), default=1))
        self.bottom = self._room_below(x_names)
        self.height += self.bottom - BOTTOM
        self._y_axis(y_ticks, names, y_label)
        self._x_axis(x_names, x_label)

    # ------------------------------------------------------------------------------- marks

    def line(self, x, y, kind: str = "line") -> None:
        """Draw a line through points; gaps where a value is not finite."""
        path, pen = [], "M"
        for a, b in zip(*self._place(x, y)):
            if not (math.isfinite(a) and math.isfinite(b)):
                pen = "M"
                continue
            path.append(f"{pen}{a:.1f} {b:.1f}")
            pen = "L"
        self.parts.append(f'<path class="{kind}" d="{"".join(path)}"/>')

    def points(self, x, y, titles: Sequence[str] | None = None, kind="point", radius=2.6) -> None:
        """Draw points, each with a title to show on hover."""
        for k, (a, b) in enumerate(zip(*self._place(x, y))):
            title = "" if titles is None else f"<title>{escape(titles[k])}</title>"
            self.parts.append(
                f'<circle class="{kind}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}">{title}</circle>'
            )

    def trace(self, x, y, titles: Sequence[str], kind: str = "point", radius: float = 3.2) -> None:
        """Draw a line through points that show their titles on hover."""
        self.line(x, y)
        self.points(x, y, titles, kind, radius)

    def crosses(self, x, y, kind: str = "cross", size: float = 3.2) -> None:
        """Draw crosses, all in one path."""
        d = "".join(
            f"M{a - size:.1f} {b - size:.1f}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} "
            f"{2 * size}"
            for a, b in zip(*self._place(x, y))
        )
        self.parts.append(f'<path class="{kind}" d="{d}"/>')

    def rug(self, x) -> None:
        """Draw a short stroke on the x axis at each value, all in one path."""
        across, _ = self._place(x, np.full(len(x), self.y_low))
        floor = self.height - self.bottom
        d = "".join(f"M{a:.1f} {floor}v-5" for a in across)
        self.parts.append(f'<path class="rug" d="{d}"/>')

    def intervals(self, x, low, high, kind: str = "interval") -> None:
        """Draw vertical bars, all in one path; they end at the edge of the axes."""
        across, bottom = self._place(x, np.clip(low, self.y_low, self.y_high))
        _, top = self._place(x, np.clip(high, self.y_low, self.y_high))
        d = "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(across, bottom, top))
        self.parts.append(f'<path class="{kind}" d="{d}"/>')

    def columns(self, edges, heights, titles: Sequence[str], kind: str = "bar") -> None:
        """Draw a histogram."""
        left, top = self._place(edges[:-1], heights)
        right, base = self._place(edges[1:], np.zeros(len(heights)))
        for a, b, c, d, title in zip(left, right, top, base, titles):
            self.parts.append(
                f'<rect class="{kind}" x="{a + 0.75:.1f}" y="{min(c, d):.1f}" '
                f'width="{max(b - a - 1.5, 0.5):.1f}" height="{abs(d - c):.1f}">'
                f"<title>{escape(title)}</title></rect>"
            )

    def band(self, low: float, high: float, kind: str = "band") -> None:
        """Shade everything between two heights."""
        low, high = max(low, self.y_low), min(high, self.y_high)
        (left, right), (bottom, top) = self._place([self.x_low, self.x_high], [low, high])
        self.parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}"/>'
        )

    def ribbon(self, x, low, high, kind: str = "ribbon") -> None:
        """Shade the room between two lines; it ends at the edge of the axes."""
        across, bottom = self._place(x, np.clip(low, self.y_low, self.y_high))
        _, top = self._place(x, np.clip(high, self.y_low, self.y_high))
        outline = [*zip(across, top), *zip(across[::-1], bottom[::-1])]
        d = "L".join(f"{a:.1f} {b:.1f}" for a, b in outline)
        self.parts.append(f'<path class="{kind}" d="M{d}Z"/>')

    def mark(self, x: float, y: float, text: str, curve=((), ())) -> None:
        """Draw one emphasised point with a few words beside it, above the curve that is there."""
        (a,), (b,) = self._place([x], [y])
        side, shift = ("end", -8) if a > self.width / 2 else ("start", 8)
        across, down = self._place(*curve)
        far = a + shift + math.copysign(LETTER * len(text), shift)
        beside = [d for c, d in zip(across, down) if min(a, far) <= c <= max(a, far)]
        above = min([b, *beside]) - 8
        raised = above if above > TOP + 16 else b + 18
        self.parts.append(
            f'<circle class="mark" cx="{a:.1f}" cy="{b:.1f}" r="4.5"/><text class="note" '
            f'x="{a + shift:.1f}" y="{raised:.1f}" text-anchor="{side}">{escape(text)}</text>'
        )

    def svg(self) -> str:
        """Return the drawing."""
        small = "" if self.width == NORMAL[0] else ' class="small"'
        return (
            f'<svg{small} viewBox="0 0 {self.width} {self.height:.0f}" role="img" '
            f'aria-label="{escape(self.label)}">{"".join(self.parts)}</svg>'
        )

    # -------------------------------------------------------------------------------- axes

    @property
    def _across(self) -> float:
        """Pixels from the left end of the x axis to the right one."""
        return self.width - self.left - RIGHT

    def _place(self, x, y) -> tuple[np.ndarray, np.ndarray]:
        """Data to pixels."""
        y = np.asarray(y, dtype=float)
        if self.y_log:
            y = np.log10(np.maximum(y, 1e-300))
        across = (np.asarray(x, dtype=float) - self.x_low) / (self.x_high - self.x_low)
        up = (y - self.y_low) / (self.y_high - self.y_low)
        inner = self.height - TOP - self.bottom
        return self.left + self._across * across, self.height - self.bottom - inner * up

    def _y_ticks(self) -> tuple[np.ndarray, list[str]]:
        if not self.y_log:
            values = ticks(self.y_low, self.y_high, 7)
            return values, tick_labels(values)
        exponents = np.arange(math.ceil(self.y_low), math.floor(self.y_high) + 1)
        if len(exponents) < 2:
            values = 10.0 ** ticks(self.y_low, self.y_high, 4)
            return values, [plain(value, 2) for value in values]
        values = 10.0 ** exponents[:: 1 + len(exponents) // 7]
        return values, [plain(value, 1) for value in values]

    def _room_below(self, x_names: Named | None) -> float:
        """Return the height of everything under the x axis."""
        if x_names is None or not self._slanted(x_names):
            return BOTTOM
        longest = max(len(_cut(name, LONGEST_NAME)) for _, name in x_names)
        return BOTTOM - LINE + 10 + longest * LETTER * math.sin(SLANT)

    def _slanted(self, x_names: Named) -> bool:
        """Tell whether names are too long to stand beside each other."""
        room = self._across / (self.x_high - self.x_low)
        places = sorted((place, len(_cut(name, LONGEST_NAME))) for place, name in x_names)
        gaps = [(b - a) * room - LETTER * (m + n) / 2 for (a, m), (b, n) in pairwise(places)]
        return min(gaps, default=1.0) < 6

    def _y_axis(self, values: np.ndarray, names: list[str], label: str) -> None:
        right, bottom = self.width - RIGHT, self.height - self.bottom
        for value, name in zip(values, names):
            _, (height,) = self._place([self.x_low], [value])
            self.parts.append(
                f'<path class="grid" d="M{self.left:.1f} {height:.1f}H{right}"/>'
                f'<text class="tick" x="{self.left - 6:.1f}" y="{height + 4:.1f}" '
                f'text-anchor="end">{name}</text>'
            )
        most = int((bottom - TOP) / LETTER)
        self.parts.append(
            f'<path class="axis" d="M{self.left:.1f} {bottom:.1f}H{right}"/>'
            f'<text class="label" transform="translate(13 {(TOP + bottom) / 2:.1f}) rotate(-90)" '
            f'text-anchor="middle">{escape(_cut(label, most))}</text>'
        )

    def _x_axis(self, x_names: Named | None, label: str) -> None:
        bottom = self.height - self.bottom
        slanted = x_names is not None and self._slanted(x_names)
        named = self._numbers_along_x() if x_names is None else x_names
        for value, name in named:
            (across,), _ = self._place([value], [1.0])
            place = f'x="{across:.1f}" y="{bottom + 16:.1f}" text-anchor="middle"'
            most = LONGEST_NAME
            if slanted:
                most = min(most, int(across / (LETTER * math.cos(SLANT))))  # not beyond the card
                turned = f"rotate({-math.degrees(SLANT):.0f} {across:.1f} {bottom + 12:.1f})"
                place = f'x="{across:.1f}" y="{bottom + 12:.1f}" text-anchor="end"'
                place += f' transform="{turned}"'
            self.parts.append(f'<text class="tick" {place}>{escape(_cut(name, most))}</text>')
        most = int(self.width / LETTER)
        self.parts.append(
            f'<text class="label" x="{self.left + self._across / 2:.1f}" '
            f'y="{self.height - 8:.1f}" text-anchor="middle">{escape(_cut(label, most))}</text>'
        )

    def _numbers_along_x(self) -> list[tuple[float, str]]:
        """Return as many round numbers as stand beside each other."""
        for most in (7, 5, 4, 3, 2):
            values = ticks(self.x_low, self.x_high, most)
            if self.whole and most > 2 and np.any(values != np.round(values)):
                continue
            names = tick_labels(values)
            widest = max(map(len, names), default=0)
            if len(values) * (widest + 2) * LETTER <= self._across:
                break
        return list(zip(values.tolist(), names))


def horizontal_bars(
    names: Sequence[str], values: Sequence[float], titles: Sequence[str], *, label: str
) -> str:
    """Return a drawing with one bar per name; a bar of length 1 fills the width."""
    step, left = 22, 22 + LETTER * min(24, max(map(len, names), default=1))
    height = step * len(names) + 8
    room = NORMAL[0] - left - 44
    parts = []
    for k, (name, value, title) in enumerate(zip(names, values, titles)):
        top = 4 + k * step
        length = max(0.0, min(1.0, float(value))) * room
        parts.append(
            f'<text x="{left - 8:.1f}" y="{top + 14}" text-anchor="end">{escape(_cut(name, 24))}'
            f'</text><rect class="bar" x="{left:.1f}" y="{top + 3}" '
            f'width="{max(length, 0.5):.1f}" height="{step - 8}" rx="2">'
            f"<title>{escape(title)}</title></rect>"
            f'<text class="value" x="{left + length + 6:.1f}" y="{top + 14}">{value:.2f}</text>'
        )
    return (
        f'<svg viewBox="0 0 {NORMAL[0]} {height}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _ends(values, margin: float) -> tuple[float, float]:
    """Return the ends of an axis; never the same."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    low, high = (0.0, 1.0) if not len(finite) else (float(finite.min()), float(finite.max()))
    if not high > low:
        half = 0.5 * abs(low) or 0.5
        return low - half, high + half
    return low - margin * (high - low), high + margin * (high - low)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most, 2) - 1] + "\u2026"
