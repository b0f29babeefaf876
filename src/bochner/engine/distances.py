"""The compiled loops of distances: finishing what a matrix product began, and summing differences."""

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from .compiling import compiled
from .schedule import whole_fours
from .table import look_up_row

#: Of rows of coordinates and of sums of differences: points that are taken together, at most.
LENGTH = 512
_ROW_1, _ROW_2, _ROW_3 = (uintp(k * LENGTH) for k in (1, 2, 3))


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
def finish_products(products, bits, left, right, threshold, smallest, coefficients, first_cell, out):
    """Turn inner products (and their bits, the same memory) into function values; return how many pairs are near."""
    n_near = 0
    for i in range(products.shape[0]):
        n_near += _to_squared_distances(products[i], left[i], right, threshold, smallest)
        look_up_row(bits[i], coefficients, first_cell, out[i])
    return n_near


@compiled()
def positions_of_near(squared, n_near):
    """Give the (n_near, 2) positions of the negative numbers, by which near pairs are marked."""
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
def squared_differences(left, right, factors, positions):
    """Give the squared lengths of the scaled differences of some pairs."""
    out = np.empty(positions.shape[0])
    for k in range(positions.shape[0]):
        a, b = left[positions[k, 0]], right[positions[k, 1]]
        total = 0.0
        for j in range(a.shape[0]):
            total += ((a[j] - b[j]) * factors[j]) ** 2
        out[k] = total
    return out


