"""Sums of a ridge problem: against Ridge, lstsq, naive cross-validation and exact traces."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from bochner.solvers import Design, FoldedGram, Gram, choose_alpha, degrees_of_freedom, refine


def problem(n=300, p=20, k=2, seed=0):
    """Rows with a mean and unequal scales, targets far from zero, weights."""
    rng = np.random.default_rng(seed)
    phi = (rng.normal(size=(n, p)) + 0.5) * np.logspace(0, -2, p)
    targets = phi @ rng.normal(size=(p, k)) + 5.0 + 0.1 * rng.normal(size=(n, k))
    return phi, targets, rng.uniform(0.0, 2.0, n)


def gram_of(phi, targets, weights=None, precise=True):
    return Gram(phi.shape[1], targets.shape[1], precise).update(phi, targets, weights)


def intercept(gram, coefficients):
    return gram.target_mean - gram.feature_mean @ coefficients


def assert_equal_sums(a, b, tolerance=1e-11):
    assert a.n_rows == b.n_rows
    assert a.weight == pytest.approx(b.weight)
    for name in ("feature_mean", "target_mean", "target_variation", "cross"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=tolerance * 300, rtol=tolerance)
    np.testing.assert_allclose(np.tril(a.products()), np.tril(b.products()), atol=tolerance * 300)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_the_solution_is_that_of_ridge(weighted, alpha):
    phi, targets, weights = problem()
    weights = weights if weighted else None
    gram = gram_of(phi, targets, weights)
    solution, reference = gram.solve(alpha), Ridge(alpha=alpha).fit(phi, targets, weights)
    np.testing.assert_allclose(solution.value, reference.coef_.T, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(intercept(gram, solution.value), reference.intercept_, rtol=1e-8)
    assert solution.converged
    assert "Cholesky" in solution.message
    errors = np.square(targets - reference.predict(phi))
    residuals = (errors if weights is None else errors * weights[:, None]).sum(axis=0)
    np.testing.assert_allclose(gram.residual_squares(solution.value, alpha), residuals, rtol=1e-6)


def test_the_sums_are_what_they_are_called():
    phi, targets, w = problem()
    gram = gram_of(phi, targets, w)
    centred, shifted = phi - w @ phi / w.sum(), targets - w @ targets / w.sum()
    np.testing.assert_allclose(
        np.tril(gram.products(0.7, 2.0)), np.tril(2 * centred.T * w @ centred + 0.7 * np.eye(20))
    )
    np.testing.assert_allclose(gram.cross, centred.T * w @ shifted, atol=1e-9)
    np.testing.assert_allclose(gram.target_variation, w @ shifted**2)
    assert gram.shape == (20, 2)


@pytest.mark.parametrize("n_pieces", [3, 10])
@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_are_the_whole(n_pieces, weighted):
    phi, targets, weights = problem(5000)  # more rows than are taken in at once
    pieces = Gram(20, 2)
    for rows in np.array_split(np.arange(5000), n_pieces):
        pieces.update(phi[rows], targets[rows], weights[rows] if weighted else None)
    assert_equal_sums(pieces, gram_of(phi, targets, weights if weighted else None))


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_are_merged_and_subtracted(precise, dtype):
    phi, targets, weights = problem()
    phi = phi.astype(dtype)
    tolerance = 1e-11 if precise or dtype == np.float64 else 1e-5
    a, b = slice(0, 120), slice(120, 300)
    first, second = (gram_of(phi[s], targets[s], weights[s], precise) for s in (a, b))
    kept = second.copy()
    both = first.copy().merge(second)
    assert_equal_sums(both, gram_of(phi, targets, weights, precise), tolerance)
    assert_equal_sums(second, kept)
    assert_equal_sums(both.subtract(first), second, tolerance)


def test_a_copy_is_of_its_own():
    phi, targets, weights = problem()
    gram = gram_of(phi.astype(np.float32), targets, weights, precise=False)
    expected = gram_of(phi.astype(np.float32), targets, weights, precise=False)
    gram.copy().update(phi.astype(np.float32), targets).merge(gram)
    assert_equal_sums(gram, expected)


def test_sums_of_different_problems_are_not_combined():
    with pytest.raises(ValueError, match="different problems"):
        Gram(3, 1).merge(Gram(4, 1))


def test_rows_without_weight_do_not_count():
    phi, targets, weights = problem()
    weights[::2] = 0.0
    assert_equal_sums(gram_of(phi, targets, weights), gram_of(phi[1::2], targets[1::2], weights[1::2]))
    assert gram_of(phi, targets, weights).n_rows == 150
    assert gram_of(phi, targets, 0.1 * np.ones(300)).n_effective == 300
    assert gram_of(phi, targets, 3 * np.ones(300)).n_effective == pytest.approx(900)


@pytest.mark.parametrize("shape", ["duplicated columns", "constant column", "few rows"])
def test_without_a_penalty_the_solution_has_least_norm(shape):
    phi, targets, _ = problem()
    phi = np.hstack([phi, phi]) if shape == "duplicated columns" else np.hstack([phi, np.ones((300, 1))])
    if shape == "few rows":
        phi, targets = phi[:10], targets[:10]
    gram = gram_of(phi, targets)
    solution = gram.solve(0.0)
    expected = np.linalg.lstsq(phi - phi.mean(axis=0), targets - targets.mean(axis=0), rcond=1e-10)[0]
    np.testing.assert_allclose(solution.value, expected, atol=1e-5 * abs(expected).max())
    assert "eigenvectors" in solution.message


def test_a_factor_has_a_root_of_its_inverse():
    phi, targets, _ = problem()
    for alpha, data in [(0.1, phi), (0.0, np.hstack([phi, phi]))]:
        factor = gram_of(data, targets).factor(alpha)
        root = factor.root_transposed(np.eye(data.shape[1]))
        inverse = factor.solve(np.eye(data.shape[1]))
        np.testing.assert_allclose(root.T @ root, inverse, atol=1e-9 * abs(inverse).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_held", [None, 1])
def test_the_scores_of_penalties_are_those_of_a_naive_loop(weighted, n_held):
    phi, targets, weights = problem(100, 30)
    targets += np.random.default_rng(5).normal(size=targets.shape)
    weights = weights if weighted else np.ones(100)
    parts = np.random.default_rng(1).integers(0, 4, 100)
    folded = FoldedGram(30, 2, 4).update(phi, targets, weights if weighted else None, parts)
    alpha, scores = choose_alpha(folded, 1e-8, n_held=n_held)
    assert len(scores) >= 4
    assert scores[alpha] == min(scores.values())
    for tried, score in scores.items():
        total = weight = 0.0
        for part in range(n_held or 4):
            kept, held = parts != part, parts == part
            predicted = Ridge(alpha=tried).fit(phi[kept], targets[kept], weights[kept]).predict(phi[held])
            total += (weights[held] * np.square(predicted - targets[held]).sum(axis=1)).sum()
            weight += weights[held].sum()
        assert score == pytest.approx(total / weight, rel=1e-6)


def test_the_chosen_penalty_is_the_best_of_a_fine_grid_or_nearly():
    phi, targets, _ = problem(100, 30)
    targets += np.random.default_rng(5).normal(size=targets.shape)
    parts = np.arange(100) % 5
    folded = FoldedGram(30, 2, 5).update(phi, targets, None, parts)
    alpha, scores = choose_alpha(folded, 1e-8)

    def error(alpha):
        total = folded.total()
        return sum(part.squared_error_of(total.copy().subtract(part), alpha) for part in folded.parts) / 100

    assert scores[alpha] == pytest.approx(error(alpha))
    grid = [error(100 * 10.0**e) for e in np.arange(-8, 0.1, 0.25)]
    assert max(grid) > 1.1 * min(grid)
    assert scores[alpha] < 1.02 * min(grid)


def test_one_part_says_nothing_about_the_penalty():
    phi, targets, _ = problem()
    alpha, scores = choose_alpha(FoldedGram(20, 2, 1).update(phi, targets, None, np.zeros(300, int)), 1e-8)
    assert alpha == pytest.approx(300 * 1e-4)
    assert scores == {alpha: np.inf}


def test_the_sums_of_parts_are_not_changed_by_a_choice():
    phi, targets, _ = problem()
    folded = FoldedGram(20, 2, 3).update(phi, targets, None, np.arange(300) % 3)
    before = folded.copy()
    choose_alpha(folded, 1e-8)
    for a, b in zip(folded.parts, before.parts, strict=True):
        assert_equal_sums(a, b)
    assert_equal_sums(folded.total(), gram_of(phi, targets))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_degrees_of_freedom_are_near_the_trace(alpha):
    phi, targets, _ = problem(300, 60)
    centred = phi - phi.mean(axis=0)
    A = centred.T @ centred
    exact = 1 + np.trace(A @ np.linalg.inv(A + alpha * np.eye(60)))
    estimate = degrees_of_freedom(gram_of(phi, targets).factor(alpha).solve, 60, 300, alpha)
    assert estimate == pytest.approx(exact, abs=4 * np.sqrt(2 * exact / 48))
    assert 1.0 <= estimate < 300


def test_degrees_of_freedom_are_fewer_than_rows():
    phi, targets, _ = problem(10, 60)
    assert degrees_of_freedom(gram_of(phi, targets).factor(1e-9).solve, 60, 10, 1e-9) == pytest.approx(9.5)


@pytest.mark.parametrize("weighted", [False, True])
def test_refinement_repairs_sums_in_float32(weighted):
    phi, targets, weights = problem(3000, 60)
    phi, weights, alpha = phi.astype(np.float32), weights if weighted else None, 1e-4
    gram = gram_of(phi, targets, weights, precise=False)
    refined = refine(Design.of(phi), targets, weights, gram, alpha, gram.factor(alpha))
    exact = Ridge(alpha=alpha).fit(phi.astype(float), targets, weights).coef_.T

    def error(value):
        return np.linalg.norm(phi.astype(float) @ (value - exact)) / np.linalg.norm(phi.astype(float) @ exact)

    assert refined.converged
    assert refined.n_iter <= 5
    assert error(refined.value) < 1e-6
    # Sums that have lost more are found again too.
    gram._products *= 1 + 1e-3
    rough = gram.factor(alpha).solve(gram.cross)
    assert error(rough) > 1e-4
    refined = refine(Design.of(phi), targets, weights, gram, alpha, gram.factor(alpha))
    assert error(refined.value) < 1e-6
