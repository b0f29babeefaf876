"""Scores over the number of rows or of features, and where they lead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .lookup import TOLERANCE, View, grouped, paper
from .records import Record
from .svg import Line, Plot
from .tables import Table, compared

Key = tuple[str, str, str]
_WORDS = {"rows": "rows", "components": "features"}
#: Points that a power law is seen by.
_FOR_A_LAW = 3
#: Part of the paper's number from which lines that have that number are continued to it, to see how far that can be.
_PART = 1 / 8


class End(NamedTuple):
    """Where points lead: the power of their law, the paper's number, the score there (times 100), and the paper's.

    It is continued if the paper's number is ``farther`` than the last point: so many times as large.
    """

    power: float
    size: int
    score: float
    published: float
    farther: float

    @property
    def continued(self) -> bool:
        """Whether the last point has a smaller number than the paper."""
        return self.farther > 1.0


class Check(NamedTuple):
    """A line that was continued from its first part to its last point: the error expected there, and that measured."""

    key: Key
    beside: Any
    sizes: list[int]
    size: int
    expected: float
    measured: float

    @property
    def farther(self) -> float:
        """How far the line was continued: to so many times its number."""
        return self.size / self.sizes[-1]

    @property
    def ratio(self) -> float:
        """How many times as large as expected the error is."""
        return self.measured / self.expected

    @property
    def row(self) -> list[Any]:
        """A row of a table."""
        sizes = ", ".join(map(str, self.sizes))
        scores = [f"{100.0 * (1.0 - error):.2f}" for error in (self.expected, self.measured)]
        return [*self.key, self.beside, sizes, self.size, *scores, f"{self.ratio:.2f}"]


@dataclass(frozen=True)
class _Points:
    """Errors of a data set, kernel and method over a growing number; beside it the other number that each has."""

    key: Key
    sizes: list[int]
    beside: list[Any]
    errors: list[float]

    @property
    def rows(self) -> list[list[Any]]:
        """Rows of a table."""
        points = zip(self.beside, self.sizes, self.errors, strict=True)
        return [[*self.key, beside, size, f"{100.0 * (1.0 - error):.2f}"] for beside, size, error in points]

    def end(self, sizes: dict[str, int]) -> End | None:
        """Continue to the paper's number, if it is larger."""
        dataset, kernel, method = self.key
        published = paper()["prediction"].get(dataset, {}).get(kernel, {}).get(method)
        if published is None or len(self.sizes) < 2:
            return None
        last, at = self.sizes[-1], sizes[dataset]
        score = 100.0 * (1.0 - self.error_at(max(at, last)))
        return End(self.power, at, score, published, at / last)

    @property
    def power(self) -> float:
        """The power of the law through the last points, three if there are."""
        return float(np.polyfit(np.log(self.sizes[-_FOR_A_LAW:]), np.log(self.errors[-_FOR_A_LAW:]), 1)[0])

    def error_at(self, size: int) -> float:
        """Continue by the power law from the last point."""
        return self.errors[-1] * (size / self.sizes[-1]) ** self.power

    def check(self, size: int) -> Check | None:
        """Continue the first part of a line that has the paper's number to that number, if it has points enough."""
        n = sum(other <= _PART * self.sizes[-1] for other in self.sizes)
        if n < _FOR_A_LAW or self.sizes[-1] < 0.99 * size:
            return None
        first = _Points(self.key, self.sizes[:n], self.beside[:n], self.errors[:n])
        return Check(
            self.key, self.beside[-1], first.sizes, self.sizes[-1], first.error_at(self.sizes[-1]), self.errors[-1]
        )


