"""Blocks of points to blocks of features: phases in cache, then cosine and sine of each row.

Phases are counted in turns. A block is small enough that its phases are still in cache when the cosine and sine are
taken, so memory sees only the input once and the output once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from . import hadamard
from .compiling import compiled
from .fours import completed, four_of, four_rows, whole_fours
from .schedule import slices
from .sincos import sincos_row
from .transpose import scaled_transpose, transpose

Array = NDArray[Any]

#: Columns of one matrix product, and rows of a block: its phases (1 MB of float32) stay in cache.
COLUMNS_OF_PRODUCT = 1024
ROWS_OF_PRODUCT = 256
_ROW_1, _ROW_2, _ROW_3 = (uintp(k * COLUMNS_OF_PRODUCT) for k in (1, 2, 3))
#: Up to so many columns of the data, a plain loop beats the matrix product; so many rows of them are a block.
FEW_COLUMNS, ROWS_OF_FEW_COLUMNS = 24, 1024
#: Numbers that are transformed together: 1 MB of float32.
NUMBERS_OF_TRANSFORM = 1 << 18
#: Numbers of the input that are held as a dense block in the precision of the result.
NUMBERS_OF_INPUT = 1 << 20
#: Phases of a block that is worth a thread.
SMALLEST_BLOCK = 1 << 15


@compiled(fastmath={"contract", "reassoc"})
def squared_lengths(points, weights):
    """Give the squared lengths of (rows, d) points whose columns have weights."""
    lengths = np.empty(points.shape[0], points.dtype)
    for i in range(points.shape[0]):
        point, total = points[i], points.dtype.type(0.0)
        for j in range(point.shape[0]):
            scaled = point[j] * weights[j]
            total += scaled * scaled
        lengths[i] = total
    return lengths


@compiled()
def sincos(turns, offset, scale, out, start):
    """Write scaled cosines and sines of phases (rows, w) to the columns of ``out`` that begin at ``start``.

    Rows are cut out of the C-contiguous ``out`` here, inside: a sliced 2-D array as argument would have lost its
    contiguity for the compiler, and with it the vector instructions (0.5 ns a pair become 3.5).
    """
    half, width = out.shape[1] // 2, turns.shape[1]
    shift = offset[start : start + width]
    for i in range(turns.shape[0]):
        cos, sin = out[i, start : start + width], out[i, half + start : half + start + width]
        sincos_row(turns[i], shift, scale, cos, sin)


def columns_for_products(turns: Array) -> list[Array]:
    """Cut (d, p) frequencies into contiguous pieces, each for one matrix product."""
    return [np.ascontiguousarray(turns[:, columns]) for columns in slices(turns.shape[1], COLUMNS_OF_PRODUCT)]


def dense_block(points: Array, pieces: list[Array], offset: Array, scale: float, out: Array) -> None:
    """Write the features of (rows, d) points, for pieces of the frequencies in turns, to the (rows, 2p) ``out``."""
    n_rows, start = points.shape[0], 0
    phases = np.empty(n_rows * pieces[0].shape[1], dtype=points.dtype)
    for turns in pieces:
        width = turns.shape[1]
        block = phases[: n_rows * width].reshape(n_rows, width)
        np.dot(points, turns, out=block)
        sincos(block, offset, scale, out, start)
        start += width


def columns_for_loops(turns: Array) -> Array:
    """Cut (d, p) frequencies into flat pieces for `few_columns_block`: whole fours of rows, all of one length."""
    d, p = turns.shape
    pieces = np.zeros((-(-p // COLUMNS_OF_PRODUCT), whole_fours(d), COLUMNS_OF_PRODUCT), dtype=turns.dtype)
    for piece, columns in zip(pieces, slices(p, COLUMNS_OF_PRODUCT), strict=True):
        piece[:d, : columns.stop - columns.start] = turns[:, columns]
    return pieces.reshape(len(pieces), -1)


@compiled(fastmath={"contract"})
def _add_four_columns(points, k, turns, phases, width):
    """Add what four columns give to the phases of four points; the first columns begin them."""
    x, y, z, v = points
    x0, x1, x2, x3 = four_of(x, k)
    y0, y1, y2, y3 = four_of(y, k)
    z0, z1, z2, z3 = four_of(z, k)
    v0, v1, v2, v3 = four_of(v, k)
    if k == 0:
        for j in range(uintp(width)):
            j1, j2, j3 = j + _ROW_1, j + _ROW_2, j + _ROW_3
            a, b, c, d = turns[j], turns[j1], turns[j2], turns[j3]
            phases[j] = x0 * a + x1 * b + x2 * c + x3 * d
            phases[j1] = y0 * a + y1 * b + y2 * c + y3 * d
            phases[j2] = z0 * a + z1 * b + z2 * c + z3 * d
            phases[j3] = v0 * a + v1 * b + v2 * c + v3 * d
        return
    for j in range(uintp(width)):
        j1, j2, j3 = j + _ROW_1, j + _ROW_2, j + _ROW_3
        a, b, c, d = turns[j], turns[j1], turns[j2], turns[j3]
        phases[j] = phases[j] + x0 * a + x1 * b + x2 * c + x3 * d
        phases[j1] = phases[j1] + y0 * a + y1 * b + y2 * c + y3 * d
        phases[j2] = phases[j2] + z0 * a + z1 * b + z2 * c + z3 * d
        phases[j3] = phases[j3] + v0 * a + v1 * b + v2 * c + v3 * d


@compiled()
def _few_columns_rows(points, pieces, offset, scale, out):
    n, p, length = points.shape[0], out.shape[1] // 2, COLUMNS_OF_PRODUCT
    phases = np.empty(4 * length, points.dtype)
    for i in range(0, n, 4):
        four = four_rows(points, i)
        for piece in range(len(pieces)):
            start, turns = piece * length, pieces[piece]
            width = min(length, p - start)
            shift = offset[start : start + width]
            for k in range(0, points.shape[1], 4):
                _add_four_columns(four, k, turns[k * length : (k + 4) * length], phases, width)
            for r in range(min(4, n - i)):
                cos, sin = out[i + r, start : start + width], out[i + r, p + start : p + start + width]
                sincos_row(phases[r * length : r * length + width], shift, scale, cos, sin)


def few_columns_block(points: Array, pieces: Array, offset: Array, scale: float, out: Array) -> None:
    """Do what `dense_block` does for points of few columns, where BLAS is slow: phases stay in the first cache."""
    _few_columns_rows(completed(points), pieces, offset, scale, out)


def hadamard_block(points: Array, signs: Array, radii: Array, offset: Array, scale: float, out: Array) -> None:
    """Write the features of points (rows, at most D) for the structured frequencies of ``signs`` (blocks, 3, D).

    Frequency ``b * D + j`` is ``radii[b * D + j]`` (in turns, the normalisation of three Hadamard matrices included)
    times row j of ``H S3 H S2 H S1``. The last block may be cut short: p = len(radii).
    """
    columns = np.zeros((signs.shape[2], points.shape[0]), dtype=points.dtype)
    transpose(points, 0, 0, *points.shape, columns, 0, 0)
    _hadamard_columns(columns, signs, radii, offset, scale, out)


@compiled()
def _hadamard_columns(columns, signs, radii, offset, scale, out):
    (dimension, n_points), p = columns.shape, len(radii)
    work = np.empty_like(columns)
    phases = np.empty(n_points * dimension, dtype=columns.dtype)
    for b in range(len(signs)):
        start = b * dimension
        width = min(dimension, p - start)
        block = phases[: n_points * width].reshape((n_points, width))
        hadamard.spin(columns, signs[b], work)
        scaled_transpose(work, radii[start : start + width], block)
        sincos(block, offset, scale, out, start)


def rows_of_dense_block(n_rows: int, n_features: int, n_frequencies: int) -> int:
    """Choose how many rows a dense block has; never by the number of threads, so that results do not depend on it."""
    if n_features <= FEW_COLUMNS:
        most = ROWS_OF_FEW_COLUMNS
    else:
        most = max(16, min(ROWS_OF_PRODUCT, NUMBERS_OF_INPUT // n_features))
    return min(most, max(n_rows // 8, SMALLEST_BLOCK // n_frequencies, 16))


def rows_of_hadamard_block(n_rows: int, dimension: int, n_frequencies: int) -> int:
    """Choose how many points are transformed together: 64 if they fit into cache."""
    most = max(8, min(64, NUMBERS_OF_TRANSFORM // dimension))
    return min(most, max(n_rows // 8, SMALLEST_BLOCK // n_frequencies, 8))
