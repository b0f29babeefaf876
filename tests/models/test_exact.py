"""Exact kernel machines against scikit-learn, against each other, and against random features."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from bochner import (
    ExponentialPower,
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    L1Laplacian,
    Laplacian,
    Matern,
    RandomFeatureClassifier,
    RationalQuadratic,
)
from bochner.engine import pairwise
from bochner.models.expansion import Rows
from bochner.models.held_out import squared_errors

KERNELS = [
    Gaussian(2.0),
    Laplacian(3.0),
    Matern(2.5, 2.0),
    ExponentialPower(0.7, 3.0),
    L1Laplacian(5.0),
    RationalQuadratic(2.0, 2.0),
]


def rows(n=300, d=4, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


# --- Cholesky --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_cholesky_is_kernel_ridge(kernel, alpha):
    X, y = rows()
    new = rows(50, seed=1)[0]
    model = KernelRegressor(kernel, alpha=alpha, solver="cholesky").fit(X, y)
    theirs = KernelRidge(alpha=alpha, kernel="precomputed").fit(kernel(X), y - y.mean())
    expected = theirs.predict(kernel(new, X)) + y.mean()
    assert abs(model.predict(new) - expected).max() < 1e-8
    assert model.solver_ == "cholesky"
    assert model.alpha_ == alpha
    assert abs(model.dual_coef_[:, 0] - theirs.dual_coef_).max() < 1e-6 * abs(theirs.dual_coef_).max()


def test_float32_is_kept_and_close():
    X, y = rows(dtype=np.float32)
    new = rows(50, seed=1, dtype=np.float32)[0]
    single = KernelRegressor(Laplacian(3.0), alpha=0.1).fit(X, y).predict(new)
    double = KernelRegressor(Laplacian(3.0), alpha=0.1).fit(X.astype(float), y).predict(new.astype(float))
    assert single.dtype == np.float32
    assert abs(single - double).max() < 1e-4


@pytest.mark.parametrize("alpha", [1e-6, 1e-8])
def test_float32_rows_with_a_small_penalty_are_fitted_as_precisely(alpha):
    """Kernel values rounded to single precision would be noise of 1e-7, far more than the penalty."""
    X, y = rows(600, seed=2, dtype=np.float32)
    kernel, new = Gaussian(3.0), rows(50, seed=3, dtype=np.float32)[0]
    single = KernelRegressor(kernel, alpha=alpha, solver="cholesky").fit(X, y)
    double = KernelRegressor(kernel, alpha=alpha, solver="cholesky").fit(X.astype(np.float64), y)
    expected = double.predict(new.astype(np.float64))
    assert single.predict(new).dtype == np.float32
    assert abs(single.predict(new) - expected).max() < 1e-5 * abs(expected).max()
    K = kernel(X.astype(np.float64)) + alpha * np.eye(len(X))
    left = np.linalg.norm(K @ double.dual_coef_[:, 0] - (y - y.mean())) / np.linalg.norm(y - y.mean())
    assert double.solution_.residual == pytest.approx(left, rel=0.1)  # of roundings


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient", "eigenpro"])
@pytest.mark.parametrize("whole", [True, False])
def test_what_happens_to_the_rows_after_the_fit_changes_nothing(solver, whole):
    X, y = rows()
    mine = X.copy() if whole else np.hstack([X, X])[:, : X.shape[1]]
    model = KernelRegressor(Laplacian(2.0), alpha=1.0, solver=solver, early_stopping=False, random_state=0).fit(mine, y)
    before = model.predict(X)
    mine -= 5.0
    assert np.array_equal(model.predict(X), before)


def test_many_outputs_are_fitted_one_by_one():
    X, y = rows()
    Y = np.stack([y, -2.0 * y + 1.0, X[:, 2]], axis=1)
    model = KernelRegressor(Laplacian(3.0), alpha=0.1).fit(X, Y)
    alone = KernelRegressor(Laplacian(3.0), alpha=0.1).fit(X, Y[:, 1])
    assert model.predict(X).shape == (300, 3)
    assert model.predict(X)[:, 1] == pytest.approx(alone.predict(X), abs=1e-10)
    assert model.intercept_ == pytest.approx(Y.mean(axis=0))


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient", "eigenpro"])
def test_what_is_chosen_does_not_depend_on_the_units_of_targets(solver):
    X, y = rows()
    Y = np.stack([y, X[:, 2] ** 2, np.full(len(y), 7.0)], axis=1)
    units = np.array([1.0 / 1024.0, 4096.0, 2.0**20])
    model = KernelRegressor(solver=solver, random_state=0).fit(X, Y)
    other = KernelRegressor(solver=solver, random_state=0).fit(X, Y * units)
    assert other.alpha_ == model.alpha_
    assert other.kernel_ == model.kernel_
    assert other.predict(X) / units == pytest.approx(model.predict(X), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("loss", ["regressor", "squared_error", "log_loss"])
def test_the_weight_two_is_a_row_that_is_there_twice(loss):
    X, y = rows(80)
    weights = np.random.default_rng(1).integers(0, 3, size=80).astype(float)
    y = y if loss == "regressor" else (y > np.median(y)).astype(int)
    model = KernelRegressor(Laplacian(3.0), alpha=0.3)
    if loss != "regressor":
        model = KernelClassifier(Laplacian(3.0), alpha=0.3, loss=loss)
    repeats = weights.astype(int)
    weighted = clone(model).fit(X, y, weights)
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    how = "predict" if loss == "regressor" else "predict_proba"
    assert getattr(weighted, how)(X) == pytest.approx(getattr(repeated, how)(X), abs=1e-5)


def test_no_penalty_interpolates_even_repeated_rows():
    X, y = rows(60)
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    model = KernelRegressor(Laplacian(3.0), alpha=0.0, solver="cholesky").fit(X, y)
    assert model.predict(X) == pytest.approx(y, abs=1e-8)


# --- iterations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["conjugate_gradient", "eigenpro"])
@pytest.mark.parametrize(("weighted", "dtype"), [(False, np.float64), (True, np.float32)])
@pytest.mark.parametrize(("kernel", "alpha"), [(Laplacian(3.0), 0.5), (Gaussian(3.0), 5.0)], ids=repr)
def test_iterations_agree_with_cholesky(solver, weighted, dtype, kernel, alpha):
    X, y = rows(5000, 5, dtype=dtype)
    new = rows(500, 5, seed=1, dtype=dtype)[0]
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=5000) if weighted else None
    given = {"alpha": alpha, "tol": 1e-4, "max_iter": 300, "early_stopping": False, "random_state": 0}
    iterated = KernelRegressor(kernel, solver=solver, **given).fit(X, y, weights)
    exact = KernelRegressor(kernel, solver="cholesky", **given).fit(X, y, weights).predict(new)
    error = np.linalg.norm(iterated.predict(new) - exact) / np.linalg.norm(exact - y.mean())
    assert iterated.solver_ == solver
    assert iterated.solution_.converged
    assert error < 1e-3


@pytest.mark.filterwarnings("ignore:Kernel.* has not converged")
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_eigenpro_fits_every_kernel(kernel):
    X, y = rows(600)
    new, truth = rows(300, seed=1)
    exact = KernelRegressor(kernel, alpha=0.1, solver="cholesky").fit(X, y).score(new, truth)
    model = KernelRegressor(kernel, alpha=0.1, solver="eigenpro", random_state=0, max_iter=60).fit(X, y)
    assert model.score(new, truth) > exact - 0.02
    assert len(model.points_) == 570  # the others told when to stop


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_conjugate_gradients_fit_every_kernel_on_all_rows(kernel):
    X, y = rows(600)
    exact = KernelRegressor(kernel, alpha=0.1, solver="cholesky").fit(X, y)
    model = KernelRegressor(kernel, alpha=0.1, solver="conjugate_gradient", random_state=0, tol=1e-5).fit(X, y)
    assert model.solution_.converged
    assert np.array_equal(model.points_, X)
    assert model.predict(X) == pytest.approx(exact.predict(X), abs=1e-3)


def test_conjugate_gradients_know_repeated_rows_and_rows_without_weight():
    X, y = rows(800)
    weights = np.random.default_rng(1).integers(0, 3, size=800).astype(float)
    model = KernelRegressor(Laplacian(3.0), alpha=0.3, solver="conjugate_gradient", tol=1e-6, random_state=0)
    weighted = clone(model).fit(X, y, weights)
    repeats = weights.astype(int)
    repeated = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert weighted.predict(X) == pytest.approx(repeated.predict(X), abs=1e-4)
    assert np.array_equal(weighted.points_, X[weights > 0.0])


def test_conjugate_gradients_choose_a_penalty_by_held_out_rows():
    """Near the one that the factorisation chooses; on pure noise a hundred times larger."""
    X, y = rows(1500, dtype=np.float64)
    noise = np.random.default_rng(0).normal(size=1500)
    given, chosen = {"kernel": Laplacian(1.0), "random_state": 0}, []
    for target in (y, noise):
        by_rows = KernelRegressor(**given, solver="conjugate_gradient").fit(X, target)
        exact = KernelRegressor(**given, solver="cholesky").fit(X, target)
        assert 0.09 < by_rows.alpha_ / exact.alpha_ < 11.0
        assert len(by_rows.points_) == 1500
        chosen.append(by_rows.alpha_)
    assert chosen[1] > 100.0 * chosen[0]


@pytest.mark.parametrize("early_stopping", [True, False])
def test_eigenpro_takes_a_large_penalty_where_there_is_much_noise(early_stopping):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(1200, 2))
    truth = np.sin(2.0 * X[:, 0])
    y = truth + rng.normal(size=1200)
    given = {"kernel": Laplacian(1.0), "random_state": 0}
    exact = KernelRegressor(**given, solver="cholesky").fit(X, y)
    model = KernelRegressor(**given, solver="eigenpro", early_stopping=early_stopping).fit(X, y)
    assert 0.3 < model.alpha_ / exact.alpha_ < 3.0
    assert model.score(X, truth) > exact.score(X, truth) - 0.1


def test_eigenpro_stops_early_on_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    model = KernelRegressor(Laplacian(1.0), alpha=1e-6, solver="eigenpro", random_state=0).fit(X, y)
    assert model.solution_.n_iter < 20
    assert "held-out error" in model.solution_.message


def test_steps_on_a_smooth_kernel_do_not_go_astray():
    """Of clusters, eigenvectors of a sample leave its own rows much less than others."""
    rng = np.random.default_rng(0)
    centers, which = rng.uniform(20.0, 235.0, size=(12, 3)), rng.integers(12, size=6000)
    widths = rng.choice([1.0, 4.0, 25.0], size=(6000, 1))
    X = np.clip(np.rint(centers[which] + widths * rng.normal(size=(6000, 3))), 0.0, 255.0) + 1.0
    X = (X / np.linalg.norm(X, axis=1)[:, None]).astype(np.float32)
    y = np.where(which % 3 == 0, 1.0, -1.0)
    given = {"kernel": Matern(1.5, 0.12), "alpha": 0.1, "random_state": 0}
    exact = KernelRegressor(**given, solver="cholesky").fit(X[:5000], y[:5000])
    model = KernelRegressor(**given, solver="eigenpro").fit(X[:5000], y[:5000])
    assert model.solution_.residual < 0.5
    assert abs(model.predict(X[5000:]) - exact.predict(X[5000:])).mean() < 0.1


@pytest.mark.filterwarnings("ignore:Kernel.* has not converged")
@pytest.mark.parametrize("solver", ["conjugate_gradient", "eigenpro"])
def test_the_matrix_is_never_held_by_iterations(solver, monkeypatch):
    """Blocks that they ask for are rows of a batch by the sample: far less than n by n."""
    X, y = rows(9000)
    asked, whole = [], pairwise.matrix

    def watched(*block):
        result = whole(*block)
        asked.append(result.size)
        return result

    monkeypatch.setattr(pairwise, "matrix", watched)
    KernelRegressor(Laplacian(3.0), alpha=0.1, solver=solver, random_state=0, max_iter=2, tol=1e-1).fit(X, y)
    assert len(asked) > 3
    assert max(asked) <= 4096**2 < 8550**2


def test_coefficients_belong_to_the_rows_in_their_order():
    X, y = rows(500)
    given = {"alpha": 0.5, "solver": "eigenpro", "tol": 1e-6, "max_iter": 1000, "random_state": 0}
    model = KernelRegressor(Laplacian(3.0), early_stopping=False, **given).fit(X, y)
    assert np.array_equal(model.points_, X)
    exact = KernelRegressor(Laplacian(3.0), alpha=0.5, solver="cholesky").fit(X, y)
    assert model.dual_coef_ == pytest.approx(exact.dual_coef_, abs=1e-3 * abs(exact.dual_coef_).max())
    stopped = KernelRegressor(Laplacian(3.0), **given).fit(X, y)
    kept = [next(i for i in range(500) if np.array_equal(X[i], point)) for point in stopped.points_]
    assert kept == sorted(kept)
    values = Laplacian(3.0)(X, stopped.points_) @ stopped.dual_coef_ + stopped.intercept_
    assert stopped.predict(X) == pytest.approx(values[:, 0], abs=1e-10)


def test_equal_rows_are_held_out_together():
    X, y = rows(300)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)[:, None]
    split = KernelRegressor()._split(Rows.of(X, y, None), squared_errors(y), np.random.default_rng(0), wanted=True)
    assert len(split.held) == 30
    assert sorted([*split.held, *split.kept]) == list(range(600))
    assert not (set(split.held // 2) & set(split.kept // 2))


def test_the_choice_goes_by_memory():
    X, y = rows(400)
    with config_context(working_memory=1):
        assert KernelRegressor(Laplacian(3.0), alpha=0.1, random_state=0).fit(X, y).solver_ == "conjugate_gradient"
        by_log_loss = KernelClassifier(Laplacian(3.0), alpha=1.0, loss="log_loss", random_state=0)
        assert by_log_loss.fit(X, y > 0.0).solver_ == "conjugate_gradient"
    assert KernelRegressor(Laplacian(3.0), alpha=0.1).fit(X, y).solver_ == "cholesky"


def test_a_summary_tells_of_the_fit_not_of_parameters_set_since():
    X, y = rows()
    model = KernelClassifier(Laplacian(2.0), alpha=1.0, loss="log_loss").fit(X, y > 0)
    told = model.summary()
    assert model.set_params(alpha="auto", loss="squared_error").summary() == told
    assert "chosen" not in told
    assert "log_loss" in told


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_iterations_are_at_most_as_many_as_asked_for(loss):
    X, y = rows()
    model = KernelClassifier(
        Laplacian(2.0), alpha=1e-3, loss=loss, solver="auto" if loss == "log_loss" else "conjugate_gradient"
    )
    with pytest.warns(ConvergenceWarning, match="has not converged") as caught:
        model.set_params(max_iter=2, tol=1e-9).fit(X, y > 0)
    assert model.n_iter_ == 2
    assert [warning.filename for warning in caught] == [__file__]  # it points to the call of the user


def test_too_few_epochs_are_told():
    X, y = rows(1000)
    model = KernelRegressor(
        Laplacian(3.0), alpha=1e-3, solver="eigenpro", early_stopping=False, max_iter=1, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="after 1 epochs"):
        model.fit(X, y)


@pytest.mark.parametrize("solver", ["conjugate_gradient", "eigenpro"])
def test_the_same_seed_gives_the_same_model(solver):
    X, y = rows(1000)
    model = KernelRegressor(Laplacian(3.0), alpha=0.1, solver=solver, random_state=3, max_iter=50)
    assert np.array_equal(clone(model).fit(X, y).predict(X), clone(model).fit(X, y).predict(X))


# --- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [200, 600])
def test_log_loss_is_stationary(n_classes, alpha, weighted, n):
    """Where the objective is least, the coefficients are the weighted residuals over the penalty."""
    X, _ = rows(n)
    y = (X[:, :n_classes] + np.random.default_rng(1).gumbel(size=(n, n_classes))).argmax(axis=1)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    model = KernelClassifier(Laplacian(3.0), loss="log_loss", alpha=alpha).fit(X, y, weights)
    residuals = np.eye(n_classes)[y] - model.predict_proba(X)
    residuals = weights[:, None] * (residuals[:, 1:] if n_classes == 2 else residuals)
    assert model.dual_coef_ * alpha == pytest.approx(residuals, abs=1e-5)
    frequencies = np.log(np.bincount(y, weights) / weights.sum())
    expected = frequencies[1:] - frequencies[:1] if n_classes == 2 else frequencies - frequencies.mean()
    assert model.intercept_ == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:Kernel.* has not converged")
@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient", "eigenpro"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_loss_does_not_depend_on_the_unit_of_weights(solver, n_classes):
    X, y = rows(150)[0], np.repeat([0, 1, n_classes - 1], [100, 30, 20])
    how = {"loss": "log_loss", "solver": solver, "tol": 1e-5, "early_stopping": False, "max_iter": 300}
    frequencies = np.log(np.bincount(y) / len(y))
    expected = np.diff(frequencies) if n_classes == 2 else frequencies - frequencies.mean()
    probabilities = []
    for unit in (1.0, 1e-3):
        model = KernelClassifier(Laplacian(2.0), alpha=unit, random_state=0, **how).fit(X, y, np.full(150, unit))
        assert model.intercept_ == pytest.approx(expected)
        probabilities.append(model.predict_proba(X))
    assert probabilities[0] == pytest.approx(probabilities[1], abs=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("solver", "tolerance"), [("conjugate_gradient", 1e-4), ("eigenpro", 5e-3)])
def test_log_loss_by_iterations_is_that_by_cholesky(solver, tolerance, n_classes):
    X, _ = rows(1200)
    y = (X[:, :n_classes] + np.random.default_rng(1).gumbel(size=(1200, n_classes))).argmax(axis=1)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, size=1200)
    given = {"loss": "log_loss", "alpha": 1.0, "early_stopping": False, "tol": 1e-4, "random_state": 0}
    exact = KernelClassifier(Laplacian(3.0), solver="cholesky", **given).fit(X, y, weights)
    iterated = KernelClassifier(Laplacian(3.0), solver=solver, max_iter=200, **given).fit(X, y, weights)
    assert iterated.predict_proba(X) == pytest.approx(exact.predict_proba(X), abs=tolerance)


@pytest.mark.parametrize("alpha", [1e-3, 1e-1])
def test_log_loss_by_conjugate_gradients_is_stationary_with_a_small_penalty(alpha):
    X, y = load_digits(return_X_y=True)
    model = KernelClassifier(
        Laplacian("median"), loss="log_loss", alpha=alpha, solver="conjugate_gradient", tol=1e-4, random_state=0
    ).fit(X / 16.0, y)
    assert model.solution_.converged
    residuals = np.eye(10)[y] - model.predict_proba(X / 16.0)
    error = np.linalg.norm(alpha * model.dual_coef_ - residuals) / np.linalg.norm(np.eye(10)[y] - 0.1)
    assert error < 2e-4


@pytest.mark.parametrize("kind", ["exact", "features"])
def test_penalties_of_many_columns_are_not_those_of_narrow_features(kind):
    """Narrow features take for noise what they cannot tell apart: 0.1 would be their penalty for both."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 200)).astype(np.float32)
    y = (X @ rng.normal(size=(200, 4))).argmax(axis=1)
    kernel, given = Laplacian("median"), {"loss": "log_loss", "random_state": 0}

    def fitted(alpha):
        if kind == "exact":
            return KernelClassifier(kernel, alpha=alpha, **given).fit(X[:2100], y[:2100])
        return RandomFeatureClassifier(kernel, 6000, alpha=alpha, **given).fit(X[:2100], y[:2100])

    def loss(model):
        return log_loss(y[2100:], model.predict_proba(X[2100:]))

    assert loss(fitted("auto")) < {"exact": 0.8, "features": 0.97}[kind] * loss(fitted(0.1))


