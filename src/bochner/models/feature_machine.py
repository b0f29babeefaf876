"""The recursive feature machine: a kernel machine that learns the metric of its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import (
    Range,
    as_generator,
    check_boolean,
    check_choice,
    check_integer,
    check_number,
    invalid,
    is_boolean,
)
from .._warnings import warn_user
from ..kernels import RadialKernel
from ..progress import progress_bar
from .base import KernelMachine
from .inputs import weights_of
from .learned_metric import POWERS, RIDGES, Form, with_one_length_scale
from .random_feature import RandomFeatureModel
from .random_feature_regressor import RandomFeatureRegressor
from .rounds import Part, Rounds, split

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Inputs up to which M may be a full matrix.
_WIDEST_FULL = 1024
#: Displacements of the smoothing that are tried, as shares of the median distance; the first with all forms.
_WIDTHS = (0.4, 0.12, 1.2)


def _has(method: str) -> Callable[[Any], bool]:
    """Tell whether the machine within has a method."""
    return lambda self: hasattr(self._machine(), method)


class RecursiveFeatureMachine(MetaEstimatorMixin, BaseEstimator):
    """A kernel machine that learns the metric M of its kernel from the gradients of the functions that it fits.

    Each round fits the machine, averages the outer products of the gradient of the fitted function, and takes that for
    the metric of the next round: directions in which the function does not change shrink, the others grow.

    Parameters
    ----------
    estimator : machine, default=None
        `RandomFeatureRegressor` (None is one with its defaults), `RandomFeatureClassifier`, `KernelRegressor` or
        `KernelClassifier`.
    n_iter : int, default=5
        Rounds at most; two rounds without a smaller error end them earlier.
    metric : {"auto", "full", "diagonal"}, default="auto"
        Whether M is a matrix or diagonal; "auto" fits the first round with both, up to 1024 inputs, and goes on with
        the better.
    power : float or "auto", default="auto"
        Power of the average outer product that is taken for M; "auto" tries 1 and 1/2.
    ridge : float or "auto", default="auto"
        Share of the identity that is added; "auto" tries 0 and 0.03.
    center : bool or "auto", default="auto"
        Subtract the mean gradient, which a linear trend has.
    smoothing : float or "auto", default="auto"
        How far the Gaussian reaches that the function is smoothed by before its gradient is taken: the root mean square
        of its displacements, as a share of the median distance; "auto" tries 0.12, 0.4 and 1.2. Without smoothing the
        gradient on heavy-tailed frequencies is noise.
    verbose : bool, default=False
        Show rounds and scores if the fit takes longer than a second.
    random_state : None, int, Generator or RandomState, default=None

    Attributes
    ----------
    estimator_ : machine
        Fitted to all rows, with the best metric.
    metric_ : array of shape (d, d) or (d,)
        M, or its diagonal, with a mean diagonal of 1; of the kernel as it was, if no metric was better.
    feature_importances_ : array of shape (d,)
        Diagonal of M, with a sum of 1.
    history_ : list of dict
        Of each round: score and error on held-out rows (squared, in units of the variance of the targets, or the log
        loss, by which rounds are compared), how M was made, the smoothing of the gradients (nan for round 0), length
        scale, alpha, and seconds.
    best_round_ : int
        The round whose metric is used; 0 is the kernel as it was.

    Notes
    -----
    Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models", Science 383 (2024), for exact kernels. On random features a round
    costs a linear fit, of at most 4096 features to at most 65,536 rows, of exact machines 16,384 rows; 15 % of the
    rows, at most 20,000, judge the rounds, full against diagonal included. The other options are compared by
    cross-validation on a subsample of the rows that are fitted. With each metric the length scale stays the same
    multiple of the median distance; ``length_scale="auto"`` is tuned in each round as well. A machine of more features
    is fitted with the best metric and without, and judged likewise.

    Equal seeds give equal machines; a seed of the estimator alone leaves to chance which rows judge.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatureRegressor, RecursiveFeatureMachine
    >>> X = np.random.default_rng(0).normal(size=(500, 10))
    >>> y = np.sin(2.0 * X[:, 3])
    >>> model = RecursiveFeatureMachine(RandomFeatureRegressor(n_components=128), 2, random_state=0).fit(X, y)
    >>> int(model.feature_importances_.argmax())
    3
    """

    def __init__(
        self,
        estimator: Any = None,
        n_iter: int = 5,
        *,
        metric: str = "auto",
        power: float | str = "auto",
        ridge: float | str = "auto",
        center: bool | str = "auto",
        smoothing: float | str = "auto",
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_iter = n_iter
        self.metric = metric
        self.power = power
        self.ridge = ridge
        self.center = center
        self.smoothing = smoothing
        self.verbose = verbose
        self.random_state = random_state

    # --- parameters ---------------------------------------------------------------------------------------------

    def _machine(self) -> Any:
        return RandomFeatureRegressor() if self.estimator is None else self.estimator

    def _validate_parameters(self) -> np.random.Generator:
        machine = self._machine()
        if not isinstance(machine, KernelMachine):
            allowed = "None or one of the kernel machines of bochner"
            raise invalid(self, "estimator", allowed, machine, "Put other steps into a pipeline around this one.")
        machine._validate_parameters()
        if not isinstance(machine._kernel(), RadialKernel):
            raise invalid(self, "estimator", "a machine with a kernel that has a metric", machine)
        check_integer(self, "n_iter", self.n_iter, 0)
        check_choice(self, "metric", self.metric, ["auto", "full", "diagonal"])
        for name in ("power", "ridge", "smoothing"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value == "auto"):
                check_number(self, name, value, Range(0.0, includes_low=name != "power"))
        if not is_boolean(self.center) and not (isinstance(self.center, str) and self.center == "auto"):
            raise invalid(self, "center", "True, False or 'auto'", self.center)
        check_boolean(self, "verbose", self.verbose)
        return as_generator(self, self.random_state)

    def _forms(self, n_inputs: int) -> list[Form]:
        """Give the forms of a metric that are to be compared, each with the options that it begins with."""
        diagonals = {"full": [False], "diagonal": [True], "auto": [False, True]}[self.metric]
        if self.metric == "auto" and n_inputs > _WIDEST_FULL:
            diagonals = [True]
        first = {name: values[0] for name, values in self._options().items()}
        return [Form(diagonal, **first) for diagonal in diagonals]

    def _options(self) -> dict[str, list[Any]]:
        """Give the values of the other properties of a form that are to be tried."""
        allowed = {"power": POWERS, "ridge": RIDGES, "centred": (False, True)}
        given = {"power": self.power, "ridge": self.ridge, "centred": self.center}
        return {
            name: list(allowed[name]) if isinstance(value, str) else [type(allowed[name][0])(value)]
            for name, value in given.items()
        }

    # --- rounds -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RecursiveFeatureMachine:
        """Learn the metric, and fit the machine with the best one to all rows.

        Parameters
        ----------
        X : array of shape (n, d), or sparse matrix where the machine takes it
        y : array of shape (n,), or (n, k) for regression
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        rng = self._validate_parameters()
        machine = clone(self._machine())
        rows = self._rows(machine, X, y, sample_weight)
        for_split, for_trial, for_gradients, for_machine = rng.spawn(4)
        if machine.random_state is None:
            machine.set_params(random_state=int(for_machine.integers(2**31)))
        kept, held = split(rows, machine, int(for_split.integers(2**31)))
        with progress_bar(self.verbose) as progress:
            rounds = Rounds(machine, rows[kept], rows[held], for_trial, for_gradients, progress)
            widths = _WIDTHS if isinstance(self.smoothing, str) else [float(self.smoothing)]
            rounds.run(self._n_rounds(rows.X.shape[1]), self._forms(rows.X.shape[1]), self._options(), widths)
            rounds.confirm()
            progress("Last fit", 0.0)
            fitted = clone(machine)
            if rounds.best.kernel is not None:
                fitted.set_params(kernel=rounds.best.kernel)
            fitted.fit(rows.X, rows.y, rows.weights)
        validate_data(self, X, reset=True, skip_check_array=True)
        self.estimator_, self.history_, self.best_round_ = fitted, rounds.history, rounds.best.number
        return self

    def _n_rounds(self, n_inputs: int) -> int:
        if n_inputs == 1 and self.n_iter:
            warn_user("There is one column, so there is no metric to learn.")
        return self.n_iter if n_inputs > 1 else 0

    def _rows(self, machine: Any, X: Any, y: Any, sample_weight: Any) -> Part:
        """Check the data as the machine would, before any work, and leave out rows without weight."""
        X = machine._checked(X, reset=True)
        machine._trial_rows(X, y, sample_weight)
        y = np.asarray(y).ravel() if is_classifier(machine) else np.asarray(y, dtype=np.float64)
        if isinstance(machine, RandomFeatureModel):
            machine._check_size(X, len(np.unique(y)) if is_classifier(machine) else y[:1].size)
        rows = Part(X, y, weights_of(self, sample_weight, X))
        with_weight = rows.counts > 0.0
        if is_classifier(machine):  # classes that have no weight at all are classes nevertheless
            with_weight |= np.isin(y, np.setdiff1d(y, y[with_weight]))
        return rows if with_weight.all() else rows[with_weight]

    # --- what was learned ---------------------------------------------------------------------------------------

    @property
    def metric_(self) -> Floats:
        """The metric M that was learned, or its diagonal."""
        check_is_fitted(self)
        metric = with_one_length_scale(self.estimator_.kernel_).metric
        if metric is None:
            return np.ones(self.n_features_in_)
        metric = np.asarray(metric, dtype=np.float64)
        return metric / (metric if metric.ndim == 1 else np.diag(metric)).mean()

    @property
    def feature_importances_(self) -> Floats:
        """The diagonal of M, with a sum of 1."""
        diagonal = self.metric_ if self.metric_.ndim == 1 else np.diag(self.metric_)
        return np.asarray(diagonal / diagonal.sum())

    @property
    def classes_(self) -> Array:
        """The classes of a classifier."""
        return self.estimator_.classes_

    def summary(self) -> str:
        """Say what was learned, round by round, and what was fitted in the end."""
        check_is_fitted(self)
        lines = [
            f"  round {entry['round']}: score {entry['score']:.4f}, {entry['form']}"
            + (" (best)" if entry["round"] == self.best_round_ else "")
            for entry in self.history_
        ]
        return "\n".join([f"{type(self).__name__}, score of held-out rows", *lines, self.estimator_.summary()])

    # --- predictions --------------------------------------------------------------------------------------------

    def predict(self, X: Any, **options: Any) -> Any:
        """Predict as the machine does; ``return_std`` goes to a machine that has it.

        Parameters
        ----------
        X : array of shape (n, d)
        **options
            Of the machine's own ``predict``.
        """
        X = self._as_array(X)
        return self.estimator_.predict(X, **options)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes."""
        X = self._as_array(X)
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes."""
        X = self._as_array(X)
        return self.estimator_.predict_log_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Give the scores of the classes."""
        X = self._as_array(X)
        return self.estimator_.decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the score of the machine: R2 or accuracy."""
        X = self._as_array(X)
        return float(self.estimator_.score(X, y, sample_weight))

    def _as_array(self, X: Any) -> Any:
        """Check X, names of columns included; the machine itself was fitted to an array."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self.estimator_.allowed)

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags, of_machine = super().__sklearn_tags__(), get_tags(self._machine())
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(of_machine, name))
        return tags
