"""The fast Walsh-Hadamard transform of many points at once.

Points lie in columns: an array (D, R) holds R points of D = 2^k coordinates, so each butterfly is a sum and a
difference of contiguous runs of at least R numbers, which vectorises at every level. Point by point, the lowest
levels (runs of 1, 2, 4 numbers) would cost more than all the others together.
"""

from numba import njit


@njit(nogil=True, cache=True)
def _butterfly_2(a, b):
    for j in range(a.shape[0]):
        x, y = a[j], b[j]
        a[j] = x + y
        b[j] = x - y


@njit(nogil=True, cache=True)
def _butterfly_4(a, b, c, d):
    for j in range(a.shape[0]):
        x0, x1 = a[j] + b[j], a[j] - b[j]
        x2, x3 = c[j] + d[j], c[j] - d[j]
        a[j], b[j], c[j], d[j] = x0 + x2, x1 + x3, x0 - x2, x1 - x3


@njit(nogil=True, cache=True)
def _butterfly_8(a, b, c, d, e, f, g, h):
    for j in range(a.shape[0]):
        x0, x1 = a[j] + b[j], a[j] - b[j]
        x2, x3 = c[j] + d[j], c[j] - d[j]
        x4, x5 = e[j] + f[j], e[j] - f[j]
        x6, x7 = g[j] + h[j], g[j] - h[j]
        y0, y1, y2, y3 = x0 + x2, x1 + x3, x0 - x2, x1 - x3
        y4, y5, y6, y7 = x4 + x6, x5 + x7, x4 - x6, x5 - x7
        a[j], b[j], c[j], d[j] = y0 + y4, y1 + y5, y2 + y6, y3 + y7
        e[j], f[j], g[j], h[j] = y0 - y4, y1 - y5, y2 - y6, y3 - y7


@njit(nogil=True, cache=True)
def transform(x, n_points):
    """Apply the unnormalised Hadamard matrix, in place, to the flat (D * n_points) array ``x``."""
    n, h = x.shape[0], n_points
    while 8 * h <= n:
        for i in range(0, n, 8 * h):
            _butterfly_8(
                x[i : i + h],
                x[i + h : i + 2 * h],
                x[i + 2 * h : i + 3 * h],
                x[i + 3 * h : i + 4 * h],
                x[i + 4 * h : i + 5 * h],
                x[i + 5 * h : i + 6 * h],
                x[i + 6 * h : i + 7 * h],
                x[i + 7 * h : i + 8 * h],
            )
        h *= 8
    if 4 * h <= n:
        _butterfly_4(x[:h], x[h : 2 * h], x[2 * h : 3 * h], x[3 * h : 4 * h])
        h *= 4
    if 2 * h <= n:
        _butterfly_2(x[:h], x[h : 2 * h])


@njit(nogil=True, cache=True)
def _scale_rows(source, factors, target):
    for i in range(source.shape[0]):
        row, out, factor = source[i], target[i], factors[i]
        for j in range(row.shape[0]):
            out[j] = row[j] * factor


@njit(nogil=True, cache=True)
def spin(points, signs, work):
    """Apply three rounds of sign flips and Hadamard transforms to columns of points.

    ``points`` is (D, R) and stays as it is; the result, ``H S3 H S2 H S1 points`` without normalisation, goes to
    ``work``. ``signs`` is (3, D).
    """
    n_points = points.shape[1]
    flat = work.reshape(work.size)
    _scale_rows(points, signs[0], work)
    transform(flat, n_points)
    for k in range(1, 3):
        _scale_rows(work, signs[k], work)
        transform(flat, n_points)


@njit(nogil=True, cache=True)
def scaled_transpose(columns, factors, rows):
    """Write ``factors[j] * columns[j, r]`` to ``rows[r, j]``, by small squares that stay in cache."""
    side = 16
    n, m = rows.shape
    for j0 in range(0, m, side):
        j1 = min(j0 + side, m)
        for r in range(n):
            row = rows[r]
            for j in range(j0, j1):
                row[j] = columns[j, r] * factors[j]
