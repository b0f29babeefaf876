"""The fast Hadamard transform against the dense matrix."""

import naive
import numpy as np
import pytest

from bochner.engine import feature_map, hadamard

SIZES = [2**k for k in range(13)]


def spin(points, signs):
    work = np.full_like(points, np.nan)
    hadamard.spin(points, signs, work)
    return work


def integers(shape, dtype=np.float64):
    """Small whole numbers, whose transforms have no rounding."""
    return np.random.default_rng(0).integers(-3, 4, size=shape).astype(dtype)


def signs(size, dtype=np.float64):
    return np.random.default_rng(1).choice(np.array([-1.0, 1.0], dtype), size=(3, size))


@pytest.mark.parametrize("size", SIZES)
def test_three_transforms_without_flips_are_one_times_the_size(size):
    points = integers((size, 3))
    assert (spin(points, np.ones((3, size))) == size * naive.hadamard_product(points)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64])
def test_flips_and_transforms_are_those_of_dense_matrices(size, dtype):
    S = signs(size, dtype)
    for n_points in range(1, 66):
        points = integers((size, n_points), dtype)
        expected = points
        for k in range(3):
            expected = naive.hadamard_product(S[k][:, None] * expected)
        assert (spin(points, S) == expected).all()


def test_points_stay_as_they_are():
    points = integers((64, 5))
    before = points.copy()
    spin(points, signs(64))
    assert np.array_equal(points, before)


@pytest.mark.parametrize(
    ("n_points", "size", "n_blocks", "p"), [(1, 1, 1, 1), (5, 8, 3, 20), (17, 64, 2, 65), (9, 128, 1, 3)]
)
@pytest.mark.parametrize(("dtype", "bound"), [(np.float32, 2e-5), (np.float64, 1e-13)])
def test_block_of_features_is_that_of_dense_frequencies(n_points, size, n_blocks, p, dtype, bound):
    rng = np.random.default_rng(0)
    S = rng.choice([-1.0, 1.0], size=(n_blocks, 3, size))
    radii = rng.exponential(size=p) / size**1.5
    points, offset = rng.normal(size=(n_points, max(1, size - 3))), rng.uniform(-0.5, 0.5, size=p)
    rows = []
    for b in range(n_blocks):
        block = np.eye(size)
        for k in range(3):
            block = naive.hadamard_product(S[b, k][:, None] * block)
        rows.append(block)
    W = radii[:, None] * np.concatenate(rows)[:p, : points.shape[1]]
    phases = 2 * np.pi * (points @ W.T + offset)
    out = np.empty((n_points, 2 * p), dtype)
    arrays = (array.astype(dtype) for array in (points, S, radii, offset))
    feature_map.hadamard_block(*arrays, 0.25, out)
    assert abs(out - 0.25 * np.hstack([np.cos(phases), np.sin(phases)])).max() < bound
