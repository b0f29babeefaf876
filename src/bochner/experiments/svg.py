"""Line plots as SVG text: few, plain, and readable at any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

_WIDTH, _HEIGHT = 420, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 10, 28, 40
#: Colours that people with colour blindness can tell apart (Okabe and Ito, 2008).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("", "6 3", "2 3")


@dataclass(frozen=True)
class Line:
    """Points of one curve, with the half widths of their intervals."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    half_widths: Sequence[float] | None = None


@dataclass(frozen=True)
class Plot:
    """Curves on logarithmic axes."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]

    def svg(self) -> str:
        """Draw."""
        x = _Axis([v for line in self.lines for v in line.x], _LEFT, _WIDTH - _RIGHT)
        y = _Axis([v for line in self.lines for v in line.y], _HEIGHT - _BOTTOM, _TOP)
        drawn = [
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(self.title)}">',
            _text(_LEFT, 16, self.title, "title"),
            *_grid(x, y),
            _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, self.x_label, "axis", "middle"),
            f'<text class="axis" text-anchor="middle" transform="translate(12 {_HEIGHT / 2}) rotate(-90)">'
            f"{escape(self.y_label)}</text>",
        ]
        for number, line in enumerate(self.lines):
            drawn += _curve(line, number, x, y)
        return "\n".join([*drawn, "</svg>"])

    def legend(self) -> str:
        """Name the curves, as HTML."""
        items = (
            f'<li><svg viewBox="0 0 28 8" class="key">{_path("M0 4H28", number)}</svg>{escape(line.label)}</li>'
            for number, line in enumerate(self.lines)
        )
        return f'<ul class="legend">{"".join(items)}</ul>'


class _Axis:
    """A logarithmic scale from numbers to places."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        good = [v for v in values if v > 0.0 and np.isfinite(v)] or [1.0]
        self.low, self.high = min(good) / 1.15, max(good) * 1.15
        self._first, self._last = first, last

    def place(self, value: float) -> float:
        """Give the place of a number; what is beyond the ends is at the end."""
        share = np.log(np.clip(value, self.low, self.high) / self.low) / np.log(self.high / self.low)
        return float(self._first + share * (self._last - self._first))

    def ticks(self) -> list[float]:
        """Give round numbers: powers of ten, with 2 and 5 between them if there are few."""
        powers = range(int(np.floor(np.log10(self.low))), int(np.ceil(np.log10(self.high))) + 1)
        for steps in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
            found = [float(f"{s}e{e}") for e in powers for s in steps if self.low <= float(f"{s}e{e}") <= self.high]
            if len(found) >= 3:
                return found
        return found


def _grid(x: _Axis, y: _Axis) -> list[str]:
    drawn = []
    for value in x.ticks():
        place = x.place(value)
        drawn.append(f'<path class="grid" d="M{place:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>')
        drawn.append(_text(place, _HEIGHT - _BOTTOM + 14, f"{value:g}", "tick", "middle"))
    for value in y.ticks():
        place = y.place(value)
        drawn.append(f'<path class="grid" d="M{_LEFT} {place:.1f}H{_WIDTH - _RIGHT}"/>')
        drawn.append(_text(_LEFT - 4, place + 3, f"{value:g}", "tick", "end"))
    return drawn


def _curve(line: Line, number: int, x: _Axis, y: _Axis) -> list[str]:
    places = [(x.place(a), y.place(b)) for a, b in zip(line.x, line.y, strict=True)]
    drawn = [_path("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places), number)]
    for i, (a, b) in enumerate(places):
        drawn.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{_COLOURS[number % len(_COLOURS)]}"/>')
        if line.half_widths is not None and line.half_widths[i] > 0.0:
            ends = [y.place(line.y[i] + sign * line.half_widths[i]) for sign in (-1.0, 1.0)]
            drawn.append(_path(f"M{a:.1f} {ends[0]:.1f}V{ends[1]:.1f}", number, dashed=False))
    return drawn


def _path(d: str, number: int, dashed: bool = True) -> str:
    dash = _DASHES[number // len(_COLOURS) % len(_DASHES)] if dashed else ""
    return f'<path d="{d}" fill="none" stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="1.6"' + (
        f' stroke-dasharray="{dash}"/>' if dash else "/>"
    )


def _text(x: float, y: float, text: str, css: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>'
