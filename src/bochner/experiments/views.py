"""From records to the tables and plots of an experiment, beside the paper's own figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .growth import GROWTHS
from .lookup import PUBLISHED, TOLERANCE, View, figures, grouped, has_fewer_rows, paper
from .measures import EXPONENT, NU, SCHEMES
from .records import Record
from .svg import Line, Plot
from .tables import Cell, Table, compared, mean_and_half_width, number_with_interval

_KERNELS = ("laplacian", "exponential-power", "matern")
#: What calibration errors must differ by.
_CALIBRATION_TOLERANCE = 0.005


def _in_order(values: Iterable[Any], order: Sequence[Any]) -> list[Any]:
    """Sort by an order; what it does not have comes last."""
    return sorted(set(values), key=lambda v: (order.index(v) if v in order else len(order), str(v)))


# --- errors -----------------------------------------------------------------------------------------------------------


def approximation(records: Sequence[Record]) -> View:
    """Errors over the number of features: one plot for each data set, kernel and norm; or over the exponent."""
    if any("exponent" in record["setting"] for record in records):
        return _over_exponents(records)
    plots = []
    for (dataset, kernel, norm), group in grouped(records, "dataset", "kernel", "norm").items():
        lines = _curves(group, "n_components", "method", list(SCHEMES))
        plots.append(Plot(f"{dataset}, {kernel}, {norm}", "features", "relative error", lines))
    return [_error_table(records)], plots


def _error_table(records: Sequence[Record]) -> Table:
    """Errors at the largest width, of all schemes."""
    methods = _in_order((r["setting"]["method"] for r in records), list(SCHEMES))
    rows = []
    for (dataset, kernel, norm), group in grouped(records, "dataset", "kernel", "norm").items():
        widest = max(r["setting"]["n_components"] for r in group)
        by_method = grouped((r for r in group if r["setting"]["n_components"] == widest), "method")
        errors = [figures(by_method.get((method,), []), "error") for method in methods]
        n_rows, n_seeds = max(figures(group, "n_rows")), max(map(len, errors))
        cells = [number_with_interval(e, 4) if e else "" for e in errors]
        rows.append([dataset, kernel, norm, n_rows, widest, n_seeds, *cells])
    columns = ["data", "kernel", "norm", "rows", "features", "seeds", *methods]
    note = (
        "With 95 % intervals of the mean over seeds (Student's). A seed draws radii that all data sets share: one seed "
        "says little of a scheme."
    )
    return Table("Relative error of the kernel matrix, at the largest width", columns, rows, note)


def _over_exponents(records: Sequence[Record]) -> View:
    plots, rows = [], []
    for (dataset, width), group in grouped(records, "dataset", "n_components").items():
        lines = _curves(group, "exponent", "dtype", ["float32", "float64"])
        plots.append(Plot(f"{dataset}, {width} features", "exponent", "relative error", lines))
        for (exponent,), at_one in sorted(grouped(group, "exponent").items()):
            by_type = grouped(at_one, "dtype")
            errors = [figures(by_type.get((dtype,), []), "error") for dtype in ("float32", "float64")]
            rows.append([dataset, width, exponent, *(number_with_interval(e, 4) if e else "" for e in errors)])
    columns = ["data", "features", "exponent", "float32", "float64"]
    return [Table("Relative error over the exponent of the exponential power", columns, rows)], plots


def _curves(records: Sequence[Record], x: str, of: str, order: Sequence[str], y: str = "error") -> list[Line]:
    by_label = grouped(records, of)
    lines = []
    for label in _in_order((key[0] for key in by_label), order):
        points = sorted(grouped(by_label[(label,)], x).items())
        summed = [mean_and_half_width(figures(group, y)) for _, group in points]
        lines.append(Line(label, [key[0] for key, _ in points], [m for m, _ in summed], [h for _, h in summed]))
    return lines


# --- speed ------------------------------------------------------------------------------------------------------------


def speed(records: Sequence[Record]) -> View:
    """Speed-ups against scikit-learn and against the exact kernel here, with the errors of the features."""
    rows, plots = [], []
    for (dataset, nu), group in grouped(records, "dataset", "nu").items():
        lines, beside_exact = [], []
        for (method,), of_method in grouped(group, "method").items():
            points = sorted(grouped(of_method, "n_components").items())
            gains = [_best(g, "scikit-learn seconds") / _best(g, "features seconds") for _, g in points]
            errors = [mean_and_half_width(figures(g, "error"))[0] for _, g in points]
            lines.append(Line(method, errors, gains))
            of_exact = [_best(g, "exact seconds") / _best(g, "features seconds") for _, g in points]
            beside_exact.append(Line(method, errors, of_exact))
            for ((width,), g), gain, error in zip(points, gains, errors, strict=True):
                exact = _best(g, "scikit-learn seconds") / _best(g, "exact seconds")
                agree = max(figures(g, "exact error"))
                gains_of_one = [f"{gain:.1f}", f"{exact:.1f}", f"{gain / exact:.2f}"]
                rows.append([dataset, nu, method, width, f"{error:.4f}", *gains_of_one, f"{agree:.1e}"])
        title = f"{dataset}, nu = {nu}"
        plots.append(Plot(title, "relative error", "times faster than scikit-learn", lines))
        plots.append(Plot(title, "relative error", "times faster than exact here", beside_exact))
    columns = [
        "data",
        "nu",
        "method",
        "features",
        "error",
        "features: times faster",
        "exact here: times faster",
        "features against exact here",
        "differs by",
    ]
    note = (
        "Against scikit-learn's Matern; features with their product of all pairs. Below 1, features are slower than "
        "the exact matrix here. The last column is the largest difference between the two exact matrices. The paper's "
        "figures are plots without numbers, of 10,000 rows."
    )
    return [Table("Matrices of the Matérn kernel", columns, rows, note)], plots


def _best(records: Sequence[Record], name: str) -> float:
    return min(figures(records, name))


# --- predictions ------------------------------------------------------------------------------------------------------


def prediction(records: Sequence[Record]) -> View:
    """Scores of exact and approximate machines beside the paper's."""
    methods = _in_order((r["setting"]["method"] for r in records), ["exact", *SCHEMES])
    columns = ["data", "kernel"]
    for method in methods:
        columns += [f"{method}, paper", method] if method in PUBLISHED else [method]
    rows, details = [], []
    by_pair = grouped(records, "dataset", "kernel")
    for dataset in _in_order((key[0] for key in by_pair), list(paper()["prediction"])):
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
    peaks = [record["peak MB"] for record in group if record["peak MB"] is not None]
    return [
        dataset,
        kernel,
        method,
        len(group),
        f"{np.std(scores, ddof=1):.2f}" if len(scores) > 1 else "",
        paper()["deviation"].get(dataset, {}).get(kernel, {}).get(method, ""),
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


# --- calibration ------------------------------------------------------------------------------------------------------


def calibration(records: Sequence[Record]) -> View:
    """Calibration errors and accuracies by loss and method beside the paper's, and how much quicker features are."""
    columns = ["data", "kernel", "fit", "ECE, paper", "ECE", "accuracy", "seconds", "times faster than exact", "rows"]
    rows = []
    for (dataset, kernel), group in grouped(records, "dataset", "kernel").items():
        by_fit = grouped(group, "loss", "method")
        published = paper()["calibration"].get(dataset, {}).get(kernel, {})
        exact = by_fit.get(("log_loss", "exact"))
        for (loss, method), of_fit in by_fit.items():
            name = f"{loss}-{method}"
            # The paper's figure of squared errors is that of the softmax of the scores.
            errors = figures(of_fit, "ece of softmax") or figures(of_fit, "ece")
            seconds = mean_and_half_width(figures(of_fit, "fit seconds"))[0]
            gain = mean_and_half_width(figures(exact, "fit seconds"))[0] / seconds if exact else None
            rows.append(
                [
                    dataset,
                    kernel,
                    name,
                    published.get(name, ""),
                    _calibration_error(errors, published.get(name), loss),
                    number_with_interval([100.0 * s for s in figures(of_fit, "score")], 2),
                    f"{seconds:.1f}",
                    f"{gain:.1f}" if gain and loss == "log_loss" and method != "exact" else "",
                    max(figures(of_fit, "n_rows")),
                ]
            )
            if loss == "squared_error":
                clipped = number_with_interval(figures(of_fit, "ece"), 4)
                rows.append([dataset, kernel, f"{name}, scores clipped", "", Cell(clipped), "", "", "", ""])
    note = (
        "Expected calibration error of the top label, 15 bins; of squared errors by the softmax of the scores. ▲ ▼: "
        f"less or more than the paper's by more than {_CALIBRATION_TOLERANCE}. Seconds include tuning. The paper has "
        "no figures of accuracy and time; it says that accuracies are nearly the same, and that features are up to "
        f"{paper()['claims']['times faster']} times faster than its exact machines, which are not these."
    )
    return [Table("Calibration", columns, rows, note)], []


def _calibration_error(errors: Sequence[float], published: float | None, loss: str) -> Cell:
    """Mark what is better or worse; by the softmax of scores that are no logits, only an accuracy would be told."""
    return compared(errors, None if loss == "squared_error" else published, 4, _CALIBRATION_TOLERANCE, higher=False)


def penalties(records: Sequence[Record]) -> View:
    """Calibration errors by penalty, beside the paper's."""
    values = sorted({record["setting"]["alpha"] for record in records}, reverse=True)
    rows, distances = [], []
    for (dataset, kernel, method), group in grouped(records, "dataset", "kernel", "method").items():
        published = paper()["calibration"].get(dataset, {}).get(kernel, {}).get(f"log_loss-{method}", "")
        by_value = grouped(group, "alpha")
        cells = [_error_and_accuracy(by_value.get((value,), [])) for value in values]
        rows.append([dataset, kernel, method, max(figures(group, "n_rows")), *cells, published])
        if published != "":
            distances.append(min(abs(error - published) for error in figures(group, "ece")))
    columns = ["data", "kernel", "method", "rows", *(f"alpha / rows {value:g}" for value in values), "ECE, paper"]
    note = (
        "Expected calibration errors, with accuracies (times 100) in brackets, by the penalty. One of the penalties "
        f"has the paper's figure, within {_CALIBRATION_TOLERANCE}, in "
        f"{sum(distance <= _CALIBRATION_TOLERANCE for distance in distances)} of {len(distances)} cases."
    )
    return [Table("Errors by penalty", columns, rows, note)], []


def _error_and_accuracy(records: Sequence[Record]) -> str:
    errors, scores = figures(records, "ece"), [100.0 * score for score in figures(records, "score")]
    return f"{number_with_interval(errors, 3)} ({number_with_interval(scores, 1)})" if errors else ""


# --- choices ----------------------------------------------------------------------------------------------------------


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


KINDS: dict[str, Callable[[Sequence[Record]], View]] = {
    "approximation": approximation,
    "speed": speed,
    "prediction": prediction,
    **GROWTHS,
    "calibration": calibration,
    "penalties": penalties,
    "choices": choices,
    "smoothness": smoothness,
    "epochs": epochs,
}
