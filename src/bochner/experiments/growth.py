"""Scores over the number of rows or of features, and where they lead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .lookup import TOLERANCE, View, grouped, paper
from .records import Record
from .svg import Line, Plot
from .tables import Table, compared

Key = tuple[str, str, str]
#: What a line may have given, and how it is called.
_GIVEN = {"length_scale": "length scale", "exponent": "exponent"}
_NAMES = ("dataset", "kernel", "method", *_GIVEN)
_WORDS = {"rows": "rows", "components": "features"}
#: Points that a power law is seen by.
_FOR_A_LAW = 3
#: Share of the paper's number, which it rounds, that counts as all.
_ALMOST = 0.99


class End(NamedTuple):
    """Where points lead: the power of their law, the paper's number, the score there (times 100), and the paper's.

    It is continued if the last point has a smaller number. The last point may not have converged.
    """

    power: float
    size: int
    score: float
    published: float
    continued: bool
    converged: bool


@dataclass(frozen=True)
class Points:
    """Errors of a data set, kernel, method and what is given over a growing number; beside it the other number."""

    key: Key
    given: str
    sizes: list[int]
    beside: list[Any]
    errors: list[float]
    converged: list[bool]

    @property
    def name(self) -> list[Any]:
        """The first cells of a row of a table."""
        return [*self.key, self.given]

    @property
    def rows(self) -> list[list[Any]]:
        """Rows of a table."""
        points = zip(self.beside, self.sizes, self.errors, strict=True)
        return [[*self.name, beside, size, f"{100.0 * (1.0 - error):.2f}"] for beside, size, error in points]

    def end(self, sizes: dict[str, int]) -> End | None:
        """Continue to the paper's number, if it is larger."""
        dataset, kernel, method = self.key
        published = paper()["prediction"].get(dataset, {}).get(kernel, {}).get(method)
        if published is None or len(self.sizes) < 2 or not self.has_law:
            return None
        last, at = self.sizes[-1], sizes[dataset]
        score = 100.0 * (1.0 - self.error_at(max(at, last)))
        return End(self.power, at, score, published, at > last, self.converged[-1])

    @property
    def has_law(self) -> bool:
        """Whether a power law can go through the points: there is none through an error of zero."""
        return min(self.errors) > 0.0

    @property
    def power(self) -> float:
        """The power of the law through the last points, three if there are."""
        return float(np.polyfit(np.log(self.sizes[-_FOR_A_LAW:]), np.log(self.errors[-_FOR_A_LAW:]), 1)[0])

    def error_at(self, size: int) -> float:
        """Continue by the power law from the last point."""
        return self.errors[-1] * (size / self.sizes[-1]) ** self.power

    @property
    def checks(self) -> list[list[Any]]:
        """Rows of a table: each three points that follow one another, continued to the last one."""
        size, measured, found = self.sizes[-1], self.errors[-1], []
        for n in range(_FOR_A_LAW, len(self.sizes)):
            part = slice(n - _FOR_A_LAW, n)
            expected = replace(self, sizes=self.sizes[part], errors=self.errors[part]).error_at(size)
            scores = [f"{100.0 * (1.0 - error):.2f}" for error in (expected, measured)]
            sizes = ", ".join(map(str, self.sizes[part]))
            found.append([*self.name, self.beside[-1], sizes, size, *scores, f"{measured / expected:.2f}"])
        return found

    def gain(self, times: float) -> float | None:
        """Give the last error, divided by that of so many times fewer, between points; None if they are not so few."""
        size = self.sizes[-1] / times
        if size < self.sizes[0] or not self.has_law:
            return None
        return float(self.errors[-1] / np.exp(np.interp(np.log(size), np.log(self.sizes), np.log(self.errors))))


