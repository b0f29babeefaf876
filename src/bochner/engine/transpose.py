"""Transposes that write whole cache lines."""

from .compiling import compiled


@compiled()
def transpose(source, row, column, n, m, out, to_row, to_column):
    """Write the transpose of n rows and m columns to another place, eight columns at a time (a constant, unrolled)."""
    whole = n - n % 8
    for i0 in range(0, whole, 8):
        for j in range(m):
            target = out[to_row + j, to_column + i0 : to_column + i0 + 8]
            for i in range(8):
                target[i] = source[row + i0 + i, column + j]
    for i in range(whole, n):
        for j in range(m):
            out[to_row + j, to_column + i] = source[row + i, column + j]


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
