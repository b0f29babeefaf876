"""The reliability curve, and its diagram in the manner of scikit-learn's displays.

matplotlib is asked for only when the diagram is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._validation import as_points, check_choice, check_integer, invalid

__all__ = ["ReliabilityCurve", "ReliabilityDisplay", "reliability_curve"]

Array = NDArray[np.float64]

# How far the sum of a row may be from 1: what half precision and printed tables leave.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Predicted and observed frequencies in bins of the predicted one; bins without rows are left out."""

    #: Mean predicted probability of each bin, ascending.
    confidence: Array
    #: Share of each bin in which the prediction was true.
    accuracy: Array
    #: Share of all rows, by weight, that each bin holds; the sum is 1.
    weight: Array

    @property
    def expected_calibration_error(self) -> float:
        """Mean distance of confidence and accuracy over the bins, by weight."""
        return float(self.weight @ np.abs(self.accuracy - self.confidence))


def reliability_curve(
    y: Any,
    proba: Any,
    n_bins: int = 15,
    *,
    strategy: str = "uniform",
    pos_label: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
) -> ReliabilityCurve:
    """Compare how sure a classifier is with how often it is right, in bins of the former.

    Parameters
    ----------
    y : array of shape (n,)
        The true classes.
    proba : array of shape (n, K) or (n,)
        The predicted probabilities of the K classes, or of the second of two.
    n_bins : int, default=15
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal mass.
    pos_label : a class, default=None
        The class whose probability is compared with its frequency. None compares the largest probability of each row
        with the accuracy.
    labels : array of shape (K,), default=None
        The classes in the order of the columns of ``proba``. None takes the sorted classes of ``y`` if there are K of
        them, and otherwise 0, ..., K - 1 if ``y`` holds nothing else.
    sample_weight : array of shape (n,), default=None
        The weights of the rows; a weight of 2 is a row that occurs twice.

    Returns
    -------
    curve : ReliabilityCurve

    Notes
    -----
    The bins of equal width are ``((m - 1) / M, m / M]``, and 0 is in the first, as in Guo et al. (2017), "On
    calibration of modern neural networks", equation 2. For bins of equal mass, the distinct probabilities are laid out
    by their cumulative weight and go to the bin in which their middle falls; so equal probabilities are never
    separated, the order of the rows does not matter, and without ties two bins differ by one row at most. A
    probability with more than its share fills its bin, and its neighbours may stay empty. Where a row has two largest
    probabilities, the first counts as predicted.

    Examples
    --------
    >>> from bochner.diagnostics import reliability_curve
    >>> curve = reliability_curve([0, 1, 1, 1], [[0.9, 0.1], [0.7, 0.3], [0.3, 0.7], [0.1, 0.9]], n_bins=5)
    >>> curve.confidence, curve.accuracy, curve.weight
    (array([0.7, 0.9]), array([0.5, 1. ]), array([0.5, 0.5]))
    """
    owner = "reliability_curve"
    rows = as_predictions(owner, y, proba, labels, sample_weight)
    if pos_label is None:
        return in_bins(owner, *rows.top_label(), rows.weight, n_bins, strategy)
    if pos_label not in rows.classes:
        raise invalid(owner, "pos_label", f"None or one of the classes {rows.classes}", pos_label)
    return in_bins(owner, *rows.one_class(rows.classes.index(pos_label)), rows.weight, n_bins, strategy)


