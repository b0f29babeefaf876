"""Penalised multinomial and binary logistic regression on rows in blocks.

Minimises

    sum_i w_i (log sum_c exp(z_ic) - z_iy) + alpha / 2 |T|^2,    z_i = T^T phi_i + b,

for two classes with one score, ``sum_i w_i log(1 + exp(-s_i z_i))``, by L-BFGS from an approximate inverse of the
Hessian, whose large eigenvalues are nearly those of the Gram matrix of the rows, times a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from ..progress import ignore_progress
from .base import Design, Progress, Solution, part_done, rows_of, total_weight
from .lbfgs import Minimum, minimise_by_gradients
from .nystrom import Preconditioner
from .preconditioning import Preconditioning

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Widest features whose products are all summed up, and rows that precondition wider ones.
WIDEST_SUMS, ROWS_OF_SAMPLE = 1024, 1024
#: How far these are damped, in units of what they leave to each other; see `RowSample`.
_DAMPING = 30.0


def log_losses(scores: Floats, classes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Give the loss of each row and its derivative with respect to the scores; one column of scores for two classes."""
    rows = np.arange(len(scores))
    if scores.shape[1] == 1:
        signed = np.where(classes == 1, scores[:, 0], -scores[:, 0])
        return np.logaddexp(0.0, -signed), (expit(scores[:, 0]) - (classes == 1))[:, None]
    logs = log_softmax(scores, axis=1)
    residuals = np.exp(logs)
    residuals[rows, classes] -= 1.0
    return -logs[rows, classes], residuals


def log_odds(classes: NDArray[np.intp], n_classes: int, weights: Floats | None) -> Floats:
    """Give the intercept that fits the frequencies of the classes; one number for two classes.

    A class whose rows have no weight counts as half a row: of weight 1, or of what rows weigh if that is less.
    """
    counts = np.bincount(classes, weights=weights, minlength=n_classes)
    logs = np.log(np.where(counts > 0.0, counts, 0.5 * min(1.0, counts.sum() / len(classes))) / counts.sum())
    return logs[1:] - logs[:1] if n_classes == 2 else logs - logs.mean()


