"""Ridge regression on random features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin

from ..solvers import FoldedGram
from .inputs import regression_rows, units_about, units_of
from .linear import LinearModel, Uncertainty
from .random_feature import RandomFeatureModel
from .trials import RidgeTrial, trial_of_targets

Array = NDArray[Any]


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
        Penalty; "auto" chooses it by the squared error on held-out rows, from the same pass over the data; of several
        targets each counts in units of its spread.
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

    _has_error_bars: ClassVar[bool] = True

    def _trial_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        return regression_rows(self, X, y, sample_weight)[:-1]

    def _trial(self, X: Any, targets: Any, weights: Any, rng: np.random.Generator) -> RidgeTrial:
        return trial_of_targets(self._narrow(X.shape[0]), X, targets / units_of(targets, weights), weights, rng)

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
        X, targets, weights, flat = regression_rows(self, X, y, sample_weight)
        for_trial, for_features, for_solver = rng.spawn(3)
        self._check_size(X, targets.shape[1])
        with self._progress() as progress:
            trial = self._trial(X, targets, weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            units = units_of(targets, weights)
            model = self._fit_ridge(features, X, targets / units, weights, trial, for_solver, progress)
        self._warn(model)
        self._accept(given, features_=features, _model=model.times(units), _sums=None, _flat=flat)
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
        first = self._is_first_call()
        given, X = X, self._checked(X, reset=first)
        X, targets, weights, flat = regression_rows(self, X, y, sample_weight)
        for_trial, for_features, _ = rng.spawn(3)
        if first:
            trial = self._trial(X, targets, weights, for_trial)
            features = self._fitted_features(X, trial, for_features)
            sums, shift = self._empty_sums(X, targets.shape[1]), np.average(targets, axis=0, weights=weights)
        else:
            features, sums, shift = self.features_, self._sums.copy(), self._shift
            if targets.shape[1] != sums.parts[0].shape[1]:
                raise ValueError(
                    f"y has {targets.shape[1]} outputs, not {sums.parts[0].shape[1]} as in the first call."
                )
        self._add(sums, features, X, targets - shift, weights)
        if first:
            self._accept(given, features_=features, _flat=flat, _shift=shift)
        self._model, self._sums = None, sums
        self._remember()
        return self

    def _solve_stream(self, sums: FoldedGram) -> LinearModel:
        mean, deviation = sums.target_moments()
        units = units_about(deviation, abs(mean + self._shift))
        return super()._solve_stream(sums.in_units(units)).times(units).shifted(self._shift)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict targets, and with ``return_std`` also their standard deviations.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        return_std : bool, default=False
            The deviation of a new target from the prediction: noise and what is not known of the function. After
            conjugate gradients the latter comes from the rows of the preconditioner, and a fit that is nearly an
            interpolation must have converged far (a small ``tol``) for the noise not to be too large.

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
        uncertainty = self._uncertainty
        X = self._checked(X, reset=False)
        std = np.empty((X.shape[0], len(uncertainty.noise)), dtype=mean.dtype)
        for rows, block in self._design(self.features_, X):
            std[rows] = uncertainty.standard_deviation(block)
        return mean, std[:, 0] if self._flat else std

    @property
    def _uncertainty(self) -> Uncertainty:
        uncertainty = self._fitted().uncertainty
        assert uncertainty is not None  # every ridge model has one
        return uncertainty

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
        variances = np.square(self._uncertainty.noise)
        return float(variances[0]) if self._flat else variances

    def _further_lines(self) -> list[str]:
        deviations = ", ".join(f"{deviation:.4g}" for deviation in self._uncertainty.noise[:5])
        return [f"  noise       standard deviation {deviations}"]
