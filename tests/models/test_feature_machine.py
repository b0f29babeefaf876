"""The learned metric: that it finds what matters, keeps the best round, and survives degenerate data."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import (
    KernelClassifier,
    KernelRegressor,
    L1Laplacian,
    Laplacian,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RecursiveFeatureMachine,
    memory,
)
from bochner.diagnostics.plots import learned_metric_figure, plot_metric
from bochner.models import rounds
from bochner.models.gradients import GradientMoments
from bochner.models.learned_metric import Form, with_one_length_scale

SMALL = Laplacian("median")
#: One way to make a metric, so that the many fits of scikit-learn's checks are quick.
ONE_WAY = {"power": 1.0, "ridge": 0.0, "smoothing": 0.4}
CHECKED = [
    RecursiveFeatureMachine(RandomFeatureRegressor(SMALL, 32), 1, metric="full", **ONE_WAY),
    RecursiveFeatureMachine(RandomFeatureClassifier(SMALL, 32, loss="squared_error"), 1, metric="diagonal", **ONE_WAY),
    RecursiveFeatureMachine(RandomFeatureClassifier(SMALL, 32), 1, metric="diagonal", **ONE_WAY),
    RecursiveFeatureMachine(KernelRegressor(SMALL), 1, metric="diagonal", **ONE_WAY),
    RecursiveFeatureMachine(KernelClassifier(SMALL), 1, metric="diagonal", **ONE_WAY),
    RecursiveFeatureMachine(KernelClassifier(SMALL, loss="log_loss"), 1, metric="diagonal", **ONE_WAY),
]


@pytest.mark.filterwarnings("ignore:All rows are equal")
@pytest.mark.filterwarnings("ignore:The gradient of the function")
@pytest.mark.filterwarnings("ignore:No held-out row has the class")
@pytest.mark.filterwarnings("ignore:There is one column")
@pytest.mark.filterwarnings("ignore:The metric of round")
@parametrize_with_checks(CHECKED)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def product_of_two(n=2000, d=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, np.sin(1.5 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("to", [np.asarray, csr_matrix])
def test_a_constant_input_has_no_importance(metric, to):
    X, y = product_of_two(1000, 6)
    machine = RandomFeatureRegressor(SMALL, 256)
    model = RecursiveFeatureMachine(machine, 1, metric=metric, **ONE_WAY, random_state=0)
    importances = model.fit(to(np.column_stack([X, np.ones(1000)])), y).feature_importances_
    assert model.best_round_ == 1
    assert importances[-1] == 0.0
    assert importances[:2].sum() > 0.5


def test_the_metric_concentrates_on_the_inputs_that_matter():
    X, y = product_of_two()
    machine = RandomFeatureRegressor(n_components=256)
    model = RecursiveFeatureMachine(machine, metric="diagonal", **ONE_WAY, random_state=0).fit(X, y)
    assert model.feature_importances_[:2].sum() > 0.95
    assert model.history_[-1]["score"] > model.history_[0]["score"] + 0.5
    assert model.metric_.shape in ((20,), (20, 20))


def test_defaults_find_the_inputs_that_matter():
    X, y = product_of_two()
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=256), random_state=0).fit(X, y)
    diagonal = model.metric_ if model.metric_.ndim == 1 else np.diag(model.metric_)
    assert diagonal[:2].sum() > 0.95 * diagonal.sum()
    assert len(model.history_) <= 6
    assert [entry["round"] for entry in model.history_] == list(range(len(model.history_)))
    assert np.isnan(model.history_[0]["smoothing"])
    assert all(entry["smoothing"] in (0.12, 0.4, 1.2) for entry in model.history_[1:])


def test_the_form_of_the_first_round_is_kept():
    X, y = product_of_two(600, 5)
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=128), 3, random_state=0).fit(X, y)
    assert len({entry["form"].split(",")[0] for entry in model.history_[1:]}) == 1


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_classes_count_as_outputs(loss):
    X, y = product_of_two(1200, 8)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.3, 0.3])]
    machine = RandomFeatureClassifier(n_components=256, loss=loss)
    model = RecursiveFeatureMachine(machine, metric="diagonal", **ONE_WAY, random_state=0).fit(X, labels)
    assert model.feature_importances_[:2].sum() > 0.8
    assert model.predict_proba(X[:5]).sum(axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    assert set(model.predict(X)) <= set(model.classes_)


def test_the_metric_of_the_exact_machine_concentrates_too():
    X, y = product_of_two(400, 8)
    machine = KernelRegressor(Laplacian("median"))
    model = RecursiveFeatureMachine(machine, 4, metric="diagonal", **ONE_WAY, random_state=0).fit(X, y)
    assert model.feature_importances_[:2].sum() > 0.9


def test_a_rotated_target_has_its_subspace_found():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 5))
    direction = rng.normal(size=5)
    direction /= np.linalg.norm(direction)
    y = np.sin(2.0 * X @ direction)
    machine = RandomFeatureRegressor(n_components=256)
    model = RecursiveFeatureMachine(machine, metric="full", **ONE_WAY, random_state=0).fit(X, y)
    assert direction @ model.metric_ @ direction > 0.95 * np.trace(model.metric_)


def test_the_best_round_is_kept_and_its_machine_fitted_to_all_rows():
    X, y = product_of_two(600, 5)
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=128), 3, random_state=0).fit(X, y)
    errors = [entry["error"] for entry in model.history_]
    assert model.best_round_ == int(np.argmin(errors))
    assert model.estimator_.kernel_.length_scale == pytest.approx(
        model.history_[model.best_round_]["length_scale"], rel=1e-6
    )


@pytest.mark.parametrize("kept", [True, False])
def test_a_wide_machine_learns_in_narrower_rounds(kept, monkeypatch):
    """Its metric counts if the machine itself does better with it; here that is so, or said not to be."""
    monkeypatch.setattr(rounds, "_FEATURES_OF_ROUNDS", 64)
    widths, judge = [], rounds.Rounds._judge

    def judged(self, model):
        widths.append(model.n_components)
        error, score = judge(self, model)
        learned_and_wide = model.n_components == 256 and model.kernel_.metric is not None
        return (np.inf if learned_and_wide and not kept else error), score

    monkeypatch.setattr(rounds.Rounds, "_judge", judged)
    X, y = product_of_two()
    machine = RandomFeatureRegressor(n_components=256)
    model = RecursiveFeatureMachine(machine, 1, metric="diagonal", **ONE_WAY, random_state=0)
    told = fit_quietly(model, X, y)
    assert widths == [64, 64, 256, 256]
    assert any("helps 64 features, but not 256" in message for message in told) == (not kept)
    assert model.estimator_.n_components == 256
    assert model.best_round_ == (1 if kept else 0)
    assert (model.estimator_.kernel_.metric is not None) == kept


def test_a_round_without_a_better_one_within_two_is_the_last(monkeypatch):
    errors = iter([0.5, 0.4, 0.45, 0.42, 0.1])
    monkeypatch.setattr(rounds.Rounds, "_judge", lambda *_: (next(errors), 0.0))
    X, y = product_of_two(200, 4)
    one_way = {"metric": "diagonal", **ONE_WAY, "random_state": 0}
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=32), 5, **one_way).fit(X, y)
    assert len(model.history_) == 4
    assert model.best_round_ == 1


def test_a_median_length_scale_stays_the_median():
    X, y = product_of_two(500, 6)
    model = RecursiveFeatureMachine(RandomFeatureRegressor(SMALL, 64), 2, random_state=0).fit(X, y)
    kernel = model.estimator_.kernel_
    assert kernel.length_scale == pytest.approx(kernel.replace(length_scale="median").resolve(X).length_scale, rel=0.05)


def test_the_metric_of_the_kernel_as_it_was_is_told_with_its_length_scales():
    X, y = product_of_two(200, 4)
    machine = RandomFeatureRegressor(Laplacian([1.0, 2.0, 1.0, 2.0], metric=[4.0, 4.0, 1.0, 1.0]), 64)
    model = RecursiveFeatureMachine(machine, 0).fit(X, y)
    assert model.metric_ == pytest.approx(np.array([4.0, 1.0, 1.0, 0.25]) / 1.5625)


def test_memory_is_looked_for_before_any_round(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1e6)
    monkeypatch.setattr(rounds.Rounds, "run", lambda *_: pytest.fail("a round was begun"))
    X, y = product_of_two(200, 4)
    with pytest.raises(MemoryError, match="n_components=1024"):
        RecursiveFeatureMachine(RandomFeatureRegressor(n_components=1024)).fit(X, y)


def test_a_class_without_weight_is_a_class():
    X, y = product_of_two(300, 4)
    labels, weights = np.digitize(y, [-0.3, 0.3]), np.ones(300)
    weights[labels == 2] = 0.0
    machine = RandomFeatureClassifier(n_components=64, loss="squared_error", class_weight={2: 3.0})
    model = RecursiveFeatureMachine(machine, 1, **ONE_WAY, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no held-out row has the class
        model.fit(X, labels, weights)
    assert model.classes_.tolist() == [0, 1, 2]
    assert not (model.predict(X) == 2).any()


def test_a_row_that_weighs_next_to_nothing_does_not_hide_an_output():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    Y = np.column_stack([np.sin(2.0 * X[:, 0]), np.sin(2.0 * X[:, 1])])
    Y[3, 1], weights = 1e6, np.ones(1000)
    weights[3] = 1e-16
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=256), 2, **ONE_WAY, random_state=0)
    assert model.fit(X, Y, weights).feature_importances_[:2].min() > 0.2


def test_no_rounds_are_the_machine_itself():
    X, y = product_of_two(300, 4)
    machine = RandomFeatureRegressor(n_components=64, random_state=3)
    model = RecursiveFeatureMachine(machine, 0).fit(X, y)
    assert model.predict(X) == pytest.approx(clone(machine).fit(X, y).predict(X))
    assert model.metric_.tolist() == [1.0] * 4


def test_the_same_seed_gives_the_same_model():
    X, y = product_of_two(400, 4)
    first, second = (
        RecursiveFeatureMachine(RandomFeatureRegressor(n_components=64), 2, random_state=5).fit(X, y) for _ in range(2)
    )
    assert first.predict(X).tolist() == second.predict(X).tolist()


def test_it_is_what_it_wraps():
    assert is_regressor(RecursiveFeatureMachine())
    assert is_classifier(RecursiveFeatureMachine(KernelClassifier()))
    assert not hasattr(RecursiveFeatureMachine(), "predict_proba")
    X, y = product_of_two(300, 4)
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=64), 1).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (300,)
    grid = {"recursivefeaturemachine__estimator__n_components": [32, 64]}
    pipeline = make_pipeline(StandardScaler(), RecursiveFeatureMachine(RandomFeatureRegressor(), 1))
    assert GridSearchCV(pipeline, grid, cv=2).fit(X, y).best_score_ > -1.0


def test_several_outputs_and_weights_are_taken():
    X, y = product_of_two(400, 4)
    Y, weights = np.column_stack([y, X[:, 2]]), np.random.default_rng(0).uniform(size=400)
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=64), 2, random_state=0).fit(X, Y, weights)
    assert model.predict(X).shape == (400, 2)


def test_outputs_of_other_units_count_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))
    Y = np.column_stack([1000.0 * np.sin(2.0 * X[:, 0]), np.sin(2.0 * X[:, 1])])
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=256), 2, **ONE_WAY, random_state=0).fit(X, Y)
    assert model.feature_importances_[:2].min() > 0.2


def outer_products(model, X, n_outputs):
    return GradientMoments.of(model._gradients(X, 0.5), np.ones(len(X)), n_outputs, X.shape[1], False).outer


def test_several_outputs_are_as_if_stacked():
    X, y = product_of_two(400, 4)
    X, Y = X.astype(np.float64), np.column_stack([y, np.cos(X[:, 2])])
    machine = RandomFeatureRegressor(Laplacian(2.0), 128, alpha=0.1, random_state=0)
    stacked = sum(outer_products(clone(machine).fit(X, of_one), X, 1) for of_one in Y.T)
    assert outer_products(machine.fit(X, Y), X, 2) == pytest.approx(stacked, rel=1e-8)


@pytest.mark.parametrize(
    "kinds", [(RandomFeatureClassifier, RandomFeatureRegressor), (KernelClassifier, KernelRegressor)]
)
def test_several_classes_are_as_their_indicators_stacked(kinds):
    X, y = product_of_two(400, 4)
    X, codes = X.astype(np.float64), np.digitize(y, [-0.3, 0.3])
    classifier, regressor = (kind(Laplacian(2.0), alpha=0.1, random_state=0) for kind in kinds)
    classifier.set_params(loss="squared_error")
    stacked = sum(outer_products(regressor.fit(X, 1.0 * (codes == code)), X, 1) for code in range(3))
    assert outer_products(classifier.fit(X, codes), X, 3) == pytest.approx(stacked, rel=1e-6)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = product_of_two(600, 4)
    labels = (y > 0.3).astype(int)
    given = {"n_components": 64, "loss": "squared_error", "random_state": 0}
    models = [
        RecursiveFeatureMachine(RandomFeatureClassifier(**given, class_weight=weights), 2, random_state=0)
        for weights in ({1: 5.0}, None)
    ]
    models[0].fit(X, labels)
    models[1].fit(X, labels, np.where(labels == 1, 5.0, 1.0))
    of_classes, of_rows = ([entry["error"] for entry in model.history_] for model in models)
    assert of_classes == pytest.approx(of_rows, rel=1e-6)
    assert models[0].metric_ == pytest.approx(models[1].metric_, rel=1e-4, abs=1e-4)


def test_the_same_smoothing_is_the_same_for_features_and_the_exact_machine():
    """Of a kernel with a cusp, where without smoothing there would be no gradient to compare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2
    given = {"alpha": 1.0, "random_state": 0}
    machines = [RandomFeatureRegressor(Laplacian(4.0), 16_384, **given), KernelRegressor(Laplacian(4.0), **given)]
    for displacement in (0.3, 1.0):
        by_features, exact = (
            GradientMoments.of(m.fit(X, y)._gradients(X, displacement), np.ones(300), 1, 20, True).outer
            for m in machines
        )
        assert by_features == pytest.approx(exact, rel=0.2, abs=0.05 * exact.max())


