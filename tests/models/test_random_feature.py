"""The estimators against scikit-learn's linear models on the same features, and what they promise beside that."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from bochner import Gaussian, KernelRegressor, Laplacian, Matern, RandomFeatureClassifier, RandomFeatureRegressor

DTYPES = [np.float64, np.float32]
WEIGHTINGS = ["none", "random", "with zeros"]


def regression(n=400, d=3, seed=0, noise=0.2, n_outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    Y = np.column_stack([np.sin((k + 1) * X[:, 0]) + X[:, 1] * X[:, -1] + 3 for k in range(n_outputs or 1)])
    Y += noise * rng.normal(size=Y.shape)
    return X, Y if n_outputs else Y[:, 0]


def classification(n=400, n_classes=3, seed=0, imbalanced=False):
    """Classes by the angle, with a twentieth of the labels wrong; the last class is rare if that is wanted."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    angle = (np.arctan2(X[:, 1], X[:, 0]) + 0.5 * rng.normal(size=n)) % (2 * np.pi)
    codes = (angle / (2 * np.pi) * n_classes).astype(int) % n_classes
    if imbalanced:
        rare = (codes == n_classes - 1) & (rng.random(n) < 0.95)
        codes[rare] = 0
    return X, codes


def weights_of(kind, n, seed=1):
    if kind == "none":
        return None
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, n)
    if kind == "with zeros":
        weights[::3] = 0.0
    return weights


def regressor(**parameters):
    return RandomFeatureRegressor(**{"kernel": Laplacian(2.0), "n_components": 64, "random_state": 0, **parameters})


def classifier(**parameters):
    return RandomFeatureClassifier(**{"kernel": Laplacian(2.0), "n_components": 64, "random_state": 0, **parameters})


def distance(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def features_of(model, X):
    return model.features_.transform(X).astype(np.float64)


def ridge_objective(phi, y, weights, alpha, coefficients, intercept):
    residuals = y - phi @ np.asarray(coefficients, dtype=float).T - intercept
    squares = np.square(residuals).reshape(len(y), -1).sum(axis=1)
    return (squares if weights is None else weights * squares).sum() + alpha * np.square(coefficients).sum()


def logistic_objective(scores, codes, weights, alpha, coefficients):
    scores = np.asarray(scores, dtype=float)
    scores = np.column_stack([np.zeros(len(codes)), scores]) if scores.ndim == 1 else scores
    losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(codes)), codes]
    return np.sum(losses if weights is None else weights * losses) + alpha / 2 * np.square(coefficients).sum()


# --- the same problem as scikit-learn's -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("n_outputs", [None, 1, 4])
@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
def test_the_regressor_is_ridge_on_its_features(dtype, weighting, n_outputs, solver):
    X, y = regression(n_outputs=n_outputs)
    X, weights, alpha = X.astype(dtype), weights_of(weighting, len(X)), 0.3
    model = regressor(alpha=alpha, solver=solver, tol=1e-6).fit(X, y, weights)
    phi = features_of(model, X)
    reference = Ridge(alpha=alpha).fit(phi, y, weights)
    predicted = model.predict(X)
    assert predicted.dtype == dtype
    assert predicted.shape == y.shape
    assert model.coef_.shape == (64,) if n_outputs is None else (n_outputs, 64)
    assert np.shape(model.intercept_) == (() if n_outputs is None else (n_outputs,))
    assert distance(predicted, reference.predict(phi).reshape(y.shape)) < (1e-4 if dtype == np.float32 else 1e-8)
    ours = ridge_objective(phi, y, weights, alpha, model.coef_, model.intercept_)
    theirs = ridge_objective(phi, y, weights, alpha, reference.coef_, reference.intercept_)
    assert ours <= theirs * (1 + 1e-6)


def class_weights(kind, codes, weights):
    """Balanced: every class has the same total weight, however the rows are weighted or repeated."""
    if kind is None:
        return np.ones(len(codes))
    if kind == "balanced":
        totals = np.bincount(codes, weights)
        return (totals.sum() / (len(totals) * totals))[codes]
    return np.array([kind[c] for c in codes])


