"""Checks of targets and weights; whatever is wrong is said before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_array, check_consistent_length

Array = NDArray[Any]

#: Relative spread of targets that may be rounding: of single precision, whatever they come in now.
_ROUNDINGS = 1e-6


def regression_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None, bool]:
    """Check y and the weights; give the rows that have weight, (n, k) targets, weights, and whether y is a vector."""
    targets, flat = targets_of(estimator, y, X)
    return *with_weight(X, targets, weights_of(estimator, sample_weight, X)), flat


def targets_of(estimator: Any, y: Any, X: Any) -> tuple[Array, bool]:
    """Check y and give it as (n, k), and whether it came as a vector."""
    require_targets(estimator, y)
    checked = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=estimator)
    if checked.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions. Got shape {checked.shape}.")
    check_consistent_length(X, checked)
    return checked.reshape(len(checked), -1), checked.ndim == 1


def units_of(targets: Array, weights: Array | None) -> Array:
    """Give a power of two for each target, about its spread; see `units_about`."""
    first = _power_of_two(abs(targets).max(axis=0))
    scaled = targets / first  # whose sums do not overflow
    mean = np.average(scaled, axis=0, weights=weights)
    return first * units_about(np.average(abs(scaled - mean), axis=0, weights=weights), abs(mean))


def units_about(spread: Array, mean: Array) -> Array:
    """Give a power of two for each target, about its spread, or where that is rounding beside the mean, about this.

    Divided by these, targets are comparable with each other, and no digit of them changes.
    """
    return _power_of_two(np.where(spread <= _ROUNDINGS * mean, mean, spread))


def _power_of_two(numbers: Array) -> Array:
    return np.asarray(np.ldexp(0.5, np.frexp(numbers)[1]))


def require_targets(estimator: Any, y: Any) -> None:
    """Raise if there is no y at all."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")


def weights_of(estimator: Any, sample_weight: Any, X: Any) -> Array | None:
    """Check the weights of the rows."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weights < 0.0).any():
        raise ValueError(
            f"The 'sample_weight' argument of {type(estimator).__name__} must not be negative. "
            f"Got {weights.min():g} as its least entry."
        )
    if not weights.any():
        raise ValueError(f"The 'sample_weight' argument of {type(estimator).__name__} must not be all zero.")
    return weights


def with_weight(X: Any, targets: Array, weights: Array | None) -> tuple[Any, Array, Array | None]:
    """Leave out the rows without weight: they are not there."""
    if weights is None or (weights > 0.0).all():
        return X, targets, weights
    rows = weights > 0.0
    return X[rows], targets[rows], weights[rows]
