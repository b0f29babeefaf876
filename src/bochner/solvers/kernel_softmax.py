"""Kernel logistic regression by conjugate gradients in the space of the kernel, preconditioned by a sample of points.

For ``f = sum_j c_j k(x_j, .) + b``, with k columns of scores, the objective ``sum_i w_i loss(f(x_i), y_i) + alpha / 2
|f - b|^2`` has in the space of the kernel the gradient with the coefficients ``g_i = w_i loss'(f(x_i)) + alpha c_i``,
and near a point the second derivative ``D K + alpha``, where D has the curvatures of the rows, weights included. Its
inverse is taken for the kernel matrix as a sample sees it (see `kernel_ridge`), and D is brought up to date now and
then. Directions are conjugate by Polak and Ribière's formula in the inner product of the space, so that an iteration
multiplies by K once; scores along a direction are a line, so its minimum costs no more products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..progress import ignore_progress
from .base import KernelMatrix, Progress, Solution, part_done
from .kernel_ridge import PointSample
from .softmax import curvature_times, curvature_weights, log_losses

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Iterations after which the curvatures are brought up to date: soon at first, when they change most.
_NEW_CURVATURES = (0, 2, 5, 10, 20, 40)
#: Least curvature of a row: what is sure now may be in doubt later.
_LEAST_CURVATURE = 1e-3
#: Squared length of a gradient, relative to its coefficients, that may be rounding.
_ROUNDING = 1e-7
#: Part of the slope at the beginning of a line at which its minimum is near enough, and evaluations at most.
_NEAR, _MOST_TRIES = 0.02, 20


def kernel_softmax(
    matrix: KernelMatrix,
    codes: NDArray[np.intp],
    intercept: Floats,
    alpha: float,
    weights: Floats,
    sample: PointSample,
    *,
    tolerance: float = 1e-3,
    max_iter: int = 100,
    progress: Progress = ignore_progress,
) -> Solution:
    """Give the (n, k) coefficients for (n,) codes of classes, with a given (k,) intercept, one for two classes.

    Converged means that the norm of the gradient's coefficients is below ``tolerance`` times that at zero.
    """
    w, everything = weights[:, None], slice(0, matrix.n_rows)
    coefficients = np.zeros((len(codes), len(intercept)))
    scores = np.tile(intercept, (len(codes), 1))
    direction, along = np.zeros_like(coefficients), np.zeros_like(coefficients)
    gradient, last, first, n_iter = coefficients, 1.0, 0.0, 0
    while True:
        before, gradient = gradient, w * log_losses(scores, codes)[1] + alpha * coefficients
        norm = float(np.linalg.norm(gradient))
        first = first or norm
        if norm <= tolerance * first or n_iter == max_iter:
            break
        if n_iter in _NEW_CURVATURES:
            roots = np.sqrt(weights * np.maximum(curvature_weights(scores), _LEAST_CURVATURE))[:, None]
            inverse = sample.inverse(roots[:, 0] ** 2, alpha)
        preconditioned = roots * inverse.solve(gradient / roots)
        product = matrix.product(everything, preconditioned)
        now = float(np.vdot(gradient, product))
        if now <= _ROUNDING * norm * float(np.linalg.norm(preconditioned)):
            norm = 0.0  # of coefficients of copies, which make no function
            break
        conjugate = max(0.0, (now - float(np.vdot(before, product))) / last) if n_iter else 0.0
        direction, along = conjugate * direction - preconditioned, conjugate * along - product
        if np.vdot(gradient, along) >= 0.0:  # not downhill, by rounding
            direction, along = -preconditioned, -product
        step = _minimum(scores, along, codes, w, alpha, coefficients, direction)
        coefficients = coefficients + step * direction
        scores = scores + step * along
        last, n_iter = now, n_iter + 1
        progress(f"Conjugate gradients, gradient {norm / first:.1g}", part_done(first, norm, tolerance * first))
    residual = norm / first if first else 0.0
    reached = f"The relative gradient norm is {residual:.1e} after {n_iter} iterations"
    message = f"{reached}; {tolerance:.1e} was asked for."
    return Solution(coefficients, residual <= tolerance, n_iter, residual, message)


def _minimum(
    scores: Floats, along: Floats, codes: Array, w: Floats, alpha: float, coefficients: Floats, direction: Floats
) -> float:
    """Find the minimum of the objective on a line by Newton's method; it is convex, so a bracket keeps steps in."""
    linear, square = alpha * float(np.vdot(coefficients, along)), alpha * float(np.vdot(direction, along))
    step, low, high, first = 0.0, 0.0, np.inf, 0.0
    for _ in range(_MOST_TRIES):
        moved = scores + step * along
        slope = float(np.vdot(w * log_losses(moved, codes)[1], along)) + linear + step * square
        first = first or abs(slope)
        if abs(slope) <= _NEAR * first and step > 0.0:
            break
        low, high = (step, high) if slope < 0.0 else (low, step)
        bend = float(np.vdot(w * curvature_times(moved, along), along)) + square
        newton = step - slope / bend if bend > 0.0 else np.inf
        longest = high if np.isfinite(high) else max(4.0 * low, 4.0)
        step = newton if low < newton < longest else 0.5 * (low + longest)
    return step
