"""Judging penalties by rows that are held out."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss

from bochner import KernelClassifier, Laplacian, RandomFeatureClassifier
from bochner.models import held_out
from bochner.models.labels import indicators
from bochner.models.linear import Effort, ridge_by_gram
from bochner.models.tuning import hashes_of_rows
from bochner.progress import ignore_progress
from bochner.solvers import Design, FoldedGram


def scores_and_codes(n=4000, k=4, noise=0.2):
    rng = np.random.default_rng(0)
    codes = rng.integers(k, size=n)
    return indicators(codes, k) + noise * rng.normal(size=(n, 1 if k == 2 else k)), codes


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_losses_are_those_of_sharpened_scores(k, shift):
    scores, codes = scores_and_codes(k=k)
    rows = np.arange(100, 200)
    losses = held_out.tempered_log_losses(codes, np.full(scores.shape[1], shift))(scores[rows] - shift, rows)
    for i in range(losses.shape[1]):
        sharp = 2.0 ** (i / 2) * scores[rows]
        if k == 2:
            sharp = np.hstack([np.zeros((100, 1)), sharp])
        expected = -np.log(softmax(sharp, axis=1)[np.arange(100), codes[rows]])
        assert losses[:, i] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.6])
def test_the_least_loss_is_that_of_the_best_temperature(noise):
    scores, codes = scores_and_codes(noise=noise)
    mean = held_out.tempered_log_losses(codes, np.zeros(1))(scores, np.arange(len(codes))).mean(axis=0)
    found = minimize_scalar(lambda t: log_loss(codes, softmax(np.exp(t) * scores, axis=1)), bounds=(0.0, 4.2))
    assert held_out.least(mean) == pytest.approx(found.fun, rel=0.01)


def test_at_the_ends_the_least_is_the_end_itself():
    assert held_out.least(np.array([3.0])) == 3.0
    assert held_out.least(np.array([1.0, 2.0, 3.0])) == 1.0
    assert held_out.least(np.array([3.0, 2.0, 1.0])) == 1.0
    assert held_out.least(np.array([2.0, 1.0, 2.0])) == 1.0
    assert held_out.least(np.array([1.0, 1.0, 1.0])) == 1.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_parts", [2, 5])
def test_the_error_is_that_of_fits_without_the_part(weighted, n_parts):
    rng = np.random.default_rng(0)
    matrix, targets = rng.normal(size=(300, 6)), rng.normal(size=(300, 2))
    weights, parts = rng.uniform(0.5, 2.0, size=300) if weighted else None, rng.integers(n_parts, size=300)
    folded = FoldedGram(6, 2, n_parts).update(matrix, targets, weights, parts)
    kept = {k: folded.total().copy().subtract(folded.parts[k]) for k in range(n_parts - 1)}
    rows = np.flatnonzero(parts < n_parts - 1)
    held = held_out.HeldOutRows(
        matrix[rows], rows, parts[rows], None if weights is None else weights[rows], held_out.squared_errors(targets)
    )
    w, total = np.ones(300) if weights is None else weights, 0.0
    for k in kept:
        here = parts == k
        ridge = Ridge(alpha=0.7).fit(matrix[~here], targets[~here], w[~here])
        total += w[here] @ np.square(ridge.predict(matrix[here]) - targets[here]).sum(axis=1)
    assert held.error(kept, 0.7) == pytest.approx(total / w[rows].sum(), rel=1e-9)


def test_too_many_rows_are_drawn_by_their_hashes():
    rng = np.random.default_rng(0)
    parts, hashes = rng.integers(5, size=100_000), rng.integers(2**32, size=100_000, dtype=np.uint32)
    rows = held_out.rows_to_look_at(parts, 1, hashes)
    assert len(rows) == 8192
    assert (parts[rows] == 0).all()
    assert (np.diff(rows) > 0).all()
    assert hashes[rows].max() < np.sort(hashes[parts == 0])[8192]
    assert np.array_equal(held_out.rows_to_look_at(parts[:50], None, hashes[:50]), np.arange(50))


def test_the_rows_of_blocks_are_taken_where_they_belong():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    codes = (X[:, :3] + 0.3 * rng.gumbel(size=(3000, 3))).argmax(axis=1)
    targets = indicators(codes, 3)
    judging = held_out.Judging(hashes_of_rows(X, 0), held_out.tempered_log_losses(codes, targets.mean(axis=0)))
    effort = Effort(1e-6, 50, ignore_progress)
    models = [ridge_by_gram(Design.of(X, rows), targets, None, None, judging, effort) for rows in (77, 3000)]
    assert models[0].alpha == models[1].alpha
    assert models[0].coefficients == pytest.approx(models[1].coefficients, abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        RandomFeatureClassifier(Laplacian(2.0), 1024, loss="squared_error", solver="gram", random_state=0),
        RandomFeatureClassifier(
            Laplacian(2.0), 1024, loss="squared_error", solver="conjugate_gradient", random_state=0
        ),
        KernelClassifier(Laplacian(2.0), random_state=0),
    ],
    ids=["gram", "conjugate_gradient", "exact"],
)
def test_labels_not_squares_choose_the_penalty(model):
    """Among many classes the squared error wants a much larger penalty than labels and probabilities do."""
    rng = np.random.default_rng(0)
    centres = 1.6 * rng.normal(size=(20, 6))
    codes = rng.integers(20, size=4000)
    X = centres[codes] + rng.normal(size=(4000, 6)) * 0.6
    fit, new = slice(0, 2000), slice(2000, 4000)
    chosen = model.fit(X[fit], codes[fit])
    scores = {
        alpha: clone_with(model, alpha).fit(X[fit], codes[fit]).score(X[new], codes[new])
        for alpha in 10.0 ** np.arange(-3.0, 3.0)
    }
    assert chosen.score(X[new], codes[new]) > max(scores.values()) - 0.01


def clone_with(model, alpha):
    return type(model)(**{**model.get_params(deep=False), "alpha": alpha})
