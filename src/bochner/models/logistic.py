"""Logistic regression: on features, on roots of a kernel matrix, and by iterations in the kernel's own space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ..kernels import Kernel
from ..solvers import (
    SMALL,
    WIDEST_SUMS,
    Design,
    PointSample,
    Softmax,
    SoftmaxPreconditioning,
    kernel_softmax,
    log_odds,
    minimise_softmax,
    pivoted_cholesky,
)
from .expansion import Expansion, KernelRows, Rows
from .linear import TINY, Effort, LinearModel, Sample, goal
from .tuning import threads_for

Array = NDArray[Any]

#: Relative gradient on roots of the kernel matrix, where iterations cost little beside the roots.
_ON_ROOTS = 1e-10


def softmax_model(
    design: Design,
    some: Sample,
    classes: Array,
    n_classes: int,
    weights: Array | None,
    alpha: float,
    effort: Effort,
) -> LinearModel:
    """Fit by preconditioned L-BFGS."""
    if design.shape[0] * design.shape[1] <= SMALL:
        design = design.kept(dtype=np.float64)
    problem = Softmax(design, classes, n_classes, alpha, weights)
    rows = some.rows(effort, WIDEST_SUMS)
    preconditioning = SoftmaxPreconditioning(rows, some.weights, problem.total_curvature)
    problem.mean = preconditioning.mean
    with threads_for(design.shape):
        solution = minimise_softmax(
            problem,
            preconditioning.at(alpha),
            tolerance=goal(design, effort.tolerance, 1e-12, TINY),
            max_iter=effort.max_iter,
            progress=effort.progress,
        )
    solution = replace(solution, converged=solution.residual <= effort.tolerance)
    return LinearModel(solution.value[:-1], solution.value[-1], alpha, "softmax", solution)


def softmax_on_roots(kernel: Kernel, rows: Rows, n_classes: int, alpha: float, effort: Effort) -> Expansion:
    """Solve on the rows of L, ``K = L L^T``: coefficients t there are ``L^-T t`` here."""
    n = len(rows.X)
    lower, order = pivoted_cholesky(kernel(rows.X.astype(np.float64, copy=False)), 1e-12 * n)
    roots = np.empty_like(lower)
    roots[order] = lower
    design = Design.of(roots)
    problem = Softmax(design, rows.targets, n_classes, alpha, rows.weights, free_intercept=False)
    solution = minimise_softmax(
        problem,
        SoftmaxPreconditioning.of_matrix(roots, rows.weights, problem.total_curvature, centred=False).at(alpha),
        tolerance=min(effort.tolerance, _ON_ROOTS),
        max_iter=effort.max_iter,
        progress=effort.progress,
    )
    reached = f"The relative gradient norm is {solution.residual:.1e} after {solution.n_iter} iterations"
    message = f"{reached}; {effort.tolerance:.1e} was asked for."
    solution = replace(solution, converged=solution.residual <= effort.tolerance, message=message)
    rank, coefficients = lower.shape[1], np.zeros((n, problem.n_scores))
    coefficients[order[:rank]] = solve_triangular(lower[:rank], solution.value[:-1], lower=True, trans=1)
    return Expansion(rows.X, coefficients, solution.value[-1], alpha, "cholesky", solution)


def softmax_by_conjugate_gradient(
    kernel: Kernel,
    rows: Rows,
    n_classes: int,
    alpha: float,
    effort: Effort,
    order: Array,
    sample_of: Callable[[KernelRows], PointSample],
) -> Expansion:
    """Solve in the space of the kernel, preconditioned by the first points in a random order."""
    intercept = log_odds(rows.targets, n_classes, rows.weights)
    matrix = KernelRows(kernel, rows.X[order])
    solution = kernel_softmax(
        matrix,
        rows.targets[order],
        intercept,
        alpha,
        rows.weights[order],
        sample_of(matrix),
        tolerance=effort.tolerance,
        max_iter=effort.max_iter,
        progress=effort.progress,
    )
    coefficients = solution.value[np.argsort(order)]
    return Expansion(rows.X, coefficients, intercept, alpha, "conjugate_gradient", solution)