class ReliabilityDisplay:
    """Reliability diagram: how often a classifier is right against how sure it is.

    Make one with `from_estimator` or `from_predictions`, which also draw it.

    Parameters
    ----------
    curve : ReliabilityCurve
        The points to draw.
    histogram : array of shape (n_bins,)
        The share of rows with a confidence in each of n_bins equal parts of the interval from 0 to 1.
    name : str, default=None
        The name in the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    line_ : matplotlib.lines.Line2D
        The reliability curve.

    Notes
    -----
    The curve is the one of `reliability_curve` for the largest probability of each row. A vertical bar shows the gap
    to the diagonal, on which a calibrated classifier lies: below it, the classifier is too sure. The mean length of
    the bars, by the weight of their bins, is the expected calibration error in the legend; the histogram under the
    curve shows where the rows are.

    Examples
    --------
    >>> from bochner.diagnostics import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([1, 1, 1, 0, 0], [0.9] * 5, name="always 90%")
    >>> display.line_.get_label()
    'always 90% (ECE = 0.300)'
    """

    def __init__(self, curve: ReliabilityCurve, histogram: NDArray[Any], *, name: str | None = None) -> None:
        self.curve = curve
        self.histogram = histogram
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 15,
        strategy: str = "uniform",
        sample_weight: Any = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram of a fitted classifier on given data.

        Parameters
        ----------
        estimator : fitted classifier
            It must have ``predict_proba``.
        X : array of shape (n, d)
        y : array of shape (n,)
        n_bins, strategy, sample_weight
            As in `reliability_curve`.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; None makes a figure.
        name : str, default=None
            The name in the legend; None takes that of the class of the estimator.
        **kwargs
            Properties of the curve, as for ``matplotlib.pyplot.plot``.

        Returns
        -------
        display : ReliabilityDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"ReliabilityDisplay needs a classifier with predict_proba. Got {estimator!r} instead.")
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            n_bins=n_bins,
            strategy=strategy,
            labels=getattr(estimator, "classes_", None),
            sample_weight=sample_weight,
            ax=ax,
            name=type(estimator).__name__ if name is None else name,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        proba: Any,
        *,
        n_bins: int = 15,
        strategy: str = "uniform",
        labels: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram of given probabilities.

        Parameters
        ----------
        y, proba, n_bins, strategy, labels, sample_weight
            As in `reliability_curve`.
        ax, name, **kwargs
            As in `plot`.

        Returns
        -------
        display : ReliabilityDisplay
        """
        rows = as_predictions(cls.__name__, y, proba, labels, sample_weight)
        confidence, correct = rows.top_label()
        curve = in_bins(cls.__name__, confidence, correct, rows.weight, n_bins, strategy)
        # Of equal width for any strategy: bins of equal mass would show nothing.
        bins = _equal_width(confidence, rows.weight, n_bins)
        counts = np.bincount(bins, rows.weight, minlength=n_bins)
        return cls(curve, counts / counts.sum(), name=name).plot(ax, **kwargs)

    def plot(self, ax: Any = None, name: str | None = None, **kwargs: Any) -> ReliabilityDisplay:
        """Draw the diagram; on axes that hold one already, the curve is added to it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on; None makes a figure.
        name : str, default=None
            The name in the legend; None takes the one of the display.
        **kwargs
            Properties of the curve, as for ``matplotlib.pyplot.plot``.

        Returns
        -------
        display : ReliabilityDisplay
            This one, with ``ax_``, ``figure_`` and ``line_``.
        """
        from .plots import new_axes, plot_reliability

        name = self.name if name is None else name
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self.line_ = plot_reliability(self.ax_, self.curve, self.histogram, name, **kwargs)
        return self


class Predictions(NamedTuple):
    """Checked predictions: the classes of the columns, the column of each truth, and rows of positive weight."""

    classes: list[Any]
    truth: NDArray[np.intp]
    proba: Array
    weight: Array

    def top_label(self) -> tuple[Array, NDArray[np.bool_]]:
        """Give the largest probability of each row, and whether it is that of the truth."""
        return self.proba.max(axis=1), self.proba.argmax(axis=1) == self.truth

    def one_class(self, k: int) -> tuple[Array, NDArray[np.bool_]]:
        """Give the probabilities of one class, and whether it is the truth."""
        return self.proba[:, k], self.truth == k


def as_predictions(owner: str, y: Any, proba: Any, labels: Any, sample_weight: Any) -> Predictions:
    """Check what every measure takes, and leave out the rows without weight."""
    columns = _probabilities(owner, proba)
    n, n_classes = columns.shape
    classes, truth = _encoded(owner, y, n, n_classes, labels)
    if sample_weight is None:
        return Predictions(classes, truth, columns, np.ones(n))
    weight = as_vector(owner, "sample_weight", sample_weight, n)
    if weight.min() < 0.0 or weight.max() == 0.0:
        who, ends = f"The 'sample_weight' argument of {owner}", f"from {weight.min():g} to {weight.max():g}"
        raise ValueError(f"{who} must be at least 0, and greater than 0 in some row. It goes {ends}.")
    used = weight > 0.0  # a row without weight must not count, not even as 0 times infinity
    return Predictions(classes, truth[used], columns[used], weight[used])


def in_bins(
    owner: str, score: Array, true: NDArray[np.bool_], weight: Array, n_bins: int, strategy: str
) -> ReliabilityCurve:
    """Average scores and truths in bins of the score."""
    check_integer(owner, "n_bins", n_bins, 1)
    check_choice(owner, "strategy", strategy, list(_STRATEGIES))
    bins = _STRATEGIES[strategy](score, weight, n_bins)
    filled = np.unique(bins, return_inverse=True)[1]  # numbers without gaps
    mass = np.bincount(filled, weight)
    confidence, accuracy = np.bincount(filled, weight * score) / mass, np.bincount(filled, weight * true) / mass
    return ReliabilityCurve(confidence, accuracy, mass / mass.sum())


def _equal_width(score: Array, weight: Array, n_bins: int) -> NDArray[np.intp]:
    """Number the bins of equal width, which hold their upper ends."""
    return np.searchsorted(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], score)


def _equal_mass(score: Array, weight: Array, n_bins: int) -> NDArray[np.intp]:
    """Number the bins of equal mass: that in which the middle of the mass of a score falls."""
    distinct, which = np.unique(score, return_inverse=True)
    mass = np.bincount(which, weight, minlength=len(distinct))
    end = np.cumsum(mass)
    bins = np.floor(n_bins * (end - mass / 2.0) / end[-1])
    return np.minimum(bins, n_bins - 1).astype(np.intp)[which]


_STRATEGIES = {"uniform": _equal_width, "quantile": _equal_mass}


def _probabilities(owner: str, proba: Any) -> Array:
    """Check probabilities and give them as (n, K) columns of float64."""
    who = f"The 'proba' argument of {owner}"
    single = np.ndim(proba) == 1
    points = as_vector(owner, "proba", proba)[:, None] if single else as_points(proba, owner, "proba")
    if points.min() < 0.0 or points.max() > 1.0 + _TOLERANCE:
        raise ValueError(f"{who} must be between 0 and 1. It goes from {points.min():g} to {points.max():g}.")
    columns = points.astype(np.float64, copy=False)
    if single:
        return np.hstack([np.maximum(1.0 - columns, 0.0), columns])
    if columns.shape[1] == 1:
        raise ValueError(f"{who} must have a column for each of at least two classes, or be 1-D. Got 1 column.")
    _check_sums(who, columns)
    return columns


def _check_sums(who: str, columns: Array) -> None:
    sums = columns.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > _TOLERANCE:
        raise ValueError(f"{who} must have rows that sum to 1. Row {worst} sums to {sums[worst]:g}.")


def _encoded(owner: str, y: Any, n: int, n_classes: int, labels: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Give the classes in the order of the columns, and the column of each truth."""
    who = f"The 'y' argument of {owner}"
    if np.shape(y) != (n,):
        raise ValueError(f"{who} must have shape ({n},), one class for each row of 'proba'. Got shape {np.shape(y)}.")
    try:
        found, which = np.unique(np.asarray(y), return_inverse=True)
        comparable = bool((found == found).all())  # NaN is not
    except TypeError:
        comparable = False
    if not comparable:
        raise ValueError(f"{who} must hold classes of one type, without missing values.")
    classes = _classes(owner, found, n_classes, labels)
    column = {label: k for k, label in enumerate(classes)}
    unknown = [label for label in found.tolist() if label not in column]
    if unknown:
        raise ValueError(f"{who} must hold the classes {classes} only. Got {unknown[:5]} too.")
    return classes, np.array([column[label] for label in found.tolist()])[which]


