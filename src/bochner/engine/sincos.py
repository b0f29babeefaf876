"""Cosine and sine of a row of phases, both from one reduction.

A phase is kept in turns (one turn is 2 pi), so its reduction ``f = t - rint(t)`` is exact in floating point. On
``|f| <= 1/2`` both functions are short polynomials in ``z = f**2``:

    cos(2 pi f) = 1 + z C(z),        sin(2 pi f) = f S(z),

with C and S the Chebyshev interpolants on [0, 1/4]. Degree 6 leaves 2e-9 (below the rounding of float32), degree 10
leaves 5e-18. The measured errors, rounding included, are 4e-7 and 2e-15.

The loops run over one-dimensional rows, because only then can LLVM prove that they vectorise.
"""

import numpy as np
from numba import float32
from numba.extending import overload

# Constants of the arithmetic's own precision: a float64 constant would lift the whole float32 loop to float64.
_C32 = tuple(
    np.float32(c)
    for c in (
        -19.739208800302166,
        64.93939328681195,
        -85.45677003067605,
        60.243505256760024,
        -26.41319400616634,
        7.826060562392518,
        -1.4838338277035332,
    )
)
_S32 = tuple(
    np.float32(c)
    for c in (
        6.283185302468581,
        -41.34170039298386,
        81.60513081114435,
        -76.70300555818746,
        42.02585148963868,
        -14.899578436725834,
        3.2377800860426684,
    )
)
_C64 = (
    -19.739208802178716,
    64.9393940226683,
    -85.45681720669336,
    60.24464137185329,
    -26.426256782625916,
    7.903536357327615,
    -1.7143905479617194,
    0.2820047458896873,
    -0.036376945864310145,
    0.0037621259897157072,
    -0.0002926907162357336,
)
_S64 = (
    6.283185307179586,
    -41.34170224039975,
    81.60524927607364,
    -76.70585975297274,
    42.058693942058134,
    -15.094642523739662,
    3.8199519658163408,
    -0.7181176612406465,
    0.10420677657784852,
    -0.011964299447466884,
    0.0010156363080426269,
)


def sincos_row(turns, offset, scale, cos, sin):
    """Write ``scale * cos`` and ``scale * sin`` of a row of phases in turns; called from compiled code only."""
    raise TypeError("sincos_row is for compiled code.")


@overload(sincos_row, jit_options={"nogil": True, "fastmath": {"contract"}})
def _choose_precision(turns, offset, scale, cos, sin):
    return _sincos_row_32 if turns.dtype == float32 else _sincos_row_64


def _sincos_row_32(turns, offset, scale, cos, sin):
    c0, c1, c2, c3, c4, c5, c6 = _C32
    s0, s1, s2, s3, s4, s5, s6 = _S32
    for j in range(turns.shape[0]):
        t = turns[j] + offset[j]
        f = t - np.rint(t)
        z = f * f
        c = ((((((c6 * z + c5) * z + c4) * z + c3) * z + c2) * z + c1) * z + c0) * z
        s = ((((((s6 * z + s5) * z + s4) * z + s3) * z + s2) * z + s1) * z + s0) * f
        cos[j] = c * scale + scale
        sin[j] = s * scale


def _sincos_row_64(turns, offset, scale, cos, sin):
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 = _C64
    s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10 = _S64
    for j in range(turns.shape[0]):
        t = turns[j] + offset[j]
        f = t - np.rint(t)
        z = f * f
        c = (c10 * z + c9) * z + c8
        c = ((((((((c * z + c7) * z + c6) * z + c5) * z + c4) * z + c3) * z + c2) * z + c1) * z + c0) * z
        s = (s10 * z + s9) * z + s8
        s = ((((((((s * z + s7) * z + s6) * z + s5) * z + s4) * z + s3) * z + s2) * z + s1) * z + s0) * f
        cos[j] = c * scale + scale
        sin[j] = s * scale