CLASS_WEIGHTS = {"equal": None, "balanced": "balanced", "dict": {0: 1.0, 1: 4.0, 2: 0.5}}
WEIGHTED = [(c, w) for c in CLASS_WEIGHTS for w in WEIGHTINGS]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("class_weight", "weighting"), WEIGHTED)
def test_the_classifier_is_logistic_regression_on_its_features(dtype, n_classes, class_weight, weighting):
    X, y = classification(n_classes=n_classes, imbalanced=True)
    assert 3 <= (y == n_classes - 1).sum() <= 20
    X, weights, alpha = X.astype(dtype), weights_of(weighting, len(X)), 0.3
    kind = CLASS_WEIGHTS[class_weight]
    kind = {c: kind[c] for c in range(n_classes)} if isinstance(kind, dict) else kind
    with warnings.catch_warnings():
        if dtype == np.float32:  # whether it converges is another test's
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = classifier(alpha=alpha, class_weight=kind).fit(X, y, weights)
    phi = features_of(model, X)
    all_weights = class_weights(kind, y, weights) * (1.0 if weights is None else weights)
    reference = LogisticRegression(C=1 / alpha, tol=1e-8, max_iter=5000).fit(phi, y, all_weights)
    scores = phi @ model.coef_.T + model.intercept_
    scores = scores[:, 0] if n_classes == 2 else scores
    ours = logistic_objective(scores, y, all_weights, alpha, model.coef_)
    theirs = logistic_objective(reference.decision_function(phi), y, all_weights, alpha, reference.coef_)
    assert ours <= theirs * (1 + 1e-6)
    probabilities = model.predict_proba(X)
    assert probabilities.dtype == dtype
    assert distance(probabilities, reference.predict_proba(phi)) < (1e-3 if dtype == np.float32 else 1e-4)
    assert model.coef_.shape == reference.coef_.shape
    assert model.intercept_.shape == reference.intercept_.shape


def test_small_problems_in_float32_converge():
    reached = []
    for n_classes in (2, 3):
        X, y = classification(n_classes=n_classes, imbalanced=True)
        for weighting in WEIGHTINGS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = classifier(alpha=0.3).fit(X.astype(np.float32), y, weights_of(weighting, len(X)))
            reached.append(model.solution_.residual)
    assert max(reached) <= 1e-4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
def test_the_squared_error_classifier_is_ridge_on_indicators(dtype, n_classes, solver):
    X, y = classification(n_classes=n_classes)
    X, weights, alpha = X.astype(dtype), weights_of("random", len(X)), 0.3
    model = classifier(loss="squared_error", alpha=alpha, solver=solver, tol=1e-6).fit(X, y, weights)
    phi = features_of(model, X)
    indicators = np.eye(3)[y] if n_classes == 3 else 2.0 * y - 1
    scores = Ridge(alpha=alpha).fit(phi, indicators, weights).predict(phi)
    assert distance(model.decision_function(X), scores) < (1e-4 if dtype == np.float32 else 1e-8)
    expected = scores.argmax(axis=1) if n_classes == 3 else (scores > 0).astype(int)
    assert (model.predict(X) == expected).mean() > 0.99
    assert (model.predict(X) != y).any()  # the labels are noisy: agreement above is not by interpolation


@pytest.mark.parametrize("make", [regressor, lambda **p: classifier(loss="squared_error", **p)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_solvers_agree_on_a_hard_problem(make, dtype):
    X, y = regression(600)
    X, y = X.astype(dtype), y if make is regressor else (y > 3).astype(int)
    models = [make(n_components=300, alpha=1e-3, solver=s, tol=1e-6).fit(X, y) for s in ("gram", "conjugate_gradient")]
    assert [m.solver_ for m in models] == ["gram", "conjugate_gradient"]
    a, b = (m.predict(X) if make is regressor else m.decision_function(X) for m in models)
    assert distance(b, a) < (1e-3 if dtype == np.float32 else 1e-8)


KINDS = [regressor, classifier, lambda **p: classifier(loss="squared_error", **p)]


@pytest.mark.parametrize("make", KINDS, ids=["regressor", "log_loss", "squared_error"])
@pytest.mark.parametrize("alpha", [0.3, "auto"])
def test_a_weight_of_two_is_a_repeated_row(make, alpha):
    X, y = regression(300)
    y = y if make is regressor else (y > 3).astype(int)
    counts = np.random.default_rng(2).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), counts)
    a = make(alpha=alpha).fit(X, y, counts)
    b = make(alpha=alpha).fit(X[rows], y[rows])
    assert a.alpha_ == pytest.approx(b.alpha_)
    assert distance(a.coef_, b.coef_) < 1e-4
    assert distance(make(alpha=0.3).fit(X, y).coef_, make(alpha=0.3).fit(X[rows], y[rows]).coef_) > 1e-2