@dataclass
class Softmax:
    """The objective on a design; each gradient of it is one pass over the rows.

    ``mean`` is subtracted from the rows, which keeps the intercept apart from the coefficients. An intercept that is
    not free stays that of the class frequencies; then the mean is to be none.
    """

    design: Design
    classes: NDArray[np.intp]
    n_classes: int
    alpha: float
    weights: Floats | None = None
    mean: Floats | None = None
    free_intercept: bool = True
    n_passes: int = field(default=0, init=False)

    @property
    def n_scores(self) -> int:
        """Columns of scores: one for two classes."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def curvature(self) -> float:
        """Mean second derivative of the loss where all classes are alike."""
        return 0.25 if self.n_classes == 2 else (1.0 - 1.0 / self.n_classes) / self.n_classes

    @property
    def total_curvature(self) -> float:
        """Sum of this over the rows, with their weights."""
        return self.curvature * self.total_weight

    @property
    def total_weight(self) -> float:
        """Sum of the weights, or number of rows."""
        return total_weight(self.design, self.weights)

    @cached_property
    def nothing(self) -> tuple[Floats, Floats]:
        """Coefficients of zero with the intercept of the class frequencies, and the gradient there: for any penalty."""
        intercept = log_odds(self.classes, self.n_classes, self.weights)
        point = np.vstack([np.zeros((self.design.shape[1], self.n_scores)), intercept])
        return point, self.gradient(point)

    def gradient(self, point: Floats) -> Floats:
        """Give the gradient at (p + 1, k) coefficients with the intercept (of centred rows) as last row."""
        coefficients, intercept = point[:-1], point[-1]
        dtype, mean = self.design.dtype, self.row_mean
        single, shift = coefficients.astype(dtype), intercept - mean @ coefficients

        def contribution(rows: slice, block: Array) -> tuple[Floats, Array]:
            _, residuals = log_losses((block @ single) + shift, self.classes[rows])
            if self.weights is not None:
                residuals = residuals * self.weights[rows, None]
            # In this order the long side is the last one, up to half as fast again for few columns.
            return residuals.sum(axis=0), residuals.astype(dtype).T @ block

        sums, products = self.design.total(contribution)
        sums = sums * self.free_intercept
        self.n_passes += 1
        return np.vstack([products.T - np.outer(mean, sums) + self.alpha * coefficients, sums])

    @property
    def row_mean(self) -> Floats:
        """What is subtracted from the rows."""
        return np.zeros(self.design.shape[1]) if self.mean is None else self.mean


class SoftmaxPreconditioning(Preconditioning):
    """Approximate inverses of the Hessian, for any penalty, by some rows that stand for all.

    Of few features by the sums of their products. Of more, a thousand rows do better than all of them: the curvatures
    differ between rows and classes, so that only the large eigenvalues of the Gram matrix are like those of the
    Hessian, and the rest is best left to the iterations. On mnist, 16,000 rows with 4096 features, 32 passes instead of
    55; on letter with 2048 features, 109 instead of 176.

    Parameters
    ----------
    some : Design
        The rows.
    weights : array, optional
        Of these rows.
    curvature : float
        Of all rows together.
    centred : bool, default=True
        Whether the mean is subtracted from the rows, as it is where the intercept is free.
    """

    def __init__(self, some: Design, weights: Floats | None, curvature: float, centred: bool = True) -> None:
        super().__init__(some, weights, curvature, widest_sums=WIDEST_SUMS, damping=_DAMPING, centred=centred)

    @classmethod
    def of_matrix(
        cls, matrix: Array, weights: Floats | None, curvature: float, centred: bool = True
    ) -> SoftmaxPreconditioning:
        """Choose the rows from a whole matrix, at random if not all are needed."""
        if matrix.shape[1] > WIDEST_SUMS:
            with_weight = np.arange(len(matrix)) if weights is None else np.flatnonzero(weights)
            rows = np.random.default_rng(0).permutation(with_weight)[:ROWS_OF_SAMPLE]
            matrix, weights = matrix[rows], rows_of(weights, rows)
        return cls(Design.of(matrix), weights, curvature, centred)


def minimise_softmax(
    problem: Softmax,
    preconditioner: Preconditioner,
    *,
    start: Floats | None = None,
    tolerance: float = 1e-4,
    max_iter: int = 200,
    progress: Progress = ignore_progress,
) -> Solution:
    """Minimise the objective; the value of the solution is the (p + 1, k) coefficients with the intercept as last row.

    Converged means that the norm of the gradient is below ``tolerance`` times its norm at the start from nothing. The
    intercept is that of the rows as they are, not of centred ones, in ``start`` too.
    """
    origin, slope = problem.nothing
    first, mean = float(np.linalg.norm(slope)), problem.row_mean
    # A gradient that is rounding only: nothing is to be learnt from rows that are all alike.
    if first <= 10.0 * float(np.finfo(problem.design.dtype).eps) * problem.total_weight:
        return _solution(Minimum(origin, 0.0, 0), 1.0, mean, tolerance)
    if start is not None:
        origin = np.vstack([start[:-1], start[-1] + mean @ start[:-1]])
        slope = problem.gradient(origin)
    goal, begun_at, of_intercept = tolerance * first, float(np.linalg.norm(slope)), 1.0 / problem.total_curvature
    found = minimise_by_gradients(
        problem.gradient,
        origin,
        slope,
        lambda V: np.vstack([preconditioner.solve(V[:-1]), of_intercept * V[-1:]]),
        goal=goal,
        max_iter=max_iter,
        tell=lambda norm: progress("Softmax", part_done(begun_at, min(norm, begun_at), goal)),
    )
    return _solution(found, first, mean, tolerance)


def _solution(found: Minimum, first: float, mean: Floats, tolerance: float) -> Solution:
    """Say what was reached, and put the intercept back to rows that are not centred."""
    value, residual = found.point.copy(), found.norm / first
    value[-1] -= mean @ value[:-1]
    reached = f"The relative gradient norm is {residual:.1e} after {found.n_iter} iterations"
    message = f"{reached}; {tolerance:.1e} was asked for."
    return Solution(value, residual <= tolerance, found.n_iter, residual, message)


def curvature_times(scores: Floats, V: Floats) -> Floats:
    """Multiply changes of the scores, row by row, by the second derivatives of the loss at these scores."""
    if scores.shape[1] == 1:
        p = expit(scores)
        return p * (1.0 - p) * V
    p = np.exp(log_softmax(scores, axis=1))
    return p * (V - (p * V).sum(axis=1, keepdims=True))


def curvature_weights(scores: Floats) -> Floats:
    """Give the mean over the classes of the second derivatives p (1 - p) of each row."""
    if scores.shape[1] == 1:
        p = expit(scores[:, 0])
        return p * (1.0 - p)
    p = np.exp(log_softmax(scores, axis=1))
    return (p * (1.0 - p)).mean(axis=1)
