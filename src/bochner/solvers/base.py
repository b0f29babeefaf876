"""What the solvers share: rows in blocks, a solution with its diagnosis, and where progress is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Block = tuple[slice, Array]
#: Told what is being done, and the share of it that is done.
Progress = Callable[[str, float], None]


def ignore_progress(what: str, done: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Solution:
    """What a solver found, and how good it is.

    Attributes
    ----------
    value : array
        The solution.
    converged : bool
    n_iter : int
        Iterations taken; 0 for a direct solver.
    residual : float
        The relative norm that was to be made small.
    message : str
        What happened, in a sentence.
    """

    value: Array
    converged: bool
    n_iter: int
    residual: float
    message: str


class Design:
    """A tall matrix of which only a block of rows is ever there: each pass makes the blocks anew, or finds them kept.

    Parameters
    ----------
    blocks : callable
        Returns an iterator over ``(rows, block)``; a block may be overwritten by the next.
    shape : tuple of int
    dtype : float32 or float64
    """

    def __init__(self, blocks: Callable[[], Iterator[Block]], shape: tuple[int, int], dtype: Any) -> None:
        self._blocks, self.shape, self.dtype = blocks, shape, np.dtype(dtype)

    def __iter__(self) -> Iterator[Block]:
        return self._blocks()

    @property
    def n_bytes(self) -> int:
        """Memory that the whole matrix would take."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def kept(self, block_rows: int = 512, dtype: Any = None) -> Design:
        """Compute the whole matrix once and keep it, in another precision if one is given."""
        matrix = np.empty(self.shape, dtype=self.dtype if dtype is None else dtype)
        for rows, block in self:
            matrix[rows] = block
        return Design.of(matrix, block_rows)

    @classmethod
    def of(cls, matrix: Array, block_rows: int = 512) -> Design:
        """Wrap a matrix that is in memory."""

        def blocks() -> Iterator[Block]:
            for start in range(0, len(matrix), block_rows):
                rows = slice(start, min(start + block_rows, len(matrix)))
                yield rows, matrix[rows]

        return cls(blocks, matrix.shape, matrix.dtype)

    def mean(self, weights: Array | None = None) -> NDArray[np.float64]:
        """Give the (weighted) mean row."""
        total = np.zeros(self.shape[1])
        for rows, block in self:
            ones = np.ones(len(block), dtype=self.dtype) if weights is None else weights[rows].astype(self.dtype)
            total += ones @ block
        return total / (self.shape[0] if weights is None else weights.sum())
