"""How far a fitted map is from its kernel on given data, from random pairs of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from . import engine
from ._validation import Range, check_integer, check_number
from .kernels import Kernel

Array = NDArray[np.float64]

# Pairs that are taken at once, and numbers of their features.
_PAIRS_AT_ONCE, _NUMBERS_AT_ONCE = 1000, 1 << 24


@dataclass(frozen=True)
class ErrorEstimate:
    """Estimated relative Frobenius error of a kernel matrix, with its confidence interval."""

    error: float
    low: float
    high: float
    confidence: float
    n_pairs: int
    target: float | None = None
    #: Width that the target would need, estimated and at the upper end of the interval; None without a target.
    n_components: int | None = None
    n_components_high: int | None = None


def estimate_error(
    transform: Callable[[Any], NDArray[Any]],
    kernel: Kernel,
    X: Any,
    target: float | None,
    confidence: float,
    n_pairs: int,
) -> ErrorEstimate:
    """Estimate ``|K - Phi Phi^T|_F / |K|_F`` over the rows of X, with ``Phi = transform(X)``.

    Notes
    -----
    The squared error is a ratio of two means over all pairs of rows, the diagonal included, where K is 1 and the map
    exact. The means over different rows are taken from n_pairs independent random pairs, and the interval is
    the delta method's for the logarithm of the ratio. Errors fall as the square root of the number of frequencies,
    which gives the width for a target.
    """
    check_number("error_estimate", "confidence", confidence, Range(0.0, 1.0))
    check_integer("error_estimate", "n_pairs", n_pairs, 2)
    if target is not None:
        check_number("error_estimate", "target", target, Range(0.0))
    width = transform(X[:1]).shape[1]
    at_once = max(1, min(_PAIRS_AT_ONCE, _NUMBERS_AT_ONCE // width))
    squared_errors, squared_values, share = _sampled_pairs(transform, kernel, X, n_pairs, at_once)
    numerator = share * squared_errors
    denominator = 1.0 - share + share * squared_values
    ratio = numerator.mean() / denominator.mean()
    error, half = float(np.sqrt(ratio)), 0.0
    if ratio > 0.0:
        influence = numerator / numerator.mean() - denominator / denominator.mean()
        half = float(ndtri(0.5 + confidence / 2.0) * influence.std() / np.sqrt(n_pairs) / 2.0)
    low, high = error * float(np.exp(-half)), error * float(np.exp(half))
    needed = None if target is None else _width_for(target, error, width)
    needed_high = None if target is None else _width_for(target, high, width)
    return ErrorEstimate(error, low, high, confidence, n_pairs, target, needed, needed_high)


def _sampled_pairs(
    transform: Callable[[Any], NDArray[Any]], kernel: Kernel, X: Any, n_pairs: int, at_once: int
) -> tuple[Array, Array, float]:
    """Give squared errors and squared kernel values of random pairs, and the share of pairs off the diagonal."""
    n = X.shape[0]
    if n < 2:
        return np.zeros(n_pairs), np.ones(n_pairs), 0.0
    rng = np.random.default_rng(0)
    first = rng.integers(n, size=n_pairs)
    second = (first + rng.integers(1, n, size=n_pairs)) % n
    exact, errors = np.empty(n_pairs), np.empty(n_pairs)
    for rows in engine.schedule.slices(n_pairs, at_once):
        x, z = X[first[rows]], X[second[rows]]
        approximate = np.einsum("ij,ij->i", transform(x), transform(z), dtype=np.float64)
        dense = (x.toarray(), z.toarray()) if sparse.issparse(X) else (x, z)
        exact[rows] = kernel.paired(*dense)
        errors[rows] = approximate - exact[rows]
    return errors**2, exact**2, 1.0 - 1.0 / n


def _width_for(target: float, error: float, width: int) -> int:
    return 2 * max(1, int(np.ceil(width / 2 * (error / target) ** 2)))
