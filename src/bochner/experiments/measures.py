"""What is measured in one setting: four kinds, each a function of the setting's values and the data.

Fits show how far they are, if that is wanted.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Matern as PeerMatern
from sklearn.preprocessing import normalize

from bochner import (
    ExponentialPower,
    KernelClassifier,
    KernelRegressor,
    Laplacian,
    Matern,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RandomFeatures,
    memory,
)
from bochner.datasets import Dataset
from bochner.diagnostics import approximation_error, expected_calibration_error

from .plan import Values

Kernel = Laplacian | ExponentialPower | Matern
Array = NDArray[Any]
Figures = dict[str, Any]

#: Directions and sampling of the schemes: the paper's two, and what this library adds.
SCHEMES = {
    "rff": ("gaussian", "random"),
    "orf": ("orthogonal", "random"),
    "orf-stratified": ("orthogonal", "stratified"),
    "orf-sobol": ("orthogonal", "sobol"),
    "hadamard": ("hadamard", "stratified"),
}
#: The paper says so for the calibration only; taken for all its tables.
EXPONENT, NU = 0.7, 1.5
#: Of the memory of the machine, or of its container, what features may take to be kept for all passes over them.
_SHARE_OF_MEMORY = 0.6


def kernel_of(values: Values, length_scale: Any) -> Kernel:
    """Give the kernel of a setting."""
    if values["kernel"] == "laplacian":
        return Laplacian(length_scale)
    if values["kernel"] == "exponential-power":
        return ExponentialPower(values.get("exponent", EXPONENT), length_scale)
    return Matern(values.get("nu", NU), length_scale)


def features_of(values: Values, kernel: Kernel) -> RandomFeatures:
    """Give the unfitted features of a setting."""
    return RandomFeatures(kernel, values["n_components"], random_state=values["seed"], **_scheme(values))


def _scheme(values: Values) -> dict[str, Any]:
    directions, sampling = SCHEMES[values["method"]]
    return {"directions": directions, "sampling": sampling}


def some_rows(values: Values, data: Dataset) -> tuple[Array, Array]:
    """Give the training part, or as many rows of it as a setting has: drawn, the same for all settings."""
    n_rows = values.get("n_rows", len(data.X_train))
    if n_rows >= len(data.X_train):
        return data.X_train, data.y_train
    rows = np.sort(np.random.default_rng(0).choice(len(data.X_train), n_rows, replace=False))
    return data.X_train[rows], data.y_train[rows]


def split_anew(values: Values, data: Dataset) -> Dataset:
    """Draw a fifth for testing, by the seed, of all rows or of the training part, if a setting says so."""
    if "split" not in values:
        return data
    parts = {
        "all": [(data.X_train, data.y_train), (data.X_test, data.y_test)],
        "training": [(data.X_train, data.y_train)],
    }
    X, y = (np.concatenate(arrays) for arrays in zip(*parts[values["split"]], strict=True))
    order = np.random.default_rng(values["seed"]).permutation(len(X))
    test, train = np.split(order, [len(X) // 5])
    return replace(data, X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test])


def without_columns(values: Values, data: Dataset) -> Dataset:
    """Leave columns out, if a setting says so; rows get the length 1 again."""
    if "without" not in values:
        return data
    X_train, X_test = (normalize(np.delete(X, values["without"], axis=1)) for X in (data.X_train, data.X_test))
    return replace(data, X_train=X_train, X_test=X_test)


def in_precision(values: Values, data: Dataset) -> Dataset:
    """Give inputs in the precision of a setting, single if it has none."""
    X_train, X_test = (X.astype(values.get("dtype", "float32"), copy=False) for X in (data.X_train, data.X_test))
    return replace(data, X_train=X_train, X_test=X_test)


def approximation(values: Values, data: Dataset, verbose: bool) -> Figures:
    """Measure the relative error of the kernel matrix of some rows."""
    X, _ = some_rows(values, in_precision(values, data))
    features = features_of(values, kernel_of(values, "median")).fit(X)
    return {"error": float(approximation_error(features, X, norm=values["norm"])), "n_rows": len(X)}


def speed(values: Values, data: Dataset, verbose: bool) -> Figures:
    """Measure the time of a Matérn matrix: exactly here and by scikit-learn, or by features and their product."""
    X, _ = some_rows(values, data)
    kernel = Matern(values["nu"], "median").resolve(X)
    kernel(X[:100])  # compiled before
    measured = _speed_of_exact(kernel, X) if values["method"] == "exact" else _speed_of_features(values, kernel, X)
    return measured | {"n_rows": len(X)}


def _speed_of_exact(kernel: Matern, X: Array) -> Figures:
    peer = PeerMatern(length_scale=kernel.length_scale, nu=kernel.nu)
    ours, seconds = _timed(lambda: kernel(X), 5)
    theirs, seconds_of_theirs = _timed(lambda: peer(X), 2)
    return {
        "seconds of matrix": seconds,
        "scikit-learn seconds": seconds_of_theirs,
        "largest difference": float(abs(theirs - ours).max()),
    }


def _speed_of_features(values: Values, kernel: Matern, X: Array) -> Figures:
    """Frequencies are drawn once for any number of rows, so their time is apart. Other seeds repeat it all."""
    features, seconds_of_drawing = _timed(lambda: features_of(values, kernel).fit(X), 1)
    features.transform(X[:100])  # compiled before

    def by_features() -> Array:
        Phi = features.transform(X)
        return Phi @ Phi.T

    approximate, seconds = _timed(by_features, 1)
    exact = kernel(X)
    return {
        "error": float(np.linalg.norm(approximate - exact) / np.linalg.norm(exact)),
        "seconds of matrix": seconds,
        "drawing seconds": seconds_of_drawing,
    }


def _timed(call: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Give a result and the least time of some calls."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return result, float(best)


def prediction(values: Values, data: Dataset, verbose: bool) -> Figures:
    """Fit by squared errors, with length scale and penalty (per row) as given or chosen, and score on the test part."""
    data = in_precision(values, without_columns(values, split_anew(values, data)))
    X, y = some_rows(values, data)
    model = _machine(values, data.task, "squared_error", len(X), verbose)
    with warnings.catch_warnings():
        if "epochs" in values:  # ended early, as is wanted
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(max_iter=values["epochs"], early_stopping=False)
        fitted, seconds = _fitted(model, X, y)
    return _described(fitted, seconds, X, data) | {"score": float(fitted.score(data.X_test, data.y_test))}


def calibration(values: Values, data: Dataset, verbose: bool) -> Figures:
    """Fit a classifier by a loss, else as in `prediction`, and measure how far its probabilities can be trusted.

    Those of squared errors are the scores, clipped; the paper's figures of about 0.7 must be those of their softmax,
    which it does not say.
    """
    X, y = some_rows(values, data)
    model = _machine(values, data.task, values["loss"], len(X), verbose)
    fitted, seconds = _fitted(model, X, y)
    probabilities = fitted.predict_proba(data.X_test)
    figures = {
        "score": float(fitted.score(data.X_test, data.y_test)),
        "ece": float(expected_calibration_error(data.y_test, probabilities)),
    }
    if values["loss"] == "squared_error":
        by_softmax = softmax(fitted.decision_function(data.X_test), axis=1)
        figures["ece of softmax"] = float(expected_calibration_error(data.y_test, by_softmax))
    return _described(fitted, seconds, X, data) | figures


def _fitted(model: Any, X: Array, y: Array) -> tuple[Any, float]:
    """Fit, and give the time; features are kept if the memory can hold them, kernel matrices never."""
    exact = isinstance(model, (KernelRegressor, KernelClassifier))
    with config_context(working_memory=None if exact else _room()):
        return _timed(lambda: model.fit(X, y), 1)


def _room() -> int | None:
    """Give the ``working_memory`` for features, in MiB; None, which leaves it as it is, if the system does not tell."""
    total = memory.total()
    return None if math.isinf(total) else int(_SHARE_OF_MEMORY * total / 2**20)


def _machine(values: Values, task: str, loss: str, n_rows: int, verbose: bool) -> Any:
    kernel, alpha = kernel_of(values, values.get("length_scale", "auto")), values.get("alpha", "auto")
    given = {"random_state": values["seed"], "verbose": verbose, "solver": values.get("solver", "auto")}
    given["alpha"] = alpha if isinstance(alpha, str) else alpha * n_rows
    if values["method"] == "exact":
        estimators: tuple[Any, Any] = KernelRegressor, KernelClassifier
    else:
        estimators = RandomFeatureRegressor, RandomFeatureClassifier
        given |= {"n_components": values["n_components"], **_scheme(values)}
    regressor, classifier = estimators
    return regressor(kernel, **given) if task == "regression" else classifier(kernel, loss=loss, **given)


def _described(model: Any, seconds: float, X: Array, data: Dataset) -> Figures:
    return {
        "fit seconds": seconds,
        "n_rows": len(X),
        "all rows": len(data.X_train),
        "length scale": float(model.kernel_.length_scale),
        "alpha": float(model.alpha_),
        "solver": model.solver_,
        "converged": bool(model.solution_.converged),
    }


KINDS: dict[str, Callable[[Values, Dataset, bool], Figures]] = {
    "approximation": approximation,
    "speed": speed,
    "prediction": prediction,
    "rows": prediction,
    "widths": prediction,
    "copy": prediction,
    "choices": prediction,
    "smoothness": prediction,
    "epochs": prediction,
    "calibration": calibration,
    "penalties": calibration,
}
