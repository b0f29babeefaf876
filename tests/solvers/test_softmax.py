"""Softmax regression against scikit-learn's LogisticRegression, its gradient, and what it says of itself."""

import naive
import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, log_softmax
from sklearn.linear_model import LogisticRegression

from bochner.solvers import (
    WIDEST_SUMS,
    Design,
    Gram,
    Softmax,
    SoftmaxPreconditioning,
    curvature_weights,
    gram_preconditioner,
    log_losses,
    log_odds,
    minimise_softmax,
)


def rows(n_classes=3, n=150, p=8, imbalance=0.0, seed=0, dtype=np.float64):
    """Features with a mean, classes (each of them there), and weights."""
    rng = np.random.default_rng(seed)
    features = (rng.normal(size=(n, p)) + 0.5).astype(dtype)
    scores = features @ rng.normal(size=(p, n_classes)) + rng.gumbel(size=(n, n_classes))
    scores[:, 0] += imbalance
    classes = scores.argmax(axis=1)
    classes[:n_classes] = np.arange(n_classes)
    return features, classes, rng.uniform(0.1, 3.0, size=n)


def gram_of(features, weights):
    return Gram(features.shape[1], 1).update(features, np.zeros((len(features), 1)), weights)


def solved(features, classes, alpha, weights=None, n_classes=None, start=None, block_rows=37, **options):
    gram = gram_of(features, weights)
    n_classes = classes.max() + 1 if n_classes is None else n_classes
    problem = Softmax(Design.of(features, block_rows), classes, n_classes, alpha, weights, gram.feature_mean)
    preconditioner = gram_preconditioner(gram, problem.curvature, alpha)
    return minimise_softmax(problem, preconditioner, start=start, **{"tolerance": 1e-7, **options}), problem


def logistic(features, classes, alpha, weights=None):
    model = LogisticRegression(C=1.0 / alpha, tol=1e-10, max_iter=5000)
    return model.fit(features.astype(np.float64), classes, weights)


def objective(features, classes, value, alpha, weights=None):
    return naive.log_loss_objective(features, classes, value[:-1], value[-1], alpha, weights)


