"""What the two estimators on random features share: features, ridge regression on them, streams and prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import memory
from ..features import RandomFeatures
from ..kernels import Kernel
from ..solvers import Design, FoldedGram, rows_of, total_weight
from . import costs, tuning
from .base import KernelMachine, number_or_none
from .held_out import Criterion, Judging
from .linear import Effort, LinearModel, Sample, empty_sums, ridge_by_gram, ridge_by_iteration, ridge_from_sums
from .trials import Narrow, Trial

Array = NDArray[Any]


class RandomFeatureModel(KernelMachine):
    """Common part of the estimators on random features."""

    allowed: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": "numeric"}
    _rows_of_rounds: ClassVar[int] = 65_536
    _rows_of_gradients: ClassVar[int] = 20_000
    _has_error_bars: ClassVar[bool] = False
    _model: LinearModel | None
    _sums: Any  # FoldedGram, or None after `fit`

    # --- parameters ---------------------------------------------------------------------------------------------

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

    def _validate_parameters(self) -> np.random.Generator:
        self._map(self._kernel(), self.n_components, None).checked_kernel(self)
        return super()._validate_parameters()

    def _solvers(self) -> list[str]:
        return ["auto", "gram", "conjugate_gradient"]

    def _effort(self, progress: Any) -> Effort:
        return Effort(self.tol, self.max_iter, progress)

    # --- features -----------------------------------------------------------------------------------------------

    def _map(self, kernel: Any, n_components: int, random_state: Any) -> RandomFeatures:
        return RandomFeatures(
            kernel, n_components, directions=self.directions, sampling=self.sampling, random_state=random_state
        )

    def _narrow(self, n_rows: int) -> Narrow:
        """Give the features of trials."""
        return Narrow(self._map, self.n_components)

    def _fitted_features(self, X: Any, trial: Trial, rng: np.random.Generator) -> RandomFeatures:
        """Draw the features, after the length scale was chosen if that was left to us."""
        return self._map(self._chosen_kernel(trial), self.n_components, rng).fit(X)

    def _design(self, features: RandomFeatures, X: Any) -> Design:
        return Design.made_by(features.writer(X), (X.shape[0], features.n_components), _precision(X))

    def _some(
        self, features: RandomFeatures, X: Any, weights: Array | None, n_rows: int, rng: np.random.Generator
    ) -> Sample:
        """Give some random rows, with their weights, that precondition an iteration."""
        if n_rows < X.shape[0]:
            rows = np.sort(rng.choice(X.shape[0], n_rows, replace=False))
            if weights is None or weights[rows].any():
                X, weights = X[rows], rows_of(weights, rows)
        else:
            X = X.copy()  # error bars may go on to use it, whatever happens to the caller's own
        design = self._design(features, X)
        return Sample(design, weights, design.n_bytes <= _working_memory())

    def _problem(self, X: Any, n_outputs: int) -> costs.Problem:
        return costs.Problem(X.shape[0], int(self.n_components), n_outputs, _precision(X).itemsize, _working_memory())

    def _check_size(self, X: Any, n_outputs: int) -> None:
        """Raise if the fit cannot find its memory."""
        self._check_memory(self._problem(X, n_outputs), self._least_solver())

    def _least_solver(self) -> str:
        """Name the solver that is asked for, or the one that takes the least memory."""
        return "gram" if self.solver == "gram" else "conjugate_gradient"

    def _check_memory(self, problem: costs.Problem, solver: str) -> None:
        """Raise, before any work, if the solver would not find the memory that it cannot do without."""
        available = memory.available()
        needed = {
            "gram": problem.gram_memory,
            "conjugate_gradient": problem.blocks_memory,
            "softmax": problem.softmax_memory,
        }[solver]
        if needed > available:
            raise MemoryError(
                f"{type(self).__name__} with n_components={self.n_components} needs about {needed / 2**30:.1f} GiB "
                f"(solver '{solver}'), and {available / 2**30:.1f} GiB are there. Use fewer components"
                + (", or solver='conjugate_gradient'." if solver == "gram" else ".")
            )

    # --- ridge --------------------------------------------------------------------------------------------------

    def _fit_ridge(
        self,
        features: RandomFeatures,
        X: Any,
        targets: Array,
        weights: Array | None,
        trial: Trial,
        rng: np.random.Generator,
        progress: Any,
        criterion: Criterion | None = None,
    ) -> LinearModel:
        design, alpha = self._design(features, X), self._given_alpha
        problem = self._problem(X, targets.shape[1])
        solver = costs.choose_ridge_solver(problem) if self.solver == "auto" else self.solver
        judging = None if alpha is not None else Judging(tuning.hashes_of_rows(X, 0), criterion)
        effort, error_bars = self._effort(progress), self._has_error_bars
        if solver == "gram":
            return ridge_by_gram(design, targets, weights, alpha, judging, effort, error_bars)
        weight = total_weight(design, weights)
        alphas = [alpha] if alpha is not None else tuning.penalties_about(trial.penalty(features.kernel_), weight)
        # Weights count as repetitions of rows.
        is_wide = self.n_components > max(X.shape[0], weight)
        far_below = tuning.penalties_far_below(alphas, weight) if is_wide else []
        some = self._some(features, X, weights, problem.rows_for_preconditioner, rng)
        if design.n_bytes <= problem.memory and X.shape[1] >= costs.MANY_COLUMNS:
            design = design.kept()
        return ridge_by_iteration(design, some, targets, weights, alphas, judging, effort, far_below, error_bars)

    # --- streams ------------------------------------------------------------------------------------------------

    def _is_first_call(self) -> bool:
        """Say whether `partial_fit` begins; if it goes on, refuse parameters that its sums do not have."""
        if getattr(self, "_sums", None) is None:
            return True
        now = clone(self).get_params(deep=False)
        for name in ("kernel", "n_components", "directions", "sampling", "loss"):
            if name in now and repr(now[name]) != repr(self._asked[name]):
                raise ValueError(
                    f"The calls of partial_fit before had {name}={self._asked[name]!r}, and their sums cannot go on "
                    f"with {now[name]!r}. Begin anew with a clone of this {type(self).__name__}."
                )
        if isinstance(now["alpha"], str) and not isinstance(self._asked["alpha"], str):
            raise ValueError(
                "The penalty can only be chosen if all rows come with alpha='auto': the calls of partial_fit before "
                f"had alpha={self._asked['alpha']!r}."
            )
        return False

    def _empty_sums(self, X: Any, n_targets: int) -> FoldedGram:
        self._check_memory(self._problem(X, n_targets), "gram")
        return empty_sums(self.n_components, n_targets, 0, self._given_alpha is None)

    def _parts(self, sums: FoldedGram, X: Any) -> Array:
        if len(sums.parts) == 1:
            return np.zeros(X.shape[0], dtype=int)
        return tuning.parts_of_rows(tuning.hashes_of_rows(X, 0), len(sums.parts))

    def _add(self, sums: FoldedGram, features: RandomFeatures, X: Any, targets: Array, weights: Array | None) -> None:
        parts = self._parts(sums, X)
        for rows, block in self._design(features, X):
            sums.update(block, targets[rows], rows_of(weights, rows), parts[rows])

    def _solve_stream(self, sums: FoldedGram) -> LinearModel:
        return ridge_from_sums(sums, number_or_none(self._asked["alpha"]), error_bars=self._has_error_bars)

    # --- what was fitted ----------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "features_" in vars(self)

    def _fitted(self) -> LinearModel:
        """Give the fitted model; after `partial_fit` it is solved for when it is first needed."""
        if "_model" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet.")
        if self._model is None:
            self._model = self._solve_stream(self._sums)
        return self._model

    @property
    def kernel_(self) -> Kernel:
        """The kernel, with the length scale that was used."""
        if "features_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet.")
        return self.features_.kernel_

    def _checked(self, X: Any, reset: bool) -> Any:
        X = super()._checked(X, reset)
        if hasattr(X, "has_canonical_format") and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # rows are told apart by their entries
        return X

    def _scores(self, X: Any) -> Array:
        """Compute the (n, k) values of the fitted linear model."""
        check_is_fitted(self)
        return self._values(self.features_, self._fitted(), self._checked(X, reset=False))

    def _values(self, features: RandomFeatures, model: LinearModel, X: Any) -> Array:
        """Compute the (n, k) values of a linear model, block by block."""
        design = self._design(features, X)
        coefficients, intercept = model.coefficients.astype(design.dtype), model.intercept.astype(design.dtype)
        out = np.empty((X.shape[0], len(intercept)), dtype=design.dtype)
        for rows, block in design:
            out[rows] = block @ coefficients + intercept
        return out

    def _gradients(self, X: Any, displacement: float) -> Iterator[tuple[slice, Array]]:
        # Directions that the metric sees; only these count in the kernel's distance.
        n_directions = np.count_nonzero(np.atleast_2d(self.kernel_.whitening(X.shape[1])).any(axis=0))
        return self.features_.iter_gradients(X, self._fitted().coefficients, displacement / np.sqrt(n_directions))

    def _first_lines(self) -> list[str]:
        return [
            f"{type(self).__name__} on {len(self._fitted().coefficients)} features of {self.n_features_in_} columns",
            f"  kernel      {self.kernel_}",
            f"  directions  {self.features_.directions_}, sampling {self.features_.sampling}",
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _precision(X: Any) -> np.dtype[Any]:
    """Give the precision that data are computed in."""
    return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)


def _working_memory() -> float:
    """Bytes that a fit may use for what it could also compute anew."""
    return float(get_config()["working_memory"] * 2.0**20)
