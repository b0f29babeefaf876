"""Small copies of what is not here: fewer rows and features, in the paper's proportion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .growth import Key
from .lookup import View, figures, grouped, paper
from .records import Record
from .tables import Table

#: A penalty that held-out rows choose.
HELD_OUT = "auto"


def gains(records: Sequence[Record]) -> dict[Key, dict[Any, float]]:
    """Say by what more rows multiply the errors of copies, for each penalty that the last have."""
    found: dict[Key, dict[Any, float]] = {}
    for (dataset, kernel, method), (few, many) in _ends(records).items():
        (first,) = figures(few, "score")
        by_penalty = {record["setting"]["alpha"]: record["figures"]["score"] for record in many}
        found[dataset, kernel, method] = {
            penalty: (1.0 - score) / (1.0 - first) for penalty, score in by_penalty.items()
        }
    return found


def view(records: Sequence[Record]) -> View:
    """Scores of copies, with few rows and with many, beside the paper's."""
    given = sorted({record["setting"]["alpha"] for record in records} - {HELD_OUT}, reverse=True)
    rows = []
    for (dataset, kernel, method), ends in _ends(records).items():
        row = [dataset, kernel, method, ends[0][0]["setting"]["n_components"]]
        for group, values in zip(ends, ([HELD_OUT], [HELD_OUT, *given]), strict=True):
            scores = {record["setting"]["alpha"]: _score(record) for record in group}
            row += [max(figures(group, "n_rows")), *(scores.get(value, "") for value in values)]
        rows.append([*row, paper()["prediction"].get(dataset, {}).get(kernel, {}).get(method, "")])
    with_given = [f"length scale 1, alpha / rows {value:g}" for value in given]
    columns = ["data", "kernel", "method", "features", "rows", "score", "rows", "score", *with_given, "paper"]
    return [Table("Scores with few rows and with many", columns, rows, "†: not converged.")], []


def _score(record: Record) -> str:
    found = record["figures"]
    return f"{100.0 * found['score']:.2f}" + "†" * (not found.get("converged", True))


def _ends(records: Sequence[Record]) -> dict[tuple[str, ...], tuple[list[Record], list[Record]]]:
    """Give of each copy the records with its least number of rows, and with its largest; of whole copies only."""
    found = {}
    for key, group in grouped(records, "dataset", "kernel", "method").items():
        sizes = figures(group, "n_rows")
        few, many = ([r for r in group if r["figures"]["n_rows"] == size] for size in (min(sizes), max(sizes)))
        if min(sizes) < max(sizes):
            found[key] = few, many
    return found