# --- streams --------------------------------------------------------------------------------------------------------


def stream(model, X, y, n_pieces, weights=None, **first):
    for rows in np.array_split(np.arange(len(X)), n_pieces):
        model.partial_fit(X[rows], y[rows], sample_weight=None if weights is None else weights[rows], **first)
        first = {}
    return model


@pytest.mark.parametrize("n_pieces", [1, 3, 10])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_pieces_are_the_whole_for_the_regressor(n_pieces, weighting, n_outputs):
    X, y = regression(n_outputs=n_outputs)
    weights = weights_of(weighting, len(X))
    whole = regressor(alpha=0.3).fit(X, y, weights)
    pieces = stream(regressor(alpha=0.3), X, y, n_pieces, weights)
    for a, b in zip(pieces.predict(X, return_std=True), whole.predict(X, return_std=True), strict=True):
        assert a.shape == y.shape
        assert distance(a, b) < 1e-6
    assert pieces.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-6)


@pytest.mark.parametrize("n_pieces", [1, 3, 10])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pieces_are_the_whole_for_the_squared_error_classifier(n_pieces, n_classes):
    X, y = classification(n_classes=n_classes)
    weights = weights_of("random", len(X))
    parameters = {"loss": "squared_error", "alpha": 0.3, "class_weight": {0: 2.0, 1: 1.0, 2: 1.0}}
    parameters["class_weight"] = {c: parameters["class_weight"][c] for c in range(n_classes)}
    whole = classifier(**parameters).fit(X, y, weights)
    pieces = stream(classifier(**parameters), X, y, n_pieces, weights, classes=np.arange(n_classes))
    assert distance(pieces.decision_function(X), whole.decision_function(X)) < 1e-6
    assert distance(pieces.predict_proba(X), whole.predict_proba(X)) < 1e-6


@pytest.mark.parametrize("alpha", [0.3, "auto"])
def test_the_cuts_of_a_stream_do_not_matter(alpha):
    X, y = regression()
    a, b = (stream(regressor(alpha=alpha), X, y, n) for n in (2, 7))
    assert a.alpha_ == pytest.approx(b.alpha_)
    assert distance(a.predict(X), b.predict(X)) < 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_pieces", [1, 5])
def test_a_stream_of_log_losses_comes_near_the_fit(n_classes, n_pieces):
    X, y = classification(1200, n_classes)
    held, held_y = classification(1000, n_classes, seed=9)
    whole = classifier(alpha=1.0).fit(X, y)
    pieces = stream(classifier(alpha=1.0), X, y, n_pieces, classes=np.arange(n_classes))
    by_fit, by_stream = (log_loss(held_y, m.predict_proba(held)) for m in (whole, pieces))
    prior = log_loss(held_y, np.tile(np.bincount(y) / len(y), (1000, 1)))
    assert by_stream - by_fit < 0.1 * (prior - by_fit)


def test_a_stream_can_be_continued_after_a_prediction():
    X, y = regression()
    model = regressor(alpha=0.3).partial_fit(X[:100], y[:100])
    first = model.predict(X)
    model.partial_fit(X[100:], y[100:])
    assert distance(first, model.predict(X)) > 1e-3
    assert distance(model.predict(X), regressor(alpha=0.3).fit(X, y).predict(X)) < 1e-6


def test_fit_forgets_a_stream_and_a_stream_forgets_a_fit():
    X, y = regression()
    model = regressor(alpha=0.3).partial_fit(X[:50], -y[:50])
    expected = regressor(alpha=0.3).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)
    again = model.partial_fit(X[:50], -y[:50]).predict(X)
    np.testing.assert_array_equal(again, regressor(alpha=0.3).partial_fit(X[:50], -y[:50]).predict(X))


