"""Exact kernel machines where rows repeat, weights and targets differ greatly, or single precision ends."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from bochner import Gaussian, KernelClassifier, KernelRegressor, Laplacian, RandomFeatureRegressor, RandomFeatures

SOLVERS = ["cholesky", "conjugate_gradient", "eigenpro"]


def function(X):
    return np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2


def rows(n=200, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, function(X) + noise * rng.normal(size=n)


X, Y = rows()
NEW = rows(300, seed=9)[0]


def r2(prediction):
    return 1.0 - np.mean((prediction - function(NEW)) ** 2) / np.var(function(NEW))


def reference(kernel, alpha, weights):
    """Solve as it stands, in float64."""
    mean = np.average(Y, weights=weights)
    return kernel(NEW, X) @ np.linalg.solve(kernel(X) + np.diag(alpha / weights), Y - mean) + mean


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "alpha"), [(Gaussian(3.0), 1e-4), (Laplacian(3.0), 1.0)], ids=repr)
@pytest.mark.parametrize("heavy", [1e7, 1e10, 1e15])
def test_rows_of_great_weight_do_not_make_the_others_rounding(kernel, alpha, heavy):
    weights = np.ones(len(X))
    weights[:3] = heavy
    model = KernelRegressor(kernel, alpha=alpha, solver="cholesky").fit(X, Y, weights)
    expected = reference(kernel, alpha, weights)
    assert abs(model.predict(NEW) - expected).max() < 1e-6 * np.ptp(expected)


def test_rows_of_hardly_any_weight_are_fitted_as_well():
    weights = np.where(np.arange(len(X)) < 20, 1.0, 1e-12)
    model = KernelRegressor(Laplacian(3.0), alpha=1e-13, solver="cholesky").fit(X, Y, weights)
    expected = reference(Laplacian(3.0), 1e-13, weights)
    assert abs(model.predict(NEW) - expected).max() < 1e-6 * np.ptp(expected)


@pytest.mark.parametrize("solver", ["conjugate_gradient", "eigenpro"])
def test_iterations_with_unequal_weights_end_where_cholesky_does_or_say_so(solver):
    weights = np.exp(2.0 * np.random.default_rng(3).normal(size=len(X)))
    model = KernelRegressor(Laplacian(3.0), alpha=0.1, solver=solver, early_stopping=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y, weights)
    expected = reference(Laplacian(3.0), 0.1, weights)
    is_near = abs(model.predict(NEW) - expected).max() < 0.01 * np.ptp(expected)
    assert is_near or not model.solution_.converged


# --- rows that are the same ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("seed", [1, 5])
def test_copies_of_rows_do_not_lead_eigenpro_astray(early_stopping, seed):
    rng = np.random.default_rng(seed)
    repeated = np.repeat(rng.normal(size=(250, 4)), 4, axis=0)
    y = function(repeated) + 0.3 * rng.normal(size=1000)
    parameters = {"solver": "eigenpro", "early_stopping": early_stopping, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a hundred epochs may not be enough
        model = KernelRegressor(Laplacian(3.0), **parameters).fit(repeated, y)
    assert r2(model.predict(NEW)) > 0.8


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_copies_with_several_labels_have_their_shares_without_a_warning(solver):
    repeated, labels = np.repeat(X[:50], 4, axis=0), np.tile([0, 1, 1, 1], 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = KernelClassifier(Laplacian(3.0), loss="log_loss", alpha=0.1, solver=solver).fit(repeated, labels)
    assert model.predict_proba(NEW)[:, 1] == pytest.approx(0.75, abs=1e-6)
    assert model.solution_.converged


# --- targets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [KernelRegressor, RandomFeatureRegressor])
def test_a_target_that_is_constant_but_for_rounding_has_no_say(make):
    shares = np.random.default_rng(0).random((len(X), 6)).astype(np.float32)
    ones = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=1)
    assert np.ptp(ones) > 0.0
    alone, beside = make(random_state=0).fit(X, Y), make(random_state=0).fit(X, np.c_[Y, ones])
    assert beside.alpha_ == alone.alpha_
    assert beside.kernel_ == alone.kernel_


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e-200, 1e160, 1e307])
def test_targets_of_any_size_are_fitted(solver, scale):
    model = KernelRegressor(Laplacian(3.0), solver=solver, random_state=0).fit(X, Y)
    other = KernelRegressor(Laplacian(3.0), solver=solver, random_state=0).fit(X, Y * scale)
    assert other.predict(NEW) / scale == pytest.approx(
        model.predict(NEW), rel=0.0, abs=5e-3
    )  # the penalty may differ by a step


@pytest.mark.parametrize("scale", [1e-200, 1e160])
@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
def test_error_bars_have_the_unit_of_targets_of_any_size(solver, scale):
    def deviations(y):
        model = RandomFeatureRegressor(Laplacian(3.0), n_components=256, alpha=0.1, solver=solver, random_state=0)
        return model.fit(X, y).predict(NEW, return_std=True)[1]

    assert deviations(Y * scale) / scale == pytest.approx(deviations(Y), rel=1e-3)


def test_nothing_to_fit_is_done_at_once():
    model = KernelRegressor(Laplacian(3.0), solver="eigenpro").fit(X, np.full(len(X), 7.0))
    assert model.solution_.residual == 0.0
    assert model.predict(NEW) == pytest.approx(7.0)


# --- single precision ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_what_single_precision_cannot_solve_is_told(tol):
    """A smooth kernel and a small penalty: coefficients are so large that roundings of the kernel add up."""
    data, y = rows(1200)
    model = KernelRegressor(Gaussian(3.0), alpha=1e-5, solver="conjugate_gradient", tol=tol, random_state=0)
    with pytest.warns(ConvergenceWarning, match="single precision ends there.* float64 data"):
        model.fit(data.astype(np.float32), y)
    kernel = Gaussian(3.0)(data.astype(np.float32).astype(np.float64))
    left = kernel @ model.dual_coef_[:, 0] + 1e-5 * model.dual_coef_[:, 0] - (y - y.mean())
    true = np.linalg.norm(left) / np.linalg.norm(y - y.mean())
    assert true / 1.5 < model.solution_.residual < 1.5 * true


def test_where_single_precision_suffices_nothing_is_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = KernelRegressor(Laplacian(3.0), alpha=1e-3, solver="conjugate_gradient").fit(X.astype(np.float32), Y)
    assert model.solution_.converged


# --- what users do ---------------------------------------------------------------------------------------------------


class Holder:
    """Data that show their own array, as labelled arrays do."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)

    def __len__(self):
        return len(self.array)


