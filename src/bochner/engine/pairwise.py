"""Functions of the distance between all pairs of points, tile by tile.

Euclidean distances come from a matrix product, ``|a|^2 + |b|^2 - 2 a.b``, which is fast and loses the digits of
pairs that are much closer to each other than to the origin. Such near pairs are found by that very comparison and
done again by differences in float64; a tile with many of them is done again whole by a product in float64. So small
distances are right to the last digits, and equal points give exactly the function at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import schedule
from .compiling import compiled
from .schedule import slices
from .table import Table, look_up, tabulate

Array = NDArray[Any]
Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]

TILE_ROWS, TILE_COLUMNS = 256, 512
#: Side of the tiles of a symmetric matrix; smaller, because those on the diagonal do half of their work for nothing.
TILE_SIDE = 192
#: Up to this dimension a product in float64 costs no more than the rest, also for float32 points.
_CHEAP_DIMENSION = 32
#: Share of near pairs beyond which a float32 tile is done again in float64.
_MANY = 1 / 64


class Points:
    """Points as the engine wants them: shifted and whitened, in both precisions, on demand.

    ``whitening`` is a vector (one factor per coordinate) or a matrix (d, k); ``center`` is subtracted first, which
    changes no distance and saves digits.
    """

    def __init__(self, raw: Array, center: Array, whitening: Array) -> None:
        self.raw, self.center, self.whitening = raw, center, whitening

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def dimension(self) -> int:
        """Number of coordinates after whitening."""
        return int(self.whitening.shape[-1])

    def doubles(self, rows: slice) -> NDArray[np.float64]:
        """Whiten some rows in float64."""
        shifted = np.subtract(self.raw[rows], self.center, dtype=np.float64)
        if self.whitening.ndim == 2:
            return shifted @ self.whitening
        shifted *= self.whitening
        return shifted

    def rounded(self, dtype: Any) -> tuple[Array, Array]:
        """Whiten all rows, rounded to ``dtype``, and give them with their squared lengths."""
        out = np.empty((len(self), self.dimension), dtype=dtype)
        norms = np.empty(len(self), dtype=dtype)

        def whiten(rows: slice) -> None:
            out[rows] = self.doubles(rows)
            norms[rows] = _squared_norms(out[rows])

        schedule.run(whiten, slices(len(self), 256))
        return out, norms


def near_threshold(compute: Any, result: Any) -> float:
    """Choose the squared distance, relative to the squared lengths, below which a product is too rough.

    A product errs by about the unit roundoff times the squared lengths, so a distance just at the threshold has a
    relative error of roundoff / threshold: 1e-6 for float32, 1e-13 for float64.
    """
    if np.dtype(compute) == np.float32:
        return 0.05
    return 1e-3 if np.dtype(result) == np.float64 else 1e-6


@dataclass
class EuclideanTiles:
    """Tiles of ``function(|a - b|^2)`` for two sets of points."""

    a: Points
    b: Points
    function: Function
    dtype: Any
    compute: Any = field(init=False)

    def __post_init__(self) -> None:
        precise = self.dtype == np.float64 or self.a.dimension <= _CHEAP_DIMENSION
        self.compute = np.float64 if precise else np.float32
        self._left, self._left_norms = left = self.a.rounded(self.compute)
        self._right, self._right_norms = left if self.a is self.b else self.b.rounded(self.compute)
        self._largest = 2.0 * float(self._left_norms.max() + self._right_norms.max()) or 1.0
        self._tables: dict[Any, Table] = {}
        self._table(self.compute)

    def _table(self, dtype: Any) -> Table:
        if dtype not in self._tables:
            self._tables[dtype] = tabulate(self.function, self._largest, dtype)
        return self._tables[dtype]

    def transposed(self) -> EuclideanTiles:
        """Give the tiles of the transposed matrix."""
        return self if self.a is self.b else type(self)(self.b, self.a, self.function, self.dtype)

    def fill(self, rows: slice, columns: slice, out: Array) -> None:
        """Write one tile to ``out`` (C-contiguous)."""
        left, right = self._left[rows], self._right[columns]
        norms = self._left_norms[rows], self._right_norms[columns]
        near = self._fill_by_product(left, right, norms, out)
        if self.compute == np.float32 and len(near) > _MANY * out.size:
            left, right = self.a.doubles(rows), self.b.doubles(columns)
            near = self._fill_by_product(left, right, (_squared_norms(left), _squared_norms(right)), out)
        if len(near):
            self._redo(near, rows, columns, out)

    def _fill_by_product(self, left: Array, right: Array, norms: tuple[Array, Array], out: Array) -> Array:
        """Fill ``out`` by a matrix product and return the (k, 2) positions of pairs that are too near for it."""
        table = self._table(left.dtype.type)
        squared = left @ right.T
        threshold = left.dtype.type(near_threshold(left.dtype, self.dtype))
        smallest = left.dtype.type(table.smallest)
        n_near = _to_squared_distances(squared, *norms, threshold, smallest)
        near = _positions_of_near(squared, n_near) if n_near else np.empty((0, 2), dtype=np.int64)
        look_up(table, squared, out)
        return near

    def _redo(self, near: Array, rows: slice, columns: slice, out: Array) -> None:
        left, right = self.a.doubles(rows), self.b.doubles(columns)
        squared = _squared_differences(left, right, near)
        out[near[:, 0], near[:, 1]] = at_zero_one(self.function, squared)


@dataclass
class ManhattanTiles:
    """Tiles of ``function(|a - b|_1)`` for two sets of points, always by differences."""

    a: Points
    b: Points
    function: Function
    dtype: Any

    def __post_init__(self) -> None:
        self._left = self.a.rounded(np.float64)[0]
        self._right = self._left if self.a is self.b else self.b.rounded(np.float64)[0]
        spread = abs(self._left).sum(axis=1).max() + abs(self._right).sum(axis=1).max()
        self._table = tabulate(self.function, float(spread) or 1.0, np.float64)

    def transposed(self) -> ManhattanTiles:
        """Give the tiles of the transposed matrix."""
        return self if self.a is self.b else type(self)(self.b, self.a, self.function, self.dtype)

    def fill(self, rows: slice, columns: slice, out: Array) -> None:
        """Write one tile to ``out`` (C-contiguous)."""
        right = np.ascontiguousarray(self._right[columns].T)
        distances = np.zeros((rows.stop - rows.start, right.shape[1]))
        _add_differences(self._left[rows], right, distances)
        look_up(self._table, distances, out)
        small = np.argwhere(distances < self._table.smallest)
        if len(small):
            out[small[:, 0], small[:, 1]] = at_zero_one(self.function, distances[small[:, 0], small[:, 1]])


Tiles = EuclideanTiles | ManhattanTiles


def matrix(tiles: Tiles) -> Array:
    """Compute the whole matrix; exactly symmetric with a diagonal of ones if both sets are the same."""
    n, m, same = len(tiles.a), len(tiles.b), tiles.a is tiles.b
    out = np.empty((n, m), dtype=tiles.dtype)

    def fill(task: tuple[slice, slice]) -> None:
        rows, columns = task
        tile = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype=tiles.dtype)
        tiles.fill(rows, columns, tile)
        if same and rows.start == columns.start:
            _make_symmetric(tile)
        out[rows, columns] = tile
        if same and rows.start < columns.start:
            _transpose(tile, out, columns.start, rows.start)

    sides = (TILE_SIDE, TILE_SIDE) if same else (TILE_ROWS, TILE_COLUMNS)
    tasks = [(i, j) for i in slices(n, sides[0]) for j in slices(m, sides[1]) if not same or i.start <= j.start]
    schedule.run(fill, tasks)
    return out


def product(tiles: Tiles, vectors: Array) -> Array:
    """Multiply the matrix by (m, k) vectors without ever holding more of it than a tile."""
    out = np.zeros((len(tiles.a), vectors.shape[1]), dtype=np.result_type(tiles.dtype, vectors.dtype))
    columns = slices(len(tiles.b), TILE_COLUMNS)

    def multiply(rows: slice) -> None:
        for column in columns:
            tile = np.empty((rows.stop - rows.start, column.stop - column.start), dtype=tiles.dtype)
            tiles.fill(rows, column, tile)
            if tiles.a is tiles.b:
                _set_diagonal(tile, rows.start - column.start)
            out[rows] += tile @ vectors[column]

    schedule.run(multiply, slices(len(tiles.a), TILE_ROWS))
    return out


def at_zero_one(function: Function, arguments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evaluate the function at positive arguments, and take 1 at zero."""
    values = np.ones_like(arguments)
    positive = arguments > 0.0
    values[positive] = function(arguments[positive])
    return values