def test_a_block_may_lack_a_class_that_has_a_weight():
    X, y = classification(n_classes=2)
    order = np.argsort(y, kind="stable")
    parameters = {"loss": "squared_error", "alpha": 0.3, "class_weight": {1: 5.0}}
    whole = classifier(**parameters).fit(X, y)
    pieces = stream(classifier(**parameters), X[order], y[order], 5, classes=[0, 1])
    assert distance(pieces.decision_function(X), whole.decision_function(X)) < 1e-6


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_targets_far_from_zero_keep_their_error_bars_in_a_stream(offset):
    X, y = regression()
    whole = regressor(alpha=0.3).fit(X, y)
    pieces = stream(regressor(alpha=0.3), X, y + offset, 3)
    mean, std = pieces.predict(X, return_std=True)
    assert distance(mean - offset, whole.predict(X)) < 1e-5
    assert distance(std, whole.predict(X, return_std=True)[1]) < 1e-2


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_targets_far_from_zero_keep_their_error_bars_in_a_fit(solver, dtype):
    X, y = regression()
    X = X.astype(dtype)
    parameters = {"alpha": 0.3, "solver": solver, "tol": 1e-6}
    near, far = regressor(**parameters).fit(X, y), regressor(**parameters).fit(X, y + 1e6)
    assert distance(far.coef_, near.coef_) < 1e-4
    assert distance(far.predict(X, return_std=True)[1], near.predict(X, return_std=True)[1]) < 1e-3


# --- uncertainty ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nine_of_ten_new_targets_are_in_their_interval(solver, dtype):
    X, y = regression(1000, 2, noise=0.3)
    new, new_y = regression(2000, 2, seed=5, noise=0.3)
    model = regressor(n_components=200, solver=solver).fit(X.astype(dtype), y)
    mean, std = model.predict(new.astype(dtype), return_std=True)
    assert mean.dtype == std.dtype == dtype
    coverage = (abs(new_y - mean) < 1.645 * std).mean()
    assert 0.87 < coverage < 0.93
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
def test_little_is_known_away_from_the_data(solver):
    X, y = regression(500, 2)
    model = regressor(n_components=300, alpha=0.05, solver=solver).fit(X, y)
    away = np.column_stack([np.linspace(0, 12, 5), np.zeros(5)])
    std = model.predict(away, return_std=True)[1]
    assert std[-1] > 2 * std[0]
    assert std[0] < std[2] < std[-1] * 1.1
    assert std.min() > np.sqrt(model.noise_variance_)


@pytest.mark.parametrize("how", ["gram", "conjugate_gradient", "stream"])
def test_what_is_chosen_does_not_depend_on_the_units_of_targets(how):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = np.stack([np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=400), rng.normal(size=400)], axis=1)

    def fitted(units):
        model = RandomFeatureRegressor(n_components=256, random_state=0)
        if how == "stream":
            return model.partial_fit(X[:200], Y[:200] * units).partial_fit(X[200:], Y[200:] * units)
        return model.set_params(solver=how).fit(X, Y * units)

    units = np.array([1024.0, 1.0 / 4096.0])
    model, other = fitted(1.0), fitted(units)
    assert other.alpha_ == model.alpha_
    assert other.kernel_ == model.kernel_
    for values, of_other in zip(model.predict(X, return_std=True), other.predict(X, return_std=True), strict=True):
        assert of_other / units == pytest.approx(values, rel=1e-9, abs=1e-12)


def test_every_output_has_its_own_noise():
    X, y = regression(500, n_outputs=2)
    y[:, 1] += np.random.default_rng(3).normal(size=500)
    std = regressor(alpha=1.0).fit(X, y).predict(X, return_std=True)[1]
    assert std.shape == y.shape
    assert (std[:, 1] > 2 * std[:, 0]).all()


def naive_error_bars(features, new, y, weights, alpha):
    """Noise and deviations by the formulas, in float64, from the n x n products of the rows."""
    n, total = len(y), weights.sum()
    mean, roots = weights @ features / total, np.sqrt(weights)
    centred, new = roots[:, None] * (features - mean), new - mean
    inverse = np.linalg.inv(centred @ centred.T + alpha * np.eye(n))
    coefficients = centred.T @ (inverse @ (roots * (y - weights @ y / total)))
    residuals = y - weights @ y / total - (features - mean) @ coefficients
    n_rows, products = max(n, total), new @ centred.T
    left = n_rows - 1.0 - np.trace(centred @ centred.T @ inverse)
    noise = weights @ residuals**2 / total * n_rows / left
    unknown = ((new**2).sum(axis=1) - (products @ inverse * products).sum(axis=1)) / alpha
    return noise, np.sqrt(noise * (1.0 + total / n_rows * (1.0 / total + unknown)))


