"""Some rows of the data, on which length scales and penalties are tried before the fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..features import RandomFeatures
from ..kernels import Kernel
from . import tuning

Array = NDArray[Any]
#: Makes unfitted features of a kernel and a seed, for some of the rows: it is told how many there are in all, and here.
MakeFeatures = Callable[[Kernel, int, int, int], RandomFeatures]


class Trial(ABC):
    """Some rows of the data, on which kernels are compared by what penalised models on narrow features reach."""

    #: Rows at most.
    most_rows: ClassVar[int]

    def __init__(self, make: MakeFeatures, X: Any, weights: Array | None, rng: np.random.Generator) -> None:
        self._make, self._seed, self._n_rows = make, int(rng.integers(2**31)), X.shape[0]
        self.rows = tuning.trial_rows(X.shape[0], self.most_rows, rng)
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

    def _tried(self, kernel: Kernel) -> tuple[float, float]:
        if kernel not in self._results:
            matrix = self._features(kernel)
            with tuning.threads_for(matrix.shape):
                self._results[kernel] = self._try(matrix)
        return self._results[kernel]

    def _features(self, kernel: Kernel) -> Array:
        """Compute features of the rows; all kernels get the same random numbers."""
        return self._make(kernel, self._seed, self._n_rows, len(self.rows)).fit(self._X).transform(self._X)

    @abstractmethod
    def _try(self, matrix: Array) -> tuple[float, float]:
        """Give the best penalty for features, and its score."""


class SquaredErrorTrial(Trial):
    """Trials by the cross-validated squared error, from sums over the rows: many rows cost little."""

    most_rows = 32_768

    def __init__(
        self, make: MakeFeatures, X: Any, targets: Array, weights: Array | None, rng: np.random.Generator
    ) -> None:
        super().__init__(make, X, weights, rng)
        self._targets = targets[self.rows]

    def _try(self, matrix: Array) -> tuple[float, float]:
        return tuning.squared_error_score(matrix, self._targets, self._weights, self.hashes)


class LogLossTrial(Trial):
    """Trials by the log loss of held-out rows; the penalties of a kernel are sought from those of the last one on."""

    most_rows = 8192

    def __init__(
        self,
        make: MakeFeatures,
        X: Any,
        codes: Array,
        n_classes: int,
        weights: Array | None,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(make, X, weights, rng)
        self._codes, self._n_classes = codes[self.rows], n_classes
        # Weights that stand for many repetitions go with as much larger penalties.
        mean_weight = 1.0 if self._weights is None else float(self._weights.mean())
        self._exponent = float(round(np.log10(max(1.0, mean_weight))))

    def penalty(self, kernel: Kernel) -> float:
        """Give the best penalty of a kernel, more finely than it is compared by."""
        path = self._path(self._features(kernel))
        path.refine(path.walk(self._exponent + 1.0))
        return path.best()[0]

    def _try(self, matrix: Array) -> tuple[float, float]:
        path = self._path(matrix)
        # From a larger penalty, whose solution is soon found, down to smaller ones, each from where the last ended.
        self._exponent = path.walk(self._exponent + 1.0)
        return path.best()

    def _path(self, matrix: Array) -> tuning.LogLossPath:
        return tuning.LogLossPath(matrix, self._codes, self._n_classes, self._weights, self.hashes)
