"""How far probabilities can be trusted, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence

from ..lookup import View, figures, grouped, paper
from ..records import Record
from ..tables import Cell, Table, compared, mean_and_half_width, number_with_interval

#: What calibration errors must differ by to be called better or worse.
_TOLERANCE = 0.005


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
        f"less or more than the paper's by more than {_TOLERANCE}. Seconds include tuning. The paper has "
        "no figures of accuracy and time; it says that accuracies are nearly the same, and that features are up to "
        f"{paper()['claims']['times faster']} times faster than its exact machines, which are not these."
    )
    return [Table("Calibration", columns, rows, note)], []


def _calibration_error(errors: Sequence[float], published: float | None, loss: str) -> Cell:
    """Mark what is better or worse; by the softmax of scores that are no logits, only an accuracy would be told."""
    return compared(errors, None if loss == "squared_error" else published, 4, _TOLERANCE, higher=False)


def penalties(records: Sequence[Record]) -> View:
    """Calibration errors by penalty, beside the paper's."""
    values = sorted({record["setting"]["alpha"] for record in records}, reverse=True)
    rows, ways = [], []
    for (dataset, kernel, method), group in grouped(records, "dataset", "kernel", "method").items():
        published = paper()["calibration"].get(dataset, {}).get(kernel, {}).get(f"log_loss-{method}", "")
        by_value = grouped(group, "alpha")
        cells = [_error_and_accuracy(by_value.get((value,), [])) for value in values]
        rows.append([dataset, kernel, method, max(figures(group, "n_rows")), *cells, published])
        if published != "":
            ways.append(_way_to(published, figures(group, "ece")))
    columns = ["data", "kernel", "method", "rows", *(f"alpha / rows {value:g}" for value in values), "ECE, paper"]
    note = (
        "Expected calibration errors, with accuracies (times 100) in brackets, by the penalty. One of the penalties "
        f"has the paper's figure, within {_TOLERANCE}, in {ways.count('near')} of {len(ways)} cases; in "
        f"{ways.count('between')} more it is between two of them."
    )
    return [Table("Errors by penalty", columns, rows, note)], []


def _way_to(published: float, errors: Sequence[float]) -> str:
    """Say whether one of the errors is near to the paper's figure, or between two of them."""
    if min(abs(error - published) for error in errors) <= _TOLERANCE:
        return "near"
    return "between" if min(errors) < published < max(errors) else "neither"


def _error_and_accuracy(records: Sequence[Record]) -> str:
    errors, scores = figures(records, "ece"), [100.0 * score for score in figures(records, "score")]
    return f"{number_with_interval(errors, 3)} ({number_with_interval(scores, 1)})" if errors else ""