def _squared_norms(points: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", points, points, dtype=np.float64), dtype=points.dtype)


def _set_diagonal(tile: Array, offset: int) -> None:
    """Put ones where row ``offset + i`` meets column i."""
    rows = np.arange(max(0, -offset), min(tile.shape[0], tile.shape[1] - offset))
    tile[rows, rows + offset] = 1.0


@compiled()
def _make_symmetric(tile):
    """Copy the upper half of a diagonal tile to the lower, and put ones on the diagonal."""
    for i in range(tile.shape[0]):
        for j in range(i):
            tile[i, j] = tile[j, i]
        tile[i, i] = 1.0


@compiled()
def _transpose(tile, out, row, column):
    """Write the transposed tile into ``out`` at a position, by small squares that stay in cache."""
    side = 16
    n, m = tile.shape
    for i0 in range(0, n, side):
        width = min(side, n - i0)
        for j in range(m):
            target = out[row + j, column + i0 : column + i0 + width]
            for i in range(width):
                target[i] = tile[i0 + i, j]


@compiled(fastmath={"contract"})
def _squared_row(row, norm, norms, threshold, smallest):
    n_near = 0
    for j in range(row.shape[0]):
        lengths = norm + norms[j]
        squared = lengths - (row[j] + row[j])
        near = (squared < threshold * lengths) | (squared < smallest)
        row[j] = -(lengths + smallest) if near else squared
        n_near += near
    return n_near


@compiled()
def _to_squared_distances(products, left, right, threshold, smallest):
    """Turn inner products into squared distances, in place; near pairs get a negative number and are counted."""
    n_near = 0
    for i in range(products.shape[0]):
        n_near += _squared_row(products[i], left[i], right, threshold, smallest)
    return n_near


@compiled()
def _positions_of_near(squared, n_near):
    positions = np.empty((n_near, 2), np.int64)
    k = 0
    for i in range(squared.shape[0]):
        for j in range(squared.shape[1]):
            if squared[i, j] < 0.0:
                positions[k, 0] = i
                positions[k, 1] = j
                k += 1
    return positions


@compiled(fastmath={"contract", "reassoc"})
def _squared_differences(left, right, positions):
    out = np.empty(positions.shape[0])
    for k in range(positions.shape[0]):
        a, b = left[positions[k, 0]], right[positions[k, 1]]
        total = 0.0
        for j in range(a.shape[0]):
            total += (a[j] - b[j]) ** 2
        out[k] = total
    return out


@compiled(fastmath={"contract"})
def _add_differences_row(point, right, distances):
    for k in range(right.shape[0]):
        coordinate, row = point[k], right[k]
        for j in range(row.shape[0]):
            distances[j] += abs(coordinate - row[j])


@compiled()
def _add_differences(left, right, distances):
    for i in range(left.shape[0]):
        _add_differences_row(left[i], right, distances[i])
