"""Orthogonal directions: rows of independent Haar matrices, stacked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import engine

Array = NDArray[np.float64]


# A Gaussian matrix for each block is held at once, up to this many numbers.
_NUMBERS_AT_ONCE = 1 << 22


def haar(n: int, dimension: int, rng: np.random.Generator) -> Array:
    """Draw n uniformly distributed orthogonal matrices, shape (n, dimension, dimension).

    Notes
    -----
    The Q of a Gaussian matrix is uniform only if R has a positive diagonal, which LAPACK does not promise; the signs
    of R's diagonal go into Q (Mezzadri, How to generate random matrices from the classical compact groups, 2007).
    """
    matrices = rng.standard_normal((n, dimension, dimension))

    def orthogonalise(block: slice) -> None:
        q, r = np.linalg.qr(matrices[block])
        signs = np.where(np.diagonal(r, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
        matrices[block] = q * signs[:, None, :]

    engine.schedule.run(orthogonalise, engine.schedule.slices(n, max(1, 2**16 // dimension**2)))
    return matrices


def orthogonal_rows(n: int, dimension: int, rng: np.random.Generator) -> Array:
    """Draw n unit vectors, orthogonal within each block of ``dimension``; the last block may be cut short."""
    if n < dimension:
        # The first rows of a Haar matrix alone, by a factorisation as small as they are few.
        q, r = np.linalg.qr(rng.standard_normal((dimension, n)))
        return (q * np.where(np.diag(r) < 0.0, -1.0, 1.0)).T
    rows = np.empty((n, dimension))
    step = dimension * max(1, _NUMBERS_AT_ONCE // dimension**2)
    for start in range(0, n, step):
        some = rows[start : start + step]
        some[:] = haar(-(-len(some) // dimension), dimension, rng).reshape(-1, dimension)[: len(some)]
    return rows
