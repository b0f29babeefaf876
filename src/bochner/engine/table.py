"""A function of one number, tabulated: the kernel's profile over all pairs at the price of a short polynomial.

The table divides each octave ``[2^e, 2^(e+1))`` of its argument into 32 cells and holds for each cell the polynomial
that interpolates the function at Chebyshev points. Octave and cell are read off the bits of the number.

How good it is, is a theorem: a Gaussian scale mixture is ``f(t) = E exp(-s t / 2)`` as a function of the squared
distance t, analytic and at most 1 in the right half plane. A cell ``[c - h, c + h]`` has ``c >= 65 h``, so f is
analytic within the Bernstein ellipse of parameter ``rho > 129``, and interpolation of degree n errs by at most
``4 rho^-n / (rho - 1)`` (Trefethen, Approximation Theory and Approximation Practice, theorem 8.2): 7e-17 for degree
7, 2e-8 for degree 3. This holds for every kernel here and for every kernel that a user adds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numba import int32
from numba.extending import overload
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from . import schedule
from .compiling import compiled

Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Octaves below a typical argument; what is smaller still is left to the function itself.
OCTAVES = 22
_CELL_BITS = 5
_DEGREE = {np.dtype(np.float32): 3, np.dtype(np.float64): 7}
_MANTISSA_BITS = {np.dtype(np.float32): 23, np.dtype(np.float64): 52}
_INTEGER = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}


@dataclass(frozen=True)
class Table:
    """A tabulated function on ``[smallest, largest)``."""

    coefficients: NDArray[Any]  # (cells, degree + 1), for a local coordinate in [-1, 1)
    first_cell: int  # the leading bits of ``smallest``
    smallest: float
    largest: float


def tabulate(function: Function, largest: float, dtype: Any, typical: float | None = None) -> Table:
    """Tabulate a vectorised function of positive numbers for arguments of the given type.

    The table reaches from 22 octaves below a typical argument (by default the largest) to the largest: an outlier adds
    octaves, but takes none.
    """
    dtype, typical = np.dtype(dtype), largest if typical is None else typical
    lowest, highest = np.finfo(dtype).minexp + 1, np.finfo(dtype).maxexp - 1
    top = int(np.clip(np.frexp(largest)[1], lowest + 1, highest))
    bottom = int(np.clip(np.frexp(typical)[1] - OCTAVES, lowest, top - 1))
    lefts = _cell_edges(bottom, top)
    nodes, to_powers = _interpolation(_DEGREE[dtype] + 1)
    points = lefts[:-1, None] + np.diff(lefts)[:, None] * (nodes + 1.0) / 2.0
    coefficients = np.empty(points.shape, dtype=dtype)

    def fill(cells: slice) -> None:
        coefficients[cells] = function(points[cells]) @ to_powers

    # On all threads: the function may be as slow as a Bessel function.
    schedule.run(fill, schedule.slices(len(points), 256))
    first = np.array(lefts[0], dtype=dtype).view(_INTEGER[dtype]) >> (_MANTISSA_BITS[dtype] - _CELL_BITS)
    return Table(coefficients, int(first), float(lefts[0]), float(lefts[-1]))


def _cell_edges(bottom: int, top: int) -> NDArray[np.float64]:
    cells = 1 << _CELL_BITS
    within = 1.0 + np.arange(cells) / cells
    edges = np.ldexp(within, np.arange(bottom, top)[:, None]).ravel()
    return np.append(edges, np.ldexp(1.0, top))


@lru_cache(maxsize=2)
def _interpolation(n: int) -> tuple[NDArray[np.float64], NDArray[np.longdouble]]:
    """Give n Chebyshev points and the matrix that takes values there to coefficients of powers.

    In extended precision where the machine has it: the coefficients of powers cancel, which costs a digit.
    """
    pi = np.longdouble("3.14159265358979323846264338327950288")
    angles = pi * (2 * np.arange(n, dtype=np.longdouble) + 1) / (2 * n)
    to_chebyshev = np.cos(angles[:, None] * np.arange(n)) * 2 / n
    to_chebyshev[:, 0] /= 2
    to_powers = np.zeros((n, n), dtype=np.longdouble)
    for k in range(n):
        to_powers[k, : k + 1] = chebyshev.cheb2poly(np.eye(n)[k, : k + 1])
    return np.cos(angles).astype(np.float64), to_chebyshev @ to_powers


def look_up_row(bits, coefficients, first_cell, out):
    """Write the function of a row of numbers, given by their bits; called from compiled code only.

    Numbers outside the table get what its first or last cell gives.
    """
    raise TypeError("look_up_row is for compiled code.")


@overload(look_up_row, jit_options={"nogil": True, "fastmath": {"contract"}})
def _choose_precision(bits, coefficients, first_cell, out):
    return _look_up_row_32 if bits.dtype == int32 else _look_up_row_64


def _look_up_row_32(bits, coefficients, first_cell, out):
    last = coefficients.shape[0] - 1
    for j in range(bits.shape[0]):
        cell = min(max((bits[j] >> 18) - first_cell, 0), last)
        x = np.float32(bits[j] & 0x3FFFF) * np.float32(2.0**-17) - np.float32(1.0)
        c = coefficients[cell]
        out[j] = ((c[3] * x + c[2]) * x + c[1]) * x + c[0]


def _look_up_row_64(bits, coefficients, first_cell, out):
    last = coefficients.shape[0] - 1
    for j in range(bits.shape[0]):
        cell = min(max((bits[j] >> 47) - first_cell, 0), last)
        x = np.float64(bits[j] & 0x7FFFFFFFFFFF) * 2.0**-46 - 1.0
        c = coefficients[cell]
        value = ((c[7] * x + c[6]) * x + c[5]) * x + c[4]
        out[j] = (((value * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0]


def bits_of(numbers: NDArray[Any]) -> NDArray[Any]:
    """View floats as integers of the same size."""
    return numbers.view(_INTEGER[numbers.dtype])


@compiled()
def _look_up_rows(bits, coefficients, first_cell, out):
    for i in range(bits.shape[0]):
        look_up_row(bits[i], coefficients, first_cell, out[i])


def look_up(table: Table, arguments: NDArray[Any], out: NDArray[Any]) -> None:
    """Write the function of a C-contiguous (rows, columns) array of arguments to another."""
    _look_up_rows(bits_of(arguments), table.coefficients, table.first_cell, out)
