"""What loops share that take four coordinates of four points at once: each number loaded serves four times.

Such loops see flat arrays with rows of constant length, and unsigned indices: so LLVM knows that nothing overlaps, and
uses vectors. Zeros complete the coordinates to whole fours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled


def whole_fours(n: int) -> int:
    """Round up to a multiple of four."""
    return -(-n // 4) * 4


def completed(points: NDArray[Any]) -> NDArray[Any]:
    """Add columns of zeros to (n, d) points, to whole fours of them."""
    out = np.zeros((len(points), whole_fours(points.shape[1])), dtype=points.dtype)
    out[:, : points.shape[1]] = points
    return out


@compiled()
def four_of(row, k):
    """Give four numbers of a row."""
    return row[k], row[k + 1], row[k + 2], row[k + 3]


@compiled()
def four_rows(points, i):
    """Give four rows; beyond the last it is repeated, so that all go through the same operations."""
    last = points.shape[0] - 1
    return points[i], points[min(i + 1, last)], points[min(i + 2, last)], points[min(i + 3, last)]
