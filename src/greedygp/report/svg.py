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

import numpy as np

__all__ = ["Chart", "horizontal_bars", "short", "ticks"]

WIDTH, HEIGHT = 420, 290
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 44


def ticks(low: float, high: float, most: int = 6) -> np.ndarray:
    """Return round numbers between two ends.

    Examples
    --------
    >>> from greedygp.report.svg import ticks
    >>> ticks(0.0, 1.0).tolist()
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return np.array([low])
    raw = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(k * scale for k in (1, 2, 2.5, 5, 10) if k * scale >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return np.round(np.arange(first, last + 1) * step, 12)


def short(value: float) -> str:
    """Return a number in few characters.

    Examples
    --------
    >>> from greedygp.report.svg import short
    >>> short(0.25), short(120000.0), short(-3.0)
    ('0.25', '1.2e5', '-3')
    """
    text = f"{value:.4g}"
    if not math.isfinite(value):
        return text
    if "e" in text or abs(value) >= 1e5:
        mantissa, _, exponent = f"{value:.3e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return text


class Chart:
    """One pair of axes.

    Parameters
    ----------
    x, y : arrays
        Everything that must be inside (or the two ends).
    x_label, y_label : str
    label : str
        What the chart shows, for those who cannot see it.
    margin : float
        Room around the data, as a share of their range.
    """

    def __init__(
        self, x, y, x_label: str, y_label: str, *, label: str, margin: float = 0.04, height=HEIGHT
    ):
        self.height = height
        self.x_low, self.x_high = _ends(x, margin)
        self.y_low, self.y_high = _ends(y, margin)
        self.label = label
        self.parts: list[str] = []
        self._axes(x_label, y_label)

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

    def mark(self, x: float, y: float, text: str) -> None:
        """Draw one emphasised point with a few words beside it."""
        (a,), (b,) = self._place([x], [y])
        side, shift = ("end", -8) if a > WIDTH / 2 else ("start", 8)
        raised = b - 8 if b > TOP + 24 else b + 18
        self.parts.append(
            f'<circle class="mark" cx="{a:.1f}" cy="{b:.1f}" r="4.5"/><text class="note" '
            f'x="{a + shift:.1f}" y="{raised:.1f}" text-anchor="{side}">{escape(text)}</text>'
        )

    def svg(self) -> str:
        """Return the drawing."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" '
            f'aria-label="{escape(self.label)}">{"".join(self.parts)}</svg>'
        )

    # -------------------------------------------------------------------------------- axes

    def _place(self, x, y) -> tuple[np.ndarray, np.ndarray]:
        """Data to pixels."""
        across = (np.asarray(x, dtype=float) - self.x_low) / (self.x_high - self.x_low)
        up = (np.asarray(y, dtype=float) - self.y_low) / (self.y_high - self.y_low)
        inner = self.height - TOP - BOTTOM
        return LEFT + (WIDTH - LEFT - RIGHT) * across, self.height - BOTTOM - inner * up

    def _axes(self, x_label: str, y_label: str) -> None:
        right, bottom = WIDTH - RIGHT, self.height - BOTTOM
        for value in ticks(self.y_low, self.y_high, 7):
            _, (height,) = self._place([self.x_low], [value])
            self.parts.append(
                f'<path class="grid" d="M{LEFT} {height:.1f}H{right}"/><text x="{LEFT - 6}" '
                f'y="{height + 4:.1f}" text-anchor="end">{short(value)}</text>'
            )
        for value in ticks(self.x_low, self.x_high, 7):
            (across,), _ = self._place([value], [self.y_low])
            self.parts.append(
                f'<text x="{across:.1f}" y="{bottom + 16}" text-anchor="middle">'
                f"{short(value)}</text>"
            )
        middle = (LEFT + right) / 2
        self.parts.append(
            f'<path class="axis" d="M{LEFT} {bottom}H{right}"/>'
            f'<text class="label" x="{middle}" y="{self.height - 8}" text-anchor="middle">'
            f"{escape(_cut(x_label, 52))}</text>"
            f'<text class="label" transform="translate(13 {(TOP + bottom) / 2}) rotate(-90)" '
            f'text-anchor="middle">{escape(_cut(y_label, 34))}</text>'
        )


def horizontal_bars(
    names: Sequence[str], values: Sequence[float], titles: Sequence[str], *, label: str
) -> str:
    """Return a drawing with one bar per name; a bar of length 1 fills the width."""
    step, left = 22, 128
    height = step * len(names) + 8
    room = WIDTH - left - 50
    parts = []
    for k, (name, value, title) in enumerate(zip(names, values, titles)):
        top = 4 + k * step
        length = max(0.0, min(1.0, float(value))) * room
        parts.append(
            f'<text x="{left - 8}" y="{top + 14}" text-anchor="end">{escape(_cut(name, 19))}</text>'
            f'<rect class="bar" x="{left}" y="{top + 3}" width="{max(length, 0.5):.1f}" '
            f'height="{step - 8}" rx="2"><title>{escape(title)}</title></rect>'
            f'<text class="value" x="{left + length + 6:.1f}" y="{top + 14}">{value:.2f}</text>'
        )
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
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
    return text if len(text) <= most else text[: most - 1] + "…"