def test_data_that_a_holder_shows_are_copied():
    data = X.copy()
    model = KernelRegressor(Laplacian(3.0), alpha=0.1, solver="cholesky").fit(Holder(data), Y)
    before = model.predict(NEW)
    data[:] = 0.0
    assert np.array_equal(model.predict(NEW), before)


@pytest.mark.parametrize("kernel", ["laplacian", "matern"])
def test_parameters_of_a_kernel_that_is_named_are_searched(kernel):
    grid = {"kernel__length_scale": [1e-3, 2.0]}
    search = GridSearchCV(KernelRegressor(kernel, alpha=0.1), grid, cv=3).fit(X, Y)
    assert search.best_params_ == {"kernel__length_scale": 2.0}


def test_setting_a_parameter_of_a_named_kernel_leaves_the_length_scale_to_the_estimator():
    assert KernelRegressor("matern").set_params(kernel__nu=2.5).kernel.length_scale == "auto"
    assert RandomFeatures("matern").set_params(kernel__nu=2.5).kernel.length_scale == "median"
    other = RandomFeatures("laplacian").set_params(kernel="matern", kernel__nu=2.5)
    assert other.kernel.nu == 2.5
    with pytest.raises(ValueError, match="Laplacian has no parameter 'nu'"):
        KernelRegressor("laplacian").set_params(kernel__nu=2.5)


def test_the_tolerance_that_is_told_is_the_one_asked_for():
    labels = (function(X) > 0.5).astype(int)
    model = KernelClassifier(Laplacian(3.0), loss="log_loss", alpha=0.1, solver="cholesky", tol=1e-3).fit(X, labels)
    assert model.solution_.message.endswith("1.0e-03 was asked for.")
