"""The compiled loops of distances: finishing what a matrix product began, and summing differences."""

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from .compiling import compiled
from .fours import four_of, four_rows, whole_fours
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
def finish_products(products, bits, left, right, threshold, smallest, coefficients, first_cell, out, row, column):
    """Turn inner products (and their bits, the same memory) into function values; return how many pairs are near.

    The values go to their place in ``out``, from a row and a column on.
    """
    n_near = 0
    for i in range(products.shape[0]):
        n_near += _to_squared_distances(products[i], left[i], right, threshold, smallest)
        values = out[row + i, column : column + products.shape[1]]
        look_up_row(bits[i], coefficients, first_cell, values)
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
    """Give the (d, m) coordinates of points, m at most `LENGTH`, as one flat array of rows of just that length."""
    d, m = columns.shape
    rows = np.zeros((whole_fours(d), LENGTH))
    rows[:d, :m] = columns
    return rows.ravel()


# What is None is not there: the compiler leaves its branch out. So a square without a weight is an operation less, and
# one loop serves both powers. (A function as argument would do so, too, but could not be kept on disk.)
@compiled(fastmath={"contract"})
def _term(difference, weight, modulus):
    """Give a weighted square, or, if the last argument is not None, a weighted modulus."""
    power = difference**2 if modulus is None else abs(difference)
    return power if weight is None else weight * power


@compiled()
def _four_weights(weights, k):
    return (None, None, None, None) if weights is None else four_of(weights, k)


@compiled(fastmath={"contract"})
def _plus_terms(total, x, y, weights, modulus):
    """Add the terms of four coordinates."""
    p, q, r, s = weights
    total = total + _term(x[0] - y[0], p, modulus) + _term(x[1] - y[1], q, modulus)
    return total + _term(x[2] - y[2], r, modulus) + _term(x[3] - y[3], s, modulus)


@compiled(fastmath={"contract"})
def _add_terms(points, k, right, weights, modulus, sums, first, width):
    """Add to the sums of four points the terms of four coordinates."""
    x, y, z, v = four_of(points[0], k), four_of(points[1], k), four_of(points[2], k), four_of(points[3], k)
    four = _four_weights(weights, k)
    for j in range(uintp(first), uintp(width)):
        j1, j2, j3 = j + _ROW_1, j + _ROW_2, j + _ROW_3
        other = right[j], right[j1], right[j2], right[j3]
        sums[j] = _plus_terms(sums[j], x, other, four, modulus)
        sums[j1] = _plus_terms(sums[j1], y, other, four, modulus)
        sums[j2] = _plus_terms(sums[j2], z, other, four, modulus)
        sums[j3] = _plus_terms(sums[j3], v, other, four, modulus)


@compiled()
def _distances_of_four(left, i, right, weights, power, first, width, sums):
    """Write the weighted sums of powers (1 or 2) of the differences between four points, from i on, and the others.

    Of these only those from the first to the width-th.
    """
    points = four_rows(left, i)
    sums[:] = 0.0
    for k in range(0, left.shape[1], 4):
        rows = right[k * LENGTH : (k + 4) * LENGTH]
        if power == 1:
            _add_terms(points, k, rows, weights, True, sums, first, width)
        else:
            _add_terms(points, k, rows, weights, None, sums, first, width)


@compiled()
def _count_below(row, bound):
    count = 0
    for j in range(row.shape[0]):
        count += row[j] < bound
    return count


@compiled()
def fill_by_differences(
    left, right, width, weights, power, smallest, coefficients, first_cell, out, row, column, firsts
):
    """Write function values, and return for each row how many distances are too small for the table.

    ``left`` is (n, d) with d a multiple of four, ``right`` from `in_long_rows`, of so many points. The values go to
    their place in ``out``, from a row and a column on; of each four rows those before the first's column are left out.
    """
    n = left.shape[0]
    n_small = np.empty(n, np.int64)
    sums = np.empty(4 * LENGTH)
    bits = sums.view(np.int64)
    for i in range(0, n, 4):
        first = firsts[i]
        _distances_of_four(left, i, right, weights, power, first, width, sums)
        for r in range(min(4, n - i)):
            start, stop = r * LENGTH + first, r * LENGTH + width
            n_small[i + r] = _count_below(sums[start:stop], smallest)
            values = out[row + i + r, column + first : column + width]
            look_up_row(bits[start:stop], coefficients, first_cell, values)
    return n_small


@compiled()
def small_distances(left, right, width, weights, power, smallest, firsts, n_small):
    """Give the (n_small, 2) positions of the distances that are too small for the table, and these distances."""
    positions, values = np.empty((n_small, 2), np.int64), np.empty(n_small)
    sums = np.empty(4 * LENGTH)
    found = 0
    for i in range(0, left.shape[0], 4):
        _distances_of_four(left, i, right, weights, power, firsts[i], width, sums)
        for r in range(min(4, left.shape[0] - i)):
            for j in range(firsts[i + r], width):
                distance = sums[r * LENGTH + j]
                if distance < smallest:
                    positions[found, 0] = i + r
                    positions[found, 1] = j
                    values[found] = distance
                    found += 1
    return positions, values
