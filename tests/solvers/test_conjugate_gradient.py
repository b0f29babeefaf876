"""Conjugate gradients against direct solutions, and what they say of themselves."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from bochner.solvers import Design, conjugate_gradient, moments, ridge_by_conjugate_gradient


def system(p=30, k=4, condition=100.0, seed=0):
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.normal(size=(p, p)))
    return (vectors * np.geomspace(1.0, condition, p)) @ vectors.T, rng.normal(size=(p, k))


def same(V):
    return V.copy()


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_every_right_hand_side_is_solved(k, preconditioned):
    A, right = system(k=k)
    right *= 10.0 ** -(5.0 * np.arange(k))  # small columns are solved as well as large ones
    inverse_diagonal = 1.0 / np.diag(A)[:, None]
    precondition = (lambda V: inverse_diagonal * V) if preconditioned else same
    before = right.copy()
    solution = conjugate_gradient(lambda V: A @ V, right, precondition, tolerance=1e-11)
    expected = np.linalg.solve(A, right)
    assert (abs(solution.value - expected) <= 1e-8 * abs(expected).max(axis=0)).all()
    assert solution.converged
    assert 0 < solution.n_iter <= 200
    assert np.array_equal(right, before)


def test_nothing_to_solve_is_solved_at_once():
    A, right = system()
    solution = conjugate_gradient(lambda V: A @ V, 0.0 * right, same)
    assert not solution.value.any()
    assert solution.converged
    assert (solution.n_iter, solution.residual) == (0, 0.0)


def test_a_column_of_zeros_among_others_stays_zero():
    A, right = system()
    right[:, 1] = 0.0
    solution = conjugate_gradient(lambda V: A @ V, right, same, tolerance=1e-10)
    assert not solution.value[:, 1].any()
    assert solution.value == pytest.approx(np.linalg.solve(A, right), abs=1e-8)


def test_from_the_solution_no_iteration_is_taken():
    A, right = system()
    start = np.linalg.solve(A, right)
    before = start.copy()
    solution = conjugate_gradient(lambda V: A @ V, right, same, start)
    assert solution.n_iter == 0
    assert solution.converged
    assert np.array_equal(solution.value, before)


def test_a_start_near_the_solution_saves_iterations_and_is_not_changed():
    A, right = system()
    start = np.linalg.solve(A, right) + 1e-4 * right
    before = start.copy()
    cold, warm = (conjugate_gradient(lambda V: A @ V, right, same, s, tolerance=1e-6) for s in (None, start))
    assert warm.converged
    assert warm.n_iter < cold.n_iter
    assert np.array_equal(start, before)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_not_converging_is_said(max_iter):
    A, right = system(condition=1e6)
    solution = conjugate_gradient(lambda V: A @ V, right, same, tolerance=1e-8, max_iter=max_iter)
    assert not solution.converged
    assert solution.n_iter == max_iter
    assert f"after {max_iter} iterations" in solution.message
    assert f"{solution.residual:.1e}" in solution.message
    assert "1.0e-08 was asked for" in solution.message


@pytest.mark.parametrize("max_iter", [2, 20, 500])
def test_the_stated_residual_is_that_of_the_value(max_iter):
    A, right = system(condition=1e4)
    solution = conjugate_gradient(lambda V: A @ V, right, same, tolerance=1e-9, max_iter=max_iter)
    residual = np.linalg.norm(right - A @ solution.value, axis=0) / np.linalg.norm(right, axis=0)
    assert solution.residual == pytest.approx(residual.max(), rel=1e-3)


def test_what_cannot_be_reached_stops_with_the_best():
    A, right = system(condition=1e14)
    solution = conjugate_gradient(lambda V: A @ V, right, same, tolerance=1e-30, max_iter=300)
    assert not solution.converged
    assert np.isfinite(solution.value).all()
    residual = np.linalg.norm(right - A @ solution.value, axis=0) / np.linalg.norm(right, axis=0)
    assert residual.max() < 1.5


def test_progress_rises_to_one():
    A, right = system()
    told = []
    conjugate_gradient(lambda V: A @ V, right, same, progress=lambda what, done: told.append((what, done)))
    assert all(what.startswith("Conjugate gradients, residual ") for what, _ in told)
    assert told[-1][1] == 1.0
    assert all(0.0 <= done <= 1.0 for _, done in told)


def rows(n=80, p=9, k=3):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, p)) + 2.0
    return features, features @ rng.normal(size=(p, k)) + rng.normal(size=(n, k)) + 7.0, rng.uniform(0.1, 3.0, size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block_rows", [1, 7, 100])
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 50.0])
def test_ridge_is_that_of_scikit_learn(alpha, block_rows, weighted):
    features, targets, weights = rows()
    weights = weights if weighted else None
    design = Design.of(features, block_rows)
    target_mean = np.average(targets, axis=0, weights=weights)
    mean, cross = moments(design, targets - target_mean, weights)
    solution = ridge_by_conjugate_gradient(design, mean, cross, weights, alpha, same, tolerance=1e-12)
    expected = Ridge(alpha, solver="svd").fit(features, targets, weights)
    assert solution.converged
    assert solution.value == pytest.approx(expected.coef_.T, abs=1e-9)
    assert target_mean - mean @ solution.value == pytest.approx(expected.intercept_, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_of_float32_rows_is_good_to_float32(weighted):
    features, targets, weights = rows()
    features = features.astype(np.float32)
    weights = weights if weighted else None
    design = Design.of(features, 13)
    mean, cross = moments(design, targets - targets.mean(axis=0), weights)
    solution = ridge_by_conjugate_gradient(design, mean, cross, weights, 1.0, same, tolerance=1e-5)
    expected = Ridge(1.0, solver="svd").fit(features.astype(np.float64), targets, weights)
    assert solution.converged
    assert solution.value == pytest.approx(expected.coef_.T, abs=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_the_rows(weighted):
    features, targets, weights = rows()
    w = weights if weighted else np.ones(80)
    mean, cross = moments(Design.of(features, 11), targets, weights if weighted else None)
    assert mean == pytest.approx(np.average(features, axis=0, weights=w))
    assert cross == pytest.approx((w[:, None] * (features - mean)).T @ targets, abs=1e-9)
