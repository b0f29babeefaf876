"""Penalised multinomial and binary logistic regression on rows in blocks.

Minimises

    sum_i w_i (log sum_c exp(z_ic) - z_iy) + alpha / 2 |T|^2,    z_i = T^T phi_i + b,

for two classes with one score, ``sum_i w_i log(1 + exp(-s_i z_i))``, by L-BFGS in variables u with ``T = R u``, where
``R R^T`` approximates the inverse of the Hessian: the curvature of the loss is nearly the Gram matrix of the rows times
a number, so that in u all directions are nearly alike.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from ..progress import ignore_progress
from .base import Design, Progress, Solution, part_done
from .conjugate_gradient import conjugate_gradient
from .nystrom import Preconditioner

Array = NDArray[Any]
Floats = NDArray[np.float64]
Point = tuple[Floats, Floats]

#: Evaluations of one line search after which rounding, not the step, is what is wrong.
_LONGEST_SEARCH = 8
#: Newton steps at the end, and the relative gradient that is near enough for them.
_NEWTON_STEPS, _NEAR = 10, 1e-3


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
    """Give the intercept that fits the frequencies of the classes; one number for two classes."""
    counts = np.bincount(classes, weights=weights, minlength=n_classes)
    logs = np.log(np.maximum(counts, 0.5) / counts.sum())
    return logs[1:] - logs[:1] if n_classes == 2 else logs - logs.mean()


class Evaluation(NamedTuple):
    """The objective at a point, and its gradients with respect to coefficients and intercept."""

    value: float
    slope: Floats
    sums: Floats

    @property
    def norm(self) -> float:
        """Norm of the whole gradient."""
        return float(np.sqrt(np.square(self.slope).sum() + np.square(self.sums).sum()))


@dataclass
class Softmax:
    """The objective on a design, with its gradient; each evaluation is one pass over the rows.

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

    @cached_property
    def nothing(self) -> tuple[Point, Evaluation]:
        """Coefficients of zero with the intercept of the class frequencies, and what they give: for any penalty."""
        point = np.zeros((self.design.shape[1], self.n_scores)), log_odds(self.classes, self.n_classes, self.weights)
        return point, self.evaluate(*point)

    def evaluate(self, coefficients: Floats, intercept: Floats) -> Evaluation:
        """Give the objective and its gradients with respect to coefficients and intercept (of centred rows)."""
        dtype, mean = self.design.dtype, self.row_mean
        single, shift = coefficients.astype(dtype), intercept - mean @ coefficients

        def contribution(rows: slice, block: Array) -> tuple[Any, Floats, Array]:
            losses, residuals = log_losses((block @ single) + shift, self.classes[rows])
            if self.weights is not None:
                losses, residuals = losses * self.weights[rows], residuals * self.weights[rows, None]
            return losses.sum(), residuals.sum(axis=0), block.T @ residuals.astype(dtype)

        loss, sums, gradient = self.design.total(contribution)
        sums = sums * self.free_intercept
        self.n_passes += 1
        value = float(loss) + 0.5 * self.alpha * float(np.square(coefficients).sum())
        return Evaluation(value, gradient - np.outer(mean, sums) + self.alpha * coefficients, sums)

    def hessian_at(self, coefficients: Floats, intercept: Floats) -> Callable[[Floats], Floats]:
        """Give the map by the Hessian at a point, on (p + 1, k) matrices with the intercept as last row."""
        dtype, mean = self.design.dtype, self.row_mean
        single, shift = coefficients.astype(dtype), intercept - mean @ coefficients

        def apply(V: Floats) -> Floats:
            moved, shift_of_moved = V[:-1].astype(dtype), V[-1] - mean @ V[:-1]

            def contribution(rows: slice, block: Array) -> tuple[Array, Floats]:
                changes = curvature_times(block @ single + shift, block @ moved + shift_of_moved)
                if self.weights is not None:
                    changes *= self.weights[rows, None]
                return block.T @ changes.astype(dtype), changes.sum(axis=0)

            products, sums = self.design.total(contribution)
            sums = sums * self.free_intercept
            return np.vstack([products - np.outer(mean, sums) + self.alpha * V[:-1], sums])

        return apply

    @property
    def row_mean(self) -> Floats:
        """What is subtracted from the rows."""
        return np.zeros(self.design.shape[1]) if self.mean is None else self.mean


