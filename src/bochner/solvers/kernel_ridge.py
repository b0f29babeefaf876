"""Kernel ridge regression by conjugate gradients, preconditioned by a sample of points, for several penalties at once.

The coefficients c of ``f = sum_j c_j k(x_j, .)`` solve ``(K + alpha / w) c = y``, or, with ``c = w^(1/2) u``, the
symmetric positive definite system

    (w^(1/2) K w^(1/2) + alpha) u = w^(1/2) y.

Each iteration multiplies by K once, whose tiles are made, used for all outputs and penalties, and forgotten.

The preconditioner knows K as a sample S of the points sees it, ``K_nS K_SS^-1 K_Sn`` (Nyström), and says of all else
that it is a multiple of the identity: the mean of what the sample leaves of the diagonal, and the penalty. Each
iteration costs half a pass of stochastic gradient steps, since the matrix is symmetric, and its result is exact (see
benchmarks/exact.py for both). It is the preconditioner of Cutajar, Osborne, Cunningham and Filippone, "Preconditioning
kernel matrices", 2016, and of Frangella, Tropp and Udell, "Randomized Nyström preconditioning", 2023, with their shift
chosen by the diagonal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from ..engine.schedule import slices
from ..progress import ignore_progress
from .base import Design, KernelMatrix, Progress, Solution
from .conjugate_gradient import conjugate_gradient
from .gram import Factor
from .nystrom import RowSample, SampleInverse

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: What points of the sample must have of their own, beside those before them, of their squared length 1.
_OWN = 1e-6
#: Columns of the matrix that the sample sees at a time.
_COLUMNS = 4096


class PointSample:
    """What the first points of a kernel matrix see of it: (m, n) with the products ``K_nS K_SS^-1 K_Sn``.

    The points must come in random order.
    """

    def __init__(self, matrix: KernelMatrix, size: int) -> None:
        n, sample = matrix.n_rows, slice(0, min(size, matrix.n_rows))
        lower, order = pivoted_cholesky(matrix.block(sample, sample).astype(np.float64), _OWN)
        self.rank = lower.shape[1]
        lower, chosen = lower[: self.rank].astype(np.float32), order[: self.rank]
        self._seen = np.empty((self.rank, n), dtype=np.float32)
        for columns in slices(n, _COLUMNS):
            block = matrix.block(sample, columns)[chosen].astype(np.float32, copy=False)
            self._seen[:, columns] = solve_triangular(lower, block, lower=True, check_finite=False)

    def inverse(self, weights: Floats, alpha: float) -> SampleInverse:
        """Precondition the system of the first points, of these weights, and a penalty; see above."""
        n = len(weights)
        seen = self._seen[:, :n]
        left = np.maximum(1.0 - np.einsum("ij,ij->j", seen, seen, dtype=np.float64), 0.0)
        rest = float(weights @ left) / max(1, n - self.rank)
        roots = np.sqrt(weights).astype(np.float32)

        def weighted(rows: slice, out: Array) -> None:
            np.multiply(seen[rows], roots, out=out)

        return RowSample(Design.made_by(weighted, seen.shape, np.float32), np.zeros(n), 1.0).inverse(alpha + rest)


def kernel_ridge(
    matrix: KernelMatrix,
    targets: Floats,
    penalties: list[float],
    weights: Floats,
    sample: PointSample,
    *,
    start: Floats | None = None,
    tolerance: float = 1e-3,
    max_iter: int = 100,
    progress: Progress = ignore_progress,
) -> Solution:
    """Give the coefficients for (n, k) targets and (n,) positive weights: (n, k) for each penalty, side by side.

    The first points of the sample must be those of the matrix.
    """
    roots, alphas = np.sqrt(weights)[:, None], np.repeat(penalties, targets.shape[1])
    everything = slice(0, matrix.n_rows)

    def apply(V: Floats) -> Floats:
        return roots * matrix.product(everything, roots * V)

    solution = conjugate_gradient(
        apply,
        np.tile(roots * targets, len(penalties)),
        sample.inverse(weights, float(np.median(penalties))).solve,
        None if start is None else start / roots,
        alphas,
        tolerance,
        max_iter,
        progress,
    )
    return replace(solution, value=roots * solution.value)


def kernel_ridge_by_cholesky(K: Floats, targets: Floats, weights: Floats, alpha: float) -> tuple[Floats, str]:
    """Give the (n, k) coefficients for a matrix that is there; directions without information are left out.

    The system is scaled to the diagonal 1: what is rounding there is so for each row by itself, whatever others weigh.
    """
    diagonal = np.maximum(weights * K.diagonal() + alpha, np.finfo(float).tiny)
    scales = np.sqrt(weights / diagonal)[:, None]

    def matrix() -> Floats:
        scaled = np.asfortranarray(K * scales * scales.T)
        scaled[np.diag_indices(len(K))] += alpha / diagonal
        return scaled

    factor = Factor(matrix, float(len(K)))
    return scales * factor.solve(scales * targets), factor.message


def pivoted_cholesky(K: Floats, own: float) -> tuple[Floats, Array]:
    """Give L (n, rank) and an order of the rows such that ``K[order][:, order] = L L^T``.

    Rows that those before them determine, as copies do, but for a share ``own`` of the diagonal 1, come last and have
    no column of their own.
    """
    lower, order, rank, _ = lapack.dpstrf(K, tol=own, lower=1)
    return np.ascontiguousarray(np.tril(lower)[:, :rank]), order - 1