def in_long_rows(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the (d, m) coordinates of points, m at most `LENGTH`, as one flat array of rows of just that length.

    Zeros complete the coordinates to whole fours.
    """
    d, m = columns.shape
    rows = np.zeros((whole_fours(d), LENGTH))
    rows[:d, :m] = columns
    return rows.ravel()


# Four coordinates of four points at once: each number loaded serves four times. All is in flat arrays with rows of
# constant length, and indices are unsigned, so that LLVM sees that nothing overlaps, and uses vectors. Without weights
# (None; the compiler leaves the other branch out) a square is two operations instead of three.
@compiled(fastmath={"contract"})
def _add_squares(x, y, z, v, k, right, weights, sums, width):
    x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
    y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
    z0, z1, z2, z3 = z[k], z[k + 1], z[k + 2], z[k + 3]
    v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
    if weights is None:
        for j in range(uintp(width)):
            j1, j2, j3 = j + _ROW_1, j + _ROW_2, j + _ROW_3
            a, b, c, d = right[j], right[j1], right[j2], right[j3]
            sums[j] = sums[j] + (x0 - a) ** 2 + (x1 - b) ** 2 + (x2 - c) ** 2 + (x3 - d) ** 2
            sums[j1] = sums[j1] + (y0 - a) ** 2 + (y1 - b) ** 2 + (y2 - c) ** 2 + (y3 - d) ** 2
            sums[j2] = sums[j2] + (z0 - a) ** 2 + (z1 - b) ** 2 + (z2 - c) ** 2 + (z3 - d) ** 2
            sums[j3] = sums[j3] + (v0 - a) ** 2 + (v1 - b) ** 2 + (v2 - c) ** 2 + (v3 - d) ** 2
    else:
        p, q, r, s = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for j in range(uintp(width)):
            j1, j2, j3 = j + _ROW_1, j + _ROW_2, j + _ROW_3
            a, b, c, d = right[j], right[j1], right[j2], right[j3]
            sums[j] = sums[j] + p * (x0 - a) ** 2 + q * (x1 - b) ** 2 + r * (x2 - c) ** 2 + s * (x3 - d) ** 2
            sums[j1] = sums[j1] + p * (y0 - a) ** 2 + q * (y1 - b) ** 2 + r * (y2 - c) ** 2 + s * (y3 - d) ** 2
            sums[j2] = sums[j2] + p * (z0 - a) ** 2 + q * (z1 - b) ** 2 + r * (z2 - c) ** 2 + s * (z3 - d) ** 2
            sums[j3] = sums[j3] + p * (v0 - a) ** 2 + q * (v1 - b) ** 2 + r * (v2 - c) ** 2 + s * (v3 - d) ** 2


@compiled(fastmath={"contract"})
def _add_differences(x, y, z, v, k, right, weights, sums, width):
    x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
    y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
    z0, z1, z2, z3 = z[k], z[k + 1], z[k + 2], z[k + 3]
    v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
    if weights is None:
        for j in range(uintp(width)):
            j1, j2, j3 = j + _ROW_1, j + _ROW_2, j + _ROW_3
            a, b, c, d = right[j], right[j1], right[j2], right[j3]
            sums[j] = sums[j] + abs(x0 - a) + abs(x1 - b) + abs(x2 - c) + abs(x3 - d)
            sums[j1] = sums[j1] + abs(y0 - a) + abs(y1 - b) + abs(y2 - c) + abs(y3 - d)
            sums[j2] = sums[j2] + abs(z0 - a) + abs(z1 - b) + abs(z2 - c) + abs(z3 - d)
            sums[j3] = sums[j3] + abs(v0 - a) + abs(v1 - b) + abs(v2 - c) + abs(v3 - d)
    else:
        p, q, r, s = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for j in range(uintp(width)):
            j1, j2, j3 = j + _ROW_1, j + _ROW_2, j + _ROW_3
            a, b, c, d = right[j], right[j1], right[j2], right[j3]
            sums[j] = sums[j] + p * abs(x0 - a) + q * abs(x1 - b) + r * abs(x2 - c) + s * abs(x3 - d)
            sums[j1] = sums[j1] + p * abs(y0 - a) + q * abs(y1 - b) + r * abs(y2 - c) + s * abs(y3 - d)
            sums[j2] = sums[j2] + p * abs(z0 - a) + q * abs(z1 - b) + r * abs(z2 - c) + s * abs(z3 - d)
            sums[j3] = sums[j3] + p * abs(v0 - a) + q * abs(v1 - b) + r * abs(v2 - c) + s * abs(v3 - d)


@compiled()
def _distances_of_four(left, i, right, weights, power, width, sums):
    """Write the weighted sums of powers (1 or 2) of the differences between four points, from i on, and the others.

    Beyond the last point it is repeated: the same operations for all, wherever they stand.
    """
    last = left.shape[0] - 1
    x, y, z, v = left[i], left[min(i + 1, last)], left[min(i + 2, last)], left[min(i + 3, last)]
    sums[:] = 0.0
    for k in range(0, left.shape[1], 4):
        rows = right[k * LENGTH : (k + 4) * LENGTH]
        if power == 1:
            _add_differences(x, y, z, v, k, rows, weights, sums, width)
        else:
            _add_squares(x, y, z, v, k, rows, weights, sums, width)


@compiled()
def _count_below(row, bound):
    count = 0
    for j in range(row.shape[0]):
        count += row[j] < bound
    return count


@compiled()
def fill_by_differences(left, right, weights, power, smallest, coefficients, first_cell, out):
    """Write function values, and return for each row how many distances are too small for the table.

    ``left`` is (n, d) with d a multiple of four, ``right`` from `in_long_rows`.
    """
    n, width = out.shape
    n_small = np.empty(n, np.int64)
    sums = np.empty(4 * LENGTH)
    bits = sums.view(np.int64)
    for i in range(0, n, 4):
        _distances_of_four(left, i, right, weights, power, width, sums)
        for r in range(min(4, n - i)):
            start = r * LENGTH
            n_small[i + r] = _count_below(sums[start : start + width], smallest)
            look_up_row(bits[start : start + width], coefficients, first_cell, out[i + r])
    return n_small


@compiled()
def small_distances(left, right, weights, power, width, smallest, n_small):
    """Give the (n_small, 2) positions of the distances that are too small for the table, and these distances."""
    positions, values = np.empty((n_small, 2), np.int64), np.empty(n_small)
    sums = np.empty(4 * LENGTH)
    found = 0
    for i in range(0, left.shape[0], 4):
        _distances_of_four(left, i, right, weights, power, width, sums)
        for r in range(min(4, left.shape[0] - i)):
            for j in range(width):
                distance = sums[r * LENGTH + j]
                if distance < smallest:
                    positions[found, 0] = i + r
                    positions[found, 1] = j
                    values[found] = distance
                    found += 1
    return positions, values
