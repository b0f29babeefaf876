"""The estimators where one fit depends on another, on a unit or on a width: what must not matter does not."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import (
    KernelRegressor,
    Laplacian,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFeatures,
    RecursiveFeatureMachine,
)
from bochner.models import linear

X, LABELS = make_moons(600, noise=0.3, random_state=0)
NEW, NEW_LABELS = make_moons(2000, noise=0.3, random_state=1)
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=600)


def regressor(**parameters):
    return RandomFeatureRegressor(**{"kernel": Laplacian(2.0), "n_components": 64, "random_state": 0, **parameters})


def classifier(**parameters):
    return RandomFeatureClassifier(**{"kernel": Laplacian(2.0), "n_components": 64, "random_state": 0, **parameters})


def loss_of(model, dtype=np.float64):
    return log_loss(NEW_LABELS, model.predict_proba(NEW.astype(dtype)))


# --- parameters that change after a fit ------------------------------------------------------------------------------

FITTED = {
    "log loss": classifier(alpha=0.1),
    "squared error": classifier(alpha=0.1, loss="squared_error"),
    "temperature": classifier(alpha=0.1, temperature_scaling=True),
}
CHANGES = [{"loss": "hinge"}, {"loss": "log_loss"}, {"loss": "squared_error"}, {"temperature_scaling": "yes"}]


@pytest.mark.parametrize("model", FITTED.values(), ids=FITTED)
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_parameter_that_is_changed_after_a_fit_waits_for_the_next_fit(model, change):
    model = copy.deepcopy(model).fit(X, LABELS)
    before = model.predict_proba(NEW)
    model.set_params(**change)
    assert np.array_equal(model.predict_proba(NEW), before)


@pytest.mark.parametrize("read", [False, True])
def test_the_penalty_of_a_stream_is_that_of_its_last_call(read):
    """Whether something was read in between does not matter."""
    model = regressor(alpha=0.1).partial_fit(X, Y)
    if read:
        model.predict(X)
    model.set_params(alpha=100.0)
    assert model.alpha_ == 0.1


# --- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0 / 600, 1e-6, 1e4])
def test_the_unit_of_the_weights_does_not_matter_to_the_regressor(weight):
    plain, weighted = regressor().fit(X, Y), regressor().fit(X, Y, np.full(600, weight))
    assert weighted.alpha_ == pytest.approx(weight * plain.alpha_)
    assert weighted.predict(NEW) == pytest.approx(plain.predict(NEW), rel=1e-6)


@pytest.mark.parametrize("weight", [1.0 / 600, 1e-6, 1e4])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_the_unit_of_the_weights_does_not_matter_to_the_classifier(weight, loss):
    plain = classifier(loss=loss).fit(X, LABELS)
    weighted = classifier(loss=loss).fit(X, LABELS, np.full(600, weight))
    assert loss_of(weighted) < 1.03 * loss_of(plain)


@pytest.mark.parametrize("scale", [1e-50, 1e-20, 1e-6, 1e6, 1e20, 1e50])
@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
def test_the_unit_of_the_targets_does_not_matter(scale, solver):
    plain, scaled = (regressor(solver=solver).fit(X, s * Y) for s in (1.0, scale))
    assert scaled.alpha_ == pytest.approx(plain.alpha_)
    for one, other in zip(scaled.predict(NEW, return_std=True), plain.predict(NEW, return_std=True), strict=True):
        assert one / scale == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_the_origin_of_the_targets_does_not_matter_to_the_noise_of_a_stream(offset):
    whole, stream = regressor(alpha=0.1).fit(X, Y + offset), regressor(alpha=0.1).partial_fit(X, Y + offset)
    assert stream.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-2)


# --- single precision ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("kernel", [Laplacian(2.0), "laplacian"], ids=["given", "chosen"])
def test_choices_in_float32_are_as_good_as_in_float64(loss, kernel):
    double = classifier(kernel=kernel, loss=loss).fit(X, LABELS)
    single = classifier(kernel=kernel, loss=loss).fit(X.astype(np.float32), LABELS)
    assert loss_of(single, np.float32) < 1.1 * loss_of(double)  # the rows held out are others
    assert single.decision_function(NEW.astype(np.float32)).dtype == np.float32


# --- error bars ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
@pytest.mark.parametrize("n", [60, 300])
def test_nine_of_ten_draws_from_the_model_are_in_their_interval(solver, n):
    """Functions and noise are drawn as the model takes them to be, so the intervals are exact but for the noise."""
    rng = np.random.default_rng(3)
    points, new = rng.uniform(-1, 1, size=(n, 2)), rng.uniform(-1.5, 1.5, size=(500, 2))
    noise, alpha = 0.3, 0.3**2
    model = regressor(alpha=alpha, solver=solver)
    features = model.fit(points, np.zeros(n)).features_
    coefficients = rng.normal(size=(64, 40))
    targets = features.transform(points) @ coefficients + 2.0 + noise * rng.normal(size=(n, 40))
    truth = features.transform(new) @ coefficients + 2.0 + noise * rng.normal(size=(500, 40))
    mean, std = model.fit(points, targets).predict(new, return_std=True)
    coverage = (abs(truth - mean) < 1.6449 * std).mean()
    assert 0.87 < coverage < 0.93


def test_error_bars_of_a_wide_map_are_those_of_the_gram_matrix(monkeypatch):
    """Above a width the iterations are preconditioned by a sample of rows; here by all of them."""
    rng = np.random.default_rng(0)
    points, new = rng.uniform(-1, 1, size=(300, 2)), rng.uniform(-4, 4, size=(100, 2))
    y = np.sin(2 * points[:, 0]) + 0.1 * rng.normal(size=300)
    parameters = {"n_components": 256, "alpha": 1e-2}
    expected = regressor(solver="gram", **parameters).fit(points, y).predict(new, return_std=True)[1]
    monkeypatch.setattr(linear, "WIDEST_GRAM", 128)
    found = regressor(solver="conjugate_gradient", **parameters).fit(points, y).predict(new, return_std=True)[1]
    assert (found > 0.8 * expected).all()
    assert (found < 1.5 * expected).all()


def test_the_noise_of_a_singular_problem_counts_its_rank():
    """100 rows at 20 places, 64 features and no penalty: 20 parameters are used up."""
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(20, 2)), 5, axis=0)
    variances = [regressor(alpha=0.0).fit(points, rng.normal(size=100)).noise_variance_ for _ in range(100)]
    assert np.mean(variances) == pytest.approx(1.0, abs=0.05)


# --- streams ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, "auto"])
@pytest.mark.parametrize("kernel", [Laplacian(2.0), "laplacian"], ids=["given", "chosen"])
def test_a_stream_of_squares_may_begin_with_one_class(alpha, kernel):
    order, loss = np.argsort(LABELS, kind="stable"), "squared_error"
    model = classifier(loss=loss, alpha=alpha, kernel=kernel)
    for rows in np.array_split(order, 4):
        model.partial_fit(X[rows], LABELS[rows], classes=[0, 1])
    whole = classifier(loss=loss, alpha=alpha, kernel=kernel).fit(X, LABELS)
    assert model.score(NEW, NEW_LABELS) > whole.score(NEW, NEW_LABELS) - 0.03
    assert np.isfinite(model.predict_proba(NEW)).all()


@pytest.mark.parametrize("n_pieces", [1, 6, 60])
@pytest.mark.parametrize("alpha", [0.1, "auto"])
def test_a_stream_of_log_losses_is_as_accurate_as_a_fit(n_pieces, alpha):
    whole, stream = classifier(alpha=alpha).fit(X, LABELS), classifier(alpha=alpha)
    for rows in np.array_split(np.arange(600), n_pieces):
        stream.partial_fit(X[rows], LABELS[rows], classes=[0, 1])
    assert stream.score(NEW, NEW_LABELS) > whole.score(NEW, NEW_LABELS) - 0.01
    assert loss_of(stream) < 1.05 * loss_of(whole)


def test_frames_may_come_in_a_stream():
    frames = pytest.importorskip("pandas")
    frame = frames.DataFrame(X, columns=["a", "b"])
    model = regressor(alpha=0.1).partial_fit(frame[:300], Y[:300]).partial_fit(frame[300:], Y[300:])
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.predict(frame) == pytest.approx(regressor(alpha=0.1).fit(X, Y).predict(X), rel=1e-6)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame.rename(columns={"a": "z"}), Y)


# --- data that tell nothing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_equal_rows_give_the_frequencies_without_a_warning(n_classes, loss):
    y = np.arange(61) % n_classes
    model = classifier(loss=loss, alpha=0.1).fit(np.full((61, 3), 0.1), y)
    expected = np.bincount(y) / 61
    assert model.predict_proba(np.full((1, 3), 0.1))[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
@pytest.mark.parametrize("alpha", [0.0, 0.1, "auto"])
def test_a_constant_target_is_predicted_everywhere(solver, alpha):
    model = regressor(solver=solver, alpha=alpha).fit(X, np.full(600, 0.1))
    mean, std = model.predict(NEW, return_std=True)
    assert mean == pytest.approx(np.full(2000, 0.1), abs=1e-9)
    assert std == pytest.approx(np.zeros(2000), abs=1e-6)


def test_one_weighted_row_without_a_penalty_is_predicted_everywhere():
    model = regressor(alpha=0.0).fit(X[:1], Y[:1], [0.37])
    assert model.predict(NEW) == pytest.approx(np.full(2000, Y[0]))


# --- in company ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [regressor(), classifier()], ids=["regressor", "classifier"])
def test_pipelines_are_cross_validated(model):
    y = Y if isinstance(model, RandomFeatureRegressor) else LABELS
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3)
    assert scores.min() > (0.95 if isinstance(model, RandomFeatureRegressor) else 0.85)


def test_rows_without_weight_are_not_in_the_trials():
    weights = (np.arange(600) % 2).astype(float)
    for make, y in ((regressor, Y), (classifier, LABELS)):
        one = make(kernel="laplacian").fit(X, y, weights)
        other = make(kernel="laplacian").fit(X[1::2], y[1::2])
        assert one.kernel_ == other.kernel_
        assert one.alpha_ == other.alpha_


# --- where warnings point to -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The gradient of the function")
@pytest.mark.parametrize(
    "model",
    [
        RandomFeatures(n_components=16),
        RandomFeatureRegressor(n_components=16),
        KernelRegressor(),
        RecursiveFeatureMachine(RandomFeatureRegressor(n_components=16), 1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_warnings_point_to_the_line_of_the_user_from_any_depth(model):
    with pytest.warns(UserWarning, match="All rows are equal") as told:
        clone(model).fit(np.ones((40, 3)), np.arange(40.0))
    assert {warning.filename for warning in told} == {__file__}
