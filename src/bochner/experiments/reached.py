"""Where the paper's figures are reached: one table over all experiments that bear on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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
    "experiments below find for them: with the paper's rows and features (continued), other columns or other splits. "
    "RFF, of which the paper's figures are within 0.3 of those of ORF, stands beside the latter's. Epochs have the "
    "range of scores that are ended early, which no difference is taken from.",
    "Table 5",
    "reached",
    (),
)


def view(found: Sequence[tuple[Experiment, Sequence[Record]]]) -> View | None:
    """Set the scores of all experiments beside the paper's, where those of the first are not the same."""
    first = {key: score for e, records in found if e.name == _FIRST for key, score in _means(records).items()}
    published = {key: figure for key, figure in _published() if key in first}
    apart = [key for key, figure in published.items() if abs(first[key] - figure) > TOLERANCE]
    if not apart:
        return None
    others = {e.name: _elsewhere(e.kind, records) for e, records in found if e.kind in _BEARING and e.name != _FIRST}
    others = {name: scores for name, scores in others.items() if scores}
    rows, n_nearby = [], 0
    for key in apart:
        scores = [(first[key],), *(of_one.get(key) or of_one.get(_stand_in(key), ()) for of_one in others.values())]
        nearest = min(abs(score - published[key]) for of_one in scores if len(of_one) == 1 for score in of_one)
        n_nearby += nearest <= TOLERANCE
        cells = [_cell(of_one, published[key]) for of_one in scores]
        rows.append([*key, published[key], *cells, f"{nearest:.1f}"])
    note = (
        f"{len(published) - len(apart)} of {len(published)} figures are within half a point in table 5 itself, "
        f"{n_nearby} more in another experiment."
    )
    columns = ["data", "kernel", "method", "paper", _FIRST, *others, "nearest differs by"]
    return [Table("Figures that differ by more than half a point", columns, rows, note)], []


def _published() -> Iterator[tuple[Key, float]]:
    for dataset, kernels in paper()["prediction"].items():
        for kernel, methods in kernels.items():
            for method in PUBLISHED:
                yield (dataset, kernel, method), methods[method]


def _stand_in(key: Key) -> Key:
    dataset, kernel, method = key
    return dataset, kernel, "orf" if method == "rff" else method


def _scores(records: Sequence[Record]) -> dict[Key, list[float]]:
    """Give all scores, times 100."""
    groups: dict[Any, list[Record]] = grouped(records, "dataset", "kernel", "method")
    return {key: [100.0 * score for score in figures(group, "score")] for key, group in groups.items()}


def _means(records: Sequence[Record]) -> dict[Key, float]:
    return {key: float(np.mean(scores)) for key, scores in _scores(records).items()}


def _elsewhere(kind: str, records: Sequence[Record]) -> dict[Key, tuple[float, ...]]:
    """Give what an experiment has for the paper's figures: a score, or the ends of a range."""
    if kind == "epochs":
        return {key: (min(scores), max(scores)) for key, scores in _scores(records).items()}
    means = GROWTHS[kind].ends(records) if kind in GROWTHS else _means(records)
    return {key: (mean,) for key, mean in means.items()}


def _cell(scores: Sequence[float], published: float) -> Cell | str:
    if not scores:
        return ""
    if len(scores) == 1:
        return compared(scores, published, 1, TOLERANCE)
    return f"{scores[0]:.1f} to {scores[1]:.1f}"
