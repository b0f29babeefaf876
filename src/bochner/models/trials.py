"""Some rows of the data, on which length scales and penalties are tried before the fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..features import RandomFeatures
from ..kernels import Kernel
from . import tuning
from .held_out import Judging, tempered_log_losses
from .labels import indicators

Array = NDArray[Any]


@dataclass(frozen=True)
class Narrow:
    """Makes unfitted features of a kernel, a width and a seed; the model itself has so many of them."""

    make: Callable[[Kernel, int, int], RandomFeatures]
    n_components: int


def trial_of_classes(
    loss: str,
    narrow: Narrow,
    X: Any,
    codes: Array,
    n_classes: int,
    weights: Array | None,
    rng: np.random.Generator,
) -> Trial:
    """Choose the rows on which a classifier is tried, by the loss that it minimises."""
    if loss == "log_loss":
        return LogLossTrial(narrow, X, codes, n_classes, weights, rng)
    return trial_of_targets(narrow, X, indicators(codes, n_classes), weights, rng, codes)


def trial_of_targets(
    narrow: Narrow,
    X: Any,
    targets: Array,
    weights: Array | None,
    rng: np.random.Generator,
    codes: Array | None = None,
) -> RidgeTrial:
    """Choose the rows on which ridge regression on features is tried; codes are of the classes the targets indicate."""
    few = X.shape[0] <= tuning.FEW_ROWS and _weight(X.shape[0], weights) < narrow.n_components
    return (WideTrial if few else RidgeTrial)(narrow, X, targets, weights, rng, codes)


def _weight(n_rows: int, weights: Array | None) -> float:
    """Give the rows that there would be if weights were repetitions; smaller ones are taken for another unit."""
    return float(n_rows if weights is None else max(n_rows, weights.sum()))


class Trial(ABC):
    """Some rows of the data, on which kernels are compared by what penalised models on narrow features reach."""

    #: Rows and features at most.
    most_rows: ClassVar[int]
    most_features: ClassVar[int] = 2 * tuning.TRIAL_FEATURES
    #: Whether more features than rows are tried by the products of rows.
    by_products: ClassVar[bool] = False
    #: Length scales, in units of the median distance, to seek others from: the first, or one that is clearly better.
    first_scales: ClassVar[tuple[float, ...]] = (1.0,)

    def __init__(self, narrow: Narrow, X: Any, weights: Array | None, rng: np.random.Generator) -> None:
        self._make, self._seed = narrow.make, int(rng.integers(2**31))
        shape = X.shape[0], narrow.n_components
        n_trial, self._width = tuning.trial_shape(*shape, self.most_rows, self.most_features, self.by_products)
        self.rows = np.sort(rng.choice(X.shape[0], n_trial, replace=False))
        self._X = X[self.rows]
        # Weights that are all zero here say nothing about these rows.
        self._weights = None if weights is None or not weights[self.rows].any() else weights[self.rows]
        self._results: dict[Kernel, tuple[float, float]] = {}

    @cached_property
    def hashes(self) -> Array:
        """A number for each row, by its content."""
        return tuning.hashes_of_rows(self._X, self._seed)

    def distinct_rows(self) -> Array:
        """Give the rows without repetitions, at most 1024, as an array."""
        rows = self._X[np.unique(self.hashes, return_index=True)[1][:1024]]
        return rows.toarray() if hasattr(rows, "toarray") else rows

    def score(self, kernel: Kernel) -> float:
        """Give the score of a kernel with its best penalty: the less, the better."""
        return self._tried(kernel)[1]

    def penalty(self, kernel: Kernel) -> float:
        """Give the best penalty of a kernel."""
        return self._tried(kernel)[0]

    def forget(self) -> None:
        """Drop what was found: kernels with a metric of many columns are large."""
        self._results.clear()

    def _tried(self, kernel: Kernel) -> tuple[float, float]:
        if kernel not in self._results:
            matrix = self._features(kernel)
            with tuning.threads_for(matrix.shape):
                self._results[kernel] = self._try(matrix)
        return self._results[kernel]

    def _features(self, kernel: Kernel) -> Array:
        """Compute features of the rows; all kernels get the same random numbers."""
        return self._make(kernel, self._width, self._seed).fit(self._X).transform(self._X)

    @abstractmethod
    def _try(self, matrix: Array) -> tuple[float, float]:
        """Give the best penalty for features, and its score."""


class RidgeTrial(Trial):
    """Trials by the cross-validated error of ridge regression, from sums over the rows: many rows cost little.

    Kernels are compared by the squared error, which varies least. With codes of classes, whose indicators the targets
    are, the penalty of a kernel is chosen by the log loss.
    """

    most_rows = 32_768

    def __init__(
        self,
        narrow: Narrow,
        X: Any,
        targets: Array,
        weights: Array | None,
        rng: np.random.Generator,
        codes: Array | None = None,
    ) -> None:
        super().__init__(narrow, X, weights, rng)
        self._targets = targets[self.rows]
        self._criterion = None if codes is None else tempered_log_losses(codes[self.rows], np.zeros(1))

    def penalty(self, kernel: Kernel) -> float:
        """Give the best penalty of a kernel, by the criterion if there is one."""
        if self._criterion is None:
            return super().penalty(kernel)
        matrix, judging = self._features(kernel), Judging(self.hashes, self._criterion)
        with tuning.threads_for(matrix.shape):
            return tuning.ridge_score(matrix, self._targets, self._weights, judging)[0]

    def _try(self, matrix: Array) -> tuple[float, float]:
        return tuning.ridge_score(matrix, self._targets, self._weights, Judging(self.hashes))


class KernelTrial(RidgeTrial):
    """Trials with the kernel matrix itself, for exact machines on so few rows that features would cost more."""

    most_rows = 2048
    free_intercept: ClassVar[bool] = False

    penalty = Trial.penalty  # by the losses that kernels are compared by as well

    def _features(self, kernel: Kernel) -> Array:
        return kernel(self._X.astype(np.float64))

    def _try(self, matrix: Array) -> tuple[float, float]:
        judging = Judging(self.hashes, self._criterion)
        n_held = tuning.folds_held_out(_weight(len(self.rows), self._weights))
        return tuning.kernel_score(matrix, self._targets, self._weights, judging, n_held, self.free_intercept)


class WideTrial(KernelTrial):
    """Trials of more features than rows, of which there are few: the products of all rows cost next to nothing.

    There may be two good choices, a short length scale with a large penalty and a long one with nearly none, so both
    are looked at.
    """

    by_products = free_intercept = True
    first_scales = (1.0, 0.25, 4.0, 16.0)

    def _features(self, kernel: Kernel) -> Array:
        """Compute the products of rows; in float32 they could not tell the least penalties apart."""
        matrix = Trial._features(self, kernel).astype(np.float64, copy=False)
        return np.asarray(matrix @ matrix.T)


class LogLossTrial(Trial):
    """Trials by the log loss of held-out rows; the penalties of a kernel are sought from those of the last one on.

    More features than rows are replaced by roots of their products. Fewer would do for the length scale, but what they
    cannot tell apart they take for noise, and the penalty would be far too large.
    """

    most_rows = most_features = 8192
    by_products = True

    def __init__(
        self,
        narrow: Narrow,
        X: Any,
        codes: Array,
        n_classes: int,
        weights: Array | None,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(narrow, X, weights, rng)
        self._codes, self._n_classes = codes[self.rows], n_classes
        # Weights that stand for many repetitions go with as much larger penalties.
        mean_weight = 1.0 if self._weights is None else float(self._weights.mean())
        self._exponent = float(round(np.log10(max(1.0, mean_weight))))

    def penalty(self, kernel: Kernel) -> float:
        """Give the best penalty of a kernel, more finely than it is compared by."""
        matrix = self._features(kernel)
        with tuning.threads_for(matrix.shape):
            path = self._path(matrix)
            path.refine(path.walk(self._exponent + 1.0))
            return path.best()[0]

    def _try(self, matrix: Array) -> tuple[float, float]:
        path = self._path(matrix)
        # From a larger penalty, whose solution is soon found, down to smaller ones, each from where the last ended.
        self._exponent = path.walk(self._exponent + 1.0)
        return path.best()

    def _features(self, kernel: Kernel) -> Array:
        matrix = super()._features(kernel)
        return matrix if matrix.shape[1] <= len(matrix) else tuning.roots_of(matrix @ matrix.T)

    def _path(self, matrix: Array) -> tuning.LogLossPath:
        return tuning.LogLossPath(matrix, self._codes, self._n_classes, self._weights, self.hashes)


class KernelLogLossTrial(LogLossTrial):
    """Trials by the log loss with roots of the kernel matrix itself, for exact machines."""

    most_rows = tuning.FEW_ROWS

    def _features(self, kernel: Kernel) -> Array:
        return tuning.roots_of(kernel(self._X))
