"""What all kernel machines share: parameters and their checks, the choice of the kernel, and what was fitted."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._validation import (
    Range,
    as_generator,
    check_boolean,
    check_choice,
    check_integer,
    check_number,
    invalid,
    is_number,
)
from .._warnings import warn_user
from ..kernels import Kernel, TakesKernel
from ..progress import progress_bar
from . import tuning
from .trials import Trial

Array = NDArray[Any]


def number_or_none(alpha: float | str) -> float | None:
    """Give a penalty that is given, or None for "auto"."""
    return None if isinstance(alpha, str) else float(alpha)


class KernelMachine(TakesKernel, BaseEstimator, ABC):
    """Common part of the estimators: those on random features and the exact ones.

    A subclass stores the parameters ``kernel``, ``alpha``, ``solver``, ``tol``, ``max_iter``, ``verbose`` and
    ``random_state``, and gives the fitted model with its penalty, solver and solution.
    """

    #: What `check_array` is told about X.
    allowed: ClassVar[dict[str, Any]]
    _length_scale_of_named = "auto"
    #: The parameters as they were when it was fitted.
    _asked: dict[str, Any]
    #: Rows at most that rounds of a learned metric fit, and that gradients of a fitted function are averaged over.
    _rows_of_rounds: ClassVar[int]
    _rows_of_gradients: ClassVar[int]

    # --- parameters ---------------------------------------------------------------------------------------------

    def _validate_parameters(self) -> np.random.Generator:
        chosen = isinstance(self.alpha, str) and self.alpha == "auto"
        if not chosen and not (is_number(self.alpha) and float(self.alpha) in Range(0.0, includes_low=True)):
            raise invalid(self, "alpha", "a number at least 0 or 'auto'", self.alpha)
        self._check_solver()
        check_number(self, "tol", self.tol, Range(0.0))
        check_integer(self, "max_iter", self.max_iter, 1)
        check_boolean(self, "verbose", self.verbose)
        return as_generator(self, self.random_state)

    @abstractmethod
    def _solvers(self) -> list[str]:
        """Name the solvers that may be asked for."""

    def _check_solver(self) -> None:
        check_choice(self, "solver", self.solver, self._solvers())

    @property
    def _given_alpha(self) -> float | None:
        return number_or_none(self.alpha)

    def _progress(self) -> Any:
        return progress_bar(self.verbose)

    # --- data ---------------------------------------------------------------------------------------------------

    def _checked(self, X: Any, reset: bool) -> Any:
        """Check X and leave the estimator as it is: a fit that fails changes nothing."""
        if reset:
            return check_array(X, input_name="X", estimator=self, **self.allowed)
        return validate_data(self, X, reset=False, **self.allowed)

    @abstractmethod
    def _trial_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        """Check targets and weights, and give what `_trial` needs of them."""

    @abstractmethod
    def _trial(self, *arguments: Any) -> Trial:
        """Choose some rows, by the generator that comes last, on which kernels are compared."""

    @abstractmethod
    def _gradients(self, X: Any, displacement: float) -> Iterator[tuple[slice, Array]]:
        """Iterate over ``(rows, gradients)`` of the fitted function, smoothed by a Gaussian in the kernel's distance.

        Its displacements have the given root mean square, whatever the number of inputs.
        """

    def _chosen_kernel(self, trial: Trial) -> Kernel:
        """Give a kernel of our own with a length scale, chosen by trials if that was left to us."""
        kernel = copy.deepcopy(self._kernel())
        if not isinstance(kernel.length_scale, str):
            return kernel
        wanted = kernel.length_scale
        kernel = kernel.replace(length_scale="median").resolve(trial.distinct_rows())
        return tuning.search_length_scale(kernel, trial.score, trial.first_scales) if wanted == "auto" else kernel

    # --- what was fitted ----------------------------------------------------------------------------------------

    def _accept(self, X: Any, **state: Any) -> None:
        """Take over what was fitted; until here nothing of the estimator has changed."""
        validate_data(self, X, reset=True, skip_check_array=True)
        self._remember()
        for name, value in state.items():
            setattr(self, name, value)

    def _remember(self) -> None:
        """Keep the parameters as they are now, whatever happens to them later."""
        self._asked = clone(self).get_params(deep=False)

    def _warn(self, model: Any) -> None:
        if not model.solution.converged:
            warn_user(
                f"{type(self).__name__} has not converged. {model.solution.message} Use a larger alpha, more "
                "iterations (max_iter), float64 data, or a larger tol if that is enough.",
                ConvergenceWarning,
            )

    @abstractmethod
    def _fitted(self) -> Any:
        """Give the fitted model."""

    @property
    def alpha_(self) -> float:
        """The penalty that was used."""
        return self._fitted().alpha

    @property
    def solver_(self) -> str:
        """The solver that was used."""
        return self._fitted().solver

    @property
    def solution_(self) -> Any:
        """The solver's solution, with its diagnosis."""
        return self._fitted().solution

    @property
    def n_iter_(self) -> int:
        """Iterations of the solver; at least 1."""
        return max(1, self._fitted().solution.n_iter)

    def summary(self) -> str:
        """Say what was fitted and chosen, in a few lines."""
        check_is_fitted(self)
        model = self._fitted()
        lines = [
            *self._first_lines(),
            f"  alpha       {model.alpha:.4g}{' (chosen)' if self._asked['alpha'] == 'auto' else ''}",
            f"  solver      {model.solver}: {model.solution.message}",
            *self._further_lines(),
        ]
        return "\n".join(lines)

    @abstractmethod
    def _first_lines(self) -> list[str]:
        """Say what the machine is made of."""

    def _further_lines(self) -> list[str]:
        return []
