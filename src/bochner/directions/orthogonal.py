"""Orthogonal directions: rows of independent Haar matrices, stacked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def haar(dimension: int, rng: np.random.Generator) -> Array:
    """Draw a uniformly distributed orthogonal matrix.

    Notes
    -----
    The Q of a Gaussian matrix is uniform only if R has a positive diagonal, which LAPACK does not promise; the signs
    of R's diagonal go into Q (Mezzadri, How to generate random matrices from the classical compact groups, 2007).
    """
    q, r = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    signs = np.where(np.diag(r) < 0.0, -1.0, 1.0)
    return np.asarray(q * signs)


def orthogonal_rows(n: int, dimension: int, rng: np.random.Generator) -> Array:
    """Draw n unit vectors, orthogonal within each block of ``dimension``; the last block may be cut short."""
    rows = np.empty((n, dimension))
    for start in range(0, n, dimension):
        block = rows[start : start + dimension]
        block[:] = haar(dimension, rng)[: len(block)]
    return rows
