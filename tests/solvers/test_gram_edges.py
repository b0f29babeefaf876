"""Sums of a ridge problem at the edges: singular problems, repeated rows, rows of the wrong shape."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from bochner.solvers import FoldedGram, Gram, degrees_of_freedom


def problem(n=60, p=7, k=2, seed=0):
    """Features with a mean, targets with a mean, and weights."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, p)) + rng.normal(size=p)
    targets = features @ rng.normal(size=(p, k)) + rng.normal(size=(n, k)) + 3.0
    return features, targets, rng.uniform(0.1, 3.0, size=n)


def gram_of(features, targets, weights=None, precise=True):
    return Gram(features.shape[1], targets.shape[1], precise).update(features, targets, weights)


def solved(gram, alpha):
    """Coefficients (p, k) and intercept (k,)."""
    coefficients = gram.solve(alpha).value
    return coefficients, gram.target_mean - gram.feature_mean @ coefficients


def assert_same_solution(one, other, tolerance=1e-9):
    for left, right in zip(one, other, strict=True):
        assert abs(left - right).max() <= tolerance * abs(right).max()


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "p", "k"), [(60, 7, 1), (5000, 20, 2), (10, 30, 3), (2, 1, 1)])
def test_the_solution_is_that_of_ridge_in_every_shape(n, p, k, weighted, alpha):
    features, targets, weights = problem(n, p, k)
    weights = weights if weighted else None
    model = Ridge(alpha, solver="svd").fit(features, targets, weights)
    expected = model.coef_.reshape(k, p).T, np.atleast_1d(model.intercept_)
    assert_same_solution(solved(gram_of(features, targets, weights), alpha), expected)


def test_the_weight_two_is_a_row_that_is_there_twice():
    features, targets, _ = problem()
    weights = np.random.default_rng(1).integers(0, 4, size=60)
    repeated = gram_of(np.repeat(features, weights, axis=0), np.repeat(targets, weights, axis=0))
    weighted = gram_of(features, targets, weights)
    assert_same_solution(solved(weighted, 1.0), solved(repeated, 1.0))
    assert weighted.n_effective == repeated.n_effective == weights.sum()
    squares = [gram.residual_squares(gram.solve(1.0).value, 1.0) for gram in (weighted, repeated)]
    assert squares[0] == pytest.approx(squares[1])


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_may_come_one_by_one(dtype, precise):
    features, targets, weights = problem()
    features = features.astype(dtype)
    pieces = Gram(7, 2, precise)
    for i in range(60):
        pieces.update(features[i : i + 1], targets[i : i + 1], weights[i : i + 1])
    tolerance = 1e-11 if precise or dtype == np.float64 else 1e-4
    assert_same_solution(solved(pieces, 1.0), solved(gram_of(features, targets, weights, precise), 1.0), tolerance)


SINGULAR = {
    "equal columns": lambda F: np.hstack([F, F[:, :3]]),
    "a constant column": lambda F: np.hstack([F, np.ones((len(F), 1))]),
    "a column of zeros": lambda F: np.hstack([F, np.zeros((len(F), 1))]),
    "few rows": lambda F: F[:5],
    "one row": lambda F: F[:1],
    "equal rows": lambda F: np.repeat(F[:1], 20, axis=0),
    "repeated rows": lambda F: np.repeat(F[:4], 5, axis=0),
    "nothing but zeros": lambda F: 0.0 * F,
}


@pytest.mark.parametrize("alpha", [0.0, 1e-300])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", SINGULAR.values(), ids=SINGULAR)
def test_a_singular_problem_has_the_solution_of_least_norm(make, weighted, alpha):
    features, targets, weights = problem()
    features = make(features)
    targets, weights = targets[: len(features)], weights[: len(features)] if weighted else np.ones(len(features))
    found = gram_of(features, targets, weights).solve(alpha).value
    root = np.sqrt(weights)[:, None]
    centred = features - np.average(features, axis=0, weights=weights)
    centred[abs(centred) < 1e-13] = 0.0  # what rounding leaves of equal rows
    right = targets - np.average(targets, axis=0, weights=weights)
    expected = np.linalg.lstsq(root * centred, root * right, 1e-10)[0]
    assert np.isfinite(found).all()
    assert abs(found - expected).max() < 1e-6 * max(1.0, abs(expected).max())


@pytest.mark.parametrize("shape", [(6, 2), (8, 2), (7, 1), (7, 3)])
@pytest.mark.parametrize("operation", ["merge", "subtract"])
def test_sums_of_different_problems_do_not_combine(shape, operation):
    with pytest.raises(ValueError, match=r"different problems cannot be combined: \(7, 2\) and"):
        getattr(Gram(7, 2), operation)(Gram(*shape))


FEATURES, TARGETS, WEIGHTS = problem()
MISMATCHED = {
    "fewer features": (FEATURES[:, :6], TARGETS, None),
    "more features": (np.hstack([FEATURES, FEATURES]), TARGETS, None),
    "one feature": (FEATURES[:, :1], TARGETS, None),
    "fewer targets": (FEATURES, TARGETS[:, :1], None),
    "more targets": (FEATURES, np.hstack([TARGETS, TARGETS]), None),
    "targets of fewer rows": (FEATURES, TARGETS[:59], None),
    "targets of one row": (FEATURES, TARGETS[:1], None),
    "fewer weights": (FEATURES, TARGETS, WEIGHTS[:59]),
    "one weight": (FEATURES, TARGETS, WEIGHTS[:1]),
}


@pytest.mark.parametrize("rows", MISMATCHED.values(), ids=MISMATCHED)
def test_rows_of_the_wrong_shape_are_refused_and_change_nothing(rows):
    gram = gram_of(FEATURES, TARGETS, WEIGHTS)
    before = solved(gram, 1.0)
    with pytest.raises(ValueError, match=r"."):
        gram.update(*rows)
    assert all(np.array_equal(*pair) for pair in zip(before, solved(gram, 1.0), strict=True))


def test_copies_of_folds_are_independent():
    parts = np.arange(60) % 3
    folded = FoldedGram(7, 2, 3).update(FEATURES, TARGETS, None, parts)
    copied = folded.copy().update(FEATURES, TARGETS, None, parts)
    assert (folded.total().n_rows, copied.total().n_rows) == (60, 120)


@pytest.mark.parametrize("alpha", [0.0, 1e-300])
def test_degrees_of_freedom_of_a_singular_problem_are_its_rank(alpha):
    gram = gram_of(np.hstack([FEATURES] * 3), TARGETS)
    factor = gram.factor(alpha)
    freedom = degrees_of_freedom(factor.solve, 21, 60, alpha, factor.rank)
    assert freedom == pytest.approx(8.0, abs=0.01)
