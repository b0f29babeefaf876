"""Exact kernel classification: ridge regression on indicators, or kernel logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._validation import check_choice
from ..kernels import Kernel
from . import labels
from .classification import Classification
from .exact import ExactModel
from .expansion import Rows
from .trials import KernelLogLossTrial, Trial


class KernelClassifier(Classification, ExactModel):
    """Classification with the exact kernel: what random features approximate.

    Minimises the squared error on one indicator for each class, as `KernelRegressor` does, or the log loss plus
    ``alpha / 2 |f - b|^2`` over functions f of the kernel's space about the logarithms b of the class frequencies.

    Parameters
    ----------
    kernel, tol, max_iter, early_stopping, verbose, random_state
        See `KernelRegressor`.
    solver : {"auto", "cholesky", "conjugate_gradient", "eigenpro"}, default="auto"
        See `KernelRegressor`. For the log loss "cholesky" stands for roots of the kernel matrix, which "auto" takes for
        up to 2,048 rows.
    alpha : float or "auto", default="auto"
        Penalty; "auto" chooses it by the log loss of held-out rows, for "squared_error" at their best temperature.
    loss : {"squared_error", "log_loss"}, default="squared_error"
    class_weight : None, "balanced" or dict, default=None

    Attributes
    ----------
    classes_ : array
    kernel_, alpha_, solver_, solution_, dual_coef_, points_
        See `KernelRegressor`.
    intercept_ : array of shape (n_classes,) or (1,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bochner import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(KernelClassifier(loss="log_loss", random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        kernel: str | Kernel = "laplacian",
        *,
        alpha: float | str = "auto",
        loss: str = "squared_error",
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 100,
        early_stopping: bool = True,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            alpha=alpha,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            early_stopping=early_stopping,
            verbose=verbose,
            random_state=random_state,
        )
        self.loss = loss
        self.class_weight = class_weight

    def _validate_parameters(self) -> np.random.Generator:
        check_choice(self, "loss", self.loss, ["squared_error", "log_loss"])
        return super()._validate_parameters()

    def _trial_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        classes, X, codes, weights = labels.labelled_rows(self, X, y, sample_weight)
        return X, codes, len(classes), weights

    def _trial(self, X: Any, codes: Any, n_classes: int, weights: Any, rng: np.random.Generator) -> Trial:
        if self.loss == "log_loss":
            return KernelLogLossTrial(self._narrow(len(X)), X, codes, n_classes, weights, rng)
        return self._ridge_trial(X, labels.indicators(codes, n_classes), weights, rng, codes)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelClassifier:
        """Fit to (n, d) data and (n,) labels of any kind.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        rng = self._validate_parameters()
        given, X = X, self._checked(X, reset=True)
        classes, X, codes, weights = labels.labelled_rows(self, X, y, sample_weight)
        for_trial, for_solver = rng.spawn(2)
        with self._progress() as progress:
            trial = self._trial(X, codes, len(classes), weights, for_trial)
            kernel = self._chosen_kernel(trial)
            if self.loss == "log_loss":
                rows = Rows.of(X, codes, weights)
                expansion = self._fit_log_loss(kernel, rows, len(classes), trial, for_solver, progress)
            else:
                rows = Rows.of(X, labels.indicators(codes, len(classes)), weights)
                expansion = self._fit_squares(kernel, rows, trial, for_solver, progress, codes)
        self._warn(expansion)
        state = {"classes_": classes, "temperature_": 1.0, "_by_softmax": self.loss == "log_loss"}
        self._accept(given, kernel_=kernel, _expansion=expansion.apart_from(given), **state)
        return self

    @property
    def intercept_(self) -> Any:
        """What is added to the scores."""
        return self._fitted().intercept

    def _further_lines(self) -> list[str]:
        return [f"  classes     {len(self.classes_)}, loss {self._asked['loss']}"]
