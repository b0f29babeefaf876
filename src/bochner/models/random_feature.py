"""Ridge and logistic regression on random features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from .._validation import check_choice, invalid, is_number
from ..kernels import Kernel
from ..solvers import FoldedGram, curvature_weights, log_losses
from .base import LogLossTrial, RandomFeatureModel, SquaredErrorTrial
from .linear import LinearModel, ridge_from_sums, softmax_model

Array = NDArray[Any]

# Rows held out for the temperature.
_HELD_OUT = 0.15
# Newton steps on each block of a stream, and the least curvature that a row is taken to have.
_STEPS_PER_BLOCK, _LEAST_CURVATURE = 4, 0.02


class RandomFeatureRegressor(MultiOutputMixin, RegressorMixin, RandomFeatureModel):
    """Ridge regression on random features: a kernel machine at the cost of a linear model.

    Minimises ``|Phi t + b - y|^2 + alpha |t|^2`` over coefficients t and a free intercept b.

    Parameters
    ----------
    kernel : str or kernel, default="laplacian"
        A kernel, whose ``length_scale`` may be "auto" or "median", or the name of one, which then is "auto": the median
        distance, refined by trials on a subsample.
    n_components : int, default=2048
        Number of features.
    alpha : float or "auto", default="auto"
        Penalty; "auto" chooses it by the squared error on held-out rows, from the same pass over the data.
    directions, sampling : str
        See `RandomFeatures`.
    solver : {"auto", "gram", "conjugate_gradient"}, default="auto"
        By a Gram matrix, or by iterations over features that are made anew in each; "auto" by cost and memory.
    tol : float, default=1e-4
        Relative residual at which iterations stop.
    max_iter : int, default=200
    verbose : bool, default=False
        Show a progress bar if the fit takes longer than a second.
    random_state : None, int, Generator or RandomState, default=None

    Attributes
    ----------
    features_ : RandomFeatures
    kernel_ : kernel
    alpha_ : float
    solver_ : str
    solution_ : Solution
        With ``converged``, ``n_iter``, ``residual`` and ``message``.
    coef_ : array of shape (n_components,) or (n_outputs, n_components)
    intercept_ : float or array of shape (n_outputs,)
    noise_variance_ : float or array of shape (n_outputs,)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bochner import RandomFeatureRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomFeatureRegressor(n_components=256, random_state=0).fit(X, y)
    >>> mean, std = model.predict(X[:3], return_std=True)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    def __init__(
        self,
        kernel: str | Kernel = "laplacian",
        n_components: int = 2048,
        *,
        alpha: float | str = "auto",
        directions: str = "auto",
        sampling: str = "stratified",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.directions = directions
        self.sampling = sampling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RandomFeatureRegressor:
        """Fit to (n, d) data and (n,) or (n, k) targets.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,) or (n, k)
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row that is there twice.

        Returns
        -------
        self
        """
        rng = self._validate_parameters()
        given, X = X, self._checked(X, reset=True)
        targets, flat = self._targets(y, X)
        X, targets, weights = _with_weight(X, targets, self._checked_weights(sample_weight, X))
        for_trial, for_features, for_solver = rng.spawn(3)
        mean = np.average(targets, axis=0, weights=weights)
        self._check_size(X, targets.shape[1])
        with self._progress() as progress:
            trial = SquaredErrorTrial(self, X, targets, weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            model = self._fit_ridge(features, X, targets - mean, weights, trial, for_solver, progress)
        model = _shifted(model, mean)
        self._accept(given, features, _model=model, _sums=None, _flat=flat)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> RandomFeatureRegressor:
        """Add rows to what was fitted by `partial_fit` before; the first rows fix the kernel's length scale.

        The result does not depend on how the rows are cut into calls. A model fitted by `fit` begins anew.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,) or (n, k)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        rng = self._validate_parameters()
        first = getattr(self, "_sums", None) is None
        given, X = X, self._checked(X, reset=first)
        targets, flat = self._targets(y, X)
        X, targets, weights = _with_weight(X, targets, self._checked_weights(sample_weight, X))
        for_trial, for_features, _ = rng.spawn(3)
        if first:
            trial = SquaredErrorTrial(self, X, targets, weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            sums, shift = self._empty_sums(features, targets.shape[1]), np.average(targets, axis=0, weights=weights)
        else:
            features, sums, shift = self.features_, self._sums.copy(), self._shift
            if targets.shape[1] != sums.parts[0].shape[1]:
                raise ValueError(
                    f"y has {targets.shape[1]} outputs, not {sums.parts[0].shape[1]} as in the first call."
                )
        self._add(sums, features, X, targets - shift, weights)
        if first:
            self._accept(given, features, _flat=flat, _shift=shift)
        self._model, self._sums, self._stream_alpha = None, sums, self._given_alpha
        return self

    def _solve_stream(self) -> LinearModel:
        return _shifted(super()._solve_stream(), self._shift)

    def _targets(self, y: Any, X: Any) -> tuple[Array, bool]:
        """Check y and give it as (n, k), and whether it came as a vector."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        checked = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        if checked.ndim not in (1, 2):
            raise ValueError(f"y must have one or two dimensions. Got shape {checked.shape}.")
        check_consistent_length(X, checked)
        return checked.reshape(len(checked), -1), checked.ndim == 1

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict targets, and with ``return_std`` also their standard deviations.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        return_std : bool, default=False
            The deviation of a new target from the prediction: noise and what is not known of the function. After
            conjugate gradients the latter comes from the rows of the preconditioner.

        Returns
        -------
        mean : array of shape (n,) or (n, k)
        std : array of the same shape
            Only with ``return_std``.
        """
        mean = self._scores(X)
        mean = mean[:, 0] if self._flat else mean
        if not return_std:
            return mean
        uncertainty = self._fitted().uncertainty
        X = self._checked(X, reset=False)
        std = np.empty((X.shape[0], len(uncertainty.noise_variance)), dtype=mean.dtype)
        for rows, block in self._design(self.features_, X):
            std[rows] = uncertainty.standard_deviation(block)
        return mean, std[:, 0] if self._flat else std

    @property
    def coef_(self) -> Array:
        """Coefficients of the features."""
        coefficients = self._fitted().coefficients.T
        return coefficients[0] if self._flat else coefficients

    @property
    def intercept_(self) -> Any:
        """What is added."""
        intercept = self._fitted().intercept
        return float(intercept[0]) if self._flat else intercept

    @property
    def noise_variance_(self) -> Any:
        """Variance of the noise, estimated from the residuals."""
        variances = self._fitted().uncertainty.noise_variance
        return float(variances[0]) if self._flat else variances

    def _further_lines(self) -> list[str]:
        variances = self._fitted().uncertainty.noise_variance
        deviations = ", ".join(f"{deviation:.4g}" for deviation in np.sqrt(variances[:5]))
        return [f"  noise       standard deviation {deviations}"]


def _shifted(model: LinearModel, shift: Array) -> LinearModel:
    """Add to the intercept what was taken from the targets."""
    return LinearModel(
        model.coefficients, model.intercept + shift, model.alpha, model.solver, model.solution, model.uncertainty
    )


class RandomFeatureClassifier(ClassifierMixin, RandomFeatureModel):
    """Logistic (softmax) regression, or ridge regression on indicators, on random features.

    Minimises the sum of the log losses plus ``alpha / 2 |T|^2``, or ``|Phi T + b - Y|^2 + alpha |T|^2`` with one column
    of Y for each class; the intercept is free.

    Parameters
    ----------
    kernel, n_components, directions, sampling, verbose, random_state
        See `RandomFeatureRegressor`.
    alpha : float or "auto", default="auto"
        Penalty; "auto" chooses it by the log loss of held-out rows of a subsample, or for "squared_error" by the
        squared error of held-out rows.
    loss : {"log_loss", "squared_error"}, default="log_loss"
    class_weight : None, "balanced" or dict, default=None
    temperature_scaling : bool, default=False
        Hold out 15 % of the rows and divide the scores by the number that makes their log loss least.
    solver : {"auto", "softmax", "gram", "conjugate_gradient"}, default="auto"
        "softmax" for the log loss, the other two for the squared error.
    tol : float, default=1e-4
        Relative norm of the gradient (log loss) or of the residual at which iterations stop.
    max_iter : int, default=200

    Attributes
    ----------
    classes_ : array
    features_, kernel_, alpha_, solver_, solution_
        See `RandomFeatureRegressor`.
    coef_ : array of shape (n_classes, n_components), or (1, n_components) for two classes
    intercept_ : array of shape (n_classes,) or (1,)
    temperature_ : float
        1 without temperature scaling.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import RandomFeatureClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomFeatureClassifier(n_components=256, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: str | Kernel = "laplacian",
        n_components: int = 2048,
        *,
        alpha: float | str = "auto",
        loss: str = "log_loss",
        class_weight: Any = None,
        temperature_scaling: bool = False,
        directions: str = "auto",
        sampling: str = "stratified",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.loss = loss
        self.class_weight = class_weight
        self.temperature_scaling = temperature_scaling
        self.directions = directions
        self.sampling = sampling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    def _validate_parameters(self) -> np.random.Generator:
        check_choice(self, "loss", self.loss, ["log_loss", "squared_error"])
        if not isinstance(self.temperature_scaling, (bool, np.bool_)):
            raise invalid(self, "temperature_scaling", "True or False", self.temperature_scaling)
        return super()._validate_parameters()

    def _solvers(self) -> list[str]:
        return ["auto", "softmax"] if self.loss == "log_loss" else super()._solvers()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RandomFeatureClassifier:
        """Fit to (n, d) data and (n,) labels of any kind.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        rng = self._validate_parameters()
        given, X = X, self._checked(X, reset=True)
        labels, codes = self._labels(y, X)
        X, codes, weights = _with_weight(X, codes, self._all_weights(sample_weight, X, labels, codes))
        for_trial, for_features, for_solver, for_split = rng.spawn(4)
        self._check_size(X, len(labels))
        with self._progress() as progress:
            trial = self._trial(X, codes, len(labels), weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            kept, held = self._split(codes, len(labels), for_split)
            rest = (X, codes, weights) if held is None else (X[kept], codes[kept], _rows_of(weights, kept))
            model = self._fit_model(features, *rest, len(labels), trial, for_solver, progress)
        temperature = 1.0
        if held is not None:
            scores = self._linear(features, model, X[held])
            temperature = self._best_temperature(scores, codes[held], _rows_of(weights, held))
        self._accept(given, features, _model=model, _sums=None, classes_=labels, temperature_=temperature)
        self._by_softmax = self.loss == "log_loss" or held is not None
        return self

    def _labels(self, y: Any, X: Any) -> tuple[Array, Array]:
        """Check y and give the classes and the code of each row."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        check_consistent_length(X, y)
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but y has one class only: {labels[0]!r}."
            )
        return labels, codes

    def _all_weights(self, sample_weight: Any, X: Any, labels: Array, codes: Array) -> Array | None:
        """Multiply the weights of the rows by those of their classes."""
        weights = self._checked_weights(sample_weight, X)
        if self.class_weight is None:
            return weights
        weights = np.ones(len(codes)) if weights is None else weights
        weights = weights * self._weights_of_classes(labels, codes, weights)[codes]
        if not weights.any():
            raise ValueError(f"The weights of {type(self).__name__}, by rows and classes, must not be all zero.")
        return weights

    def _weights_of_classes(self, labels: Array, codes: Array, weights: Array) -> Array:
        given = self.class_weight
        if isinstance(given, str) and given == "balanced":
            totals = np.bincount(codes, weights=weights, minlength=len(labels))
            return np.divide(totals.sum() / len(labels), totals, out=np.zeros(len(labels)), where=totals > 0.0)
        if not isinstance(given, dict) or not all(is_number(w) and w >= 0.0 for w in given.values()):
            raise invalid(self, "class_weight", "None, 'balanced' or a dict of non-negative numbers", given)
        unknown = [label for label in given if label not in labels]
        if unknown:
            raise ValueError(
                f"The 'class_weight' of {type(self).__name__} names classes that are not there: {unknown}."
            )
        return np.array([given.get(label, 1.0) for label in labels.tolist()], dtype=np.float64)

    def _trial(self, X: Any, codes: Array, n_classes: int, weights: Array | None, rng: np.random.Generator) -> Any:
        if self.loss == "log_loss":
            return LogLossTrial(self, X, codes, n_classes, weights, rng)
        return SquaredErrorTrial(self, X, _indicators(codes, n_classes), weights, rng)

    def _fit_model(
        self,
        features: Any,
        X: Any,
        codes: Array,
        weights: Array | None,
        n_classes: int,
        trial: Any,
        rng: np.random.Generator,
        progress: Any,
    ) -> LinearModel:
        if self.loss == "squared_error":
            targets = _indicators(codes, n_classes)
            mean = np.average(targets, axis=0, weights=weights)
            return _shifted(self._fit_ridge(features, X, targets - mean, weights, trial, rng, progress), mean)
        alpha = trial.score(features.kernel_)[0] if self._given_alpha is None else self._given_alpha
        design = self._design(features, X)
        problem = self._problem(design, n_classes)
        some = self._some(features, X, weights, problem.rows_for_preconditioner, rng)
        if design.n_bytes <= problem.memory:
            design = design.kept()
        model = softmax_model(design, some, codes, n_classes, weights, alpha, self.tol, self.max_iter, rng, progress)
        self._warn(model)
        return model

    # --- temperature --------------------------------------------------------------------------------------------

    def _split(self, codes: Array, n_classes: int, rng: np.random.Generator) -> tuple[Array, Array | None]:
        """Hold out rows for the temperature, if it is wanted; every class keeps a row to be learnt from."""
        order = rng.permutation(len(codes))
        if not self.temperature_scaling:
            return order, None
        first = np.unique(codes[order], return_index=True)[1]
        needed = order[first]
        rest = np.setdiff1d(order, needed)
        n_held = int(_HELD_OUT * len(codes))
        if n_held < 1 or n_held > len(rest):
            raise ValueError(f"Temperature scaling holds rows out, and {len(codes)} rows are too few for that.")
        held = np.sort(rng.choice(rest, n_held, replace=False))
        return np.setdiff1d(order, held), held

    @staticmethod
    def _best_temperature(scores: Array, codes: Array, weights: Array | None) -> float:
        scores = scores.astype(np.float64)

        def loss(log_temperature: float) -> float:
            losses, _ = log_losses(scores / np.exp(log_temperature), codes)
            return float(np.average(losses, weights=weights))

        return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x))

    # --- streams ------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> RandomFeatureClassifier:
        """Add rows to what was fitted by `partial_fit` before; the first call takes all ``classes``.

        For "squared_error" the result does not depend on how the rows are cut into calls. For "log_loss" each block is
        taken in by Newton steps: its log loss, expanded to second order about the present scores, is a weighted
        least-squares problem, and these add up. What was expanded early stays as it was, so the rows should come in
        random order: blocks that are sorted by class give a much worse model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        classes : array, needed in the first call
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        rng = self._validate_parameters()
        self._validate_stream()
        first = getattr(self, "_sums", None) is None
        given, X = X, self._checked(X, reset=first)
        labels = self._declared(classes, first)
        codes = self._codes(y, X, labels)
        X, codes, weights = _with_weight(X, codes, self._all_weights(sample_weight, X, labels, codes))
        for_trial, for_features, _, _ = rng.spawn(4)
        if first:
            trial = self._trial(X, codes, len(labels), weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            sums, model = self._empty_sums(features, 1 if len(labels) == 2 else len(labels)), None
        else:
            features, sums, model = self.features_, self._sums.copy(), self._model
        if self.loss == "squared_error":
            self._add(sums, features, X, _indicators(codes, len(labels)), weights)
            model = None
        else:
            sums, model = self._newton_steps(features, sums, model, X, codes, weights)
        if first:
            self._accept(given, features, classes_=labels, temperature_=1.0, _by_softmax=self.loss == "log_loss")
        self._model, self._sums, self._stream_alpha = model, sums, self._given_alpha
        return self

    def _validate_stream(self) -> None:
        if self.temperature_scaling:
            raise ValueError("The temperature needs rows that are held out, which partial_fit cannot do. Use fit.")
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight='balanced' needs all rows at once. Give a dict of weights to partial_fit.")

    def _declared(self, classes: Any, first: bool) -> Array:
        if first:
            classes = getattr(self, "classes_", None) if classes is None else classes
            if classes is None:
                raise ValueError("The 'classes' argument must be given in the first call of partial_fit.")
            labels = np.unique(column_or_1d(classes))
            if len(labels) < 2:
                raise ValueError(f"{type(self).__name__} needs at least two classes. Got {labels!r}.")
            return labels
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"The classes {np.unique(classes)!r} are not those of the first call, {self.classes_!r}.")
        return self.classes_

    def _codes(self, y: Any, X: Any, labels: Array) -> Array:
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        unknown = np.setdiff1d(y, labels)
        if len(unknown):
            raise ValueError(f"y has labels that were not declared in the first call of partial_fit: {unknown!r}.")
        return np.searchsorted(labels, y)

    def _newton_steps(
        self, features: Any, sums: FoldedGram, model: LinearModel | None, X: Any, codes: Array, weights: Array | None
    ) -> tuple[FoldedGram, LinearModel | None]:
        """Add the second-order expansion of the log loss, about a model that is improved block by block."""
        w, parts = np.ones(X.shape[0]) if weights is None else weights, self._parts(sums, X)
        for rows, block in self._design(features, X):
            before, n_outputs = sums, sums.parts[0].shape[1]
            for _ in range(_STEPS_PER_BLOCK):
                scores = np.zeros((len(block), n_outputs)) if model is None else _values(block, model)
                curvature = np.maximum(curvature_weights(scores), _LEAST_CURVATURE)
                _, slope = log_losses(scores, codes[rows])
                responses = scores - slope / curvature[:, None]
                sums = before.copy().update(block, responses, curvature * w[rows], parts[rows])
                model = ridge_from_sums(sums, self._given_alpha)[0]
        return sums, model

    # --- prediction ---------------------------------------------------------------------------------------------

    def _linear(self, features: Any, model: LinearModel, X: Any) -> Array:
        return np.vstack([_values(block, model) for _, block in self._design(features, X)])

    def decision_function(self, X: Any) -> Array:
        """Give the scores of the classes, (n, n_classes), or for two classes (n,) with positive ones for the second.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        scores : array
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """Predict labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        labels : array of shape (n,)
        """
        scores = self._scores(X)
        best = (scores[:, 0] > 0.0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes.

        For "squared_error" without temperature scaling the scores themselves estimate probabilities; they are clipped
        to [0, 1] and divided by their sum.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, n_classes)
        """
        scores = self._scores(X)
        if not self._by_softmax:
            return _clipped(scores)
        logits = scores / np.asarray(self.temperature_, dtype=scores.dtype)
        if logits.shape[1] == 1:
            return np.hstack([expit(-logits), expit(logits)])
        return softmax(logits, axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        logarithms : array of shape (n, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def coef_(self) -> Array:
        """Coefficients of the features, one row for each column of scores."""
        return self._fitted().coefficients.T

    @property
    def intercept_(self) -> Array:
        """What is added to the scores."""
        return self._fitted().intercept

    def _further_lines(self) -> list[str]:
        check_is_fitted(self)
        lines = [f"  classes     {len(self.classes_)}, loss {self.loss}"]
        return [*lines, f"  temperature {self.temperature_:.3g}"] if self.temperature_scaling else lines


def _values(block: Array, model: LinearModel) -> Array:
    return block @ model.coefficients + model.intercept


def _with_weight(X: Any, targets: Array, weights: Array | None) -> tuple[Any, Array, Array | None]:
    """Leave out the rows without weight: they are not there."""
    if weights is None or (weights > 0.0).all():
        return X, targets, weights
    rows = weights > 0.0
    return X[rows], targets[rows], weights[rows]


def _rows_of(weights: Array | None, rows: Array) -> Array | None:
    return None if weights is None else weights[rows]


def _indicators(codes: Array, n_classes: int) -> Array:
    """Give one column for each class, or for two classes one column of -1 and 1."""
    if n_classes == 2:
        return 2.0 * codes[:, None] - 1.0
    return np.eye(n_classes)[codes]


def _clipped(scores: Array) -> Array:
    if scores.shape[1] == 1:
        second = np.clip((1.0 + scores) / 2.0, 0.0, 1.0)
        return np.hstack([1.0 - second, second])
    clipped = np.clip(scores, 0.0, 1.0) + np.finfo(scores.dtype).tiny
    return clipped / clipped.sum(axis=1, keepdims=True)
