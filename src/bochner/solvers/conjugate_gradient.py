"""Preconditioned conjugate gradients with many right-hand sides, and ridge regression by them.

For widths at which a Gram matrix is too large, or too slow: each iteration is one pass over the rows, which are made
anew block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..progress import ignore_progress
from .base import Design, Progress, Solution, part_done

Array = NDArray[Any]
Floats = NDArray[np.float64]
Map = Callable[[Floats], Floats]


def conjugate_gradient(
    apply: Map,
    right: Floats,
    precondition: Map,
    start: Floats | None = None,
    shifts: Floats | float = 0.0,
    tolerance: float = 1e-6,
    max_iter: int = 200,
    progress: Progress = ignore_progress,
) -> Solution:
    """Solve ``(A + shift) V = right`` for each column of ``right``, which may have a shift each; A + shift is positive.

    Converged means that the norm of every column's residual is below ``tolerance`` times that of the column. Every
    column has its own step lengths (Saad, Iterative Methods for Sparse Linear Systems, algorithm 9.1), and is left
    alone once it is solved, or once rounding has taken over.
    """
    # In units of the right-hand sides, so that a preconditioner in float32 can hold them.
    scale, shifts = np.linalg.norm(right, axis=0), np.broadcast_to(shifts, right.shape[1])
    scale[scale == 0.0] = 1.0
    right = right / scale
    value = np.zeros_like(right) if start is None else start / scale
    residual = right - (apply(value) + shifts * value) if start is not None else right.copy()
    norms = np.linalg.norm(residual, axis=0)
    direction, last = np.zeros_like(right), np.ones(right.shape[1])
    best, best_value, first, n_iter = norms.copy(), value.copy(), float(norms.max()), 0
    active = np.flatnonzero(norms > tolerance)
    while len(active) and n_iter < max_iter:
        of_active = residual[:, active]
        preconditioned = precondition(of_active)
        product = (of_active * preconditioned).sum(axis=0)
        along = preconditioned + direction[:, active] * _ratio(product, last[active])
        applied = apply(along) + shifts[active] * along
        step = _ratio(product, (along * applied).sum(axis=0))
        value[:, active] += along * step
        of_active -= applied * step
        residual[:, active], direction[:, active], last[active] = of_active, along, product
        norms[active], n_iter = np.linalg.norm(of_active, axis=0), n_iter + 1
        better = active[norms[active] < best[active]]
        best[better], best_value[:, better] = norms[better], value[:, better]
        active = active[(norms[active] > tolerance) & (norms[active] <= 1e3 * best[active])]
        worst = float(best.max())
        progress(f"Conjugate gradients, residual {worst:.1g}", part_done(first, worst, tolerance))
    worst = float(best.max())
    message = f"The relative residual is {worst:.1e} after {n_iter} iterations; {tolerance:.1e} was asked for."
    found = best_value * scale if n_iter or start is None else start.copy()
    return Solution(found, worst <= tolerance, n_iter, worst, message)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; a column that is solved exactly gets 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0.0)


def centred_normal(design: Design, weights: Array | None, mean: Floats) -> Map:
    """Give the map ``V -> C^T W C V`` with the centred rows ``C = Phi - 1 mean^T``, by one pass over the rows."""

    def normal(V: Floats) -> Floats:
        single, shift = V.astype(design.dtype), (mean @ V).astype(design.dtype)

        def contribution(rows: slice, block: Array) -> tuple[Array, Array]:
            Z = block @ single - shift
            if weights is not None:
                Z *= weights[rows, None].astype(design.dtype)
            # In this order the long side is the last one, up to half as fast again for few columns.
            return Z.T @ block, Z.sum(axis=0, dtype=np.float64)

        out, sums = design.total(contribution)
        return out.T - np.outer(mean, sums)

    return normal


def moments(design: Design, targets: Array, weights: Array | None) -> tuple[Floats, Floats]:
    """Give the weighted mean row and the products of centred rows with the targets, by one pass over the rows."""

    def contribution(rows: slice, block: Array) -> tuple[Array, Any, Floats]:
        w = np.ones(len(block)) if weights is None else weights[rows]
        weighted = w[:, None] * targets[rows]
        products = block.T @ np.column_stack([w, weighted]).astype(design.dtype)
        return products, w.sum(), weighted.sum(axis=0)

    products, weight, sums = design.total(contribution)
    mean = products[:, 0] / weight
    return mean, products[:, 1:] - np.outer(mean, sums)


def ridge_by_conjugate_gradient(
    design: Design,
    mean: Floats,
    cross: Floats,
    weights: Array | None,
    alpha: float,
    precondition: Map,
    *,
    start: Floats | None = None,
    tolerance: float = 1e-4,
    max_iter: int = 200,
    progress: Progress = ignore_progress,
) -> Solution:
    """Solve ridge regression with a free intercept for the (p, k) coefficients, without a Gram matrix.

    ``mean`` and ``cross`` are the `moments` of the design.
    """
    normal = centred_normal(design, weights, mean)
    return conjugate_gradient(normal, cross, precondition, start, alpha, tolerance, max_iter, progress)
