"""A kernel expansion over training rows, the rows themselves, and their kernel matrix as the solvers see it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.schedule import slices
from ..kernels import Kernel
from ..solvers import Solution
from .held_out import Criterion, least

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Points on which a residual is measured, and points that are taken to double precision at a time.
_MEASURED, _AT_ONCE = 256, 4096


@dataclass(frozen=True)
class Rows:
    """Data with their targets, (n, k), or codes of classes, (n,), and weights."""

    X: Array
    targets: Array
    weights: Floats

    @classmethod
    def of(cls, X: Array, targets: Array, weights: Array | None) -> Rows:
        """Give every row the weight 1 if there are no weights."""
        return cls(X, targets, np.ones(len(X)) if weights is None else weights)


@dataclass(frozen=True)
class Expansion:
    """``f = sum_j c_j k(x_j, .) + b`` with (n, k) coefficients c and (k,) intercepts b, and how it was found."""

    points: Array
    coefficients: Floats
    intercept: Floats
    alpha: float
    solver: str
    solution: Solution

    def apart_from(self, given: Any) -> Expansion:
        """Copy points that may be the caller's own array: what happens to that later must not change predictions."""
        may_be_shared = hasattr(given, "__array__") and np.may_share_memory(self.points, np.asarray(given))
        return replace(self, points=self.points.copy()) if may_be_shared else self

    def times(self, units: Floats) -> Expansion:
        """Multiply by the units that targets were divided by, one for each."""
        solution = replace(self.solution, value=self.solution.value * units)
        coefficients, intercept = self.coefficients * units, self.intercept * units
        return replace(self, coefficients=coefficients, intercept=intercept, solution=solution)

    def values(self, kernel: Kernel, X: Array) -> Array:
        """Give the (n, k) values at new points, tile by tile."""
        return _values(kernel, X, self.points, self.coefficients) + self.intercept


@dataclass(frozen=True)
class Split:
    """Rows in a random order: some are held out and judged by a criterion, the others are the points of expansions."""

    rows: Rows
    held: Array
    kept: Array
    criterion: Criterion

    @property
    def n_held(self) -> int:
        """How many rows are held out."""
        return len(self.held)

    @cached_property
    def points(self) -> Array:
        """The data of the other rows."""
        return self.rows.X[self.kept]

    def values(self, kernel: Kernel, coefficients: Floats) -> Floats:
        """Give the values of expansions at the rows that are held out."""
        return _values(kernel, self.rows.X[self.held], self.points, coefficients).astype(np.float64)

    def error(self, scores: Floats) -> float:
        """Judge scores of the rows that are held out."""
        return self._mean_loss(scores, self.held)

    def training_error(self, scores: Floats) -> float:
        """Judge scores of the other rows."""
        return self._mean_loss(scores, self.kept)

    def _mean_loss(self, scores: Floats, which: Array) -> float:
        weights = self.rows.weights[which]
        return least(weights @ self.criterion(scores, which)) / float(weights.sum())

    def expansion(self, solution: Solution, intercept: Floats, alpha: float, solver: str) -> Expansion:
        """Give the expansion of a solution, with its points in the order of the rows."""
        order = np.argsort(self.kept)
        points = self.rows.X[self.kept[order]] if self.n_held else self.rows.X
        return Expansion(points, solution.value[order], intercept, alpha, solver, solution)


class KernelRows:
    """The kernel matrix of some points, of which only parts are ever there."""

    def __init__(self, kernel: Kernel, X: Array) -> None:
        self._operator, self._dtype, self.n_rows = kernel.operator(X), X.dtype, len(X)

    def block(self, rows: slice, columns: slice) -> Array:
        """Give the entries of some rows and columns."""
        return self._operator.block(rows, columns)

    def product(self, rows: slice, V: Floats) -> Floats:
        """Multiply some rows by a matrix."""
        return self._operator.some_times(rows, V.astype(self._dtype)).astype(np.float64, copy=False)


def residual_in_double(
    kernel: Kernel, points: Array, coefficients: Floats, targets: Floats, weights: Floats, alpha: float
) -> float:
    """Measure ``w^(1/2) ((K + alpha / w) c - y)`` on the first points, relative to the targets; the largest column's.

    The points must come in random order. They are taken to double precision some at a time.
    """
    first, roots = slice(0, _MEASURED), np.sqrt(weights)[:, None]
    left = alpha / weights[first, None] * coefficients[first] - targets[first]
    for some in slices(len(points), _AT_ONCE):
        left += kernel(points[first].astype(np.float64), points[some].astype(np.float64)) @ coefficients[some]
    sizes = np.sqrt(np.mean(np.square(roots * targets), axis=0))
    errors = np.sqrt(np.mean(np.square(roots[first] * left), axis=0))
    return float(np.max(errors[sizes > 0.0] / sizes[sizes > 0.0], initial=0.0))


def _values(kernel: Kernel, X: Array, points: Array, coefficients: Floats) -> Array:
    """Give the (n, k) values of an expansion without intercept, in the precision of the data and points."""
    return np.asarray(kernel.operator(X, points) @ coefficients.astype(np.result_type(X, points)))
