"""Scores of exact machines and features, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..lookup import PUBLISHED, TOLERANCE, View, deviation, figures, grouped, has_fewer_rows, in_order, paper
from ..measures import EXPONENT, NU, SCHEMES
from ..records import Record
from ..svg import Line, Plot
from ..tables import Cell, Table, compared, mean_and_half_width

_KERNELS = ("laplacian", "exponential-power", "matern")


def prediction(records: Sequence[Record]) -> View:
    """Scores of exact and approximate machines beside the paper's."""
    methods = in_order((r["setting"]["method"] for r in records), ["exact", *SCHEMES])
    columns = ["data", "kernel"]
    for method in methods:
        columns += [f"{method}, paper", method] if method in PUBLISHED else [method]
    rows, details = [], []
    by_pair = grouped(records, "dataset", "kernel")
    for dataset in in_order((key[0] for key in by_pair), list(paper()["prediction"])):
        for kernel in _KERNELS:
            group = grouped(by_pair.get((dataset, kernel), []), "method")
            if not group:
                continue
            published = paper()["prediction"].get(dataset, {}).get(kernel, {})
            row: list[Any] = [dataset, kernel]
            for method in methods:
                scores = [100.0 * s for s in figures(group.get((method,), []), "score")]
                if method in PUBLISHED:
                    row.append(published.get(method, ""))
                row.append(_score(scores, published.get(method), _rows_if_fewer(group[(method,)])) if scores else "")
            rows.append(row)
            details += [_details(dataset, kernel, method, group[(method,)]) for method in methods if (method,) in group]
    note = (
        "Test accuracy or R2, times 100, with 95 % intervals of the mean over seeds (Student's). Seeds draw features, "
        "and the rows of trials where each chooses for itself; the data are the same for all. Numbers of rows are said "
        "where they are less than three quarters of the paper's. ▲ ▼: by more than half a point. Exponential power "
        f"{EXPONENT} and Matérn nu = {NU} are the paper's for its calibration, since it gives none for this table."
    )
    table = Table("Exact kernel machines and random features", columns, rows, note)
    names = [
        "data",
        "kernel",
        "method",
        "seeds",
        "std",
        "std, paper",
        "rows",
        "features",
        "length scale",
        "alpha",
        "chosen by",
        "solver",
        "converged",
        "seconds",
        "cores",
        "MB",
    ]
    how = (
        "Standard deviations of the score over seeds: of the features alone where the first seed chose for all, to "
        "save time. Seconds, tuning included, and memory: the largest over the seeds. Length scale, penalty and solver "
        "are those of the first."
    )
    return [table, Table("How these were fitted", names, details, how)], _beside_exact(records)


def _beside_exact(records: Sequence[Record]) -> list[Plot]:
    """Errors of features over those of the exact machines, a point for each data set (the paper's figures 2 and 3)."""
    plots = []
    for (kernel,), group in grouped(records, "kernel").items():
        errors = {
            key: 1.0 - mean_and_half_width(figures(of_one, "score"))[0]
            for key, of_one in grouped(group, "dataset", "method").items()
        }
        exact = sorted((error, dataset) for (dataset, method), error in errors.items() if method == "exact")
        lines = []
        for method in PUBLISHED:
            points = [(error, errors[dataset, method]) for error, dataset in exact if (dataset, method) in errors]
            lines += [Line(method, *zip(*points, strict=True))] if points else []
        if lines:
            plots.append(Plot(kernel, "1 - score of the exact machine", "1 - score", lines))
    return plots


def _rows_if_fewer(records: Sequence[Record]) -> str:
    """Say how many rows a method had, if the paper has noticeably more."""
    return f" ({max(figures(records, 'n_rows')):,} rows)" if has_fewer_rows(records) else ""


def _score(scores: Sequence[float], published: float | None, addition: str) -> Cell:
    cell = compared(scores, published, 2, TOLERANCE)
    return replace(cell, text=cell.text + addition)


def _details(dataset: str, kernel: str, method: str, group: Sequence[Record]) -> list[Any]:
    found, scores = group[0]["figures"], [100.0 * score for score in figures(group, "score")]
    of_paper = deviation(dataset, kernel, method)
    peaks = [record["peak MB"] for record in group if record["peak MB"] is not None]
    return [
        dataset,
        kernel,
        method,
        len(group),
        f"{np.std(scores, ddof=1):.2f}" if len(scores) > 1 else "",
        "" if of_paper is None else of_paper,
        found["n_rows"],
        group[0]["setting"].get("n_components", ""),
        f"{found['length scale']:.3g}",
        f"{found['alpha']:.2g}",
        "the first seed" if any("choices_of_seed" in record["setting"] for record in group) else "each seed",
        found["solver"],
        "yes" if all(figures(group, "converged")) else "no",
        f"{max(figures(group, 'fit seconds')):.1f}",
        ", ".join(str(n) for n in sorted({record["cores"] for record in group})),
        f"{max(peaks):.0f}" if peaks else "",
    ]
