"""Cosine and sine of a row of phases, both from one reduction.

A phase is kept in turns (one turn is 2 pi), so its reduction ``g = t - rint(t)`` is exact in floating point. Half a
turn changes the sign of both functions, so that they are needed at ``f = g - k / 2`` with ``k = rint(2 g)`` only, where
``|f| <= 1/4`` and both are short polynomials in ``z = f**2``:

    cos(2 pi f) = 1 + z C(z),        sin(2 pi f) = f S(z),

with C and S the Chebyshev interpolants on [0, 1/16]. Five terms each leave 1e-8 (below the rounding of float32), nine
and eight 2e-17. The measured errors, rounding included, are 1.7e-7 and 2.7e-16, and small sines keep all their digits.

The loops run over one-dimensional rows, because only then can LLVM prove that they vectorise.
"""

import numpy as np
from numba import float32
from numba.extending import overload

# Constants of the arithmetic's own precision: a float64 constant would lift the whole float32 loop to float64.
_C32 = tuple(
    np.float32(c)
    for c in (-19.73920878794794, 64.939382634935, -85.45535748485729, 60.179038290533356, -25.21816227351394)
)
_S32 = tuple(
    np.float32(c)
    for c in (6.283185280154407, -41.34168061334652, 81.60247636892518, -76.58117264427872, 39.7598270853191)
)
_C64 = (
    -19.739208802178716,
    64.93939402266777,
    -85.45681720652034,
    60.24464134967237,
    -26.4262553864964,
    7.903488624557531,
    -1.7134856385866277,
    0.2730491551892733,
)
_S64 = (
    6.283185307179586,
    -41.341702240399755,
    81.60524927607362,
    -76.70585975282492,
    42.058693925428685,
    -15.0946416761179,
    3.8199280942271643,
    -0.7177337921413454,
    0.10089695501646812,
)


def sincos_row(turns, offset, scale, cos, sin):
    """Write ``scale * cos`` and ``scale * sin`` of a row of phases in turns; called from compiled code only."""
    raise TypeError("sincos_row is for compiled code.")


@overload(sincos_row, jit_options={"nogil": True, "fastmath": {"contract"}})
def _choose_precision(turns, offset, scale, cos, sin):
    return _sincos_row_32 if turns.dtype == float32 else _sincos_row_64


def _sincos_row_32(turns, offset, scale, cos, sin):
    c0, c1, c2, c3, c4 = _C32
    s0, s1, s2, s3, s4 = _S32
    half, one, twice = np.float32(0.5), np.float32(1.0), scale + scale
    for j in range(turns.shape[0]):
        t = turns[j] + offset[j]
        g = t - np.rint(t)
        k = np.rint(g + g)
        f = g - half * k
        signed = scale - twice * (k * k)
        z = f * f
        cos[j] = signed * (((((c4 * z + c3) * z + c2) * z + c1) * z + c0) * z + one)
        sin[j] = signed * (((((s4 * z + s3) * z + s2) * z + s1) * z + s0) * f)


def _sincos_row_64(turns, offset, scale, cos, sin):
    c0, c1, c2, c3, c4, c5, c6, c7 = _C64
    s0, s1, s2, s3, s4, s5, s6, s7, s8 = _S64
    half, one, twice = 0.5, 1.0, scale + scale
    for j in range(turns.shape[0]):
        t = turns[j] + offset[j]
        g = t - np.rint(t)
        k = np.rint(g + g)
        f = g - half * k
        signed = scale - twice * (k * k)
        z = f * f
        cos[j] = signed * ((((((((c7 * z + c6) * z + c5) * z + c4) * z + c3) * z + c2) * z + c1) * z + c0) * z + one)
        sin[j] = signed * (
            ((((((((s8 * z + s7) * z + s6) * z + s5) * z + s4) * z + s3) * z + s2) * z + s1) * z + s0) * f
        )
