"""Cosine and sine of phases in turns against NumPy, in both precisions."""

import numpy as np
import pytest

from bochner.engine import feature_map

#: Largest error; two roundings of 1.
BOUND = {np.float32: 2.4e-7, np.float64: 4.5e-16}

every_precision = pytest.mark.parametrize("dtype", BOUND, ids=lambda dtype: dtype.__name__)


def sincos(turns, offset=None, scale=1.0):
    dtype = turns.dtype
    offset = np.zeros(turns.shape[1], dtype) if offset is None else offset
    out = np.full((len(turns), 2 * turns.shape[1]), np.nan, dtype)
    feature_map.sincos(turns, offset, dtype.type(scale), out, 0)
    return np.split(out, 2, axis=1)


def exact(turns):
    """Reduced to a fraction of a turn first, which is exact; then in extended precision."""
    fraction = turns.astype(np.longdouble)
    angle = 2 * np.arccos(np.longdouble(-1)) * (fraction - np.rint(fraction))
    return np.cos(angle), np.sin(angle)


@every_precision
@pytest.mark.parametrize("largest", [1e-6, 1.0, 1e3, 1e7])
def test_cosine_and_sine_are_right_at_any_number_of_turns(dtype, largest):
    turns = (largest * np.random.default_rng(0).uniform(-1, 1, size=(7, 1001))).astype(dtype)
    for value, expected in zip(sincos(turns), exact(turns), strict=True):
        assert abs(value - expected).max() < BOUND[dtype]


@every_precision
def test_quarter_turns_are_right(dtype):
    turns = np.arange(-8, 9, dtype=dtype)[None] / 4
    for value, expected in zip(sincos(turns), exact(turns), strict=True):
        assert abs(value - expected).max() < BOUND[dtype]


@every_precision
def test_whole_turns_are_exact(dtype):
    cos, sin = sincos(np.array([[0.0, 1.0, -3.0, 1e6, 1e30]], dtype=dtype))
    assert (cos == 1).all()
    assert (sin == 0).all()


@every_precision
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 15, 33])
def test_every_width_is_written_whole(dtype, width):
    turns = np.random.default_rng(0).normal(size=(3, width)).astype(dtype)
    for value, expected in zip(sincos(turns), exact(turns), strict=True):
        assert abs(value - expected).max() < BOUND[dtype]


@every_precision
def test_offset_is_added_and_scale_multiplied(dtype):
    turns = np.random.default_rng(0).normal(size=(3, 40)).astype(dtype)
    offset = np.random.default_rng(1).uniform(-0.5, 0.5, size=40).astype(dtype)
    for value, expected in zip(sincos(turns, offset, 0.125), exact(turns + offset), strict=True):
        assert abs(value - 0.125 * expected).max() < 0.125 * BOUND[dtype]


@every_precision
def test_columns_beside_a_block_stay_as_they_are(dtype):
    out = np.full((2, 20), 7, dtype=dtype)
    feature_map.sincos(np.zeros((2, 3), dtype), np.zeros(10, dtype), dtype(1), out, 4)
    expected = np.full((2, 20), 7, dtype=dtype)
    expected[:, 4:7], expected[:, 14:17] = 1, 0
    assert (out == expected).all()
