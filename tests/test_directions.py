"""Direction schemes: exact orthogonality, the Haar law, and structured rows against dense Hadamard matrices."""

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import beta, ks_2samp, kstest, uniform
from threadpoolctl import threadpool_limits

from bochner import Gaussian, L1Laplacian, Laplacian, RandomFeatures
from bochner.diagnostics import approximation_error
from bochner.directions import cheapest, gaussian_rows, haar, hadamard_rows, orthogonal_rows, unit_rows

# Each Kolmogorov-Smirnov test here fails for right code in one of a million choices of the seed.
LEVEL = 1e-6


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):  # many small matrices
        yield


def generator(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 1), (1, 5), (3, 5), (5, 5), (13, 5), (70, 70), (200, 70), (64, 3)])
def test_orthogonal_rows_are_orthonormal_within_each_block(n, d):
    rows = orthogonal_rows(n, d, generator())
    assert rows.shape == (n, d)
    for start in range(0, n, d):
        block = rows[start : start + d]
        assert abs(block @ block.T - np.eye(len(block))).max() < 1e-12


@pytest.mark.parametrize("p", [3, 16, 50])
def test_frequencies_of_orthogonal_features_are_orthogonal(p):
    W = RandomFeatures(Gaussian(), 2 * p, directions="orthogonal", random_state=0).fit(np.zeros((1, 16))).frequencies_
    for start in range(0, p, 16):
        block = W[start : start + 16] / np.linalg.norm(W[start : start + 16], axis=1, keepdims=True)
        assert abs(block @ block.T - np.eye(len(block))).max() < 1e-12


@pytest.mark.parametrize("d", [2, 3, 8])
def test_every_entry_of_a_haar_matrix_has_the_law_of_a_coordinate_on_the_sphere(d):
    draws = haar(4000, d, generator(d))
    for i, j in [(0, 0), (d - 1, 0), (0, d - 1), (d - 1, d - 1)]:
        # (q + 1) / 2 is symmetric beta; without the sign fix the diagonal has one sign.
        assert kstest((draws[:, i, j] + 1) / 2, beta((d - 1) / 2, (d - 1) / 2).cdf).pvalue > LEVEL


def test_haar_rotations_of_the_plane_have_a_uniform_angle_and_half_of_them_reflect():
    draws = haar(4000, 2, generator())
    turning = np.linalg.det(draws) > 0
    assert abs(turning.mean() - 0.5) < 5 * 0.5 / np.sqrt(4000)
    for some in (draws[turning], draws[~turning]):
        angles = np.arctan2(some[:, 1, 0], some[:, 0, 0])
        assert kstest(angles, uniform(-np.pi, 2 * np.pi).cdf).pvalue > LEVEL


def test_the_law_of_a_haar_matrix_is_the_same_after_a_rotation():
    rng = generator()
    fixed, plain, rotated = haar(1, 4, rng)[0], haar(3000, 4, rng), haar(3000, 4, rng)
    assert ks_2samp([np.trace(q) for q in plain], [np.trace(fixed @ q) for q in rotated]).pvalue > LEVEL
    assert ks_2samp([q[0, 0] for q in plain], [(fixed @ q @ fixed)[0, 0] for q in rotated]).pvalue > LEVEL


def test_different_blocks_are_independent():
    rng = generator()
    draws = np.array([orthogonal_rows(6, 3, rng) for _ in range(4000)])
    products = (draws[:, 0] * draws[:, 3]).sum(axis=1)
    # The inner product of independent uniform directions in three dimensions is uniform.
    assert kstest(products, uniform(-1, 2).cdf).pvalue > LEVEL


@pytest.mark.parametrize("d", [1, 2, 5])
def test_independent_rows_have_the_law_of_the_sphere_and_of_the_gaussian(d):
    unit, gaussian = unit_rows(4000, d, generator()), gaussian_rows(4000, d, generator(1))
    assert abs(np.linalg.norm(unit, axis=1) - 1).max() < 1e-14
    assert kstest(gaussian[:, 0], "norm").pvalue > LEVEL
    if d > 1:
        assert kstest((unit[:, -1] + 1) / 2, beta((d - 1) / 2, (d - 1) / 2).cdf).pvalue > LEVEL


