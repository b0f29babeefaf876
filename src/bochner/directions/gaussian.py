"""Independent directions: rows of a standard Gaussian matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gaussian_rows(n: int, dimension: int, rng: np.random.Generator) -> Array:
    """Draw n standard Gaussian vectors."""
    return rng.standard_normal((n, dimension))


def unit_rows(n: int, dimension: int, rng: np.random.Generator) -> Array:
    """Draw n independent uniform unit vectors."""
    rows = gaussian_rows(n, dimension, rng)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