def test_what_was_learned_is_told_and_drawn(tmp_path):
    X, y = product_of_two(300, 4)
    frame = pd.DataFrame(X, columns=["width", "height", "depth", "age"])
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=64), 2, random_state=0).fit(frame, y)
    assert "round 1: score" in model.summary()
    figure = learned_metric_figure(model)
    labels = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert sorted(labels) == ["age", "depth", "height", "width"]
    figure.savefig(tmp_path / "learned.png")
    as_image = learned_metric_figure(model, shape=(2, 2))
    assert as_image.axes[1].images[0].get_array().shape == (2, 2)


@pytest.mark.parametrize("full", [True, False])
def test_of_many_inputs_those_that_matter_are_drawn_with_their_names(full):
    diagonal = np.random.default_rng(0).uniform(size=20_000 if not full else 100)
    diagonal[[7, 93]] = 2.0
    axes = Figure().add_subplot()
    plot_metric(axes, np.diag(diagonal) if full else diagonal, [f"input {k}" for k in range(len(diagonal))])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 40
    assert {"input 7", "input 93"} <= set(labels)
    assert axes.images[0].get_array().shape == (40, 40)
    assert "40 of" in axes.get_title(loc="left")


# --- degenerate data --------------------------------------------------------------------------------------------------


def fit_quietly(model, X, y):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in told]


