"""Preconditioners: consistent with themselves, exact where they can be, and worth their cost."""

import numpy as np
import pytest

from bochner.solvers import Design, Gram, RowSample, conjugate_gradient, gram_preconditioner, nystrom


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


def sample_of(features, weights, scale):
    mean = np.average(features, axis=0, weights=weights)
    return RowSample(Design.of(features, 32), mean, scale, weights)


def by_rows(features, weights, scale, alpha):
    return sample_of(features, weights, scale).inverse(alpha)


MAKERS = {"gram": by_gram, "rows": by_rows}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_root_is_a_root_of_the_inverse(make, dtype):
    features, weights = rows(dtype=dtype)
    preconditioner = make(features, weights, 0.25, 0.1)
    inverse, transposed = preconditioner.solve(np.eye(25)), preconditioner.root_transposed(np.eye(25))
    tolerance = 1e-4 * abs(inverse).max()
    assert abs(transposed.T @ transposed - inverse).max() < tolerance
    assert abs(inverse - inverse.T).max() < tolerance
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2.0).min() > 0.0
    assert inverse.dtype == transposed.dtype == np.float64


@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_the_gram_preconditioner_is_the_inverse(alpha):
    features, weights = rows()
    expected = np.linalg.inv(matrix_of(features, weights, 0.25, alpha))
    found = by_gram(features, weights, 0.25, alpha).solve(np.eye(25))
    assert abs(found - expected).max() < 1e-3 * abs(expected).max()  # it is held in float32


@pytest.mark.parametrize("n_rows", [10, 25, 120])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_inverse_of_a_sample_is_the_inverse(n_rows, weighted):
    features, weights = rows()
    features, weights = features[:n_rows], weights[:n_rows] if weighted else np.ones(n_rows)
    expected = np.linalg.inv(matrix_of(features, weights, 0.25, 0.1))
    found = by_rows(features, weights, 0.25, 0.1).solve(np.eye(25))
    assert abs(found - expected).max() < 1e-4 * abs(expected).max()  # it is held in float32


def test_products_of_a_sample_do_not_depend_on_its_blocks(monkeypatch):
    features, weights = rows(700, 25)
    whole = by_rows(features, weights, 0.25, 0.1)
    monkeypatch.setattr(nystrom, "_NUMBERS_OF_BLOCK", 1)
    assert np.tril(by_rows(features, weights, 0.25, 0.1).lower) == pytest.approx(np.tril(whole.lower), abs=1e-3)


def test_the_damping_is_what_a_sample_does_not_know():
    """For equal eigenvalues: sum lambda / (lambda + kappa) = m gives kappa = lambda (p / m - 1)."""
    p, m, n = 400, 100, 10_000
    features = np.random.default_rng(0).normal(size=(m, p))
    damping = RowSample(Design.of(features), np.zeros(p), n / m).damping(3.0)
    assert damping == pytest.approx(3.0 + 2.0 * n * (p / m - 1), rel=0.05)


def test_repeated_rows_do_not_take_the_damping_away():
    p, m = 400, 100
    features = np.random.default_rng(0).normal(size=(m, p))
    features[:20] = features[20:40]
    assert RowSample(Design.of(features), np.zeros(p), 1.0).damping(0.0) > 100


def test_damping_saves_iterations():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3000, 800)) / np.arange(1, 801)
    A = features.T @ features + 1e-3 * np.eye(800)
    sample = RowSample(Design.of(features[:100]), np.zeros(800), 30.0)
    right = features.T @ rng.normal(size=(3000, 1))
    plain, damped = (
        conjugate_gradient(lambda V: A @ V, right, sample.inverse(mu).solve, max_iter=3000)
        for mu in (1e-3, sample.damping(1e-3))
    )
    assert damped.converged
    assert 1.3 * damped.n_iter < plain.n_iter


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_preconditioned_iterations_are_far_fewer(make, dtype):
    features, weights = rows(400, 60, decay=2.5, dtype=dtype)
    A = matrix_of(features, weights, 1.0, 1e-3)
    right = A @ np.random.default_rng(1).normal(size=(60, 2))
    preconditioner = make(features, weights, 1.0, 1e-3)
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
    for product in (preconditioner.solve, preconditioner.root_transposed):
        assert np.isfinite(product(np.eye(features.shape[1]))).all()


@pytest.mark.parametrize("weight", [1e-20, 1e20])
def test_the_unit_of_the_weights_does_not_matter(weight):
    features, weights = rows()
    plain = by_gram(features, weights, 1.0, 0.1).solve(np.eye(25))
    scaled = by_gram(features, weight * weights, 1.0, weight * 0.1).solve(np.eye(25))
    assert abs(scaled * weight - plain).max() < 1e-3 * abs(plain).max()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_same_rows_give_the_same_preconditioner(make):
    features, weights = rows()
    first, second = (make(features, weights, 1.0, 0.1).solve(np.eye(25)) for _ in range(2))
    assert np.array_equal(first, second)