@dataclass(frozen=True)
class Growth:
    """Scores over the number of rows that are fitted, or of features, and what they would be at the paper's number."""

    over: str
    beside: str

    @property
    def line(self) -> tuple[str, ...]:
        """What the records of one line have in common."""
        return (*_NAMES, "n_" + self.beside, "without", "seed")

    def continuing(self, records: Sequence[Record], others: Iterable[Record]) -> list[Record]:
        """Give those of other records that continue the lines of some."""
        lines = grouped(records, *self.line)
        return [record for key, group in grouped(others, *self.line).items() if key in lines for record in group]

    def __call__(self, records: Sequence[Record]) -> View:
        """Give a table and plots of the lines, and a table of where they lead."""
        lines, over = self._lines(records), _WORDS[self.over]
        columns = ["data", "kernel", "method", "given", _WORDS[self.beside], over, "score"]
        tables = [Table(f"Scores over the number of {over}", columns, [row for points in lines for row in points.rows])]
        continued = []
        for points in lines:
            if end := points.end(self._published_sizes):
                there = compared([end.score], end.published, 1, TOLERANCE)
                continued.append([*points.rows[-1], f"{end.power:.2f}", end.size, there, end.published])
        if continued:
            names = [*columns, f"power of the {over}", f"{over} of the paper", "score there", "paper"]
            tables.append(Table(f"Continued to the paper's number of {over}", names, continued))
        if checks := [row for points in lines if self._is_whole(points) and points.has_law for row in points.checks]:
            names = [*columns[:5], f"from {over}", f"to {over}", "score expected", "score measured", "errors, ratio"]
            note = (
                "Lines that have the paper's number, continued to it from each three points before. The last column "
                "has the error measured, divided by the error expected."
            )
            tables.append(Table("How far continued lines can be trusted", names, checks, note))
        return tables, self._plots(lines)

    def ends(self, records: Sequence[Record]) -> dict[Key, list[End]]:
        """Give where lines of three points or more lead, if they have the paper's other number, or half of it."""
        found: dict[Key, list[End]] = {}
        for points in self._lines(records):
            if self._tells(points) and (end := points.end(self._published_sizes)):
                found.setdefault(points.key, []).append(end)
        return found

    def whole_lines(self, records: Sequence[Record]) -> list[Points]:
        """Give the lines that need not be continued: they have the paper's number, and of the other one half."""
        return [points for points in self._lines(records) if self._tells(points) and self._is_whole(points)]

    def _is_whole(self, points: Points) -> bool:
        return points.sizes[-1] >= _ALMOST * self._published_sizes.get(points.key[0], np.inf)

    def _tells(self, points: Points) -> bool:
        beside = points.beside[-1]
        enough = beside == "" or 2 * beside >= paper()[_WORDS[self.beside]].get(points.key[0], 0)
        return enough and len(points.sizes) >= _FOR_A_LAW and points.key[0] in self._published_sizes

    @property
    def _published_sizes(self) -> dict[str, int]:
        return paper()[_WORDS[self.over]]

    def _plots(self, lines: Sequence[Points]) -> list[Plot]:
        by_plot: dict[str, list[Line]] = {}
        for points in lines:
            dataset, kernel, method = points.key
            title = ", ".join(word for word in (dataset, kernel, points.given) if word)
            by_plot.setdefault(title, []).append(Line(method, points.sizes, points.errors))
        return [Plot(title, _WORDS[self.over], "1 - score", drawn) for title, drawn in by_plot.items()]

    def _lines(self, records: Sequence[Record]) -> list[Points]:
        found = []
        for (dataset, kernel, method, *values), group in grouped(records, *_NAMES).items():
            by_size = {_number(r, self.over): r for r in sorted(group, key=lambda r: _number(r, self.over))}
            line = list(by_size.values())
            beside = [_number(record, self.beside) for record in line]
            errors = [1.0 - record["figures"]["score"] for record in line]
            converged = [record["figures"].get("converged", True) for record in line]
            given = (f"{word} {value}" for word, value in zip(_GIVEN.values(), values, strict=True) if value)
            key = dataset, kernel, method
            found.append(Points(key, ", ".join(given), list(by_size), beside, errors, converged))
        return found


def _number(record: Record, name: str) -> Any:
    """Give the rows that were there, of those asked for, or the features, if there are any."""
    return record["figures"]["n_rows"] if name == "rows" else record["setting"].get("n_" + name, "")


#: Kinds of experiments whose lines others continue.
GROWTHS = {"rows": Growth("rows", "components"), "widths": Growth("components", "rows")}
