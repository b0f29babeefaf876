"""Whether probabilities and predicted deviations are as often right as they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._validation import Range, check_choice, check_number, invalid
from .reliability import ReliabilityCurve, as_predictions, as_vector, in_bins, reliability_curve

__all__ = [
    "IntervalCoverage",
    "ReliabilityCurve",
    "brier_score",
    "expected_calibration_error",
    "interval_coverage",
    "negative_log_likelihood",
    "reliability_curve",
]

Array = NDArray[np.float64]

KINDS = ("top_label", "classwise")


def expected_calibration_error(
    y: Any,
    proba: Any,
    n_bins: int = 15,
    *,
    strategy: str = "uniform",
    kind: str = "top_label",
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """Compute the mean distance of predicted and observed frequencies over bins of the predicted ones.

    Parameters
    ----------
    y, proba, n_bins, strategy, labels, sample_weight
        As in `reliability_curve`.
    kind : {"top_label", "classwise"}, default="top_label"
        The largest probability of each row against the accuracy, or each class against the others, and the mean over
        the classes.

    Returns
    -------
    error : float
        Between 0, calibrated in every bin, and 1.

    Notes
    -----
    With the share ``w_m`` of rows, the accuracy ``a_m`` and the mean confidence ``c_m`` of bin m, the error is
    ``sum_m w_m |a_m - c_m|``: Naeini, Cooper and Hauskrecht (2015), "Obtaining well calibrated probabilities using
    Bayesian binning", and Guo et al. (2017). The classwise one is that of Kull et al. (2019), "Beyond temperature
    scaling", the bins of equal mass are those of Nixon et al. (2019), "Measuring calibration in deep learning".

    The noise of the bins does not cancel: on n rows, a perfectly calibrated classifier has an error of up to
    ``0.4 sqrt(n_bins / n)`` in the mean. Compare errors only for the same rows and bins.

    Examples
    --------
    A classifier that is always sure of 90% and right in 6 of 10 rows is off by 30%:

    >>> from bochner.diagnostics import expected_calibration_error
    >>> expected_calibration_error([1] * 6 + [0] * 4, [0.9] * 10)
    0.3
    """
    owner = "expected_calibration_error"
    check_choice(owner, "kind", kind, KINDS)
    rows = as_predictions(owner, y, proba, labels, sample_weight)
    all_classes = range(len(rows.classes))
    pairs = [rows.top_label()] if kind == "top_label" else [rows.one_class(k) for k in all_classes]
    curves = [in_bins(owner, score, true, rows.weight, n_bins, strategy) for score, true in pairs]
    return float(np.mean([curve.expected_calibration_error for curve in curves]))


def brier_score(y: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Compute the mean squared distance of the predicted probabilities from the truth; lower is better.

    Parameters
    ----------
    y, proba, labels, sample_weight
        As in `reliability_curve`.

    Returns
    -------
    score : float
        Between 0 and 2.

    Notes
    -----
    The mean over the rows i of ``sum_k (p_ik - [y_i = k])^2``: Brier (1950), "Verification of forecasts expressed in
    terms of probability". With two classes both terms are equal, and scikit-learn's ``brier_score_loss`` counts one of
    them: this score is twice that one.

    Examples
    --------
    >>> from bochner.diagnostics import brier_score
    >>> brier_score(["cat", "dog"], [[0.9, 0.1], [0.5, 0.5]])
    0.26
    """
    rows = as_predictions("brier_score", y, proba, labels, sample_weight)
    errors = rows.proba.copy()
    errors[np.arange(len(errors)), rows.truth] -= 1.0
    return float(np.average(np.einsum("ij,ij->i", errors, errors), weights=rows.weight))