def test_constant_targets_are_told_and_fitted():
    X, _ = product_of_two(200, 3)
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=64), random_state=0)
    told = fit_quietly(model, X, np.ones(200))
    assert any("gradient of the function fitted in round 0 vanishes" in message for message in told)
    assert model.predict(X) == pytest.approx(np.ones(200))
    assert model.best_round_ == 0


@pytest.mark.parametrize("metric", ["full", "diagonal", "auto"])
@pytest.mark.parametrize("kind", ["one column", "constant column", "duplicated columns", "one direction"])
def test_degenerate_columns_are_no_obstacle(kind, metric):
    X, _ = product_of_two(400, 3)
    y = np.sin(2.0 * X[:, 0])
    X = {
        "one column": X[:, :1],
        "constant column": np.column_stack([X, np.ones(400)]),
        "duplicated columns": np.column_stack([X, X]),
        "one direction": X,
    }[kind]
    machine = RandomFeatureRegressor(n_components=128)
    model = RecursiveFeatureMachine(machine, 2, metric=metric, smoothing=0.4, random_state=0)
    told = fit_quietly(model, X, y)
    assert any("There is one column" in message for message in told) == (kind == "one column")
    assert model.score(X, y) > 0.9
    assert np.isfinite(model.metric_).all()


def test_a_metric_of_one_direction_is_told():
    X, _ = product_of_two(400, 3)
    one_way = ONE_WAY | {"power": 16.0, "metric": "diagonal"}
    model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=64), 1, **one_way, random_state=0)
    told = fit_quietly(model, X, np.sin(2.0 * X[:, 0]))
    assert any("metric of round 1 sees one direction only" in message for message in told)


