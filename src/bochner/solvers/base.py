"""What the solvers share: rows in blocks, a solution with its diagnosis, and where progress is told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..engine.schedule import accumulate, run, slices, sum_in_order

Array = NDArray[Any]
Block = tuple[slice, Array]
Write = Callable[[slice, Array], None]
Contribution = Callable[[slice, Array], tuple[Any, ...]]
#: Told what is being done, and the share of it that is done.
Progress = Callable[[str, float], None]

#: Numbers of a block for the products of whole matrices: 32 MB of float32.
_NUMBERS_OF_BLOCK = 1 << 23
#: Rows of a block that is made and used by one core: few enough for its cache, enough for its products.
_FEWEST_ROWS, _MOST_ROWS, _NUMBERS_IN_CACHE = 128, 256, 1 << 20
#: Entries of a design that is held in float64 in any case, and whose sums then are precise.
SMALL = 1 << 20
#: Runs of blocks whose sums are added up in parallel: enough for many cores.
_LANES = 64


def part_done(first: float, now: float, wanted: float) -> float:
    """Give the part of the way to a wanted residual that is done, by digits."""
    return float(np.clip(np.log(first / max(now, 1e-300)) / max(np.log(first / wanted), 1e-9), 0.0, 1.0))


def rows_of(weights: Array | None, rows: Any) -> Array | None:
    """Give the weights of some rows, if there are weights."""
    return None if weights is None else weights[rows]


def total_weight(design: Design, weights: Array | None) -> float:
    """Give the sum of the weights, or the number of rows."""
    return float(design.shape[0] if weights is None else weights.sum())


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


class KernelMatrix(Protocol):
    """A symmetric kernel matrix that is never there as a whole."""

    n_rows: int

    def block(self, rows: slice, columns: slice) -> Array:
        """Give the entries of some rows and columns."""

    def product(self, rows: slice, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply some rows by a matrix."""


