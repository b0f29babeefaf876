"""Labels of classes: checked, turned into codes 0, 1, ... and into targets, and weighted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from .._validation import Range, invalid, is_number
from .inputs import require_targets, weights_of, with_weight

Array = NDArray[Any]
_WEIGHTS = Range(0.0, includes_low=True)


def labelled_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Any, Array, Array | None]:
    """Check y and the weights; give the classes, the rows that have weight, their codes and their weights."""
    classes, codes = classes_and_codes(estimator, y, X)
    weights = weights_by_class(estimator, sample_weight, X, classes, codes)
    return classes, *with_weight(X, codes, weights)


def classes_and_codes(estimator: Any, y: Any, X: Any) -> tuple[Array, Array]:
    """Check y and give the classes and the code of each row."""
    require_targets(estimator, y)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    check_consistent_length(X, y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes, but y has one class only: {classes.tolist()[0]!r}."
        )
    return classes, codes


def declared_classes(estimator: Any, classes: Any, first: bool) -> Array:
    """Check the classes given to `partial_fit`: needed in the first call, unchanged in later ones."""
    if not first:
        known = estimator.classes_
        if classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"The classes {np.unique(classes)!r} are not those of the first call, {known!r}.")
        return known
    classes = getattr(estimator, "classes_", None) if classes is None else classes
    if classes is None:
        raise ValueError("The 'classes' argument must be given in the first call of partial_fit.")
    declared = np.unique(column_or_1d(classes))
    assert_all_finite(declared, input_name="classes")
    if len(declared) < 2:
        raise ValueError(f"{type(estimator).__name__} needs at least two classes. Got {declared!r}.")
    return declared


def codes_among(estimator: Any, classes: Array, y: Any, X: Any) -> Array:
    """Check the labels of one call of `partial_fit` and give the code of each row."""
    require_targets(estimator, y)
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(f"y has labels that were not declared in the first call of partial_fit: {unknown!r}.")
    return np.searchsorted(classes, y)


def indicators(codes: Array, n_classes: int) -> Array:
    """Give one column for each class, or for two classes one column of -1 and 1."""
    if n_classes == 2:
        return 2.0 * codes[:, None] - 1.0
    return np.eye(n_classes)[codes]


def weights_by_class(estimator: Any, sample_weight: Any, X: Any, classes: Array, codes: Array) -> Array | None:
    """Multiply the weights of the rows by those of their classes."""
    weights = weights_of(estimator, sample_weight, X)
    if estimator.class_weight is None:
        return weights
    weights = np.ones(len(codes)) if weights is None else weights
    weights = weights * weights_of_classes(estimator, classes, codes, weights)[codes]
    if not weights.any():
        raise ValueError(f"The weights of {type(estimator).__name__}, by rows and classes, must not be all zero.")
    return weights


def weights_of_classes(estimator: Any, classes: Array, codes: Array, weights: Array) -> Array:
    """Give the weight of each class, as the estimator has it: "balanced" by what the rows of each weigh."""
    given = estimator.class_weight
    if isinstance(given, str) and given == "balanced":
        totals = np.bincount(codes, weights=weights, minlength=len(classes))
        return np.divide(totals.sum() / len(classes), totals, out=np.zeros(len(classes)), where=totals > 0.0)
    if not isinstance(given, dict) or not all(is_number(w) and float(w) in _WEIGHTS for w in given.values()):
        raise invalid(estimator, "class_weight", "None, 'balanced' or a dict of finite non-negative numbers", given)
    unknown = [label for label in given if label not in classes]
    if unknown:
        raise ValueError(
            f"The 'class_weight' of {type(estimator).__name__} names classes that are not there: {unknown}."
        )
    return np.array([given.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)
