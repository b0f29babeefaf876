"""Kernel ridge regression by conjugate gradients, against dense solutions."""

import numpy as np
import pytest

from bochner import Laplacian, Matern
from bochner.models.expansion import KernelRows
from bochner.solvers import PointSample, kernel_ridge, pivoted_cholesky


def points(n=300, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("kernel", [Laplacian(2.0), Matern(2.5, 2.0)], ids=repr)
def test_a_sample_of_all_points_gives_the_inverse(kernel):
    X, V = points(), np.random.default_rng(1).normal(size=(300, 2))
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=300)
    roots = np.sqrt(weights)[:, None]
    matrix = roots * kernel(X) * roots.T + 0.5 * np.eye(300)
    inverse = PointSample(KernelRows(kernel, X), 300).inverse(weights, 0.5)
    assert inverse.solve(V) == pytest.approx(np.linalg.solve(matrix, V), rel=1e-3, abs=1e-3)


def test_what_a_sample_leaves_is_added_to_the_penalty():
    """The preconditioner is that of the Nyström approximation, with the mean of the rest on its diagonal."""
    X, V, m = points(), np.random.default_rng(1).normal(size=(300, 2)), 60
    K = Laplacian(2.0)(X)
    seen = K[:, :m] @ np.linalg.solve(K[:m, :m], K[:m])
    rest = np.trace(K - seen) / (300 - m)
    expected = np.linalg.solve(seen + (0.1 + rest) * np.eye(300), V)
    inverse = PointSample(KernelRows(Laplacian(2.0), X), m).inverse(np.ones(300), 0.1)
    assert inverse.solve(V) == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_penalties_are_solved_side_by_side():
    X, Y = points(), np.random.default_rng(1).normal(size=(300, 2))
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=300)
    rows, K, penalties = KernelRows(Laplacian(2.0), X), Laplacian(2.0)(X), [0.1, 1.0, 10.0]
    solution = kernel_ridge(rows, Y, penalties, weights, PointSample(rows, 100), tolerance=1e-8)
    assert solution.converged
    for alpha, found in zip(penalties, np.split(solution.value, 3, axis=1), strict=True):
        assert found == pytest.approx(np.linalg.solve(K + np.diag(alpha / weights), Y), abs=1e-6)


def test_a_good_start_is_kept():
    X, Y = points(), np.random.default_rng(1).normal(size=(300, 1))
    rows = KernelRows(Laplacian(2.0), X)
    sample, weights = PointSample(rows, 100), np.full(300, 2.0)
    start = np.linalg.solve(Laplacian(2.0)(X) + np.diag(0.5 / weights), Y)
    solution = kernel_ridge(rows, Y, [0.5], weights, sample, start=start)
    assert solution.n_iter == 0
    assert solution.value == pytest.approx(start)


def test_a_sample_needs_few_iterations():
    X, Y = points(2000), np.random.default_rng(1).normal(size=(2000, 1))
    rows = KernelRows(Laplacian(2.0), X)
    few, many = (
        kernel_ridge(rows, Y, [0.01], np.ones(2000), PointSample(rows, m), max_iter=500).n_iter for m in (1000, 2)
    )
    assert few <= 15 < 3 * few < many


def test_copies_have_no_column_of_their_own():
    X = np.repeat(points(50), 3, axis=0)
    lower, order = pivoted_cholesky(Laplacian(2.0)(X), 1e-6)
    assert lower.shape == (150, 50)
    assert lower @ lower.T == pytest.approx(Laplacian(2.0)(X)[np.ix_(order, order)], abs=1e-12)