@pytest.mark.parametrize("constant", [0.1, 0.7, -3e5])
def test_rounding_is_not_taken_for_a_gradient(constant):
    X, _ = product_of_two(200, 3)
    model = RecursiveFeatureMachine(KernelRegressor(), 1, random_state=0)
    told = fit_quietly(model, X, np.full(200, constant))
    assert any("gradient of the function fitted in round 0 vanishes" in message for message in told)
    assert model.best_round_ == 0


def test_a_class_of_one_row_is_fitted():
    X, y = product_of_two(200, 3)
    labels = (y > 0.0).astype(int)
    labels[17] = 2
    machine = RandomFeatureClassifier(n_components=64, loss="squared_error")
    for seed in range(3):
        model = RecursiveFeatureMachine(machine, 2, random_state=seed)
        told = fit_quietly(model, X, labels)
        assert any("No held-out row has the class 2" in message for message in told)
        assert model.classes_.tolist() == [0, 1, 2]


def test_a_thousand_columns_may_have_a_full_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1000)).astype(np.float32)
    machine = RandomFeatureRegressor(SMALL, 64)
    model = RecursiveFeatureMachine(machine, 1, metric="full", **ONE_WAY, random_state=0).fit(X, X[:, 5])
    assert len(model.history_) == 2
    assert model.metric_.shape in ((1000,), (1000, 1000))


