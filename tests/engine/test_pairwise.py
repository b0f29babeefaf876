"""In which precision tiles are computed; their values are tested with the kernels."""

import naive
import numpy as np
import pytest

from bochner import Laplacian
from bochner.engine.pairwise import ProductTiles
from bochner.engine.points import Points

N, D = 1500, 40


def clusters(shuffled: bool) -> np.ndarray:
    """Give points of four tight clusters, one after the other or in any order."""
    rng = np.random.default_rng(0)
    centers = np.repeat(rng.normal(size=(4, D)), N // 4, axis=0)
    points = centers + 0.01 * rng.normal(size=(N, D))
    return (points[rng.permutation(N)] if shuffled else points).astype(np.float32)


def tiles(points: np.ndarray) -> ProductTiles:
    whole = Points(points, points.mean(axis=0, dtype=np.float64), np.ones(D))
    return ProductTiles(whole, whole, lambda t: np.exp(-np.sqrt(t)), np.float32)


@pytest.mark.parametrize(
    ("points", "precision"),
    [
        (np.random.default_rng(0).normal(size=(N, D)).astype(np.float32), np.float32),
        (clusters(shuffled=True), np.float64),  # all tiles have near pairs, a quarter of all
        (clusters(shuffled=False), np.float32),  # as many, but in a quarter of the tiles
        (clusters(shuffled=True)[:500], np.float32),  # too few for a look at some to be worth it
    ],
    ids=["far", "near everywhere", "near in some tiles", "few"],
)
def test_tiles_are_precise_at_once_where_most_would_be_done_again(points, precision):
    assert tiles(points).compute == precision


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("length_scale", [0.05, 5.0])
def test_values_of_near_points_are_right(shuffled, length_scale):
    X, kernel = clusters(shuffled), Laplacian(length_scale)
    assert abs(kernel(X) - naive.kernel_matrix(kernel, X)).max() <= 1e-6
    assert abs(kernel(X[:1400], X[100:]) - naive.kernel_matrix(kernel, X[:1400], X[100:])).max() <= 1e-6