def negative_log_likelihood(y: Any, proba: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Compute the mean of the negative logarithm of the probability that the truth had; lower is better.

    Parameters
    ----------
    y, proba, labels, sample_weight
        As in `reliability_curve`.

    Returns
    -------
    loss : float
        At least 0, and infinite if a true class had the probability 0.

    Notes
    -----
    The mean over the rows i of ``-log p_{i, y_i}``: Good (1952), "Rational decisions". scikit-learn's ``log_loss`` is
    the same, but moves probabilities away from 0, so that it is finite.

    Examples
    --------
    >>> from bochner.diagnostics import negative_log_likelihood
    >>> negative_log_likelihood([0, 1], [0.5, 0.5])
    0.693
    >>> negative_log_likelihood([0, 1], [0.5, 0.0])
    inf
    """
    rows = as_predictions("negative_log_likelihood", y, proba, labels, sample_weight)
    with np.errstate(divide="ignore"):  # the logarithm of 0 is meant
        losses = -np.log(rows.proba[np.arange(len(rows.truth)), rows.truth])
    return float(np.average(losses, weights=rows.weight))


@dataclass(frozen=True, eq=False)
class IntervalCoverage:
    """How often predicted intervals hold the truth, with a confidence interval for that share."""

    #: The levels asked for.
    levels: Array
    #: Share of rows inside the interval of each level.
    coverage: Array
    #: Ends of the confidence interval of each share.
    low: Array
    high: Array
    confidence: float


def interval_coverage(
    y: Any, mean: Any, std: Any, levels: Any = (0.5, 0.8, 0.9, 0.95), *, confidence: float = 0.95
) -> IntervalCoverage:
    """Count how often the central Gaussian intervals of a regressor hold the truth.

    Parameters
    ----------
    y : array of shape (n,)
        The true values.
    mean, std : arrays of shape (n,)
        The predicted means and standard deviations; those of ``y``, its noise included.
    levels : sequence of float, default=(0.5, 0.8, 0.9, 0.95)
        The probabilities of the intervals, between 0 and 1.
    confidence : float, default=0.95
        The probability with which ``low`` and ``high`` enclose the coverage on infinitely many rows.

    Returns
    -------
    coverage : IntervalCoverage
        A level that is not between ``low`` and ``high`` is evidence that ``std`` is too small or too large.

    Notes
    -----
    The interval of level l is ``mean +- z std``, ends included, with the normal quantile z of ``(1 + l) / 2``. The
    confidence interval is the one of Wilson (1927), "Probable inference, the law of succession, and statistical
    inference", which also holds near 0 and 1. It takes the rows as independent.

    Examples
    --------
    Deviations that are half of what they should be:

    >>> import numpy as np
    >>> from bochner.diagnostics import interval_coverage
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> result = interval_coverage(y, np.zeros(1000), np.full(1000, 0.5), levels=(0.5, 0.95))
    >>> result.coverage.round(2), result.low.round(2), result.high.round(2)
    (array([0.26, 0.68]), array([0.24, 0.65]), array([0.29, 0.71]))
    """
    owner = "interval_coverage"
    truth = as_vector(owner, "y", y)
    centre, deviation = as_vector(owner, "mean", mean, len(truth)), as_vector(owner, "std", std, len(truth))
    if deviation.min() <= 0.0:
        raise ValueError(f"The 'std' argument of {owner} must be greater than 0. Its smallest is {deviation.min():g}.")
    wanted = _levels(owner, levels)
    check_number(owner, "confidence", confidence, Range(0.0, 1.0))
    inside = np.abs(truth - centre) <= ndtri(0.5 + wanted[:, None] / 2.0) * deviation
    low, high = _wilson(inside.sum(axis=1), len(truth), confidence)
    return IntervalCoverage(wanted, inside.mean(axis=1), low, high, float(confidence))


def _levels(owner: str, levels: Any) -> Array:
    """Check that the levels are numbers between 0 and 1, at least one."""
    wanted = np.ravel(np.asarray(levels, dtype=object)).tolist()
    if not wanted:
        raise invalid(owner, "levels", "at least one number greater than 0 and less than 1", levels)
    return np.array([check_number(owner, "levels", level, Range(0.0, 1.0)) for level in wanted])


def _wilson(successes: NDArray[np.intp], n: int, confidence: float) -> tuple[Array, Array]:
    z = ndtri(0.5 + confidence / 2.0)
    centre = (successes + z**2 / 2.0) / (n + z**2)
    half = z * np.sqrt(successes * (n - successes) / n + z**2 / 4.0) / (n + z**2)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
