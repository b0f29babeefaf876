"""Transposes that write whole cache lines."""

from .compiling import compiled


@compiled()
def transpose(tile, out, row, column):
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


@compiled()
def scaled_transpose(columns, factors, rows):
    """Write ``factors[j] * columns[j, r]`` to ``rows[r, j]``, eight columns at a time (a constant, to be unrolled)."""
    n, m = rows.shape
    whole = m - m % 8
    for j0 in range(0, whole, 8):
        for r in range(n):
            row = rows[r]
            for j in range(8):
                row[j0 + j] = columns[j0 + j, r] * factors[j0 + j]
    for j in range(whole, m):
        for r in range(n):
            rows[r, j] = columns[j, r] * factors[j]