def minimise_softmax(
    problem: Softmax,
    preconditioner: Preconditioner,
    *,
    start: Point | None = None,
    tolerance: float = 1e-4,
    max_iter: int = 200,
    progress: Progress = ignore_progress,
) -> Solution:
    """Minimise the objective; the value of the solution is the (p + 1, k) coefficients with the intercept as last row.

    Converged means that the norm of the gradient is below ``tolerance`` times its norm at the start from nothing. The
    intercept is that of the rows as they are, not of centred ones.
    """
    weight = len(problem.classes) if problem.weights is None else float(problem.weights.sum())
    nothing, at_nothing = problem.nothing
    first, mean = at_nothing.norm, problem.row_mean
    origin, at_origin = nothing, at_nothing
    if start is not None:
        origin = start[0], start[1] + mean @ start[0]
        at_origin = problem.evaluate(*origin)
    run = _Run(problem, preconditioner, 1.0 / np.sqrt(problem.curvature * weight), tolerance * first, progress)
    run.begin_at(origin, at_origin)
    # A gradient that is rounding only: nothing is to be learnt from rows that are all alike.
    if first <= 10.0 * float(np.finfo(problem.design.dtype).eps) * weight:
        run.norm, first = 0.0, 1.0
    else:
        options = {"maxiter": max_iter, "maxfun": 2 * max_iter + 20, "maxcor": 20, "gtol": 0.0, "ftol": 0.0}
        zero = np.zeros(origin[0].size + origin[1].size)
        with suppress(_Stalled):
            minimize(run, zero, jac=True, method="L-BFGS-B", callback=run.after_iteration, options=options)
        # Where iterations have ended far from the minimum, Newton steps would go astray.
        if run.n_iter < max_iter or run.norm <= _NEAR * first:
            run.polish()
    coefficients, intercept = run.best
    value, residual = np.vstack([coefficients, intercept - mean @ coefficients]), run.norm / first
    reached = f"The relative gradient norm is {residual:.1e} after {run.n_iter} iterations"
    return Solution(value, residual <= tolerance, run.n_iter, residual, f"{reached}; {tolerance:.1e} was asked for.")


class _Stalled(Exception):
    """Rounding hides all further progress."""


class _Run:
    """The objective as a function of flat, preconditioned variables, and what has been reached."""

    def __init__(
        self, problem: Softmax, preconditioner: Preconditioner, scale: float, goal: float, progress: Progress
    ) -> None:
        self.problem, self.preconditioner, self.scale = problem, preconditioner, scale
        self.goal, self.progress, self.n_iter = goal, progress, 0
        self._tries = 0

    def begin_at(self, point: Point, evaluated: Evaluation) -> None:
        """Take a point as the origin of the variables, and as the best that is known."""
        self.origin = self.best = point
        self.norm = self._first = evaluated.norm
        self._last: tuple[Floats, Evaluation] = np.zeros(point[0].size + point[1].size), evaluated

    def _point(self, flat: Floats) -> Point:
        u = flat.reshape(-1, self.problem.n_scores)
        return self.origin[0] + self.preconditioner.root(u[:-1]), self.origin[1] + self.scale * u[-1]

    def _evaluation(self, flat: Floats) -> Evaluation:
        """Evaluate at a point; what was evaluated last, as the origin at the start, is there already."""
        if not np.array_equal(flat, self._last[0]):
            self._last = flat.copy(), self.problem.evaluate(*self._point(flat))
        return self._last[1]

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        self._tries += 1
        if self._tries > _LONGEST_SEARCH:
            raise _Stalled
        at = self._evaluation(flat)
        return at.value, np.vstack([self.preconditioner.root_transposed(at.slope), self.scale * at.sums]).ravel()

    def polish(self) -> None:
        """Take Newton steps, which need no values of the objective, where rounding hides its further fall."""
        at, shape = self.problem.evaluate(*self.best), (-1, self.problem.n_scores)

        def precondition(flat: Floats) -> Floats:
            V = flat.reshape(shape)
            return np.vstack([self.preconditioner.solve(V[:-1]), self.scale**2 * V[-1:]]).reshape(-1, 1)

        def apply(flat: Floats) -> Floats:
            return hessian(flat.reshape(shape)).reshape(-1, 1)

        for _ in range(_NEWTON_STEPS):
            if self.norm <= self.goal:
                return
            hessian = self.problem.hessian_at(*self.best)
            slope = np.vstack([at.slope, at.sums]).reshape(-1, 1)
            step = conjugate_gradient(apply, slope, precondition, tolerance=1e-3).value.reshape(shape)
            point = self.best[0] - step[:-1], self.best[1] - step[-1]
            at, self.n_iter = self.problem.evaluate(*point), self.n_iter + 1
            if not at.norm < 0.5 * self.norm:
                return
            self.best, self.norm = point, at.norm

    def after_iteration(self, flat: Floats) -> None:
        self.n_iter, self._tries = self.n_iter + 1, 0
        # The last evaluation of a line search is nearly always the accepted one.
        norm = self._last[1].norm if np.array_equal(flat, self._last[0]) else np.inf
        if norm < self.norm:
            self.best, self.norm = self._point(flat), norm
        self.progress("Softmax", part_done(self._first, min(norm, self._first), self.goal))
        if norm <= self.goal:
            raise StopIteration


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
