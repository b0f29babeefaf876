"""What is wrong is told in a sentence, and a fit that fails or is stopped changes nothing."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bochner import Laplacian, RandomFeatureClassifier, RandomFeatureRegressor, RandomFeatures
from bochner.models import linear, logistic
from bochner.solvers import FoldedGram

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=60)
LABELS = np.where(Y > 0, "up", "down")
NAN = np.where(np.arange(60) == 7, np.nan, Y)


def make(kind, **parameters):
    parameters = {"kernel": Laplacian(2.0), "n_components": 16, "alpha": 0.1, "random_state": 0, **parameters}
    if kind == "regressor":
        return RandomFeatureRegressor(**parameters)
    return RandomFeatureClassifier(**{"loss": kind, **parameters})


def target_of(kind):
    return Y if kind == "regressor" else LABELS


def trained(kind, how):
    more = {"classes": ["down", "up"]} if how == "partial_fit" and kind != "regressor" else {}
    return getattr(make(kind), how)(X, target_of(kind), **more)


def state(model):
    if not hasattr(model, "features_"):
        return sorted(vars(model))
    out = [model.predict(X), model.coef_, model.intercept_, model.alpha_, model.n_features_in_]
    return out if isinstance(model, RandomFeatureRegressor) else [*out, model.predict_proba(X), model.classes_]


def assert_same(before, after):
    assert len(before) == len(after)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def assert_refused(model, how, *data, error=(ValueError, TypeError), message, **more):
    """The call fails with the message, and leaves the model as it was, also for the next call."""
    before, attributes = state(model), sorted(vars(model))
    with pytest.raises(error, match=message) as caught:
        getattr(model, how)(*data, **more)
    assert len(str(caught.value)) > 20
    assert_same(before, state(model))
    assert sorted(vars(model)) == attributes


KINDS = ["regressor", "log_loss", "squared_error"]
CLASSIFIERS = KINDS[1:]
#: A model as it is before the call that fails.
BEFORE = ["new", "fit", "partial_fit"]


def model_before(kind, before):
    return make(kind) if before == "new" else trained(kind, before)


def first_call(kind, before, how):
    """What a call of partial_fit needs beside the data."""
    return {"classes": ["down", "up"]} if how == "partial_fit" and kind != "regressor" and before == "new" else {}


HOW = ["fit", "partial_fit"]
everywhere = [(kind, before, how) for kind in KINDS for before in BEFORE for how in HOW]
at = pytest.mark.parametrize(("kind", "before", "how"), everywhere)


@at
def test_y_of_the_wrong_length(kind, before, how):
    model, more = model_before(kind, before), first_call(kind, before, how)
    assert_refused(model, how, X, target_of(kind)[:50], message="inconsistent numbers of samples", **more)


@at
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.where(np.arange(60) == 3, -0.5, 1.0), "must not be negative.*-0.5"),
        (np.zeros(60), "must not be all zero|non-zero"),
        (np.ones(59), "sample_weight.shape"),
        (np.full(60, np.nan), "NaN"),
    ],
    ids=["negative", "zero", "short", "nan"],
)
def test_wrong_weights(kind, before, how, weights, message):
    model, more = model_before(kind, before), first_call(kind, before, how)
    assert_refused(model, how, X, target_of(kind), sample_weight=weights, message=message, **more)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("y", [NAN, np.where(np.isnan(NAN), np.inf, Y)], ids=["nan", "infinity"])
def test_targets_that_are_not_finite(before, how, y):
    assert_refused(model_before("regressor", before), how, X, y, message="y contains (NaN|infinity)")


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_labels_that_are_nan(kind, before, how):
    codes = np.where(np.isnan(NAN), np.nan, (Y > 0).astype(float))
    model, more = make(kind), {"classes": [0.0, 1.0]} if how == "partial_fit" else {}
    if before != "new":
        getattr(model, before)(X, (Y > 0).astype(float), **({"classes": [0, 1]} if before == "partial_fit" else {}))
    assert_refused(model, how, X, codes, message="(?i)nan", **more)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("before", BEFORE)
def test_one_class_is_not_enough(kind, before):
    model = model_before(kind, before)
    assert_refused(model, "fit", X, np.full(60, "up"), message="at least two classes")
    if before != "partial_fit":
        assert_refused(model, "partial_fit", X, np.full(60, "up"), classes=["up"], message="at least two classes")


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("before", BEFORE)
def test_undeclared_labels_in_a_stream(kind, before):
    y = np.where(np.arange(60) == 5, "sideways", LABELS)
    model = model_before(kind, before)
    assert_refused(model, "partial_fit", X, y, message="sideways", **first_call(kind, before, "partial_fit"))
    if before == "partial_fit":
        assert_refused(model, "partial_fit", X, LABELS, classes=["up", "sideways"], message="sideways")


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_first_call_of_a_stream_needs_the_classes(kind):
    assert_refused(make(kind), "partial_fit", X, LABELS, message="'classes' argument must be given in the first call")


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_what_a_stream_cannot_do_is_told(kind):
    for parameters, message in [({"temperature_scaling": True}, "held out"), ({"class_weight": "balanced"}, "dict")]:
        assert_refused(make(kind, **parameters), "partial_fit", X, LABELS, classes=["down", "up"], message=message)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(
    "class_weight",
    [{"down": -1.0, "up": 1.0}, {"down": 0.0, "up": 0.0}, {"down": np.inf}],
    ids=["negative", "zero", "infinite"],
)
def test_wrong_weights_of_the_classes(kind, class_weight):
    assert_refused(make(kind, class_weight=class_weight), "fit", X, LABELS, message="weight")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", ["fit", "partial_fit"])
def test_the_number_of_columns_cannot_change(kind, before):
    model = trained(kind, before)
    message = r"X has 2 features, but \w+ is expecting 3 features"
    assert_refused(model, "predict", X[:, :2], message=message)
    if before == "partial_fit":
        assert_refused(model, "partial_fit", X[:, :2], target_of(kind), message=message)


def test_the_number_of_outputs_cannot_change_in_a_stream():
    model = trained("regressor", "partial_fit")
    assert_refused(model, "partial_fit", X, np.column_stack([Y, Y]), message="y has 2 outputs, not 1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HOW)
def test_no_target_is_told(kind, how):
    assert_refused(make(kind), how, X, None, message="requires y to be passed", **first_call(kind, "new", how))


WRONG = {
    "alpha": ["auot", -1, None, np.nan, np.inf, True, [0.1]],
    "solver": ["gramm", None, 3],
    "verbose": ["yes", 1, None],
    "tol": [0.0, -1.0, None, "small"],
    "max_iter": [0, 1.5, None],
    "n_components": [0, 7, "many"],
    "kernel": ["laplace", None, 1.0],
    "directions": ["haar", None],
    "sampling": ["halton", None],
    "random_state": [-1, "seed"],
}
ONLY_CLASSIFIERS = {"loss": ["logloss", None, "hinge"], "temperature_scaling": ["yes", 1, None]}


@pytest.mark.parametrize(
    ("kind", "parameter", "value"),
    [(k, name, v) for k in KINDS for name, values in WRONG.items() for v in values]
    + [("log_loss", name, v) for name, values in ONLY_CLASSIFIERS.items() for v in values]
    + [("log_loss", "solver", "gram"), ("squared_error", "solver", "softmax"), ("regressor", "solver", "softmax")],
)
@pytest.mark.parametrize("how", HOW)
def test_a_wrong_parameter_is_told_in_one_sentence(kind, parameter, value, how):
    model = make(kind, **{parameter: value})
    more = first_call(kind, "new", how)
    message = rf"^The '{parameter}' parameter of {type(model).__name__} must be .*Got .* instead"
    assert_refused(model, how, X, target_of(kind), message=message, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("parameter", "value"), [("alpha", "auot"), ("solver", "gramm"), ("kernel", Laplacian(-1.0))])
def test_a_wrong_parameter_leaves_a_fitted_model_as_it_was(kind, parameter, value):
    model = trained(kind, "fit")
    before = state(model)
    model.set_params(**{parameter: value})
    with pytest.raises(ValueError, match="must be"):
        model.fit(X, target_of(kind))
    assert_same(before, state(model))


def test_a_length_scale_is_chosen_by_models_only():
    kernel = Laplacian(length_scale="auto")
    for call in (lambda: RandomFeatures(kernel, 16).fit(X), lambda: kernel(X)):
        with pytest.raises((ValueError, TypeError), match=r"'auto'.*model"):
            call()


def test_a_wrong_length_scale_tells_of_auto():
    with pytest.raises(ValueError, match=r"'length_scale' parameter of Laplacian must be .*'auto'"):
        make("regressor", kernel=Laplacian("auot")).fit(X, Y)


# --- a fit that is stopped ------------------------------------------------------------------------------------------

SOLVERS = [("regressor", "gram"), ("regressor", "conjugate_gradient"), ("squared_error", "gram"), ("log_loss", "auto")]


def stop(*args, **more):
    raise KeyboardInterrupt


def stop_late(monkeypatch, how):
    """Stop as late as possible: when all is computed but the last step."""
    if how == "fit":
        for module in (linear, logistic):
            monkeypatch.setattr(module, "LinearModel", stop)
    else:
        update = FoldedGram.update

        def stop_after(self, *args, **more):
            update(self, *args, **more)
            raise KeyboardInterrupt

        monkeypatch.setattr(FoldedGram, "update", stop_after)


@pytest.mark.parametrize(("kind", "solver"), SOLVERS)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("when", ["features", "late"])
def test_an_interrupt_changes_nothing(monkeypatch, kind, solver, before, how, when):
    model, more = model_before(kind, before).set_params(solver=solver), first_call(kind, before, how)
    earlier, attributes = state(model), sorted(vars(model))
    with monkeypatch.context() as patched:
        if when == "features":
            patched.setattr(RandomFeatures, "writer", stop)
        else:
            stop_late(patched, how)
        with pytest.raises(KeyboardInterrupt):
            getattr(model, how)(-X, target_of(kind), **more)
    assert sorted(vars(model)) == attributes
    assert_same(earlier, state(model))
    # What follows is as if nothing had been.
    other = model_before(kind, before).set_params(solver=solver)
    for m in (model, other):
        getattr(m, how)(X[::-1], target_of(kind)[::-1], **more)
    assert_same(state(other), state(model))


@pytest.mark.parametrize("kind", ["regressor", "squared_error"])
def test_an_interrupted_solve_of_a_stream_is_done_again(monkeypatch, kind):
    more = first_call(kind, "new", "partial_fit")
    model = make(kind).partial_fit(X, target_of(kind), **more)
    with monkeypatch.context() as patched:
        patched.setattr(linear, "LinearModel", stop)
        with pytest.raises(KeyboardInterrupt):
            model.predict(X)
    assert_same(state(trained(kind, "partial_fit")), state(model))


# --- iterations that do not suffice ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "solver"),
    [("regressor", "conjugate_gradient"), ("squared_error", "conjugate_gradient"), ("log_loss", "auto")],
)
def test_too_few_iterations_are_told_with_figure_and_advice(kind, solver):
    model = make(kind, solver=solver, max_iter=1, alpha=1e-6, tol=1e-9, n_components=64)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X.astype(np.float32), target_of(kind))  # in float64 the first iteration would suffice
    (warning,) = caught
    text = str(warning.message)
    assert type(model).__name__ in text
    assert f"{model.solution_.residual:.1e} after 1 iterations" in text
    assert re.search(r"1\.0e-(09|11|12) was asked for", text)
    assert "max_iter" in text
    assert "alpha" in text
    assert not model.solution_.converged
    assert model.solution_.residual > 1e-9
    assert np.isfinite(model.coef_).all()
    assert warning.filename == __file__  # it points to the call of the user