CASES = {
    "two classes": {"n_classes": 2},
    "three classes": {"n_classes": 3},
    "ten classes": {"n_classes": 10, "n": 300},
    "imbalanced": {"n_classes": 2, "imbalance": 4.0},
    "imbalanced, many": {"n_classes": 4, "imbalance": 5.0},
    "more features than rows": {"n_classes": 3, "n": 30, "p": 50},
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_minimum_is_that_of_logistic_regression(case, alpha, weighted, dtype):
    features, classes, weights = rows(dtype=dtype, **case)
    weights = weights if weighted else None
    single = dtype == np.float32
    solution, _ = solved(features, classes, alpha, weights, tolerance=1e-6 if single else 1e-7)
    expected = logistic(features, classes, alpha, weights)
    theirs = np.vstack([expected.coef_.T, expected.intercept_])
    least = objective(features, classes, theirs, alpha, weights)
    assert objective(features, classes, solution.value, alpha, weights) <= least * (1 + 1e-6)
    scores = features.astype(np.float64) @ solution.value[:-1] + solution.value[-1]
    probabilities = expit(scores[:, 0]) if scores.shape[1] == 1 else np.exp(log_softmax(scores, axis=1))
    theirs = expected.predict_proba(features.astype(np.float64))
    assert abs(probabilities - (theirs[:, 1] if scores.shape[1] == 1 else theirs)).max() < 1e-4
    assert solution.residual <= (1e-4 if single else 1e-7)


def test_the_weight_two_is_a_row_that_is_there_twice():
    features, classes, _ = rows()
    weights = np.random.default_rng(1).integers(0, 3, size=150).astype(float)
    weighted, _ = solved(features, classes, 1.0, weights)
    repeats = weights.astype(int)
    repeated, _ = solved(np.repeat(features, repeats, axis=0), np.repeat(classes, repeats), 1.0)
    assert abs(weighted.value - repeated.value).max() < 1e-6


def test_a_class_without_rows_gets_next_to_no_probability():
    features, classes, _ = rows(3)
    solution, _ = solved(features, classes, 1.0, n_classes=4, tolerance=1e-4)
    scores = features @ solution.value[:-1] + solution.value[-1]
    assert np.isfinite(scores).all()
    assert np.exp(log_softmax(scores, axis=1))[:, 3].max() < 0.02


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_the_gradient_is_that_of_finite_differences(n_classes, weighted, centred):
    features, classes, weights = rows(n_classes, n=40, p=5)
    mean = features.mean(axis=0) if centred else None
    problem = Softmax(Design.of(features, 7), classes, n_classes, 0.7, weights if weighted else None, mean)
    k, centred_rows = problem.n_scores, features - (0.0 if mean is None else mean)

    def value(flat):
        return objective(centred_rows, classes, flat.reshape(6, k), 0.7, problem.weights)

    def gradient(flat):
        return problem.gradient(flat.reshape(6, k)).ravel()

    point = np.random.default_rng(2).normal(size=6 * k)
    assert check_grad(value, gradient, point) < 1e-5 * np.linalg.norm(gradient(point))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_losses_are_finite_for_large_scores(n_classes):
    scores = np.array([[800.0, -800.0, 0.0], [-800.0, 800.0, 0.0]])[:, : 1 if n_classes == 2 else 3]
    losses, slopes = log_losses(scores, np.array([1, 0]))
    assert np.isfinite(losses).all()
    assert np.isfinite(slopes).all()
    assert losses == pytest.approx([0.0, 0.0] if n_classes == 2 else [1600.0, 1600.0])
    curvature = curvature_weights(scores)
    assert (curvature >= 0.0).all()
    assert np.isfinite(curvature).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_curvature_is_the_mean_second_derivative(n_classes):
    scores = np.random.default_rng(0).normal(size=(5, 1 if n_classes == 2 else 3))
    classes, h = np.zeros(5, dtype=int), 1e-4
    seconds = []
    for c in range(scores.shape[1]):
        step = h * np.eye(scores.shape[1])[c]
        around = [log_losses(scores + s * step, classes)[0] for s in (-1, 0, 1)]
        seconds.append((around[0] - 2 * around[1] + around[2]) / h**2)
    assert curvature_weights(scores) == pytest.approx(np.mean(seconds, axis=0), abs=1e-6)


# --- starts and ends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_saves_iterations(n_classes):
    features, classes, weights = rows(n_classes)
    cold, _ = solved(features, classes, 0.1, weights, tolerance=1e-6)
    near, _ = solved(features, classes, 0.12, weights)
    warm, _ = solved(features, classes, 0.1, weights, start=near.value, tolerance=1e-6)
    assert warm.converged
    assert warm.n_iter < cold.n_iter
    assert objective(features, classes, warm.value, 0.1, weights) == pytest.approx(
        objective(features, classes, cold.value, 0.1, weights), rel=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-12])
def test_from_the_solution_nothing_is_lost(n_classes, dtype, tolerance):
    features, classes, weights = rows(n_classes, dtype=dtype)
    best, _ = solved(features, classes, 0.1, weights, tolerance=1e-12, max_iter=1000)
    start = best.value.copy()
    again, _ = solved(features, classes, 0.1, weights, start=start, tolerance=tolerance)
    least = objective(features, classes, best.value, 0.1, weights)
    assert objective(features, classes, again.value, 0.1, weights) <= least * (1 + 1e-6)
    assert again.residual <= max(2 * best.residual, tolerance)
    assert np.array_equal(start, best.value)


def test_from_the_solution_it_is_said_to_have_converged():
    features, classes, weights = rows(3)
    best, _ = solved(features, classes, 0.1, weights, tolerance=1e-8)
    again, _ = solved(features, classes, 0.1, weights, start=best.value, tolerance=1e-4)
    assert again.converged
    assert again.n_iter <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-4])
def test_the_stated_gradient_norm_is_reached(n_classes, dtype, tolerance):
    features, classes, weights = rows(n_classes, imbalance=1.0, dtype=dtype)
    solution, problem = solved(features, classes, 0.1, weights, tolerance=tolerance)

    def norm(coefficients, intercept):
        shifted = intercept + problem.row_mean @ coefficients
        return np.linalg.norm(problem.gradient(np.vstack([coefficients, shifted])))

    first = norm(np.zeros_like(solution.value[:-1]), log_odds(problem.classes, problem.n_classes, problem.weights))
    reached = norm(solution.value[:-1], solution.value[-1]) / first
    assert solution.converged
    assert solution.residual <= tolerance
    assert reached == pytest.approx(solution.residual, rel=0.05, abs=1e-7)
    assert f"{solution.residual:.1e}" in solution.message