def test_a_thousand_columns_have_a_diagonal_metric():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1100)).astype(np.float32)
    machine = RandomFeatureRegressor(SMALL, 64)
    model = RecursiveFeatureMachine(machine, 1, **ONE_WAY, random_state=0).fit(X, X[:, 5])
    assert model.metric_.shape == (1100,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"estimator": StandardScaler()}, "The 'estimator' parameter of RecursiveFeatureMachine must be"),
        ({"estimator": RandomFeatureRegressor(L1Laplacian())}, "with a kernel that has a metric"),
        (
            {"estimator": RandomFeatureRegressor(n_components=3)},
            "The 'n_components' parameter of RandomFeatureRegressor",
        ),
        ({"n_iter": -1}, "The 'n_iter' parameter of RecursiveFeatureMachine must be"),
        ({"metric": "round"}, "The 'metric' parameter of RecursiveFeatureMachine must be"),
        ({"power": -1.0}, "The 'power' parameter of RecursiveFeatureMachine must be"),
        ({"ridge": "some"}, "The 'ridge' parameter of RecursiveFeatureMachine must be"),
        ({"center": "middle"}, "The 'center' parameter of RecursiveFeatureMachine must be"),
        ({"smoothing": -0.1}, "The 'smoothing' parameter of RecursiveFeatureMachine must be"),
        ({"verbose": 3}, "The 'verbose' parameter of RecursiveFeatureMachine must be"),
    ],
)
def test_a_wrong_parameter_is_told_before_any_work(given, message):
    X, y = product_of_two(50, 3)
    model = RecursiveFeatureMachine(**given)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "estimator_")


# --- parts ------------------------------------------------------------------------------------------------------------


def test_forms_have_a_mean_diagonal_of_one_and_the_power_that_they_say():
    outer = np.array([[4.0, 1.0], [1.0, 2.0]])
    moments = GradientMoments(np.zeros((1, 2)), outer)
    full = Form(diagonal=False, power=0.5, ridge=0.0).metric(moments)
    assert np.trace(full) == pytest.approx(2.0)
    assert full @ full / np.trace(full @ full) == pytest.approx(outer / 6.0)
    diagonal = Form(diagonal=True, power=1.0, ridge=0.1).metric(moments)
    assert diagonal == pytest.approx((np.array([4.0, 2.0]) / 3.0 + 0.1) / 1.1)
    assert Form(diagonal=False, power=1.0, ridge=0.1).metric(GradientMoments(np.zeros((1, 2)), 0 * outer)) is None


def test_a_vector_of_length_scales_moves_into_the_metric():
    X = np.random.default_rng(0).normal(size=(6, 2))
    for metric in (None, np.array([1.0, 3.0]), np.array([[2.0, 0.5], [0.5, 1.0]])):
        kernel = Laplacian(np.array([0.5, 2.0]), metric)
        assert with_one_length_scale(kernel)(X) == pytest.approx(kernel(X), abs=1e-12)
