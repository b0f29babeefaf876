"""Scores by what the paper does not say: length scales and penalties, smoothness, epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lookup import View, figures, grouped, paper
from ..records import Record
from ..tables import Table, number_with_interval


def choices(records: Sequence[Record]) -> View:
    """Scores with given length scales and penalties, beside what is chosen, and the paper's."""
    rows = []
    for record in records:
        setting, found = record["setting"], record["figures"]
        published = paper()["prediction"].get(setting["dataset"], {}).get(setting["kernel"], {})
        rows.append(
            [
                setting["dataset"],
                setting["kernel"],
                setting["method"],
                setting.get("n_components", ""),
                found["n_rows"],
                f"{found['length scale']:.3g}" + (" (auto)" if setting["length_scale"] == "auto" else ""),
                f"{found['alpha'] / found['n_rows']:.1e}" + (" (auto)" if setting["alpha"] == "auto" else ""),
                f"{100.0 * found['score']:.2f}",
                published.get(setting["method"], ""),
                "yes" if found["converged"] else "no",
            ]
        )
    columns = [
        "data",
        "kernel",
        "method",
        "features",
        "rows",
        "length scale",
        "alpha / rows",
        "score",
        "paper",
        "converged",
    ]
    return [Table("Scores by length scale and penalty", columns, rows)], []


def _scores_by(name: str, values: Sequence[Any], records: Sequence[Record]) -> list[str]:
    """Give the scores, times 100, for each value of something."""
    by_value = grouped(records, name)
    scores = [figures(by_value.get((value,), []), "score") for value in values]
    return [number_with_interval([100.0 * s for s in found], 2) if found else "" for found in scores]


def smoothness(records: Sequence[Record]) -> View:
    """Scores of the Matérn kernel by its nu, beside the paper's two figures."""
    values = sorted({record["setting"]["nu"] for record in records})
    rows = []
    for (dataset,), group in grouped(records, "dataset").items():
        published, cells = paper()["prediction"].get(dataset, {}), _scores_by("nu", values, group)
        of_paper = [published.get(kernel, {}).get("exact", "") for kernel in ("laplacian", "matern")]
        rows.append([dataset, max(figures(group, "n_rows")), *cells, *of_paper])
    columns = ["data", "rows", *(f"nu = {nu}" for nu in values), "laplacian, paper", "matern, paper"]
    return [Table("Scores by nu", columns, rows)], []


def epochs(records: Sequence[Record]) -> View:
    """Scores after some epochs of exact machines, beside the paper's."""
    counts = sorted({record["setting"]["epochs"] for record in records})
    rows = []
    groups = grouped(records, "dataset", "kernel", "n_rows", "length_scale")
    for (dataset, kernel, _, length_scale), group in groups.items():
        cells = _scores_by("epochs", counts, group)
        published = paper()["prediction"].get(dataset, {}).get(kernel, {})
        n_rows = max(figures(group, "n_rows"))
        rows.append([dataset, kernel, n_rows, length_scale, *cells, published.get("exact", "")])
    after_some = [f"{n} epoch{'s' if n > 1 else ''}" for n in counts]
    columns = ["data", "kernel", "rows", "length scale", *after_some, "exact, paper"]
    return [Table("Scores after some epochs", columns, rows)], []
