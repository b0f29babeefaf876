"""Functions of the distance between all pairs of points, tile by tile.

L1 distances, and Euclidean ones in few dimensions, come from differences. In many dimensions they come from a matrix
product, ``|a|^2 + |b|^2 - 2 a.b``, which is fast and loses the digits of pairs that are much closer to each other than
to the origin. Such near pairs are found by that very comparison and done again by differences in float64; a tile with
many of them is done again whole by a product in float64. So small distances are right to the last digits, and equal
points give exactly the function at zero. Where most tiles would be done again, all are done in float64 at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import schedule
from .compiling import compiled
from .distances import (
    LENGTH,
    fill_by_differences,
    finish_products,
    in_long_rows,
    positions_of_near,
    small_distances,
    squared_differences,
)
from .fours import completed
from .points import Points, squared_norms
from .schedule import slices
from .table import Table, bits_of, look_up, tabulate
from .transpose import transpose

Array = NDArray[Any]
Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]
#: Rows and columns of a tile.
Task = tuple[slice, slice]
#: Where a tile begins in an array.
Corner = tuple[int, int]

#: The longest sides of a tile: large for the sake of the product, small enough for the caches.
TILE_ROWS, TILE_COLUMNS = 512, LENGTH
#: Rows of a product's task, and of a tile that is worth a thread.
_TASK_ROWS, _FEW_ROWS = 256, 64
#: Up to this dimension differences are quicker than a product ...
_FEW_DIMENSIONS = 16
#: ... and up to this one a product in float64 costs little more than one in float32.
_CHEAP_DIMENSION = 32
#: Share of near pairs beyond which a float32 tile is done again in float64.
_MANY = 1 / 64
#: Tiles that are looked at to see whether most would be done again, along each side, and rows and columns of each.
_LOOKED_AT, _LOOK_SIDE = 8, 32
#: Near pairs that are quicker by the function itself than by looking them up.
_FEW = 64
_NONE = np.empty((0, 2), dtype=np.int64)
# Of squared lengths; their sums are finite.
_LARGEST = 1e300
# Of a weight that is taken out of the squares and put back: they stay in the range of float64.
_SMALLEST_UNIT = 1e-100
# Of coordinates whose squares float32 can hold.
_LARGEST_SINGLE = 1e16


def near_threshold(compute: Any, result: Any) -> float:
    """Choose the squared distance, relative to the squared lengths, below which a product is too rough.

    A product errs by about the unit roundoff times the squared lengths, so a distance just at the threshold has a
    relative error of roundoff / threshold: 3e-7 for float32, 1e-13 for float64.
    """
    if np.dtype(compute) == np.float32:
        return 0.2
    return 1e-3 if np.dtype(result) == np.float64 else 1e-6


@dataclass
class ProductTiles:
    """Tiles of ``function(|a - b|^2)`` for two sets of points, by matrix products."""

    a: Points
    b: Points
    function: Function
    dtype: Any
    #: Side of the tiles on the diagonal; the product of such a tile is half the work, which NumPy knows.
    diagonal_side: ClassVar[int] = 256

    def __post_init__(self) -> None:
        precise = self.dtype == np.float64 or self.a.dimension <= _CHEAP_DIMENSION
        precise = precise or max(self.a.reach, self.b.reach) > _LARGEST_SINGLE or self._mostly_near()
        self.compute = np.float64 if precise else np.float32
        self._left, self._left_norms = left = self.a.rounded(self.compute)
        self._right, self._right_norms = left if self.a is self.b else self.b.rounded(self.compute)
        self._typical, self._largest = _range_of(self._left_norms, self._right_norms)
        self._tables: dict[Any, Table] = {}
        self._table(self.compute)

    def _mostly_near(self) -> bool:
        """Look at a few tiles: if most have many near pairs, each would be done in float32 for nothing."""
        if len(self.a) * len(self.b) < TILE_ROWS * TILE_COLUMNS * _LOOKED_AT:
            return False
        left, right = (points.whitened(_looked_at(len(points))) for points in (self.a, self.b))
        lengths = squared_norms(left)[:, None] + squared_norms(right)
        near = lengths - 2.0 * left @ right.T < near_threshold(np.float32, self.dtype) * lengths
        shares = near.reshape(_LOOKED_AT, _LOOK_SIDE, _LOOKED_AT, _LOOK_SIDE).mean(axis=(1, 3))
        return bool((shares > _MANY).mean() > 0.5)

    def _table(self, dtype: Any) -> Table:
        if dtype not in self._tables:
            self._tables[dtype] = tabulate(self.function, self._largest, dtype, self._typical)
        return self._tables[dtype]

    def transposed(self) -> ProductTiles:
        """Give the tiles of the transposed matrix."""
        return self if self.a is self.b else type(self)(self.b, self.a, self.function, self.dtype)

    def fill(self, rows: slice, columns: slice, out: Array, corner: Corner, upper: bool = False) -> None:
        """Write one tile to its place in ``out`` (C-contiguous): whole, even if the upper half is enough."""
        left, right = self._left[rows], self._right[columns]
        norms = self._left_norms[rows], self._right_norms[columns]
        near, expected = self._fill_by_product(left, right, norms, out, corner), self_pairs(self, rows, columns)
        if self.compute == np.float32 and len(near) - expected > _MANY * len(left) * len(right):
            left, right = self.a.whitened(rows), self.b.whitened(columns)
            near = self._fill_by_product(left, right, (squared_norms(left), squared_norms(right)), out, corner)
        if len(near) > expected:
            self._redo(near, rows, columns, out, corner)

    def _fill_by_product(
        self, left: Array, right: Array, norms: tuple[Array, Array], out: Array, corner: Corner
    ) -> Array:
        """Fill a tile by a matrix product and return the (k, 2) positions of pairs that are too near for it."""
        table = self._table(left.dtype.type)
        threshold = left.dtype.type(near_threshold(left.dtype, self.dtype))
        smallest = left.dtype.type(table.smallest)
        squared = left @ right.T
        n_near = finish_products(
            squared, bits_of(squared), *norms, threshold, smallest, table.coefficients, table.first_cell, out, *corner
        )
        return positions_of_near(squared, n_near) if n_near else _NONE

    def _redo(self, near: Array, rows: slice, columns: slice, out: Array, corner: Corner) -> None:
        if self.a is self.b:
            near = near[near[:, 0] + rows.start != near[:, 1] + columns.start]
        of_rows, left = np.unique(near[:, 0], return_inverse=True)
        of_columns, right = np.unique(near[:, 1], return_inverse=True)
        points = self.a.unrounded(rows.start + of_rows), self.b.unrounded(columns.start + of_columns)
        squared = squared_differences(*points, self.a.factors, np.column_stack([left, right]))
        out[corner[0] + near[:, 0], corner[1] + near[:, 1]] = self._values(squared)

    def _values(self, squared: NDArray[np.float64]) -> NDArray[np.float64]:
        """Evaluate the function: by the table if many arguments are long enough for it, and where it can."""
        if len(squared) < _FEW:
            return at_zero_one(self.function, squared)
        table, values = self._table(np.float64), np.empty_like(squared)
        look_up(table, squared[None], values[None])
        small = squared < table.smallest
        values[small] = at_zero_one(self.function, squared[small])
        return values


@dataclass
class DifferenceTiles:
    """Tiles of ``function(sum_j |a_j - b_j|^power)``, power 1 or 2, for two sets of points, by differences."""

    a: Points
    b: Points
    function: Function
    dtype: Any
    power: int
    diagonal_side: ClassVar[int] = LENGTH

    def __post_init__(self) -> None:
        everything = slice(None)
        left = self.a.unrounded(everything)
        right = left if self.a is self.b else self.b.unrounded(everything)
        self._left = completed(left)
        self._right = np.ascontiguousarray(right.T)  # so that the inner loop runs over points
        with np.errstate(over="ignore"):
            lengths = [np.power(abs(side.whitened(everything)), self.power).sum(axis=1) for side in (self.a, self.b)]
        typical, largest = _range_of(*lengths)
        # A weight that all coordinates share is left to the function.
        weights = self.a.factors**self.power
        shared = (weights == weights[0]).all() and _SMALLEST_UNIT < weights[0] < 1.0 / _SMALLEST_UNIT
        unit = weights[0] if shared else 1.0
        self._weights = None if shared else completed(weights[None])[0]
        self._of_sums = lambda sums: self.function(unit * sums)
        self._table = tabulate(self._of_sums, min(largest / unit, _LARGEST), np.float64, min(typical / unit, _LARGEST))

    def transposed(self) -> DifferenceTiles:
        """Give the tiles of the transposed matrix."""
        return self if self.a is self.b else type(self)(self.b, self.a, self.function, self.dtype, self.power)

    def fill(self, rows: slice, columns: slice, out: Array, corner: Corner, upper: bool = False) -> None:
        """Write one tile to its place in ``out`` (C-contiguous); of one on the diagonal, if asked, the upper half."""
        left, right, width = self._left[rows], in_long_rows(self._right[:, columns]), columns.stop - columns.start
        table, how = self._table, (width, self._weights, self.power, self._table.smallest)
        firsts = np.arange(len(left)) // 4 * 4 if upper else np.zeros(len(left), dtype=np.int64)
        n_small = fill_by_differences(left, right, *how, table.coefficients, table.first_cell, out, *corner, firsts)
        again = np.flatnonzero(n_small > self._pairs_with_itself(rows, columns))
        if len(again):
            small, distances = small_distances(left[again], right, *how, firsts[again], n_small[again].sum())
            values = at_zero_one(self._of_sums, distances)
            out[corner[0] + again[small[:, 0]], corner[1] + small[:, 1]] = values

    def _pairs_with_itself(self, rows: slice, columns: slice) -> NDArray[np.bool_]:
        """Tell of each row whether its point is among the columns, too."""
        points = np.arange(rows.start, rows.stop)
        return (points >= columns.start) & (points < columns.stop) & (self.a is self.b)


def self_pairs(tiles: Tiles, rows: slice, columns: slice) -> int:
    """Count the pairs of a point with itself in a tile; they need no second look, being 1 by definition."""
    return max(0, min(rows.stop, columns.stop) - max(rows.start, columns.start)) if tiles.a is tiles.b else 0


def euclidean_tiles(a: Points, b: Points, function: Function, dtype: Any) -> Tiles:
    """Give the tiles of ``function(|a - b|^2)``, by what is quicker in that many dimensions."""
    if a.dimension <= _FEW_DIMENSIONS:
        return DifferenceTiles(a, b, function, dtype, power=2)
    return ProductTiles(a, b, function, dtype)


def manhattan_tiles(a: Points, b: Points, function: Function, dtype: Any) -> Tiles:
    """Give the tiles of ``function(|a - b|_1)``."""
    return DifferenceTiles(a, b, function, dtype, power=1)


Tiles = ProductTiles | DifferenceTiles


def matrix(tiles: Tiles, rows: slice | None = None, columns: slice | None = None) -> Array:
    """Compute the matrix, or a block of it; exactly symmetric with a diagonal of ones if both sets are the same."""
    rows, columns = rows or slice(0, len(tiles.a)), columns or slice(0, len(tiles.b))
    same = tiles.a is tiles.b and rows == columns
    out = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype=tiles.dtype)

    def fill(task: Task) -> None:
        here, there = task
        row, column = corner = here.start - rows.start, there.start - columns.start
        tiles.fill(here, there, out, corner, upper=same and here == there)
        if same:
            _mirror(out, row, column, here.stop - here.start, there.stop - there.start)
        elif tiles.a is tiles.b:
            _set_diagonal(
                out[row : here.stop - rows.start, column : there.stop - columns.start], here.start - there.start
            )

    schedule.run(fill, _upper_tasks(rows, tiles.diagonal_side) if same else _tasks(rows, columns, at_least=4))
    return out


def _tasks(rows: slice, columns: slice, at_least: int = 1) -> list[Task]:
    """Cut a matrix into tiles; few rows are cut, too, for the threads to have something to share."""
    n_rows = rows.stop - rows.start
    side = min(TILE_ROWS, max(_FEW_ROWS, -(-n_rows // at_least)))
    return [(i, j) for i in _even_slices(rows, side) for j in _even_slices(columns, TILE_COLUMNS)]


def _even_slices(whole: slice, longest: int) -> list[slice]:
    """Cut a range into slices of about the same length."""
    length = whole.stop - whole.start
    return slices(whole, -(-length // -(-length // longest))) if length else []


def _upper_tasks(rows: slice, diagonal_side: int) -> list[Task]:
    """Cut the upper half of a symmetric matrix into tiles: the square above the middle, then both halves likewise."""
    if rows.stop - rows.start <= diagonal_side:
        return [(rows, rows)]
    middle = (rows.start + rows.stop) // 2
    first, second = slice(rows.start, middle), slice(middle, rows.stop)
    return _tasks(first, second) + _upper_tasks(first, diagonal_side) + _upper_tasks(second, diagonal_side)


def product(tiles: Tiles, vectors: Array, rows: slice | None = None) -> Array:
    """Multiply the matrix, or some rows of it, by (m, k) vectors without ever holding more of it than a tile."""
    everything = slice(0, len(tiles.a))
    rows = rows or everything
    dtype = np.result_type(tiles.dtype, vectors.dtype)
    if tiles.a is tiles.b and rows == everything:
        return _symmetric_product(tiles, vectors.astype(dtype, copy=False))
    out = np.zeros((rows.stop - rows.start, vectors.shape[1]), dtype=dtype)
    columns = slices(len(tiles.b), TILE_COLUMNS)

    def multiply(here: slice) -> None:
        sums = out[here.start - rows.start : here.stop - rows.start]
        for column in columns:
            sums += _tile(tiles, here, column) @ vectors[column]

    schedule.run(multiply, slices(rows, _TASK_ROWS))
    return out


def _symmetric_product(tiles: Tiles, vectors: Array) -> Array:
    """Multiply a symmetric matrix: each tile from the diagonal on serves twice, as itself and transposed.

    A strip of rows gives sums for itself and for all rows after it; strips are added in their order.
    """
    n, dtype = len(tiles.a), vectors.dtype

    def strip(here: slice) -> tuple[Array]:
        sums = np.zeros(vectors.shape, dtype)
        for there in slices(slice(here.start, n), TILE_ROWS):
            tile = _tile(tiles, here, there)
            sums[here] += tile @ vectors[there]
            if there != here:
                sums[there] = tile.T @ vectors[here]
        return (sums,)

    strips = slices(n, TILE_ROWS)
    return schedule.sum_in_order(strip, strips)[0].astype(dtype, copy=False) if strips else np.zeros_like(vectors)


def _tile(tiles: Tiles, rows: slice, columns: slice) -> Array:
    """Compute a tile by itself."""
    tile = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype=tiles.dtype)
    tiles.fill(rows, columns, tile, (0, 0))
    if tiles.a is tiles.b:
        _set_diagonal(tile, rows.start - columns.start)
    return tile


def _looked_at(n: int) -> NDArray[np.intp]:
    """Give the rows of a few tiles, evenly spread over all."""
    starts = np.linspace(0, max(0, n - _LOOK_SIDE), _LOOKED_AT).astype(np.intp)
    return np.minimum(starts[:, None] + np.arange(_LOOK_SIDE), n - 1).ravel()


def _range_of(left: Array, right: Array) -> tuple[float, float]:
    """Give a typical and the largest possible distance of points whose (powers of) lengths are these."""
    left, right = (np.minimum(lengths.astype(np.float64), _LARGEST) for lengths in (left, right))
    typical = float(np.median(left) + np.median(right))
    # |a - b|^2 <= 2 |a|^2 + 2 |b|^2, and a little more for rounding.
    largest = 2.001 * (float(left.max()) + float(right.max()))
    return (typical, largest) if typical > 0.0 else (largest or 1.0, largest or 1.0)


def at_zero_one(function: Function, arguments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate the function at positive arguments, and take 1 at zero."""
    values = np.ones_like(arguments)
    positive = arguments > 0.0
    values[positive] = function(arguments[positive])
    return values


def _set_diagonal(tile: Array, offset: int) -> None:
    """Put ones where row ``offset + i`` meets column i."""
    rows = np.arange(max(0, -offset), min(tile.shape[0], tile.shape[1] - offset))
    tile[rows, rows + offset] = 1.0


@compiled()
def _mirror(matrix, row, column, n, m):
    """Copy a tile to the other side of the diagonal; of one on the diagonal the upper half, with ones between."""
    if row != column:
        transpose(matrix, row, column, n, m, matrix, column, row)
        return
    for i0 in range(row, row + n, 8):
        width = min(8, row + n - i0)
        for i in range(i0, i0 + width):
            for j in range(i0, i):
                matrix[i, j] = matrix[j, i]
            matrix[i, i] = 1.0
        beyond = i0 + width
        transpose(matrix, i0, beyond, width, row + n - beyond, matrix, beyond, i0)
