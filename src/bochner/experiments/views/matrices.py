"""Errors and times of kernel matrices."""

from __future__ import annotations

from collections.abc import Sequence

from ..lookup import View, figures, grouped, in_order
from ..measures import SCHEMES
from ..records import Record
from ..svg import Line, Plot
from ..tables import Table, mean_and_half_width, number_with_interval

#: The group of matrices without features.
_EXACT = ("exact",)


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
    methods = in_order((r["setting"]["method"] for r in records), list(SCHEMES))
    rows = []
    for (dataset, kernel, norm), group in grouped(records, "dataset", "kernel", "norm").items():
        widest = max(r["setting"]["n_components"] for r in group)
        by_method = grouped((r for r in group if r["setting"]["n_components"] == widest), "method")
        errors = [figures(by_method.get((method,), []), "error") for method in methods]
        n_rows, n_seeds = max(figures(group, "n_rows")), _from_to([len(e) for e in errors if e])
        cells = [number_with_interval(e, 4) if e else "" for e in errors]
        rows.append([dataset, kernel, norm, n_rows, widest, n_seeds, *cells])
    columns = ["data", "kernel", "norm", "rows", "features", "seeds", *methods]
    note = (
        "With 95 % intervals of the mean over seeds (Student's). A seed draws radii that all data sets share: one seed "
        "says little of a scheme."
    )
    return Table("Relative error of the kernel matrix, at the largest width", columns, rows, note)


def _from_to(counts: Sequence[int]) -> str:
    """Say how many seeds the cells of a row have."""
    return " to ".join(dict.fromkeys(f"{count}" for count in (min(counts), max(counts))))


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
    for label in in_order((key[0] for key in by_label), order):
        points = sorted(grouped(by_label[(label,)], x).items())
        summed = [mean_and_half_width(figures(group, y)) for _, group in points]
        lines.append(Line(label, [key[0] for key, _ in points], [m for m, _ in summed], [h for _, h in summed]))
    return lines


def speed(records: Sequence[Record]) -> View:
    """Speed-ups against scikit-learn and against the exact kernel here, with the errors of the features."""
    rows, plots = [], []
    for (dataset, nu), group in grouped(records, "dataset", "nu").items():
        by_method = grouped(group, "method")
        if _EXACT not in by_method:
            continue
        exact = by_method.pop(_EXACT)
        of_peer, of_ours = _best(exact, "scikit-learn seconds"), _best(exact, "seconds of matrix")
        peer, ours = [], []
        for (method,), of_method in by_method.items():
            points = sorted(grouped(of_method, "n_components").items())
            seconds = [_best(g, "seconds of matrix") for _, g in points]
            errors = [mean_and_half_width(figures(g, "error"))[0] for _, g in points]
            peer.append(Line(method, errors, [of_peer / s for s in seconds]))
            ours.append(Line(method, errors, [of_ours / s for s in seconds]))
            for ((width,), g), s in zip(points, seconds, strict=True):
                drawn = s + _best(g, "drawing seconds")
                gains = [
                    f"{of_peer / s:.1f}",
                    f"{of_peer / drawn:.1f}",
                    f"{of_peer / of_ours:.1f}",
                    f"{of_ours / s:.2f}",
                ]
                error, agree = number_with_interval(figures(g, "error"), 4), max(figures(exact, "largest difference"))
                rows.append([dataset, nu, method, width, len(g), error, *gains, f"{agree:.1e}"])
        title = f"{dataset}, nu = {nu}"
        plots.append(Plot(title, "relative error", "times faster than scikit-learn", peer))
        plots.append(Plot(title, "relative error", "times faster than exact here", ours))
    columns = [
        "data",
        "nu",
        "method",
        "features",
        "seeds",
        "error",
        "features: times faster",
        "with drawing: times faster",
        "exact here: times faster",
        "features against exact here",
        "differs by",
    ]
    note = (
        "Against scikit-learn's Matern; features with their product of all pairs; the least time of some runs. "
        "Frequencies are drawn once, for any number of rows: their time is in the next column only. Below 1, features "
        "are slower than the exact matrix here. The last column is the largest difference between the two exact "
        "matrices. The paper's figures are plots without numbers, of 10,000 rows too. What is shown has the exact "
        "matrices measured."
    )
    return [Table("Matrices of the Matérn kernel", columns, rows, note)], plots


def _best(records: Sequence[Record], name: str) -> float:
    return min(figures(records, name))