@pytest.mark.parametrize("n_components", [64, 600, 2048, 8448])
@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("unit", [None, 1e-3, 2.0])
def test_error_bars_are_those_of_the_formulas_even_near_interpolation(n_components, solver, dtype, unit):
    if n_components > 2048 and solver == "gram":
        pytest.skip("too wide for sums")
    X, y = regression(300, 4, noise=0.1)
    new, weights = regression(20, 4, seed=5)[0].astype(dtype), np.full(300, 1.0)
    if unit is not None:
        weights = unit * np.random.default_rng(1).exponential(size=300)
    for alpha in (1e-5, 1e-3, 0.1) if n_components <= 2048 else (0.1,):
        parameters = {"n_components": n_components, "alpha": alpha * weights.mean(), "solver": solver}
        model = regressor(**parameters).fit(X.astype(dtype), y, None if unit is None else weights)
        rows, of_new = (model.features_.transform(Z).astype(np.float64) for Z in (X.astype(dtype), new))
        noise, std = naive_error_bars(rows, of_new, y, weights, model.alpha_)
        # Probes estimate the rows left with a standard error of a quarter of it at most, mostly far less.
        assert model.noise_variance_ == pytest.approx(noise, rel=0.35)
        assert model.predict(new, return_std=True)[1] == pytest.approx(std, rel=0.2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_default_error_bars_of_targets_without_noise_are_about_the_errors(dtype):
    X, _ = regression(800, 4)
    new = regression(500, 4, seed=5)[0].astype(dtype)
    mean, std = (
        regressor(kernel="laplacian", n_components=2048)
        .fit(X.astype(dtype), np.sin(X[:, 0]))
        .predict(new, return_std=True)
    )
    errors = abs(mean - np.sin(new[:, 0]))
    assert 0.1 < np.sqrt(np.mean(std**2) / np.mean(errors**2)) < 10.0


@pytest.mark.parametrize("alpha", [0.0, 1e-8, 1e-6])
def test_float32_sums_with_hardly_any_penalty_are_those_of_float64(alpha):
    X, y = regression(300, 4, noise=0.1)
    new = regression(100, 4, seed=5)[0]
    single, double = (
        regressor(n_components=2048, alpha=alpha, solver="gram").fit(X.astype(dtype), y)
        for dtype in (np.float32, np.float64)
    )
    assert distance(single.predict(new.astype(np.float32)), double.predict(new)) < 1e-4


def test_error_bars_do_not_change_with_the_rows_of_the_caller():
    X, y = regression(200, 3)
    new = regression(5, 3, seed=5)[0]
    mine = X.copy()
    model = regressor(n_components=8448, alpha=0.1).fit(mine, y)
    before = model.predict(new, return_std=True)[1]
    mine *= 0.0
    assert np.array_equal(model.predict(new, return_std=True)[1], before)


@pytest.mark.parametrize("make", [regressor, KernelRegressor])
def test_a_kernel_that_is_changed_after_the_fit_changes_nothing(make):
    X, y = regression(100, 4)
    scales = np.array([1.0, 2.0, 3.0, 4.0])
    kernel = Laplacian(scales)
    model = make(kernel=kernel, alpha=0.1).fit(X, y)
    before = model.predict(X)
    scales[:] = 9.0
    assert np.array_equal(model.predict(X), before)
    assert list(model.kernel_.length_scale) == [1.0, 2.0, 3.0, 4.0]


# --- classes --------------------------------------------------------------------------------------------------------


def test_the_most_probable_class_is_the_predicted_one_even_beyond_the_data():
    X, y = classification(150, 3)
    model = classifier(n_components=64, loss="squared_error", alpha=1e-6).fit(X, y)
    scores = model.decision_function(3.0 * X)
    assert ((scores > 1.0).sum(axis=1) > 1).any()
    chosen = model.classes_[model.predict_proba(3.0 * X).argmax(axis=1)]
    np.testing.assert_array_equal(chosen, model.predict(3.0 * X))


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("temperature_scaling", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_of_string_labels(loss, temperature_scaling, n_classes, dtype):
    X, codes = classification(n_classes=n_classes)
    labels = np.array(["zebra", "ant", "bee", "cat", "dog"])[codes]
    model = classifier(loss=loss, temperature_scaling=temperature_scaling, alpha=0.1).fit(X.astype(dtype), labels)
    probabilities = model.predict_proba(X.astype(dtype))
    assert probabilities.shape == (len(X), n_classes)
    assert probabilities.dtype == dtype
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.score(X.astype(dtype), labels) > (0.6 if n_classes == 2 else 0.4)
    chosen = model.classes_[probabilities.argmax(axis=1)]
    assert (chosen == model.predict(X.astype(dtype))).mean() > 0.95
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(X.astype(dtype)), np.log(probabilities))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_temperature_mends_an_overconfident_fit(n_classes):
    X, y = classification(600, n_classes)
    new, new_y = classification(1000, n_classes, seed=8)
    plain, scaled = (classifier(n_components=256, alpha=1e-3, temperature_scaling=t).fit(X, y) for t in (False, True))
    assert plain.temperature_ == 1.0
    assert scaled.temperature_ > 2.0
    assert log_loss(new_y, scaled.predict_proba(new)) < 0.7 * log_loss(new_y, plain.predict_proba(new))


# --- choices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_chosen_penalty_is_about_the_best_of_the_regressor(solver, dtype):
    X, y = regression(500, noise=0.5)
    new, new_y = regression(2000, seed=5, noise=0.0)
    X, new = X.astype(dtype), new.astype(dtype)

    def error(alpha, solver="gram"):
        model = regressor(n_components=128, alpha=alpha, solver=solver).fit(X, y)
        return np.sqrt(np.mean((model.predict(new) - new_y) ** 2))

    errors = [error(alpha) for alpha in 10.0 ** np.arange(-4, 4)]
    assert max(errors) > 1.5 * min(errors)
    assert error("auto", solver) < 1.1 * min(errors)


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_the_chosen_penalty_is_about_the_best_of_the_classifier(loss):
    X, y = classification(500)
    new, new_y = classification(2000, seed=5)

    def error(alpha):
        model = classifier(n_components=128, alpha=alpha, loss=loss).fit(X, y)
        if loss == "log_loss":
            return log_loss(new_y, model.predict_proba(new))
        scores = model.decision_function(new)
        return min(log_loss(new_y, softmax(s * scores, axis=1)) for s in np.geomspace(1.0, 64.0, 40))

    errors = [error(alpha) for alpha in 10.0 ** np.arange(-2, 4)]
    assert max(errors) > 1.3 * min(errors)
    assert error("auto") < 1.05 * min(errors)


@pytest.mark.parametrize("kernel", ["laplacian", "gaussian", Matern(1.5, length_scale="auto")])
def test_the_chosen_length_scale_is_about_the_best(kernel):
    X, y = regression(400, noise=0.1)
    X *= 10.0
    new, new_y = regression(1000, seed=5, noise=0.0)
    model = regressor(kernel=kernel, n_components=128).fit(X, y)
    assert model.kernel_.length_scale > 0

    def error(model):
        return np.sqrt(np.mean((model.predict(new * 10.0) - new_y) ** 2))

    scales = model.kernel_.length_scale * 4.0 ** np.arange(-3, 4)
    errors = [
        error(regressor(kernel=model.kernel_.replace(length_scale=s), n_components=128).fit(X, y)) for s in scales
    ]
    assert max(errors) > 2 * min(errors)
    assert error(model) < 1.15 * min(errors)


def test_the_classifier_chooses_its_length_scale():
    X, y = classification(500)
    new, new_y = classification(1000, seed=5)
    auto = RandomFeatureClassifier("gaussian", 128, random_state=0).fit(X, y)
    wrong = classifier(kernel=Gaussian(0.05), n_components=128, alpha="auto").fit(X, y)
    assert log_loss(new_y, auto.predict_proba(new)) < log_loss(new_y, wrong.predict_proba(new)) - 0.1


def test_the_median_is_a_length_scale():
    X, y = regression(200)
    model = regressor(kernel=Laplacian("median"), alpha=0.1).fit(X, y)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert model.kernel_.length_scale == pytest.approx(np.median(distances[np.triu_indices(200, 1)]), rel=0.2)


# --- what can be read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("make", [regressor, classifier, lambda **p: classifier(loss="squared_error", **p)])
def test_what_was_fitted_can_be_read(make, how):
    X, y = regression(200)
    y, more = (y, {}) if make is regressor else (y > 3, {"classes": [False, True]})
    model = make(kernel="matern", alpha="auto")
    for name in ("alpha_", "kernel_", "solver_", "solution_", "n_iter_", "coef_", "intercept_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.summary()
    with pytest.raises(NotFittedError):
        model.predict(X)
    getattr(model, how)(X, y, **(more if how == "partial_fit" else {}))
    assert model.alpha_ > 0
    assert isinstance(model.kernel_, Matern)
    assert model.solver_ in ("gram", "conjugate_gradient", "softmax")
    assert model.solution_.converged
    assert model.n_iter_ >= 1
    summary = model.summary()
    for word in (
        type(model).__name__,
        "64 features of 3 columns",
        "Matern",
        model.solver_,
        f"{model.alpha_:.4g} (chosen)",
    ):
        assert word in summary


def test_verbose_fits_are_the_same(capsys):
    X, y = regression()
    a, b = (regressor(alpha=0.3, verbose=v).fit(X, y).predict(X) for v in (False, True))
    np.testing.assert_array_equal(a, b)
    assert capsys.readouterr().out == ""


# --- kinds of data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("make", [regressor, classifier])
def test_frames_are_arrays_with_names(frame, make):
    X, y = regression(200)
    y = y if make is regressor else np.where(y > 3, "up", "down")
    columns = {name: X[:, k] for k, name in enumerate("abc")}
    series = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    model = make(alpha=0.3).fit(frame(columns), series)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(frame(columns)), make(alpha=0.3).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({name: columns[name] for name in "cba"}))


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
@pytest.mark.parametrize("alpha", [0.3, "auto"])
def test_sparse_data_are_as_dense_data(make, kind, alpha):
    X, y = regression(300, 6)
    X[np.random.default_rng(4).random(X.shape) < 0.6] = 0.0
    y = y if make is regressor else (y > 3).astype(int)
    a, b = make(alpha=alpha).fit(kind(X), y), make(alpha=alpha).fit(X, y)
    if alpha == "auto":  # the folds may be others
        assert a.alpha_ == pytest.approx(b.alpha_, rel=100.0)
        assert a.score(kind(X), y) == pytest.approx(b.score(X, y), abs=0.1)
    else:
        assert distance(a.coef_, b.coef_) < 1e-6
    weights = weights_of("with zeros", len(X))
    a, b = make(alpha=0.3).fit(kind(X), y, weights), make(alpha=0.3).fit(X, y, weights)
    np.testing.assert_allclose(a.predict(kind(X)), b.predict(X), rtol=1e-6)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_integers_are_float64(make):
    X, y = regression(200)
    X, y = np.round(3 * X).astype(int), y if make is regressor else (y > 3).astype(int)
    a, b = make(alpha=0.3).fit(X, y), make(alpha=0.3).fit(X.astype(float), y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.predict(X), b.predict(X.astype(float)))


# --- manners of an estimator ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [regressor, classifier])
def test_a_grid_is_searched(make):
    X, y = regression(200)
    y = y if make is regressor else (y > 3).astype(int)
    grid = {"kernel__length_scale": [1e-3, 2.0], "alpha": [1e-2, 1e4]}
    search = GridSearchCV(make(), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__length_scale": 2.0, "alpha": 1e-2}
    assert search.best_estimator_.kernel_.length_scale == 2.0
    assert search.best_estimator_.alpha_ == 1e-2


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("make", [regressor, classifier])
def test_models_are_cloned_and_pickled(make, how):
    X, y = regression(200)
    y, more = (y, {}) if make is regressor else ((y > 3).astype(int), {"classes": [0, 1]})
    more = more if how == "partial_fit" else {}
    model = getattr(make(alpha=0.3), how)(X, y, **more)
    copied = clone(model)
    assert not hasattr(copied, "features_")
    np.testing.assert_array_equal(getattr(copied, how)(X, y, **more).predict(X), model.predict(X))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.summary() == model.summary()
    loaded.partial_fit(X[::-1], y, **more)  # what was loaded goes on as what was saved
    np.testing.assert_array_equal(loaded.coef_, model.partial_fit(X[::-1], y, **more).coef_)


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient", "softmax"])
def test_a_random_state_makes_fits_equal(solver):
    X, y = classification(300)

    def coefficients(random_state):
        loss = "log_loss" if solver == "softmax" else "squared_error"
        model = RandomFeatureClassifier(n_components=64, loss=loss, solver=solver, random_state=random_state)
        return model.fit(X, y).coef_

    np.testing.assert_array_equal(coefficients(3), coefficients(3))
    np.testing.assert_array_equal(coefficients(np.random.default_rng(3)), coefficients(np.random.default_rng(3)))
    assert distance(coefficients(3), coefficients(4)) > 0.01


# --- streams whose parameters change --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ({"n_components": 64}, {"n_components": 32}, "had n_components=64, and their sums cannot go on with 32"),
        ({"kernel": Laplacian(2.0)}, {"kernel__length_scale": 3.0}, r"had kernel=Laplacian\(length_scale=2.0\), and"),
        ({"sampling": "random"}, {"sampling": "sobol"}, "had sampling='random'"),
        ({"alpha": 0.1}, {"alpha": "auto"}, "only be chosen if all rows come with alpha='auto'.*had alpha=0.1"),
    ],
)
def test_a_stream_goes_on_with_the_parameters_it_began_with(first, then, said):
    X, y = regression()
    model = regressor(**first).partial_fit(X[:200], y[:200])
    before = model.predict(X)
    with pytest.raises(ValueError, match=said):
        model.set_params(**then).partial_fit(X[200:], y[200:])
    assert np.array_equal(model.predict(X), before)


