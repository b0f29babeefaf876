"""The compiled loops of distances: finishing what a matrix product began, and summing differences."""

import numpy as np

from .compiling import compiled
from .table import look_up_row


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


# Without weights (None; the compiler leaves the other branch out) a square is two operations instead of three.
@compiled(fastmath={"contract"})
def _add_differences(x, weights, k, row, distances):
    if weights is None:
        for j in range(row.shape[0]):
            distances[j] += abs(x - row[j])
    else:
        weight = weights[k]
        for j in range(row.shape[0]):
            distances[j] += weight * abs(x - row[j])


@compiled(fastmath={"contract"})
def _add_squares(x, weights, k, row, distances):
    if weights is None:
        for j in range(row.shape[0]):
            distances[j] += (x - row[j]) ** 2
    else:
        weight = weights[k]
        for j in range(row.shape[0]):
            distances[j] += weight * (x - row[j]) ** 2


# Four coordinates at once: distances are loaded and stored a quarter as often.
@compiled(fastmath={"contract"})
def _add_four_differences(x0, x1, x2, x3, weights, k, row0, row1, row2, row3, distances):
    if weights is None:
        for j in range(row0.shape[0]):
            first = abs(x0 - row0[j]) + abs(x1 - row1[j])
            distances[j] += first + (abs(x2 - row2[j]) + abs(x3 - row3[j]))
    else:
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for j in range(row0.shape[0]):
            first = w0 * abs(x0 - row0[j]) + w1 * abs(x1 - row1[j])
            distances[j] += first + (w2 * abs(x2 - row2[j]) + w3 * abs(x3 - row3[j]))


@compiled(fastmath={"contract"})
def _add_four_squares(x0, x1, x2, x3, weights, k, row0, row1, row2, row3, distances):
    if weights is None:
        for j in range(row0.shape[0]):
            first = (x0 - row0[j]) ** 2 + (x1 - row1[j]) ** 2
            distances[j] += first + ((x2 - row2[j]) ** 2 + (x3 - row3[j]) ** 2)
    else:
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
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
        x0, x1, x2, x3 = point[k], point[k + 1], point[k + 2], point[k + 3]
        row0, row1, row2, row3 = right[k], right[k + 1], right[k + 2], right[k + 3]
        if power == 1:
            _add_four_differences(x0, x1, x2, x3, weights, k, row0, row1, row2, row3, distances)
        else:
            _add_four_squares(x0, x1, x2, x3, weights, k, row0, row1, row2, row3, distances)
    for k in range(whole, d):
        if power == 1:
            _add_differences(point[k], weights, k, right[k], distances)
        else:
            _add_squares(point[k], weights, k, right[k], distances)


@compiled()
def _count_below(row, bound):
    count = 0
    for j in range(row.shape[0]):
        count += row[j] < bound
    return count


@compiled()
def fill_by_differences(left, right, weights, power, smallest, coefficients, first_cell, out):
    """Write function values, and return for each row how many distances are too small for the table."""
    n_small = np.empty(left.shape[0], np.int64)
    distances = np.empty(out.shape[1])
    bits = distances.view(np.int64)
    for i in range(left.shape[0]):
        _distances_of_point(left[i], right, weights, power, distances)
        n_small[i] = _count_below(distances, smallest)
        look_up_row(bits, coefficients, first_cell, out[i])
    return n_small


@compiled()
def small_distances(left, right, weights, power, smallest, rows, n_small):
    """Give the (n_small, 2) positions of the distances in some rows that are too small for the table, and them."""
    positions, values = np.empty((n_small, 2), np.int64), np.empty(n_small)
    distances = np.empty(right.shape[1])
    k = 0
    for i in rows:
        _distances_of_point(left[i], right, weights, power, distances)
        for j in range(distances.shape[0]):
            if distances[j] < smallest:
                positions[k, 0] = i
                positions[k, 1] = j
                values[k] = distances[j]
                k += 1
    return positions, values