def _classes(owner: str, found: NDArray[Any], n_classes: int, labels: Any) -> list[Any]:
    """Give the classes of the columns: those named, those found, or 0, ..., K - 1."""
    if labels is not None:
        named = np.asarray(labels)
        if named.shape != (n_classes,) or len(set(named.tolist())) != n_classes:
            raise invalid(owner, "labels", f"the {n_classes} distinct classes of the columns of 'proba'", labels)
        return named.tolist()
    if len(found) == n_classes:
        return found.tolist()
    if found.dtype.kind in "biuf" and np.isin(found, np.arange(n_classes)).all():
        return list(range(n_classes))
    raise ValueError(
        f"The 'y' argument of {owner} has {len(found)} classes and 'proba' has {n_classes} columns. "
        "Say with 'labels' which classes the columns are."
    )


def as_vector(owner: str, name: str, values: Any, n: int | None = None) -> Array:
    """Check that values are finite numbers in one dimension, n of them if it is given."""
    who = f"The '{name}' argument of {owner}"
    shape = np.shape(values)
    if len(shape) != 1 or shape == (0,):
        raise ValueError(f"{who} must be a 1-D array with at least one entry. Got shape {shape}.")
    if n is not None and shape != (n,):
        raise ValueError(f"{who} must have {n} entries, one for each row. Got {shape[0]}.")
    return as_points(np.asarray(values).reshape(-1, 1), owner, name)[:, 0].astype(np.float64, copy=False)
