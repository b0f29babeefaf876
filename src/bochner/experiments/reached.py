"""Where the paper's figures are reached: one table over all experiments that bear on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .found import PUBLISHED, TOLERANCE, View, figures, grouped, paper
from .growth import GROWTHS, Key
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
    "within 0.3 of those of ORF, stands beside the latter's. Epochs have the range of scores that are ended early, "
    "which no difference is taken from.",
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
        return Cell("~" * self.continued + cell.text, cell.mark)


def view(found: Sequence[tuple[Experiment, Sequence[Record]]]) -> View | None:
    """Set the scores of all experiments beside the paper's, where those of the first are not the same."""
    by_name = {e.name: _found(e.kind, records) for e, records in found if e.kind in _BEARING}
    by_name = {name: of_one for name, of_one in by_name.items() if of_one}
    first = by_name.get(_FIRST, {})
    published = {key: figure for key, figure in _published() if key in first}
    apart = {key: figure for key, figure in published.items() if abs(first[key].score - figure) > TOLERANCE}
    if not apart:
        return None
    rows = [_row(key, figure, list(by_name.values())) for key, figure in apart.items()]
    note = f"{len(published) - len(apart)} of {len(published)} figures are within half a point in table 5 itself"
    columns = ["data", "kernel", "method", "paper", *by_name, "nearest differs by"]
    return [Table("Figures that differ by more than half a point", columns, rows, note + _also_reached(rows))], []


def _row(key: Key, published: float, experiments: Sequence[Mapping[Key, _Found]]) -> list[Any]:
    """Give a row with a cell for each experiment, and how far the nearest of them is from the paper."""
    scores = [of_one.get(key) or of_one.get(_stand_in(key)) for of_one in experiments]
    nearest = min((s for s in scores if s and not s.range), key=lambda s: abs(s.score - published))
    differs = "~" * nearest.continued + f"{abs(nearest.score - published):.2f}"
    return [*key, published, *(score.cell(published) if score else "" for score in scores), differs]


def _also_reached(rows: Sequence[Sequence[Any]]) -> str:
    """Say how many of the rows are reached by what was measured, and by what was continued."""
    near = [row[-1] for row in rows if float(row[-1].lstrip("~")) <= TOLERANCE]
    continued = sum(differs.startswith("~") for differs in near)
    return f", {len(near) - continued} more by what other experiments measured, {continued} by what they continued."


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
    scores = {key: [100.0 * score for score in figures(group, "score")] for key, group in groups.items()}
    if kind == "epochs":
        return {key: _Found(np.nan, range=f"{min(of_one):.1f} to {max(of_one):.1f}") for key, of_one in scores.items()}
    return {key: _Found(float(np.mean(of_one))) for key, of_one in scores.items()}