class Design(ABC):
    """A tall matrix of which only blocks of rows are ever there: each pass makes them anew, or finds them kept.

    Iterating gives ``(rows, block)`` one after the other, in blocks as large as the products of whole matrices want
    them; a block may be overwritten by the next. `total` adds up what small blocks contribute, in parallel.
    """

    def __init__(self, shape: tuple[int, int], dtype: Any, block_rows: int) -> None:
        self.shape, self.dtype, self.block_rows = shape, np.dtype(dtype), block_rows
        self._tell: Callable[[float], None] = _tell_nobody

    @classmethod
    def of(cls, matrix: Array, block_rows: int = 512) -> Design:
        """Wrap a matrix that is in memory."""
        return _KeptRows(matrix, block_rows)

    @classmethod
    def made_by(cls, write: Write, shape: tuple[int, int], dtype: Any, block_rows: int | None = None) -> Design:
        """Make the rows whenever they are needed: ``write(rows, out)`` writes some of them, in any thread."""
        return _MadeRows(write, shape, dtype, block_rows or max(512, min(4096, _NUMBERS_OF_BLOCK // shape[1])))

    @abstractmethod
    def rows(self, rows: slice, buffer: Array | None = None) -> Array:
        """Give some rows, made in parallel: in the buffer or elsewhere, not to be changed."""

    @abstractmethod
    def _read(self, rows: slice, buffer: Array) -> Array:
        """Give some rows, made in this thread: in the buffer or elsewhere, not to be changed."""

    def __iter__(self) -> Iterator[Block]:
        buffer = np.empty((min(self.block_rows, self.shape[0]), self.shape[1]), dtype=self.dtype)
        for rows in slices(self.shape[0], self.block_rows):
            yield rows, self.rows(rows, buffer[: _length(rows)])
            self._tell(rows.stop / self.shape[0])

    @property
    @abstractmethod
    def _rows_at_once(self) -> int:
        """Rows of a block in `total`."""

    @property
    def n_bytes(self) -> int:
        """Memory that the whole matrix would take."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def telling(self, what: str, progress: Progress) -> Design:
        """Give the same design, which tells how far each pass over it is."""
        design = copy(self)
        design._tell = lambda done: progress(what, done)
        return design

    def kept(self, block_rows: int = 512, dtype: Any = None) -> Design:
        """Compute the whole matrix once and keep it, in another precision if one is given."""
        matrix = np.empty(self.shape, dtype=self.dtype if dtype is None else dtype)
        for rows in slices(self.shape[0], self.block_rows):
            place = matrix[rows]
            block = self.rows(rows, place if matrix.dtype == self.dtype else None)
            if block is not place:
                place[...] = block
            self._tell(rows.stop / self.shape[0])
        return Design.of(matrix, block_rows)

    def total(self, contribution: Contribution) -> tuple[NDArray[np.float64], ...]:
        """Add up the arrays that ``contribution(rows, block)`` gives for blocks of rows.

        Blocks are worked on in parallel. Those that are made anew are so small that they stay in a core's cache until
        they are used; those that are kept are larger, since adding up takes time too. The sums are in float64 and in an
        order that does not depend on the number of threads.
        """
        block_rows = self._rows_at_once
        blocks = slices(self.shape[0], block_rows)

        def sums_of(lane: slice) -> list[NDArray[np.float64]]:
            buffer = np.empty((block_rows, self.shape[1]), dtype=self.dtype)
            sums: list[NDArray[np.float64]] = []
            for rows in blocks[lane]:
                accumulate(sums, contribution(rows, self._read(rows, buffer[: _length(rows)])))
            return sums

        return sum_in_order(sums_of, slices(len(blocks), -(-len(blocks) // _LANES)), self._tell)

    def product(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply by a (p, k) matrix from the right."""
        out, single = np.empty((self.shape[0], V.shape[1])), V.astype(self.dtype)

        def contribution(rows: slice, block: Array) -> tuple[float]:
            out[rows] = block @ single
            return (0.0,)

        self.total(contribution)
        return out

    def transposed_product(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the transpose by an (n, k) matrix from the right."""
        single = Z.astype(self.dtype)
        return self.total(lambda rows, block: (single[rows].T @ block,))[0].T

    def mean(self, weights: Array | None = None) -> NDArray[np.float64]:
        """Give the (weighted) mean row."""

        def contribution(rows: slice, block: Array) -> tuple[Array, Any]:
            w = np.ones(len(block)) if weights is None else weights[rows]
            return w.astype(self.dtype) @ block, w.sum()

        sums, weight = self.total(contribution)
        return sums / weight


class _KeptRows(Design):
    def __init__(self, matrix: Array, block_rows: int) -> None:
        super().__init__(matrix.shape, matrix.dtype, block_rows)
        self._matrix = matrix

    def rows(self, rows: slice, buffer: Array | None = None) -> Array:
        return self._matrix[rows]

    _read = rows

    @property
    def _rows_at_once(self) -> int:
        return self.block_rows


class _MadeRows(Design):
    def __init__(self, write: Write, shape: tuple[int, int], dtype: Any, block_rows: int) -> None:
        super().__init__(shape, dtype, block_rows)
        self._write = write

    def rows(self, rows: slice, buffer: Array | None = None) -> Array:
        out = np.empty((_length(rows), self.shape[1]), dtype=self.dtype) if buffer is None else buffer

        def fill(piece: slice) -> None:
            self._write(slice(rows.start + piece.start, rows.start + piece.stop), out[piece])

        run(fill, slices(_length(rows), self._rows_at_once))
        return out

    @property
    def _rows_at_once(self) -> int:
        return min(self.block_rows, max(_FEWEST_ROWS, min(_MOST_ROWS, _NUMBERS_IN_CACHE // self.shape[1])))

    def _read(self, rows: slice, buffer: Array) -> Array:
        self._write(rows, buffer)
        return buffer


def _length(rows: slice) -> int:
    return rows.stop - rows.start


def _tell_nobody(done: float) -> None:
    """Tell nobody how far a pass is."""
