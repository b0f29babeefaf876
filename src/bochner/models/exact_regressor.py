"""Exact kernel ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from .exact import ExactModel
from .expansion import Rows
from .inputs import regression_rows, units_of
from .trials import RidgeTrial


class KernelRegressor(MultiOutputMixin, RegressorMixin, ExactModel):
    """Kernel ridge regression with the exact kernel: what random features approximate.

    Minimises ``sum_i w_i (f(x_i) - y_i)^2 + alpha |f - b|^2`` over functions f of the kernel's space about the mean b
    of the targets: ``f = b + sum_j c_j k(x_j, .)`` with ``(K + alpha / w) c = y - b``.

    Parameters
    ----------
    kernel : str or kernel, default="laplacian"
        A kernel, whose ``length_scale`` may be "auto" or "median", or the name of one, which then is "auto".
    alpha : float or "auto", default="auto"
        Penalty; "auto" chooses it by the squared error on held-out rows, of several targets each in units of its
        spread; where there are none, since "eigenpro" shall not stop early, by that of trials on some of the rows.
    solver : {"auto", "cholesky", "conjugate_gradient", "eigenpro"}, default="auto"
        A Cholesky factorisation; conjugate gradients, preconditioned by a sample of the rows; or EigenPro's
        preconditioned stochastic gradient steps. The last two never hold the kernel matrix. "auto" is the first if the
        matrix fits into scikit-learn's ``working_memory``, else the second.
    tol : float, default=1e-3
        Norm of the residual, or of the gradient, relative to its first, at which iterations stop. At 1e-3 predictions
        are those of a Cholesky factorisation to about three digits. Of float32 rows conjugate gradients may not get
        there if the kernel is smooth and the penalty small; that is measured, and told.
    max_iter : int, default=100
        Iterations, or passes over the rows, at most. If conjugate gradients are to choose the penalty, as many may come
        before.
    early_stopping : bool, default=True
        Of "eigenpro": hold out 5 % of the rows (at most 4096), and stop when their error does not fall any more.
    verbose : bool, default=False
        Show a progress bar with epochs and errors if the fit takes longer than a second.
    random_state : None, int, Generator or RandomState, default=None

    Attributes
    ----------
    kernel_ : kernel
    alpha_ : float
    solver_ : str
    solution_ : Solution
    dual_coef_ : array of shape (n, n_outputs)
    points_ : array of shape (n, d)
        The rows that the coefficients belong to.
    intercept_ : float or array of shape (n_outputs,)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bochner import KernelRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(KernelRegressor(random_state=0).fit(X, y).score(X, y) > 0.5)
    True
    """

    def _trial_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        return regression_rows(self, X, y, sample_weight)[:-1]

    def _trial(self, X: Any, targets: Any, weights: Any, rng: np.random.Generator) -> RidgeTrial:
        return self._ridge_trial(X, targets / units_of(targets, weights), weights, rng)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRegressor:
        """Fit to (n, d) data and (n,) or (n, k) targets.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,) or (n, k)
        sample_weight : array of shape (n,), optional
            A weight of 2 is a row that is there twice; if iterations are to choose the penalty, but for the rows that
            are held out for that.

        Returns
        -------
        self
        """
        rng = self._validate_parameters()
        given, X = X, self._checked(X, reset=True)
        X, targets, weights, flat = regression_rows(self, X, y, sample_weight)
        for_trial, for_solver = rng.spawn(2)
        with self._progress() as progress:
            trial = self._trial(X, targets, weights, for_trial)
            kernel = self._chosen_kernel(trial)
            units = units_of(targets, weights)
            expansion = self._fit_squares(kernel, Rows.of(X, targets / units, weights), trial, for_solver, progress)
        self._warn(expansion)
        self._accept(given, kernel_=kernel, _expansion=expansion.times(units).apart_from(given), _flat=flat)
        return self

    def predict(self, X: Any) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        targets : array of shape (n,) or (n, k)
        """
        values = self._scores(X)
        return values[:, 0] if self._flat else values

    @property
    def intercept_(self) -> Any:
        """The mean of the targets, which is added."""
        intercept = self._fitted().intercept
        return float(intercept[0]) if self._flat else intercept
