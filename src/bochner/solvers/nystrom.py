"""Preconditioners for ``A + alpha I``: the whole of A from some rows, or its leading eigenvectors (Nyström)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, eigh, lapack, qr, solve_triangular, svd

from .base import Design
from .conjugate_gradient import centred_normal
from .gram import Gram

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: What is added to sums that are only good to float32, relative to their trace.
_JITTER = 1e-8


class Preconditioner(Protocol):
    """An approximate inverse ``R R^T`` of a symmetric positive definite matrix."""

    def solve(self, V: Floats) -> Floats:
        """Multiply by the approximate inverse."""

    def root(self, V: Floats) -> Floats:
        """Multiply by R."""

    def root_transposed(self, V: Floats) -> Floats:
        """Multiply by the transpose of R."""


@dataclass(frozen=True)
class Cholesky:
    """The preconditioner of a whole matrix, by its Cholesky factor."""

    lower: Array

    def solve(self, V: Floats) -> Floats:
        """Multiply by the approximate inverse."""
        return cho_solve((self.lower, True), V.astype(self.lower.dtype), check_finite=False).astype(np.float64)

    def root(self, V: Floats) -> Floats:
        """Multiply by R, the inverse of the transposed factor."""
        return self._triangular(V, trans=1)

    def root_transposed(self, V: Floats) -> Floats:
        """Multiply by the transpose of R."""
        return self._triangular(V, trans=0)

    def _triangular(self, V: Floats, trans: int) -> Floats:
        V = V.astype(self.lower.dtype)
        return solve_triangular(self.lower, V, lower=True, trans=trans, check_finite=False).astype(np.float64)


def gram_preconditioner(gram: Gram, scale: float, alpha: float) -> Cholesky:
    """Precondition by ``scale`` times the sums of some rows; in float32, where a penalty or a jitter allows it."""
    jitter = _JITTER * scale * gram.weight
    while True:
        matrix = gram.products(max(alpha, jitter), scale).astype(np.float32)
        lower, info = lapack.spotrf(matrix, lower=1, overwrite_a=1, clean=0)
        if info == 0:
            return Cholesky(lower)
        jitter *= 10.0


@dataclass(frozen=True)
class Nystrom:
    """``(U L U^T + alpha I)^-1`` on the leading eigenvectors U, and the least of their eigenvalues on the rest.

    Frangella, Tropp and Udell, "Randomized Nyström preconditioning", 2023, equation (1.3).
    """

    vectors: Array  # (p, rank), orthonormal
    values: Floats  # (rank,), falling
    alpha: float

    def solve(self, V: Floats) -> Floats:
        """Multiply by the approximate inverse."""
        return self._power(V, -1.0)

    def root(self, V: Floats) -> Floats:
        """Multiply by R, which is symmetric here."""
        return self._power(V, -0.5)

    root_transposed = root

    def _power(self, V: Floats, exponent: float) -> Floats:
        rest = (self.values[-1] + self.alpha) ** exponent
        factors = (self.values + self.alpha) ** exponent - rest
        single = V.astype(self.vectors.dtype)
        inner = (self.vectors.T @ single) * factors[:, None].astype(self.vectors.dtype)
        return rest * V + self.vectors @ inner


def nystrom_preconditioner(
    design: Design,
    rank: int,
    scale: float,
    alpha: float,
    mean: Floats,
    rng: np.random.Generator,
    weights: Array | None = None,
) -> Nystrom:
    """Approximate ``scale * C^T W C + alpha I`` by random projections of the (some) rows: one pass over them.

    Algorithm 2.1 of the same paper: with an orthonormal random matrix Q and ``Y = A Q``, the approximation is
    ``Y (Q^T Y)^-1 Y^T``, shifted a little for stability.
    """
    rank = min(rank, design.shape[1])
    draws = rng.standard_normal((design.shape[1], rank)).astype(design.dtype)
    test, _ = qr(draws, mode="economic", overwrite_a=True, check_finite=False)
    sketch = scale * centred_normal(design, weights, mean)(test)
    shift = np.sqrt(design.shape[1]) * float(np.finfo(design.dtype).eps) * np.linalg.norm(sketch)
    sketch += shift * test
    middle = test.T @ sketch
    # By eigenvectors, which unlike a Cholesky factor exist for rows that are all alike too.
    inner_values, inner = eigh((middle + middle.T) / 2.0)
    kept = inner_values > 1e-12 * max(inner_values[-1], np.finfo(float).tiny)
    half = sketch @ (inner[:, kept] / np.sqrt(inner_values[kept])) if kept.any() else np.zeros((len(sketch), 1))
    vectors, singular, _ = svd(half, full_matrices=False, overwrite_a=True, check_finite=False)
    values = np.maximum(np.square(singular) - shift, 0.0)
    return Nystrom(vectors.astype(design.dtype), values, max(alpha, float(np.finfo(np.float32).eps) * values[0], 1e-30))
