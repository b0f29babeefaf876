"""Some rows of the data, on which length scales and penalties are tried before the fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features import RandomFeatures
from ..kernels import Kernel
from . import tuning

Array = NDArray[Any]
#: Makes unfitted features of a kernel and a seed.
MakeFeatures = Callable[[Kernel, int], RandomFeatures]


class Trial(ABC):
    """Some rows of the data, on which kernels are compared by what penalised models on narrow features reach."""

    def __init__(self, make: MakeFeatures, X: Any, weights: Array | None, rng: np.random.Generator) -> None:
        self._make, self._seed = make, int(rng.integers(2**31))
        self.rows = tuning.trial_rows(X.shape[0], rng)
        self._X = X[self.rows]
        # Weights that are all zero here say nothing about these rows.
        self._weights = None if weights is None or not weights[self.rows].any() else weights[self.rows]
        self._scores: dict[Kernel, tuple[float, float]] = {}

    @cached_property
    def hashes(self) -> Array:
        """A number for each row, by its content."""
        return tuning.hashes_of_rows(self._X, self._seed)

    def distinct_rows(self) -> Array:
        """Give the rows without repetitions, at most 1024, as an array."""
        rows = self._X[np.unique(self.hashes, return_index=True)[1][:1024]]
        return rows.toarray() if hasattr(rows, "toarray") else rows

    def score(self, kernel: Kernel) -> tuple[float, float]:
        """Give the best penalty of a kernel, and its score (the less, the better)."""
        if kernel not in self._scores:
            # All kernels get the same random numbers.
            matrix = self._make(kernel, self._seed).fit(self._X).transform(self._X)
            with tuning.threads_for(matrix.shape):
                self._scores[kernel] = self._score(matrix)
        return self._scores[kernel]

    @abstractmethod
    def _score(self, matrix: Array) -> tuple[float, float]:
        """Give the best penalty of features, and its score."""


class SquaredErrorTrial(Trial):
    """Trials by the cross-validated squared error."""

    def __init__(
        self, make: MakeFeatures, X: Any, targets: Array, weights: Array | None, rng: np.random.Generator
    ) -> None:
        super().__init__(make, X, weights, rng)
        self._targets = targets[self.rows]

    def _score(self, matrix: Array) -> tuple[float, float]:
        return tuning.squared_error_score(matrix, self._targets, self._weights, self.hashes)


class LogLossTrial(Trial):
    """Trials by the log loss of held-out rows."""

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

    def _score(self, matrix: Array) -> tuple[float, float]:
        return tuning.log_loss_score(matrix, self._codes, self._n_classes, self._weights, self.hashes)