def dense(structured):
    """All rows as the product of Hadamard matrices, signs and, if there is one, the rotation."""
    D = structured.radial_dimension
    H = hadamard(D) / np.sqrt(D)
    blocks = np.vstack([H @ (s3[:, None] * H) @ (s2[:, None] * H * s1) for s1, s2, s3 in structured.signs])
    rows = blocks[: structured.n]
    return rows[:, : structured.dimension] if structured.rotation is None else rows @ structured.rotation.T


@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 1), (3, 2), (20, 3), (100, 16), (300, 70), (100, 300), (700, 257)])
def test_structured_rows_are_the_product_of_dense_matrices(n, d):
    structured = hadamard_rows(n, d, generator())
    expected = dense(structured)
    which = generator(1).permutation(n)[: max(1, n // 2)]
    assert structured.rows(np.arange(n)).shape == (n, d)
    assert abs(structured.rows(np.arange(n)) - expected).max() < 1e-13
    assert abs(structured.rows(which) - expected[which]).max() < 1e-13


@pytest.mark.parametrize(("n", "d"), [(8, 2), (20, 3), (300, 70), (700, 300)])
@pytest.mark.parametrize("whitening", ["vector", "matrix"])
def test_projections_are_inner_products_with_the_rows(n, d, whitening):
    structured = hadamard_rows(n, d, generator())
    T = generator(1).normal(size=d if whitening == "vector" else (d + 1, d))
    X = generator(2).normal(size=(4, T.shape[0]))
    mixing = structured.mix(T)
    mixed = X * mixing if mixing.ndim == 1 else X @ mixing
    whitened = X * T if T.ndim == 1 else X @ T
    assert abs(structured.project(mixed) - whitened @ dense(structured).T).max() < 1e-12


@pytest.mark.parametrize("d", [64, 128, 256, 512])
def test_structured_rows_of_a_block_are_orthonormal_without_padding(d):
    structured = hadamard_rows(2 * d, d, generator())
    assert structured.radial_dimension == d
    for block in np.split(structured.rows(np.arange(2 * d)), 2):
        assert abs(block @ block.T - np.eye(d)).max() < 1e-12


@pytest.mark.parametrize("d", [2, 5, 70, 300])
def test_structured_rows_have_unit_length_in_the_padded_dimension(d):
    structured = hadamard_rows(2000, d, generator())
    D = structured.radial_dimension
    assert d <= D
    assert (D & (D - 1)) == 0
    squared = np.square(structured.rows(np.arange(2000))).sum(axis=1)
    assert squared.max() < 1 + 1e-12
    assert np.mean(squared) == pytest.approx(d / D, rel=0.05)


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_the_error_of_structured_directions_falls_with_their_number_also_in_few_dimensions(d):
    """If the blocks shared a few directions, the error would stay: 0.2 at d = 2 where 0.01 is due."""
    X = generator(d).normal(size=(60, d))

    def error(directions):
        maps = [RandomFeatures(Laplacian(), 16384, directions=directions, random_state=s).fit(X) for s in range(4)]
        return np.mean([approximation_error(features, X) for features in maps])

    assert error("hadamard") < 1.3 * error("gaussian")


@pytest.mark.parametrize(
    ("d", "p", "expected"),
    [
        (1, 4096, "orthogonal"),
        (3, 1536, "orthogonal"),
        (16, 4096, "orthogonal"),
        (63, 1 << 16, "orthogonal"),
        (784, 8192, "hadamard"),
        (3072, 12288, "hadamard"),
        (784, 8, "orthogonal"),
        (3072, 16, "orthogonal"),
    ],
)
def test_the_cheaper_directions_are_chosen(d, p, expected):
    assert cheapest(d, p) == expected


@pytest.mark.parametrize(("d", "p", "expected"), [(3, 64, "orthogonal"), (784, 8192, "hadamard")])
def test_auto_takes_the_cheaper_directions(d, p, expected):
    features = RandomFeatures(Gaussian(), 2 * p, random_state=0).fit(np.zeros((1, d)))
    assert features.directions == "auto"
    assert features.directions_ == expected


def test_auto_looks_at_the_rank_of_the_metric():
    full, low = np.eye(128), np.diag(np.arange(128) < 10).astype(float)
    chosen = [RandomFeatures(Gaussian(metric=M), 2 * 4096).fit(np.zeros((1, 128))).directions_ for M in (full, low)]
    assert chosen == ["hadamard", "orthogonal"]


def test_auto_takes_independent_directions_for_a_separable_kernel():
    assert RandomFeatures(L1Laplacian(), 64).fit(np.zeros((1, 784))).directions_ == "gaussian"
