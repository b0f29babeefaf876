"""The fast Walsh-Hadamard transform of many points at once.

Points lie in columns: an array (D, R) holds R points of D = 2^k coordinates, so each butterfly is a sum and a
difference of contiguous runs of at least R numbers, which vectorises at every level. Point by point, the lowest
levels (runs of 1, 2, 4 numbers) would cost more than all the others together.
"""

from .compiling import compiled


@compiled()
def _butterfly_2(a, b):
    for j in range(a.shape[0]):
        x, y = a[j], b[j]
        a[j] = x + y
        b[j] = x - y


@compiled()
def _butterfly_4(a, b, c, d):
    for j in range(a.shape[0]):
        x0, x1 = a[j] + b[j], a[j] - b[j]
        x2, x3 = c[j] + d[j], c[j] - d[j]
        a[j], b[j], c[j], d[j] = x0 + x2, x1 + x3, x0 - x2, x1 - x3


@compiled()
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


@compiled()
def _signed_butterfly_8(a, b, c, d, e, f, g, h, signs):
    """The butterfly of the lowest levels, with the sign flips that go before it."""
    s0, s1, s2, s3, s4, s5, s6, s7 = signs[0], signs[1], signs[2], signs[3], signs[4], signs[5], signs[6], signs[7]
    for j in range(a.shape[0]):
        p0, p1, p2, p3 = a[j] * s0, b[j] * s1, c[j] * s2, d[j] * s3
        p4, p5, p6, p7 = e[j] * s4, f[j] * s5, g[j] * s6, h[j] * s7
        x0, x1, x2, x3 = p0 + p1, p0 - p1, p2 + p3, p2 - p3
        x4, x5, x6, x7 = p4 + p5, p4 - p5, p6 + p7, p6 - p7
        y0, y1, y2, y3 = x0 + x2, x1 + x3, x0 - x2, x1 - x3
        y4, y5, y6, y7 = x4 + x6, x5 + x7, x4 - x6, x5 - x7
        a[j], b[j], c[j], d[j] = y0 + y4, y1 + y5, y2 + y6, y3 + y7
        e[j], f[j], g[j], h[j] = y0 - y4, y1 - y5, y2 - y6, y3 - y7


@compiled()
def _lowest_levels(x, signs, h):
    """Flip signs and do the first levels, in place; return the run that the next level begins with."""
    n = x.shape[0]
    if n < 8 * h:
        for j in range(n):
            x[j] *= signs[j // h]
        return h
    for i in range(0, n, 8 * h):
        _signed_butterfly_8(
            x[i : i + h],
            x[i + h : i + 2 * h],
            x[i + 2 * h : i + 3 * h],
            x[i + 3 * h : i + 4 * h],
            x[i + 4 * h : i + 5 * h],
            x[i + 5 * h : i + 6 * h],
            x[i + 6 * h : i + 7 * h],
            x[i + 7 * h : i + 8 * h],
            signs[i // h : i // h + 8],
        )
    return 8 * h


@compiled()
def flip_and_transform(x, signs, n_points):
    """Flip signs, then apply the unnormalised Hadamard matrix, in place, to the flat (D * n_points) array ``x``."""
    n = x.shape[0]
    h = _lowest_levels(x, signs, n_points)
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


@compiled()
def spin(points, signs, work):
    """Apply three rounds of sign flips and Hadamard transforms to columns of points.

    ``points`` is (D, R) and stays as it is; the result, ``H S3 H S2 H S1 points`` without normalisation, goes to
    ``work``. ``signs`` is (3, D).
    """
    flat, source = work.reshape(work.size), points.reshape(points.size)
    for j in range(flat.shape[0]):  # an assignment of slices would take seconds to compile
        flat[j] = source[j]
    for k in range(3):
        flip_and_transform(flat, signs[k], points.shape[1])
