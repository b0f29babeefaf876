"""Where the paper's figures are reached: one table over all experiments that bear on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .growth import GROWTHS, Key
from .lookup import PUBLISHED, TOLERANCE, View, figures, grouped, has_fewer_rows, paper
from .plan import Experiment
from .records import Record
from .tables import Cell, Table, compared

#: The experiment that measures them all; others explain what it does not reach.
_FIRST = "table-5"
#: Kinds of experiments whose scores bear on the paper's figures.
_BEARING = ("prediction", "epochs", *GROWTHS)
#: How much a score tells, from most to least: it has the paper's number of rows, or is continued to it, or has fewer.
_MEASURED, _CONTINUED, _FEWER_ROWS = range(3)
ABOUT = Experiment(
    "reached",
    "Where the paper's figures are reached",
    "All figures of the paper's table 5 that the same table here does not have within half a point, and what the "
    "experiments below find for them: with more rows or features, given choices, other columns or other splits. "
    "~: continued to the paper's number by a power law, not measured there. RFF, of which the paper's figures are "
    "within 0.3 of those of ORF, stands beside the latter's where it was not measured itself (*). The difference is "
    "that of what was measured with the paper's number of rows; else of what is continued to it; else of fewer rows: "
    "not of what is nearest. Machines that are ended early, by epochs chosen in view of the paper, have only the range "
    "of their scores.",
    "Table 5",
    "reached",
    (),
)


@dataclass(frozen=True)
class _Found:
    """What an experiment has for a figure: a score, times 100; or only a range of scores, which says nothing alone."""

    score: float
    rank: int = 0
    borrowed: bool = False
    range: str = ""

    def cell(self, published: float) -> Cell:
        if self.range:
            return Cell(self.range)
        cell = compared([self.score], published, 2, TOLERANCE)
        return Cell(self._sign + cell.text + "*" * self.borrowed, cell.mark)

    def difference(self, published: float) -> float:
        return abs(self.score - published)

    def differs_by(self, published: float) -> str:
        return f"{self._sign}{self.difference(published):.2f}{'*' * self.borrowed}"

    @property
    def _sign(self) -> str:
        return "~" if self.rank == _CONTINUED else ""


def view(found: Sequence[tuple[Experiment, Sequence[Record]]]) -> View | None:
    """Set the scores of all experiments beside the paper's, where those of the first are not the same."""
    by_name = {e.name: _found(e.kind, records) for e, records in found if e.kind in _BEARING}
    by_name = {name: scores for name, scores in by_name.items() if scores}
    first = by_name.get(_FIRST, {})
    published = {key: figure for key, figure in _published() if key in first}
    apart = {key: figure for key, figure in published.items() if first[key].difference(figure) > TOLERANCE}
    if not apart:
        return None
    rows, near = [], []
    for key, figure in apart.items():
        of_one = {name: _of(scores, key) for name, scores in by_name.items()}
        told = _telling([score for name, score in of_one.items() if score and name != _FIRST]) or first[key]
        cells = [score.cell(figure) if score else "" for score in of_one.values()]
        rows.append([*key, figure, *cells, told.differs_by(figure)])
        if told.difference(figure) <= TOLERANCE and told.rank != _FEWER_ROWS:
            near.append(told)
    note = (
        f"{len(published) - len(apart)} of {len(published)} figures are within half a point in table 5 itself, "
        f"{sum(score.rank == _MEASURED for score in near)} more by what other experiments measured with the paper's "
        f"number of rows, {sum(score.rank == _CONTINUED for score in near)} by what they continued; "
        f"{sum(score.borrowed for score in near)} of these stand on ORF's."
    )
    columns = ["data", "kernel", "method", "paper", *by_name, "differs by"]
    return [Table("Figures that differ by more than half a point", columns, rows, note)], []


def _telling(scores: Sequence[_Found]) -> _Found | None:
    """Give the score that counts, if there is one: of several of one rank the method's own, and the first of these."""
    scores = [score for score in scores if not score.range]
    return min(scores, key=lambda score: (score.rank, score.borrowed), default=None)


def _of(scores: Mapping[Key, _Found], key: Key) -> _Found | None:
    """Give the score of a figure, or for RFF that of ORF."""
    dataset, kernel, method = key
    if key in scores or method != "rff":
        return scores.get(key)
    other = scores.get((dataset, kernel, "orf"))
    return replace(other, borrowed=True) if other and not other.range else None


def _published() -> Iterator[tuple[Key, float]]:
    for dataset, kernels in paper()["prediction"].items():
        for kernel, methods in kernels.items():
            for method in PUBLISHED:
                yield (dataset, kernel, method), methods[method]


def _found(kind: str, records: Sequence[Record]) -> dict[Key, _Found]:
    """Give what an experiment has for the paper's figures."""
    if kind in GROWTHS:
        ends = GROWTHS[kind].ends(records).items()
        return {key: _Found(end.score, _CONTINUED if end.continued else _MEASURED) for key, end in ends}
    groups: dict[Any, list[Record]] = grouped(records, "dataset", "kernel", "method")
    found = _ended_early if kind == "epochs" else _mean
    return {key: found(group) for key, group in groups.items()}


def _mean(records: Sequence[Record]) -> _Found:
    score = 100.0 * float(np.mean(figures(records, "score")))
    return _Found(score, _FEWER_ROWS if has_fewer_rows(records) else _MEASURED)


def _ended_early(records: Sequence[Record]) -> _Found:
    """Give the range of scores: with all rows, if there are such."""
    whole = [record for record in records if record["figures"]["n_rows"] == record["figures"]["all rows"]]
    scores = [100.0 * score for score in figures(whole or records, "score")]
    least, most = f"{min(scores):.1f}", f"{max(scores):.1f}"
    return _Found(np.nan, range=f"({least})" if least == most else f"{least} to {most}")
