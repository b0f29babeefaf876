"""Where the paper's figures are reached: one table over all experiments that bear on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .growth import GROWTHS, Key
from .lookup import PUBLISHED, TOLERANCE, View, figures, grouped, paper
from .plan import Experiment
from .records import Record
from .tables import Cell, Table, compared

#: The experiment that measures them all; others explain what it does not reach.
_FIRST = "table-5"
#: Kinds of experiments whose scores bear on the paper's figures.
_BEARING = ("prediction", "epochs", *GROWTHS)
ABOUT = Experiment(
    "reached",
    "Where the paper's figures are reached",
    "All figures of the paper's table 5 that the same table here does not have within half a point, and what the "
    "experiments below find for them: with more rows or features, given choices, other columns or other splits. "
    "~: continued to the paper's number by a power law, not measured there. RFF, of which the paper's figures are "
    "within 0.3 of those of ORF, stands beside the latter's. Machines that are ended after some epochs, with fewer "
    "rows or several length scales, have the range of their scores, which no difference is taken from.",
    "Table 5",
    "reached",
    (),
)


class _Found(NamedTuple):
    """What an experiment has for a figure: a score, times 100, measured or continued; or only a range of scores."""

    score: float
    continued: bool = False
    range: str = ""

    def cell(self, published: float) -> Cell:
        if self.range:
            return Cell(self.range)
        cell = compared([self.score], published, 2, TOLERANCE)
        return Cell(self._sign + cell.text, cell.mark)

    def differs_by(self, published: float) -> str:
        return f"{self._sign}{abs(self.score - published):.2f}"

    @property
    def _sign(self) -> str:
        return "~" if self.continued else ""


def view(found: Sequence[tuple[Experiment, Sequence[Record]]]) -> View | None:
    """Set the scores of all experiments beside the paper's, where those of the first are not the same."""
    by_name = {e.name: _found(e.kind, records) for e, records in found if e.kind in _BEARING}
    by_name = {name: scores for name, scores in by_name.items() if scores}
    first = by_name.get(_FIRST, {})
    published = {key: figure for key, figure in _published() if key in first}
    apart = {key: figure for key, figure in published.items() if abs(first[key].score - figure) > TOLERANCE}
    if not apart:
        return None
    rows, nearest = [], {}
    for key, figure in apart.items():
        of_one = [scores.get(key) or scores.get(_stand_in(key)) for scores in by_name.values()]
        nearest[key] = _nearest([score for score in of_one if score and not score.range], figure)
        cells = [score.cell(figure) if score else "" for score in of_one]
        rows.append([*key, figure, *cells, nearest[key].differs_by(figure)])
    near = [score for key, score in nearest.items() if abs(score.score - apart[key]) <= TOLERANCE]
    n_continued = sum(score.continued for score in near)
    note = (
        f"{len(published) - len(apart)} of {len(published)} figures are within half a point in table 5 itself, "
        f"{len(near) - n_continued} more by what other experiments measured, {n_continued} by what they continued."
    )
    columns = ["data", "kernel", "method", "paper", *by_name, "nearest differs by"]
    return [Table("Figures that differ by more than half a point", columns, rows, note)], []


def _nearest(scores: Sequence[_Found], published: float) -> _Found:
    return min(scores, key=lambda found: abs(found.score - published))


def _published() -> Iterator[tuple[Key, float]]:
    for dataset, kernels in paper()["prediction"].items():
        for kernel, methods in kernels.items():
            for method in PUBLISHED:
                yield (dataset, kernel, method), methods[method]


def _stand_in(key: Key) -> Key:
    dataset, kernel, method = key
    return dataset, kernel, "orf" if method == "rff" else method


def _found(kind: str, records: Sequence[Record]) -> dict[Key, _Found]:
    """Give what an experiment has for the paper's figures."""
    if kind in GROWTHS:
        return {key: _Found(end.score, end.continued) for key, end in GROWTHS[kind].ends(records).items()}
    groups: dict[Any, list[Record]] = grouped(records, "dataset", "kernel", "method")
    found = _ended_early if kind == "epochs" else _mean
    return {key: found(group) for key, group in groups.items()}


def _mean(records: Sequence[Record]) -> _Found:
    return _Found(100.0 * float(np.mean(figures(records, "score"))))


def _ended_early(records: Sequence[Record]) -> _Found:
    """Give the score with all rows, if there is one choice of it, or else a range."""
    whole = [record for record in records if record["figures"]["n_rows"] == record["figures"]["all rows"]]
    if len(whole) == 1:
        return _mean(whole)
    scores = [100.0 * score for score in figures(whole or records, "score")]
    return _Found(np.nan, range=f"{min(scores):.1f} to {max(scores):.1f}")
