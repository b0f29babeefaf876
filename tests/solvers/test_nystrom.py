"""Preconditioners: consistent with themselves, exact where they can be, and worth their cost."""

import numpy as np
import pytest

from bochner.solvers import Design, Gram, conjugate_gradient, gram_preconditioner, nystrom_preconditioner


def rows(n=120, p=25, decay=3.0, dtype=np.float64, seed=0):
    """Rows whose covariance has eigenvalues that fall by ``2 * decay`` digits, with a mean, and weights."""
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.normal(size=(p, p)))
    features = (rng.normal(size=(n, p)) * 10.0 ** -np.linspace(0.0, decay, p)) @ vectors.T + 0.5
    return features.astype(dtype), rng.uniform(0.1, 3.0, size=n)


def matrix_of(features, weights, scale, alpha):
    features = features.astype(np.float64)
    centred = features - np.average(features, axis=0, weights=weights)
    return scale * (centred * weights[:, None]).T @ centred + alpha * np.eye(features.shape[1])


def by_gram(features, weights, scale, alpha):
    gram = Gram(features.shape[1], 1, precise=False).update(features, np.zeros((len(features), 1)), weights)
    return gram_preconditioner(gram, scale, alpha)


def by_nystrom(features, weights, scale, alpha, rank=10):
    mean = np.average(features, axis=0, weights=weights)
    rng = np.random.default_rng(5)
    return nystrom_preconditioner(Design.of(features, 32), rank, scale, alpha, mean, rng, weights)


MAKERS = {"gram": by_gram, "nystrom": by_nystrom}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_root_is_a_root_of_the_inverse(make, dtype):
    features, weights = rows(dtype=dtype)
    preconditioner = make(features, weights, 0.25, 0.1)
    inverse = preconditioner.solve(np.eye(25))
    root, transposed = preconditioner.root(np.eye(25)), preconditioner.root_transposed(np.eye(25))
    tolerance = 1e-4 * abs(inverse).max()
    assert abs(root @ transposed - inverse).max() < tolerance
    assert abs(root - transposed.T).max() < 1e-4 * abs(root).max()
    assert abs(inverse - inverse.T).max() < tolerance
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2.0).min() > 0.0
    assert inverse.dtype == root.dtype == np.float64


@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_the_gram_preconditioner_is_the_inverse(alpha):
    features, weights = rows()
    expected = np.linalg.inv(matrix_of(features, weights, 0.25, alpha))
    found = by_gram(features, weights, 0.25, alpha).solve(np.eye(25))
    assert abs(found - expected).max() < 1e-3 * abs(expected).max()  # it is held in float32


@pytest.mark.parametrize("rank", [25, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_nystrom_of_full_rank_is_the_inverse(rank, weighted):
    features, weights = rows()
    weights = weights if weighted else np.ones(120)
    expected = np.linalg.inv(matrix_of(features, weights, 0.25, 0.1))
    found = by_nystrom(features, weights, 0.25, 0.1, rank).solve(np.eye(25))
    assert abs(found - expected).max() < 1e-6 * abs(expected).max()


def test_nystrom_knows_the_leading_eigenvectors():
    features, weights = rows()
    preconditioner = by_nystrom(features, weights, 1.0, 0.1, rank=12)
    values, vectors = np.linalg.eigh(matrix_of(features, weights, 1.0, 0.0))
    assert preconditioner.values[:4] == pytest.approx(values[::-1][:4], rel=0.02)
    assert (np.diff(preconditioner.values) <= 0.0).all()
    overlap = preconditioner.vectors.T @ preconditioner.vectors
    assert abs(overlap - np.eye(12)).max() < 1e-10
    assert abs(vectors[:, -1] @ preconditioner.vectors[:, 0]) > 0.999


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_preconditioned_iterations_are_far_fewer(make, dtype):
    features, weights = rows(400, 60, decay=2.5, dtype=dtype)
    A = matrix_of(features, weights, 1.0, 1e-3)
    right = A @ np.random.default_rng(1).normal(size=(60, 2))
    preconditioner = (
        by_gram(features, weights, 1.0, 1e-3) if make is by_gram else make(features, weights, 1.0, 1e-3, 50)
    )
    plain = conjugate_gradient(lambda V: A @ V, right, lambda V: V.copy(), max_iter=5000)
    preconditioned = conjugate_gradient(lambda V: A @ V, right, preconditioner.solve)
    assert preconditioned.converged
    assert 5 * preconditioned.n_iter < plain.n_iter


def test_some_rows_precondition_for_all():
    features, weights = rows(2000, 30, decay=2.5)
    A = matrix_of(features, weights, 1.0, 0.1)
    right = np.random.default_rng(1).normal(size=(30, 1))
    some = slice(0, 300)
    preconditioner = by_gram(features[some], weights[some], weights.sum() / weights[some].sum(), 0.1)
    plain = conjugate_gradient(lambda V: A @ V, right, lambda V: V.copy(), max_iter=5000)
    preconditioned = conjugate_gradient(lambda V: A @ V, right, preconditioner.solve)
    assert preconditioned.converged
    assert 3 * preconditioned.n_iter < plain.n_iter


SINGULAR = {
    "few rows": lambda F: F[:3],
    "equal rows": lambda F: np.repeat(F[:1], 120, axis=0),
    "equal columns": lambda F: np.hstack([F, F]),
    "zeros": lambda F: 0.0 * F,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("alpha", [0.0, 1e-12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("change", SINGULAR.values(), ids=SINGULAR)
def test_singular_rows_have_a_finite_preconditioner(make, alpha, dtype, change):
    features, weights = rows(dtype=dtype)
    features = change(features)
    preconditioner = make(features, weights[: len(features)], 1.0, alpha)
    identity = np.eye(features.shape[1])
    for product in (preconditioner.solve, preconditioner.root, preconditioner.root_transposed):
        assert np.isfinite(product(identity)).all()


@pytest.mark.parametrize("weight", [1e-20, 1e20])
def test_the_unit_of_the_weights_does_not_matter(weight):
    features, weights = rows()
    plain = by_gram(features, weights, 1.0, 0.1).solve(np.eye(25))
    scaled = by_gram(features, weight * weights, 1.0, weight * 0.1).solve(np.eye(25))
    assert abs(scaled * weight - plain).max() < 1e-3 * abs(plain).max()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_same_generator_gives_the_same_preconditioner(make):
    features, weights = rows()
    first, second = (make(features, weights, 1.0, 0.1).solve(np.eye(25)) for _ in range(2))
    assert np.array_equal(first, second)