def test_a_stream_of_classes_goes_on_with_its_loss_and_may_change_its_penalty():
    X, y = classification()
    model = classifier(loss="squared_error", alpha=0.1).partial_fit(X[:200], y[:200], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="had loss='squared_error', and their sums cannot go on with 'log_loss'"):
        model.set_params(loss="log_loss").partial_fit(X[200:], y[200:])
    model.set_params(loss="squared_error", alpha=1.0).partial_fit(X[200:], y[200:])
    assert model.alpha_ == 1.0


def test_entries_that_come_twice_are_added_before_rows_are_told_apart():
    X, y = regression()
    twice = sparse.csr_matrix((np.repeat(X.ravel() / 2.0, 2), np.tile(np.repeat(range(3), 2), 400), range(0, 2401, 6)))
    assert not twice.has_canonical_format
    model, plain = (regressor(kernel="laplacian").fit(Z, y) for Z in (twice, sparse.csr_matrix(X)))
    assert model.alpha_ == plain.alpha_
    assert model.predict(twice) == pytest.approx(plain.predict(X))
    assert twice.nnz == 2 * X.size


@pytest.mark.parametrize("size", [0.0, 1e-17])
def test_how_targets_of_a_stream_compare_does_not_depend_on_its_first_rows(size):
    """The second target is nothing, or rounding, in the first rows, as a rare event is."""
    rng = np.random.default_rng(0)
    X, y = regression(200, d=4)
    Y = np.c_[y, np.r_[size * rng.normal(size=50), rng.normal(size=150)]]

    def stream(*cuts):
        model = RandomFeatureRegressor(Laplacian(3.0), n_components=256, random_state=0)
        for start, stop in itertools.pairwise(cuts):
            model.partial_fit(X[start:stop], Y[start:stop])
        return model

    whole, cut = stream(0, 200), stream(0, 50, 200)
    assert cut.alpha_ == whole.alpha_
    for values, of_cut in zip(whole.predict(X, return_std=True), cut.predict(X, return_std=True), strict=True):
        assert of_cut == pytest.approx(values, rel=1e-6, abs=1e-9)


def test_a_stream_may_begin_with_targets_that_are_much_smaller():
    X, y = regression(200, d=4)
    y[:50] *= 1e-160
    model = RandomFeatureRegressor(Laplacian(3.0), n_components=256, random_state=0)
    model.partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    whole = RandomFeatureRegressor(Laplacian(3.0), n_components=256, random_state=0).partial_fit(X, y)
    assert model.predict(X, return_std=True)[1] == pytest.approx(whole.predict(X, return_std=True)[1], rel=1e-6)
