"""Functions of the distance between all pairs of points, tile by tile.

L1 distances, and Euclidean ones in few dimensions, come from differences. In many dimensions they come from a matrix
product, ``|a|^2 + |b|^2 - 2 a.b``, which is fast and loses the digits of pairs that are much closer to each other than
to the origin. Such near pairs are found by that very comparison and done again by differences in float64; a tile with
many of them is done again whole by a product in float64. So small distances are right to the last digits, and equal
points give exactly the function at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import schedule
from .compiling import compiled
from .schedule import slices
from .table import Table, bits_of, look_up_row, tabulate

Array = NDArray[Any]
Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]

TILE_ROWS, TILE_COLUMNS = 256, 512
#: Numbers that are worth a thread of their own.
_NUMBERS_OF_TASK = 1 << 17
#: Up to this dimension differences are quicker than a product ...
_FEW_DIMENSIONS = 16
#: ... and up to this one a product in float64 costs little more than one in float32.
_CHEAP_DIMENSION = 32
#: Share of near pairs beyond which a float32 tile is done again in float64.
_MANY = 1 / 64
_NONE = np.empty((0, 2), dtype=np.int64)
# Of squared lengths; their sums are finite.
_LARGEST = 1e300
# Of coordinates whose squares float32 can hold.
_LARGEST_SINGLE = 1e16


class Points:
    """Points as the engine wants them: shifted and whitened for products, as they are for differences.

    ``whitening`` is a vector (one factor per coordinate) or a matrix (d, k); ``center`` is subtracted first, which
    changes no distance and saves digits.
    """

    def __init__(self, raw: Array, center: Array, whitening: Array) -> None:
        self.raw, self.center, self.whitening = raw, center, whitening
        # Squares of extreme factors would leave the range of float64; then the points are scaled first.
        extreme = bool(((whitening != 0.0) & ((abs(whitening) < 1e-100) | (abs(whitening) > 1e100))).any())
        self._mixed = _mix(raw, center, whitening) if whitening.ndim == 2 or extreme else None

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def dimension(self) -> int:
        """Number of coordinates after whitening."""
        return int(self.whitening.shape[-1])

    @property
    def reach(self) -> float:
        """A bound of the whitened coordinates."""
        return float(max(self.raw.max(), -float(self.raw.min())) * abs(self.whitening).sum(axis=0).max())

    def whitened(self, rows: slice) -> NDArray[np.float64]:
        """Whiten some rows in float64."""
        if self._mixed is not None:
            return self._mixed[rows]
        shifted = np.subtract(self.raw[rows], self.center, dtype=np.float64)
        shifted *= self.whitening
        return shifted

    def unrounded(self, rows: slice) -> NDArray[np.float64]:
        """Give some rows for differences: the whitening, if it is a vector, is left to `factors`.

        To shift or scale the points first would round them, and near ones would lose the digits of their difference.
        """
        return self.raw[rows].astype(np.float64) if self._mixed is None else self._mixed[rows]

    @property
    def factors(self) -> NDArray[np.float64]:
        """What the differences of `unrounded` points are multiplied by."""
        return self.whitening if self._mixed is None else np.ones(self.dimension)

    def rounded(self, dtype: Any) -> tuple[Array, Array]:
        """Whiten all rows, rounded to ``dtype``, and give them with their squared lengths."""
        out = np.empty((len(self), self.dimension), dtype=dtype)
        norms = np.empty(len(self), dtype=dtype)

        def whiten(rows: slice) -> None:
            out[rows] = self.whitened(rows)
            norms[rows] = _squared_norms(out[rows])

        schedule.run(whiten, slices(len(self), max(64, _NUMBERS_OF_TASK // self.dimension)))
        return out, norms


def _mix(raw: Array, center: Array, whitening: Array) -> NDArray[np.float64]:
    """Whiten all points; by a matrix, each row by the same operations in the same order, so that equal rows stay equal.

    A product by BLAS does not promise that: how it adds up depends on where a row stands.
    """
    if whitening.ndim == 1:
        return np.subtract(raw, center, dtype=np.float64) * whitening
    out = np.zeros((len(raw), whitening.shape[1]))
    contiguous = np.ascontiguousarray(whitening)

    def mix(rows: slice) -> None:
        _multiply_rows(np.subtract(raw[rows], center, dtype=np.float64), contiguous, out[rows])

    schedule.run(mix, slices(len(raw), 256))
    return out


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
    # Side of the tiles on the diagonal: small, because they do half of their product for nothing.
    diagonal_side: ClassVar[int] = 64

    def __post_init__(self) -> None:
        precise = self.dtype == np.float64 or self.a.dimension <= _CHEAP_DIMENSION
        precise = precise or max(self.a.reach, self.b.reach) > _LARGEST_SINGLE
        self.compute = np.float64 if precise else np.float32
        self._left, self._left_norms = left = self.a.rounded(self.compute)
        self._right, self._right_norms = left if self.a is self.b else self.b.rounded(self.compute)
        self._typical, self._largest = _range_of(self._left_norms, self._right_norms)
        self._tables: dict[Any, Table] = {}
        self._table(self.compute)

    def _table(self, dtype: Any) -> Table:
        if dtype not in self._tables:
            self._tables[dtype] = tabulate(self.function, self._largest, dtype, self._typical)
        return self._tables[dtype]

    def transposed(self) -> ProductTiles:
        """Give the tiles of the transposed matrix."""
        return self if self.a is self.b else type(self)(self.b, self.a, self.function, self.dtype)

    def fill(self, rows: slice, columns: slice, out: Array) -> None:
        """Write one tile to ``out`` (C-contiguous)."""
        left, right = self._left[rows], self._right[columns]
        norms = self._left_norms[rows], self._right_norms[columns]
        near = self._fill_by_product(left, right, norms, out)
        if self.compute == np.float32 and len(near) > _MANY * out.size:
            left, right = self.a.whitened(rows), self.b.whitened(columns)
            near = self._fill_by_product(left, right, (_squared_norms(left), _squared_norms(right)), out)
        if len(near) > self_pairs(self, rows, columns):
            self._redo(near, rows, columns, out)

    def _fill_by_product(self, left: Array, right: Array, norms: tuple[Array, Array], out: Array) -> Array:
        """Fill ``out`` by a matrix product and return the (k, 2) positions of pairs that are too near for it."""
        table = self._table(left.dtype.type)
        threshold = left.dtype.type(near_threshold(left.dtype, self.dtype))
        smallest = left.dtype.type(table.smallest)
        squared = left @ right.T
        n_near = _finish(
            squared, bits_of(squared), *norms, threshold, smallest, table.coefficients, table.first_cell, out
        )
        return _positions_of_near(squared, n_near) if n_near else _NONE

    def _redo(self, near: Array, rows: slice, columns: slice, out: Array) -> None:
        left, right = self.a.unrounded(rows), self.b.unrounded(columns)
        squared = _squared_differences(left, right, self.a.factors, near)
        out[near[:, 0], near[:, 1]] = at_zero_one(self.function, squared)


@dataclass
class DifferenceTiles:
    """Tiles of ``function(sum_j |a_j - b_j|^power)``, power 1 or 2, for two sets of points, by differences."""

    a: Points
    b: Points
    function: Function
    dtype: Any
    power: int
    diagonal_side: ClassVar[int] = 128

    def __post_init__(self) -> None:
        everything = slice(None)
        self._left = self.a.unrounded(everything)
        right = self._left if self.a is self.b else self.b.unrounded(everything)
        self._right = np.ascontiguousarray(right.T)  # so that the inner loop runs over points
        self._weights = self.a.factors**self.power
        with np.errstate(over="ignore"):
            lengths = [np.power(abs(side.whitened(everything)), self.power).sum(axis=1) for side in (self.a, self.b)]
        typical, largest = _range_of(*lengths)
        self._table = tabulate(self.function, largest, np.float64, typical)

    def transposed(self) -> DifferenceTiles:
        """Give the tiles of the transposed matrix."""
        return self if self.a is self.b else type(self)(self.b, self.a, self.function, self.dtype, self.power)

    def fill(self, rows: slice, columns: slice, out: Array) -> None:
        """Write one tile to ``out`` (C-contiguous)."""
        left, right, table = self._left[rows], np.ascontiguousarray(self._right[:, columns]), self._table
        n_small = _fill_by_differences(
            left, right, self._weights, self.power, table.smallest, table.coefficients, table.first_cell, out
        )
        if n_small > self_pairs(self, rows, columns):
            distances = np.empty(out.shape)
            _distances(left, right, self._weights, self.power, distances)
            small = distances < table.smallest
            out[small] = at_zero_one(self.function, distances[small])


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
Task = tuple[slice, slice]


def matrix(tiles: Tiles) -> Array:
    """Compute the whole matrix; exactly symmetric with a diagonal of ones if both sets are the same."""
    n, m, same = len(tiles.a), len(tiles.b), tiles.a is tiles.b
    out = np.empty((n, m), dtype=tiles.dtype)

    def fill(task: Task) -> None:
        rows, columns = task
        tile = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype=tiles.dtype)
        tiles.fill(rows, columns, tile)
        if same and rows == columns:
            _make_symmetric(tile)
        _place(tile, out, rows.start, columns.start, same and rows != columns)

    schedule.run(fill, _upper_tasks(0, n, tiles.diagonal_side) if same else _all_tasks(n, m))
    return out


def _all_tasks(n: int, m: int) -> list[Task]:
    return [(rows, columns) for rows in slices(n, TILE_ROWS) for columns in slices(m, TILE_COLUMNS)]


def _upper_tasks(start: int, stop: int, diagonal_side: int) -> list[Task]:
    """Cut the upper half of a symmetric matrix into tiles: the square above the middle, then both halves likewise."""
    if stop - start <= diagonal_side:
        return [(slice(start, stop), slice(start, stop))]
    middle = (start + stop) // 2
    square = [
        (slice(start + i.start, start + i.stop), slice(middle + j.start, middle + j.stop))
        for i, j in _all_tasks(middle - start, stop - middle)
    ]
    return square + _upper_tasks(start, middle, diagonal_side) + _upper_tasks(middle, stop, diagonal_side)


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


def _squared_norms(points: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", points, points, dtype=np.float64), dtype=points.dtype)


def _set_diagonal(tile: Array, offset: int) -> None:
    """Put ones where row ``offset + i`` meets column i."""
    rows = np.arange(max(0, -offset), min(tile.shape[0], tile.shape[1] - offset))
    tile[rows, rows + offset] = 1.0


@compiled(fastmath={"contract"})
def _add_multiple(factor, row, out):
    for j in range(out.shape[0]):
        out[j] += factor * row[j]


@compiled()
def _multiply_rows(points, matrix, out):
    """Add ``points @ matrix`` to ``out``, row by row."""
    for i in range(points.shape[0]):
        for k in range(matrix.shape[0]):
            _add_multiple(points[i, k], matrix[k], out[i])


@compiled()
def _make_symmetric(tile):
    """Copy the upper half of a diagonal tile to the lower, and put ones on the diagonal."""
    for i in range(tile.shape[0]):
        for j in range(i):
            tile[i, j] = tile[j, i]
        tile[i, i] = 1.0


@compiled()
def _place(tile, out, row, column, mirrored):
    """Write a tile to its place in the matrix and, if it is to be mirrored, its transpose on the other side."""
    n, m = tile.shape
    for i in range(n):
        source, target = tile[i], out[row + i, column : column + m]
        for j in range(m):
            target[j] = source[j]
    if mirrored:
        _transpose(tile, out, column, row)


@compiled()
def _transpose(tile, out, row, column):
    """Write the transposed tile into ``out`` at a position, eight columns at a time (a constant, to be unrolled)."""
    n, m = tile.shape
    whole = n - n % 8
    for i0 in range(0, whole, 8):
        for j in range(m):
            target = out[row + j, column + i0 : column + i0 + 8]
            for i in range(8):
                target[i] = tile[i0 + i, j]
    for i in range(whole, n):
        for j in range(m):
            out[row + j, column + i] = tile[i, j]


@compiled(fastmath={"contract"})
def _to_squared_distances(row, norm, norms, threshold, smallest):
    """Turn inner products into squared distances, in place; near pairs get a negative number and are counted."""
    n_near = 0
    for j in range(row.shape[0]):
        lengths = norm + norms[j]
        squared = lengths - (row[j] + row[j])
        near = (squared < threshold * lengths) | (squared < smallest)
        row[j] = -(lengths + smallest) if near else squared
        n_near += near
    return n_near


@compiled()
def _finish(products, bits, left, right, threshold, smallest, coefficients, first_cell, out):
    """Turn inner products (and their bits, the same memory) into function values; return how many pairs are near."""
    n_near = 0
    for i in range(products.shape[0]):
        n_near += _to_squared_distances(products[i], left[i], right, threshold, smallest)
        look_up_row(bits[i], coefficients, first_cell, out[i])
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
def _squared_differences(left, right, factors, positions):
    out = np.empty(positions.shape[0])
    for k in range(positions.shape[0]):
        a, b = left[positions[k, 0]], right[positions[k, 1]]
        total = 0.0
        for j in range(a.shape[0]):
            total += ((a[j] - b[j]) * factors[j]) ** 2
        out[k] = total
    return out


@compiled(fastmath={"contract"})
def _add_differences(x, weight, row, distances):
    for j in range(row.shape[0]):
        distances[j] += weight * abs(x - row[j])


@compiled(fastmath={"contract"})
def _add_squares(x, weight, row, distances):
    for j in range(row.shape[0]):
        distances[j] += weight * (x - row[j]) ** 2


# Four coordinates at once: distances are loaded and stored a quarter as often.
@compiled(fastmath={"contract"})
def _add_four_differences(x, weights, row0, row1, row2, row3, distances):
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    for j in range(row0.shape[0]):
        first = w0 * abs(x0 - row0[j]) + w1 * abs(x1 - row1[j])
        distances[j] += first + (w2 * abs(x2 - row2[j]) + w3 * abs(x3 - row3[j]))


@compiled(fastmath={"contract"})
def _add_four_squares(x, weights, row0, row1, row2, row3, distances):
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    for j in range(row0.shape[0]):
        first = w0 * (x0 - row0[j]) ** 2 + w1 * (x1 - row1[j]) ** 2
        distances[j] += first + (w2 * (x2 - row2[j]) ** 2 + w3 * (x3 - row3[j]) ** 2)


@compiled()
def _distances_of_point(point, right, weights, power, distances):
    """Write the weighted sums of powers (1 or 2) of the differences between a point and the columns of ``right``."""
    for j in range(distances.shape[0]):
        distances[j] = 0.0
    d = point.shape[0]
    whole = d - d % 4
    for k in range(0, whole, 4):
        x, w = point[k : k + 4], weights[k : k + 4]
        if power == 1:
            _add_four_differences(x, w, right[k], right[k + 1], right[k + 2], right[k + 3], distances)
        else:
            _add_four_squares(x, w, right[k], right[k + 1], right[k + 2], right[k + 3], distances)
    for k in range(whole, d):
        if power == 1:
            _add_differences(point[k], weights[k], right[k], distances)
        else:
            _add_squares(point[k], weights[k], right[k], distances)


@compiled()
def _distances(left, right, weights, power, out):
    for i in range(left.shape[0]):
        _distances_of_point(left[i], right, weights, power, out[i])


@compiled()
def _count_below(row, bound):
    count = 0
    for j in range(row.shape[0]):
        count += row[j] < bound
    return count


@compiled()
def _fill_by_differences(left, right, weights, power, smallest, coefficients, first_cell, out):
    """Write function values, and return how many distances are too small for the table."""
    n_small = 0
    distances = np.empty(out.shape[1])
    bits = distances.view(np.int64)
    for i in range(left.shape[0]):
        _distances_of_point(left[i], right, weights, power, distances)
        n_small += _count_below(distances, smallest)
        look_up_row(bits, coefficients, first_cell, out[i])
    return n_small
