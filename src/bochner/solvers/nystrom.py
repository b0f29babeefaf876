"""Preconditioners for ``A + alpha I``: the whole of A from some rows, or by those rows alone where A is too wide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, lapack, solve_triangular

from ..engine.schedule import slices
from .base import Design
from .gram import Gram

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: What is added to sums that are only good to float32, or to float64, relative to their trace.
_JITTER, _PRECISE_JITTER = 1e-8, 1e-13
#: Numbers of a block of rows whose products with other blocks are taken: 256 MB of float32.
_NUMBERS_OF_BLOCK = 1 << 26
_TINY = float(np.finfo(np.float32).tiny)


class Preconditioner(Protocol):
    """An approximate inverse ``R R^T`` of a symmetric positive definite matrix."""

    def solve(self, V: Floats) -> Floats:
        """Multiply by the approximate inverse."""

    def root_transposed(self, V: Floats) -> Floats:
        """Multiply by the transpose of R: its squares are the variances of predictions, without cancellation."""


@dataclass(frozen=True)
class Cholesky:
    """The preconditioner of a whole matrix, by its Cholesky factor."""

    lower: Array

    def solve(self, V: Floats) -> Floats:
        """Multiply by the approximate inverse."""
        return cho_solve((self.lower, True), V.astype(self.lower.dtype), check_finite=False).astype(np.float64)

    def root_transposed(self, V: Floats) -> Floats:
        """Multiply by the transpose of R, the inverse of the factor."""
        return _triangular(self.lower, V)


def _triangular(lower: Array, V: Floats, transposed: bool = False) -> Floats:
    V = V.astype(lower.dtype)
    return solve_triangular(lower, V, lower=True, trans=int(transposed), check_finite=False).astype(np.float64)


def gram_preconditioner(gram: Gram, scale: float, alpha: float, centred: bool = True) -> Cholesky:
    """Precondition by ``scale`` times the sums of some rows, with as much of a jitter as their precision asks for.

    The factor is in float32, or in float64 if the sums are precise.
    """
    jitter = (_PRECISE_JITTER if gram.precise else _JITTER) * scale * gram.weight
    dtype = np.float64 if gram.precise else np.float32
    while True:
        lower = _factor(gram.products(max(alpha, jitter), scale, centred).astype(dtype, copy=False))
        if lower is not None:
            return Cholesky(lower)
        jitter *= 10.0


def _factor(matrix: Array) -> Array | None:
    """Give the Cholesky factor of a matrix, which is overwritten; none if it is not positive definite."""
    potrf = lapack.spotrf if matrix.dtype == np.float32 else lapack.dpotrf
    lower, info = potrf(matrix, lower=1, overwrite_a=1, clean=0)
    return lower if info == 0 else None


class RowSample:
    """The Nyström approximation ``scale C^T W C`` of a matrix A by m centred rows that stand for all.

    Its inverse with a damping mu needs the m x m products of the rows only (Woodbury):

        (mu + s C^T C)^-1 = (I - B^T (I + B B^T)^-1 B) / mu,    B = sqrt(s / mu) C.

    Of what the sample does not know it says mu. There A has eigenvalues about ``kappa n``, where kappa solves
    ``sum_i lambda_i / (lambda_i + kappa) = m`` for the eigenvalues lambda of one row's covariance, the implicit ridge
    of a sample. It shows in the sample itself: a row lies at the squared distance ``m kappa`` from the span of the
    others, which is the inverse of the diagonal of the inverse of their products; of these the median is taken, since
    rows may be repeated. With the damping alpha alone, iterations would take twice as long.

    Parameters
    ----------
    design : Design
        The m rows.
    mean : array of shape (p,)
        Subtracted from the rows.
    scale : float
        Rows that one of the sample stands for, times a curvature.
    weights : array of shape (m,), optional
    """

    def __init__(self, design: Design, mean: Floats, scale: float, weights: Array | None = None) -> None:
        self._design, self._mean, self._scale = design, mean, scale
        self._roots = np.ones(design.shape[0]) if weights is None else np.sqrt(weights)
        self._products = _products(design, mean, self._roots)

    def damping(self, alpha: float, multiple: float = 2.0) -> float:
        """Choose the damping for a penalty: that and a multiple of the energy that rows leave to each other."""
        m, trace = len(self._products), float(np.trace(self._products))
        jitter = max(alpha / self._scale, 1e-6 * trace / m, _TINY)
        lower, jitter = _factored(self._products, 1.0, jitter)
        inverse, _ = lapack.strtri(lower, lower=1, overwrite_c=1)
        distances = 1.0 / np.square(np.tril(inverse)).sum(axis=0)
        return alpha + multiple * self._scale * max(float(np.median(distances)) - jitter, 0.0)

    def inverse(self, damping: float) -> SampleInverse:
        """Give the inverse for a damping, or for the least one above it that float32 can hold."""
        least = 1e-7 * self._scale * float(np.trace(self._products))
        damping = max(damping, least, _TINY)
        lower, unit = _factored(self._products, self._scale / damping, 1.0)
        # Where rounding asked for more than 1 on the diagonal, the damping is the larger by it.
        return SampleInverse(self._design, self._mean, self._roots, self._scale, damping * unit, lower / np.sqrt(unit))


def _products(design: Design, mean: Floats, roots: Floats) -> Array:
    """Give the lower half of ``C C^T`` in float32, from pairs of blocks: the rows are never all there."""
    m, p = design.shape
    out = np.zeros((m, m), dtype=np.float32, order="F")
    size = max(512, _NUMBERS_OF_BLOCK // p)

    def centred(rows: slice) -> Array:
        block = design.rows(rows) - mean.astype(design.dtype)
        block *= roots[rows, None].astype(design.dtype)
        return block.astype(np.float32, copy=False)

    for first in slices(m, size):
        left = centred(first)
        out[first, first] = left @ left.T
        for second in slices(first.start, size):
            out[first, second] = left @ centred(second).T
    return out


def _factored(products: Array, scale: float, diagonal: float) -> tuple[Array, float]:
    """Factor ``scale * products`` with a number on the diagonal: that one, or what rounding asks for."""
    while True:
        matrix = np.multiply(products, np.float32(scale), order="F")
        matrix[np.diag_indices(len(matrix))] += np.float32(diagonal)
        lower = _factor(matrix)
        if lower is not None:
            return lower, diagonal
        diagonal *= 10.0


@dataclass(frozen=True)
class SampleInverse:
    """``(mu + s C^T C)^-1`` for a sample of rows C, from the Cholesky factor L of ``I + B B^T``; see `RowSample`.

    A root of ``I - B^T (I + B B^T)^-1 B`` is ``I - B^T L^-T (L + I)^-1 B``: multiplied by its transpose, with
    ``B B^T = L L^T - I``, it gives ``I - B^T L^-T L^-1 B``.
    """

    design: Design
    mean: Floats
    roots: Floats
    scale: float
    damping: float
    lower: Array

    def with_design(self, design: Design) -> SampleInverse:
        """Give the same inverse, with the rows from elsewhere (as made anew, not kept)."""
        return replace(self, design=design)

    def solve(self, V: Floats) -> Floats:
        """Multiply by the approximate inverse."""
        inner = cho_solve((self.lower, True), self._rows_times(V).astype(np.float32), check_finite=False)
        return (V - self._columns_times(inner.astype(np.float64))) / self.damping

    def root_transposed(self, V: Floats) -> Floats:
        """Multiply by the transpose of R."""
        inner = _triangular(self.lower, self._rows_times(V))
        inner = _triangular(self._lower_plus_one, inner, transposed=True)
        return (V - self._columns_times(inner)) / np.sqrt(self.damping)

    @cached_property
    def _lower_plus_one(self) -> Array:
        matrix = self.lower.copy(order="F")
        matrix[np.diag_indices(len(matrix))] += np.float32(1.0)
        return matrix

    @property
    def _factor(self) -> Floats:
        """What makes B of the centred rows."""
        return np.sqrt(self.scale / self.damping) * self.roots[:, None]

    def _rows_times(self, V: Floats) -> Floats:
        return self._factor * (self.design.product(V) - self.mean @ V)

    def _columns_times(self, Z: Floats) -> Floats:
        scaled = self._factor * Z
        return self.design.transposed_product(scaled) - np.outer(self.mean, scaled.sum(axis=0))