@pytest.mark.parametrize("max_iter", [1, 2])
def test_not_converging_is_said(max_iter):
    features, classes, weights = rows(3)
    solution, _ = solved(features, classes, 1e-3, weights, max_iter=max_iter)
    assert not solution.converged
    assert solution.residual > 1e-7
    assert f"after {max_iter} iterations; 1.0e-07 was asked for." in solution.message


def test_rows_that_tell_nothing_give_the_frequencies():
    """With equal rows only the intercept is there to be found, and it is where the search begins."""
    classes = np.arange(60) % 3
    for features in (np.ones((60, 4)), np.full((60, 4), 0.1), np.zeros((60, 4))):
        solution, _ = solved(features, classes, 1.0)
        scores = features @ solution.value[:-1] + solution.value[-1]
        assert np.exp(log_softmax(scores, axis=1)) == pytest.approx(np.full((60, 3), 1 / 3), abs=1e-6)
        assert solution.converged


def test_progress_rises():
    features, classes, weights = rows(3)
    told = []
    solved(features, classes, 0.1, weights, progress=lambda what, done: told.append((what, done)))
    assert {what for what, _ in told} == {"Softmax"}
    assert all(0.0 <= done <= 1.0 for _, done in told)
    assert told[-1][1] == 1.0


def test_the_number_of_passes_is_near_that_of_iterations():
    features, classes, weights = rows(3)
    solution, problem = solved(features, classes, 0.1, weights)
    assert problem.n_passes <= 1.5 * solution.n_iter + 3


def test_gradients_lead_where_values_of_the_objective_cannot():
    features, classes, _ = rows(4, n=300)
    solution, _ = solved(features, classes, 1e-3, tolerance=1e-13)
    assert solution.converged
    assert solution.residual <= 1e-13


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_rows_are_preconditioned_by_a_sample(n_classes, weighted, dtype):
    rng = np.random.default_rng(0)
    p = 2 * WIDEST_SUMS
    features = (rng.normal(size=(1500, p)) / np.sqrt(np.arange(1, p + 1)) + 0.1).astype(dtype)
    scores = (features - 0.1) @ rng.normal(size=(p, n_classes)) + rng.gumbel(size=(1500, n_classes))
    classes = scores.argmax(axis=1)
    weights = rng.integers(0, 4, size=1500).astype(float) if weighted else None

    problem = Softmax(Design.of(features), classes, n_classes, 0.1, weights)
    preconditioning = SoftmaxPreconditioning.of_matrix(features, weights, problem.total_curvature)
    problem.mean = preconditioning.mean
    sampled = minimise_softmax(problem, preconditioning.at(0.1), tolerance=1e-5)
    by_sums, _ = solved(features, classes, 0.1, weights, tolerance=1e-5)
    assert sampled.converged
    least = objective(features, classes, by_sums.value, 0.1, weights)
    assert objective(features, classes, sampled.value, 0.1, weights) == pytest.approx(least, rel=1e-5)


def test_few_features_are_preconditioned_by_their_sums():
    features, classes, weights = rows(3)
    problem = Softmax(Design.of(features), classes, 3, 1.0, weights)
    found = SoftmaxPreconditioning.of_matrix(features, weights, problem.total_curvature)
    expected = gram_preconditioner(gram_of(features, weights), problem.curvature, 1.0)
    np.testing.assert_allclose(found.at(1.0).solve(np.eye(8)), expected.solve(np.eye(8)), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.mean, np.average(features, axis=0, weights=weights))


@pytest.mark.parametrize("p", [8, 2 * WIDEST_SUMS])
def test_rows_that_are_not_centred_are_preconditioned_as_they_are(p):
    features, _, weights = rows(3, n=60, p=p)
    design = Design.of(features)
    found = SoftmaxPreconditioning(design, weights, 2.0, centred=False)
    inverse = found.undamped_at(1.0, design)
    products = features.T @ (weights[:, None] * features) * 2.0 / weights.sum() + np.eye(p)
    np.testing.assert_allclose(inverse.solve(products[:, :5]), np.eye(p)[:, :5], atol=1e-3)
    assert not found.mean.any()
