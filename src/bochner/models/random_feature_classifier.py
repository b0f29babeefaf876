"""Logistic regression, or ridge regression on indicators, on random features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import check_boolean, check_choice, invalid
from ..kernels import Kernel
from ..solvers import FoldedGram, curvature_weights, log_losses, rows_of
from . import labels, temperature
from .classification import Classification
from .held_out import tempered_log_losses
from .inputs import with_weight
from .linear import LinearModel, ridge_from_sums
from .logistic import softmax_model
from .random_feature import RandomFeatureModel
from .trials import Trial, trial_of_classes

Array = NDArray[Any]

# Newton steps on each block of a stream, and the least curvature that a row is taken to have.
_STEPS_PER_BLOCK, _LEAST_CURVATURE = 4, 0.02


class RandomFeatureClassifier(Classification, RandomFeatureModel):
    """Logistic (softmax) regression, or ridge regression on indicators, on random features.

    Minimises the sum of the log losses plus ``alpha / 2 |T|^2``, or ``|Phi T + b - Y|^2 + alpha |T|^2`` with one column
    of Y for each class; the intercept is free.

    Parameters
    ----------
    kernel, n_components, directions, sampling, verbose, random_state
        See `RandomFeatureRegressor`.
    alpha : float or "auto", default="auto"
        Penalty; "auto" chooses it by the log loss of held-out rows of a subsample, or for "squared_error" by the
        log loss that scores of held-out rows have at their best temperature (in streams by their squared error).
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
        super().__init__(
            kernel,
            n_components,
            alpha=alpha,
            directions=directions,
            sampling=sampling,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            verbose=verbose,
            random_state=random_state,
        )
        self.loss = loss
        self.class_weight = class_weight
        self.temperature_scaling = temperature_scaling

    def _validate_parameters(self) -> np.random.Generator:
        check_choice(self, "loss", self.loss, ["log_loss", "squared_error"])
        check_boolean(self, "temperature_scaling", self.temperature_scaling)
        return super()._validate_parameters()

    def _solvers(self) -> list[str]:
        return ["auto", "softmax"] if self.loss == "log_loss" else super()._solvers()

    def _check_solver(self) -> None:
        if not isinstance(self.solver, str) or self.solver not in self._solvers():
            expected = f"one of {', '.join(map(repr, self._solvers()))} where the loss is {self.loss!r}"
            raise invalid(self, "solver", expected, self.solver)

    def _trial_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        classes, X, codes, weights = labels.labelled_rows(self, X, y, sample_weight)
        return X, codes, len(classes), weights

    def _trial(self, X: Any, codes: Any, n_classes: int, weights: Any, rng: np.random.Generator) -> Trial:
        return trial_of_classes(self.loss, self._narrow(X.shape[0]), X, codes, n_classes, weights, rng)

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
        classes, X, codes, weights = labels.labelled_rows(self, X, y, sample_weight)
        for_trial, for_features, for_solver, for_split = rng.spawn(4)
        kept = held = None
        if self.temperature_scaling:
            kept, held = temperature.kept_and_held_out(codes, for_split)
        self._check_size(X, len(classes))
        with self._progress() as progress:
            trial = self._trial(X, codes, len(classes), weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            rest = (X, codes, weights) if kept is None else (X[kept], codes[kept], rows_of(weights, kept))
            model = self._fit_model(features, *rest, len(classes), trial, for_solver, progress)
        self._warn(model)
        divisor = 1.0
        if held is not None:
            scores = self._values(features, model, X[held])
            divisor = temperature.best_temperature(scores, codes[held], rows_of(weights, held))
        by_softmax = self.loss == "log_loss" or held is not None
        state = {"classes_": classes, "temperature_": divisor, "_by_softmax": by_softmax}
        self._accept(given, features_=features, _model=model, _sums=None, **state)
        return self

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
            targets = labels.indicators(codes, n_classes)
            criterion = tempered_log_losses(codes, np.average(targets, axis=0, weights=weights))
            return self._fit_ridge(features, X, targets, weights, trial, rng, progress, criterion)
        alpha = trial.penalty(features.kernel_) if self._given_alpha is None else self._given_alpha
        problem = self._problem(X, n_classes)
        some = self._some(features, X, weights, problem.rows_for_softmax, rng)
        design = self._design(features, X)
        if design.n_bytes <= problem.memory:
            design = design.kept()
        return softmax_model(design, some, codes, n_classes, weights, alpha, self._effort(progress))

    def _least_solver(self) -> str:
        return "softmax" if self.loss == "log_loss" else super()._least_solver()

    # --- streams ------------------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> RandomFeatureClassifier:
        """Add rows to what was fitted by `partial_fit` before; the first call takes all ``classes``.

        For "squared_error" the result does not depend on how the rows are cut into calls. For "log_loss" each block is
        taken in by Newton steps: its log loss, expanded to second order about the present scores, is a weighted
        least-squares problem, and these add up. What was expanded early stays as it was, so that the model is not quite
        that of `fit`, and the rows should come in random order: blocks that are sorted by class give a much worse one.

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
        first = self._is_first_call()
        given, X = X, self._checked(X, reset=first)
        declared = labels.declared_classes(self, classes, first)
        codes = labels.codes_among(self, declared, y, X)
        weights = labels.weights_by_class(self, sample_weight, X, declared, codes)
        X, codes, weights = with_weight(X, codes, weights)
        for_trial, for_features, _, _ = rng.spawn(4)
        if first:
            trial = self._trial(X, codes, len(declared), weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            sums, model = self._empty_sums(X, 1 if len(declared) == 2 else len(declared)), None
        else:
            features, sums, model = self.features_, self._sums.copy(), self._model
        if self.loss == "squared_error":
            self._add(sums, features, X, labels.indicators(codes, len(declared)), weights)
            model = None
        else:
            sums, model = self._newton_steps(features, sums, model, X, codes, weights)
        if first:
            self._accept(
                given, features_=features, classes_=declared, temperature_=1.0, _by_softmax=self.loss == "log_loss"
            )
        self._model, self._sums = model, sums
        self._remember()
        return self

    def _validate_stream(self) -> None:
        if self.temperature_scaling:
            raise ValueError("The temperature needs rows that are held out, which partial_fit cannot do. Use fit.")
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight='balanced' needs all rows at once. Give a dict of weights to partial_fit.")

    def _newton_steps(
        self, features: Any, sums: FoldedGram, model: LinearModel | None, X: Any, codes: Array, weights: Array | None
    ) -> tuple[FoldedGram, LinearModel | None]:
        """Add the second-order expansion of the log loss, about a model that is improved block by block."""
        w, parts = np.ones(X.shape[0]) if weights is None else weights, self._parts(sums, X)
        for rows, block in self._design(features, X):
            before, n_outputs = sums, sums.parts[0].shape[1]
            for _ in range(_STEPS_PER_BLOCK):
                scores = np.zeros((len(block), n_outputs)) if model is None else model.values(block)
                curvature = np.maximum(curvature_weights(scores), _LEAST_CURVATURE)
                _, slope = log_losses(scores, codes[rows])
                responses = scores - slope / curvature[:, None]
                sums = before.copy().update(block, responses, curvature * w[rows], parts[rows])
                model = ridge_from_sums(sums, self._given_alpha)
        return sums, model

    @property
    def coef_(self) -> Array:
        """Coefficients of the features, one row for each column of scores."""
        return self._fitted().coefficients.T

    @property
    def intercept_(self) -> Array:
        """What is added to the scores."""
        return self._fitted().intercept

    def _further_lines(self) -> list[str]:
        lines = [f"  classes     {len(self.classes_)}, loss {self._asked['loss']}"]
        return [*lines, f"  temperature {self.temperature_:.3g}"] if self._asked["temperature_scaling"] else lines