@pytest.mark.filterwarnings("ignore:Kernel.* has not converged")
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient", "eigenpro"])
def test_digits_are_read(loss, solver):
    X, y = load_digits(return_X_y=True)
    X, Xt, y, yt = train_test_split(X / 16.0, y, random_state=0)
    model = KernelClassifier(Laplacian("median"), loss=loss, solver=solver, alpha=1e-2, random_state=0).fit(X, y)
    assert model.score(Xt, yt) > 0.97
    probabilities = model.predict_proba(Xt)
    assert probabilities.shape == (len(Xt), 10)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)


def test_features_approach_the_exact_machine():
    X, y = load_iris(return_X_y=True)
    exact = KernelClassifier(Laplacian(3.0), loss="squared_error", alpha=0.5).fit(X, y).decision_function(X)
    errors = [
        abs(
            RandomFeatureClassifier(Laplacian(3.0), p, loss="squared_error", alpha=0.5, random_state=0)
            .fit(X, y)
            .decision_function(X)
            - exact
        ).mean()
        for p in (64, 16_384)
    ]
    assert errors[1] < 0.01
    assert errors[1] < 0.3 * errors[0]


# --- choices ---------------------------------------------------------------------------------------------------------


def test_everything_is_chosen_by_itself():
    X, y = rows(800)
    new, truth = rows(300, seed=1)
    model = KernelRegressor(random_state=0).fit(X, y)
    assert model.score(new, truth) > 0.9
    text = model.summary()
    for part in ("KernelRegressor on 800 rows of 4 columns", "Laplacian(length_scale=", "(chosen)", "cholesky"):
        assert part in text


BAD = {
    "kernel": ("nothing", 3),
    "alpha": (-1.0, "much"),
    "solver": ("gram", None),
    "tol": (0.0, "small"),
    "max_iter": (0, 1.5),
    "early_stopping": ("yes", 1),
    "verbose": ("yes", 2),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
@pytest.mark.parametrize("estimator", [KernelRegressor, KernelClassifier])
def test_a_wrong_parameter_is_told_before_any_work(estimator, name, value):
    X, y = rows(30)
    with pytest.raises(ValueError, match=f"'{name}' parameter of {estimator.__name__}"):
        estimator(**{name: value}).fit(X, y > 0)