@dataclass(frozen=True)
class Growth:
    """Scores over the number of rows that are fitted, or of features, and what they would be at the paper's number."""

    over: str
    beside: str

    @property
    def line(self) -> tuple[str, ...]:
        """What the records of one line have in common."""
        return ("dataset", "kernel", "method", "n_" + self.beside, "without", "seed")

    def continuing(self, records: Sequence[Record], others: Iterable[Record]) -> list[Record]:
        """Give those of other records that continue the lines of some."""
        lines = grouped(records, *self.line)
        return [record for key, group in grouped(others, *self.line).items() if key in lines for record in group]

    def __call__(self, records: Sequence[Record]) -> View:
        """Give a table and plots of the lines, and a table of where they lead."""
        lines, over = self._lines(records), _WORDS[self.over]
        columns = ["data", "kernel", "method", _WORDS[self.beside], over, "score"]
        tables = [Table(f"Scores over the number of {over}", columns, [row for points in lines for row in points.rows])]
        continued = []
        for points in lines:
            if end := points.end(self._published_sizes):
                there = compared([end.score], end.published, 1, TOLERANCE)
                continued.append([*points.rows[-1], f"{end.power:.2f}", end.size, there, end.published])
        if continued:
            names = [*columns, f"power of the {over}", f"{over} of the paper", "score there", "paper"]
            tables.append(Table(f"Continued to the paper's number of {over}", names, continued))
        if checks := self._checks(lines):
            names = [*columns[:4], f"from {over}", f"to {over}", "score expected", "score measured", "errors, ratio"]
            note = (
                "Lines that have the paper's number, continued to it from an eighth or less: how far the table above "
                "can be trusted. The last column has the error measured, divided by the error expected."
            )
            tables.append(Table("How far continued lines can be trusted", names, [c.row for c in checks], note))
        return tables, self._plots(lines)

    def ends(self, records: Sequence[Record]) -> dict[Key, End]:
        """Give where lines of three points or more lead, if they have the paper's other number, or half of it."""
        found = {
            points.key: points.end(self._published_sizes) for points in self._lines(records) if self._tells(points)
        }
        return {key: end for key, end in found.items() if end}

    def checks(self, records: Sequence[Record]) -> list[Check]:
        """Give what comes of continuing lines that need not be continued."""
        return self._checks(self._lines(records))

    def _checks(self, lines: Sequence[_Points]) -> list[Check]:
        sizes = self._published_sizes
        checks = [points.check(sizes[points.key[0]]) for points in lines if self._tells(points)]
        return [check for check in checks if check]

    def _tells(self, points: _Points) -> bool:
        beside = points.beside[-1]
        enough = beside == "" or 2 * beside >= paper()[_WORDS[self.beside]].get(points.key[0], 0)
        return enough and len(points.sizes) >= _FOR_A_LAW and points.key[0] in self._published_sizes

    @property
    def _published_sizes(self) -> dict[str, int]:
        return paper()[_WORDS[self.over]]

    def _plots(self, lines: Sequence[_Points]) -> list[Plot]:
        by_plot: dict[str, list[Line]] = {}
        for points in lines:
            dataset, kernel, method = points.key
            by_plot.setdefault(f"{dataset}, {kernel}", []).append(Line(method, points.sizes, points.errors))
        return [Plot(title, _WORDS[self.over], "1 - score", drawn) for title, drawn in by_plot.items()]

    def _lines(self, records: Sequence[Record]) -> list[_Points]:
        found = []
        for (dataset, kernel, method), group in grouped(records, "dataset", "kernel", "method").items():
            by_size = {_number(r, self.over): r for r in sorted(group, key=lambda r: _number(r, self.over))}
            beside = [_number(record, self.beside) for record in by_size.values()]
            errors = [1.0 - record["figures"]["score"] for record in by_size.values()]
            found.append(_Points((dataset, kernel, method), list(by_size), beside, errors))
        return found


def _number(record: Record, name: str) -> Any:
    """Give the rows that were there, of those asked for, or the features, if there are any."""
    return record["figures"]["n_rows"] if name == "rows" else record["setting"].get("n_" + name, "")


#: Kinds of experiments whose lines others continue.
GROWTHS = {"rows": Growth("rows", "components"), "widths": Growth("components", "rows")}
