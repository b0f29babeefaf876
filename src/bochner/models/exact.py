"""What the two exact kernel machines share: an expansion in the kernel over all training rows, and how it is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from .._validation import check_boolean, invalid
from ..engine.schedule import slices
from ..features import RandomFeatures
from ..kernels import BY_NAME, Kernel
from ..solvers import (
    Loss,
    PointSample,
    Solution,
    eigenpro,
    kernel_ridge,
    kernel_ridge_by_cholesky,
    log_losses,
    log_odds,
)
from . import tuning
from .base import KernelMachine
from .costs import points_for_preconditioner
from .expansion import Expansion, KernelRows, Rows, Split, residual_in_double
from .gradients import gradients_of_expansion
from .held_out import Criterion, least, one_in_ten, plain_log_losses, squared_errors, tempered_log_losses
from .linear import Effort
from .logistic import softmax_by_conjugate_gradient, softmax_on_roots
from .trials import KernelTrial, Narrow, RidgeTrial, Trial

Array = NDArray[Any]
Floats = NDArray[np.float64]

# Residual of solutions of which the best penalty is chosen.
_ROUGH = 1e-2
# Rows up to which logistic regression holds the roots of the kernel matrix: its iterations are many there.
_MOST_ROOTS = 2048
# Rows that are held out to choose, or to stop early, as a share and at most.
_HELD_OUT, _MOST_HELD_OUT = 0.05, 4096


class ExactModel(KernelMachine):
    """Common part of the exact kernel machines."""

    allowed: ClassVar[dict[str, Any]] = {"dtype": [np.float64, np.float32]}
    _rows_of_rounds: ClassVar[int] = 16_384
    _rows_of_gradients: ClassVar[int] = 4_000

    def __init__(
        self,
        kernel: str | Kernel = "laplacian",
        *,
        alpha: float | str = "auto",
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 100,
        early_stopping: bool = True,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.verbose = verbose
        self.random_state = random_state

    def _validate_parameters(self) -> np.random.Generator:
        rng = super()._validate_parameters()
        check_boolean(self, "early_stopping", self.early_stopping)
        if not isinstance(self._kernel(), Kernel):
            raise invalid(self, "kernel", f"a kernel or one of {sorted(BY_NAME)}", self.kernel)
        self._kernel().validate()
        return rng

    def _solvers(self) -> list[str]:
        return ["auto", "cholesky", "conjugate_gradient", "eigenpro"]

    def _chosen_solver(self, n_rows: int) -> str:
        """Choose Cholesky if the matrix and its factor fit into the memory allowed."""
        if self.solver != "auto":
            return self.solver
        return "cholesky" if 16.0 * n_rows**2 <= _memory() else "conjugate_gradient"

    # --- squared error ------------------------------------------------------------------------------------------

    def _fit_squares(
        self,
        kernel: Kernel,
        rows: Rows,
        trial: Trial,
        rng: np.random.Generator,
        progress: Any,
        codes: Array | None = None,
    ) -> Expansion:
        """Fit to (n, k) targets, about their mean; where these are indicators of classes, their codes are given."""
        mean = np.average(rows.targets, axis=0, weights=rows.weights)
        rows = replace(rows, targets=rows.targets - mean)
        if self._given_alpha is None:
            penalties = tuning.penalties_about(trial.penalty(kernel), float(rows.weights.sum()))
        else:
            penalties = [self._given_alpha]
        criterion = squared_errors(rows.targets) if codes is None else tempered_log_losses(codes, mean)
        solver = self._chosen_solver(len(rows.X))
        if solver == "conjugate_gradient":
            found = self._by_conjugate_gradient(kernel, rows, penalties, criterion, rng, progress)
        elif solver == "eigenpro":
            loss = _squares(rows.targets)
            found = self._by_eigenpro(kernel, rows, loss, penalties[::-1], criterion, rng, progress)
        else:
            progress("Cholesky", 0.0)
            with tuning.threads_for((len(rows.X), len(rows.X))):
                found = _by_cholesky(kernel, rows, penalties, criterion)
        return replace(found, intercept=found.intercept + mean)

    # --- log loss -----------------------------------------------------------------------------------------------

    def _fit_log_loss(
        self, kernel: Kernel, rows: Rows, n_classes: int, trial: Trial, rng: np.random.Generator, progress: Any
    ) -> Expansion:
        """Fit to (n,) codes of classes."""
        alpha = trial.penalty(kernel) if self._given_alpha is None else self._given_alpha
        solver, effort = self._chosen_solver(len(rows.X)), Effort(self.tol, self.max_iter, progress)
        if self.solver == "auto" and len(rows.X) > _MOST_ROOTS:
            solver = "conjugate_gradient"
        if solver == "cholesky":
            with tuning.threads_for((len(rows.X), len(rows.X))):
                return softmax_on_roots(kernel, rows, n_classes, alpha, effort)
        if solver == "conjugate_gradient":
            order, sample_of = rng.permutation(len(rows.X)), partial(self._sample, n_columns=rows.X.shape[1])
            return softmax_by_conjugate_gradient(kernel, rows, n_classes, alpha, effort, order, sample_of)
        loss = _log_losses(rows.targets, n_classes, log_odds(rows.targets, n_classes, rows.weights))
        return self._by_eigenpro(kernel, rows, loss, [alpha], plain_log_losses(rows.targets), rng, progress)

    # --- iterations ---------------------------------------------------------------------------------------------

    def _by_conjugate_gradient(
        self,
        kernel: Kernel,
        rows: Rows,
        penalties: list[float],
        criterion: Criterion,
        rng: np.random.Generator,
        progress: Any,
    ) -> Expansion:
        """Solve for a given penalty; of several, some rows choose one, by what rough solutions for the others do."""
        split = self._split(rows, criterion, rng, wanted=len(penalties) > 1)
        order, n_outputs = np.concatenate([split.kept, split.held]), rows.targets.shape[1]
        points, targets, weights = rows.X[order], rows.targets[order], rows.weights[order]
        sample = self._sample(KernelRows(kernel, points), points.shape[1])

        def solve(n: int, penalties: list[float], tolerance: float, start: Floats | None = None) -> Solution:
            how = {"start": start, "tolerance": tolerance, "max_iter": self.max_iter, "progress": progress}
            return kernel_ridge(KernelRows(kernel, points[:n]), targets[:n], penalties, weights[:n], sample, **how)

        alpha, start, n_iter = penalties[len(penalties) // 2], None, 0
        if split.n_held:
            rough = solve(len(split.kept), penalties, max(self.tol, _ROUGH))
            scores, parts = split.values(kernel, rough.value), slices(rough.value.shape[1], n_outputs)
            alpha, part = min(zip(penalties, parts, strict=True), key=lambda tried: split.error(scores[:, tried[1]]))
            start = np.vstack([rough.value[:, part], np.zeros((split.n_held, n_outputs))])
            n_iter = rough.n_iter
        solution = solve(len(order), [alpha], self.tol, start)
        solution = replace(solution, n_iter=n_iter + solution.n_iter)
        if points.dtype == np.float32:
            left = residual_in_double(kernel, points, solution.value, targets, weights, alpha)
            solution = _as_measured(solution, left, self.tol)
        coefficients, intercept = solution.value[np.argsort(order)], np.zeros(n_outputs)
        return Expansion(rows.X, coefficients, intercept, alpha, "conjugate_gradient", solution)

    def _by_eigenpro(
        self,
        kernel: Kernel,
        rows: Rows,
        loss: Loss,
        penalties: list[float],
        criterion: Criterion,
        rng: np.random.Generator,
        progress: Any,
    ) -> Expansion:
        """Fit by EigenPro; held-out rows say when to stop, and whether to go on from there with a smaller penalty."""
        split = self._split(rows, criterion, rng, wanted=self.early_stopping)
        matrix, loss, weights = KernelRows(kernel, split.points), loss.among(split.kept), rows.weights[split.kept]

        def held_out_error(coefficients: Floats, intercept: Floats) -> float:
            return split.error(split.values(kernel, coefficients) + intercept)

        def error_of(solution: Solution) -> float:
            return held_out_error(solution.value[:-1], solution.value[-1])

        def solve(alpha: float, n_epochs: int, start: Floats | None = None) -> Solution:
            return eigenpro(
                matrix,
                loss,
                alpha,
                weights,
                rng,
                start=start,
                tolerance=self.tol,
                max_epochs=n_epochs,
                training_error=split.training_error,
                held_out_error=held_out_error if split.n_held else None,
                progress=lambda what, done: progress(f"{what}, alpha {alpha:.1e}", done),
            )

        # Every second of the falling penalties; if no rows can choose, the second one, which trials have found best.
        alpha, *smaller = penalties[::2] if split.n_held else penalties[:2][-1:]
        solution = solve(alpha, self.max_iter)
        n_iter = solution.n_iter
        while smaller and n_iter < self.max_iter:
            tried = solve(smaller[0], self.max_iter - n_iter, solution.value)
            n_iter += tried.n_iter
            if not error_of(tried) < error_of(solution):
                break
            alpha, solution = smaller.pop(0), tried
        solution = replace(solution, value=solution.value[:-1], n_iter=n_iter)
        return split.expansion(solution, loss.intercept, alpha, "eigenpro")

    def _sample(self, matrix: KernelRows, n_columns: int) -> PointSample:
        return PointSample(matrix, points_for_preconditioner(matrix.n_rows, n_columns, _memory()))

    def _split(self, rows: Rows, criterion: Criterion, rng: np.random.Generator, wanted: bool) -> Split:
        """Hold some rows out, if that is wanted and there are enough; equal ones together."""
        n, order = len(rows.X), rng.permutation(len(rows.X))
        n_held = min(_MOST_HELD_OUT, max(1, int(_HELD_OUT * n))) if wanted and n >= 20 else 0
        hashes = tuning.hashes_of_rows(rows.X, int(rng.integers(2**31)))[order]
        held = hashes < np.partition(hashes, n_held)[n_held]
        return Split(rows, order[held], order[~held], criterion)

    # --- what was fitted ----------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_expansion" in vars(self)

    def _fitted(self) -> Expansion:
        if "_expansion" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} is not fitted yet.")
        return self._expansion

    def _scores(self, X: Any) -> Array:
        """Compute the (n, k) values of the fitted function."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return self._expansion.values(self.kernel_, X).astype(X.dtype, copy=False)

    def _ridge_trial(
        self, X: Array, targets: Array, weights: Array | None, rng: np.random.Generator, codes: Array | None = None
    ) -> RidgeTrial:
        """Choose the rows of trials by squared errors: few ones are tried with the kernel itself."""
        kind = KernelTrial if len(X) <= KernelTrial.most_rows else RidgeTrial
        return kind(self._narrow(len(X)), X, targets, weights, rng, codes)

    def _narrow(self, n_rows: int) -> Narrow:
        """Give the features of trials: a kernel machine is like a model with more features than rows."""
        return Narrow(lambda kernel, width, seed: RandomFeatures(kernel, width, random_state=seed), max(64, 2 * n_rows))

    def _gradients(self, X: Any, displacement: float) -> Iterator[tuple[slice, Array]]:
        model = self._fitted()
        return gradients_of_expansion(self.kernel_, model.points, model.coefficients, X, displacement)

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the kernel at the training rows, (n, k)."""
        return self._fitted().coefficients

    @property
    def points_(self) -> Array:
        """The rows that the coefficients belong to: all training rows but those held out to stop early."""
        return self._fitted().points

    def _first_lines(self) -> list[str]:
        return [
            f"{type(self).__name__} on {len(self.points_)} rows of {self.n_features_in_} columns",
            f"  kernel      {self.kernel_}",
        ]


def _memory() -> float:
    """Give the bytes that may be used at a time, by scikit-learn's setting."""
    return float(get_config()["working_memory"] * 2.0**20)


def _squares(Y: Floats) -> Loss:
    """Give half the squared errors of some rows."""
    return Loss(
        slope=lambda scores, rows: scores - Y[rows],
        curvature=1.0,
        intercept=np.zeros(Y.shape[1]),
    )


def _log_losses(codes: Array, n_classes: int, intercept: Floats) -> Loss:
    """Give the log losses of some rows; the bound of their curvature is Böhning's (1992)."""
    return Loss(
        slope=lambda scores, rows: log_losses(scores, codes[rows])[1],
        curvature=0.25 if n_classes == 2 else 0.5,
        intercept=intercept,
    )


def _by_cholesky(kernel: Kernel, rows: Rows, penalties: list[float], criterion: Criterion) -> Expansion:
    """Solve with the whole kernel matrix; of several penalties the one that is judged best is taken.

    In double precision: the rounding of single precision is a noise of the matrix, which a small penalty shows.
    """
    X = rows.X.astype(np.float64, copy=False)
    K, Y, w = kernel(X), rows.targets, rows.weights
    alpha = penalties[0]
    if len(penalties) > 1:
        held_out = one_in_ten(tuning.hashes_of_rows(rows.X, 0))
        alpha = _best_penalty(K, Y, w, penalties, held_out, criterion)
    coefficients, message = kernel_ridge_by_cholesky(K, Y, w, alpha)
    values = K @ coefficients
    residual = _norm_ratio(values + alpha * coefficients / w[:, None] - Y, Y)
    solution = Solution(coefficients, True, 0, residual, message)
    points = rows.X if _single_suffices(coefficients, values) else X
    return Expansion(points, coefficients, np.zeros(Y.shape[1]), alpha, "cholesky", solution)


def _single_suffices(coefficients: Floats, values: Floats) -> bool:
    """Say whether kernel values in single precision give the function to three digits, when their roundings add up."""
    roundings = np.finfo(np.float32).eps * np.linalg.norm(coefficients, axis=0)
    return bool(np.all(roundings <= 1e-3 * np.sqrt(np.mean(np.square(values), axis=0))))


def _as_measured(solution: Solution, residual: float, tolerance: float) -> Solution:
    """Take a residual that was measured on some rows, if it is clearly not what iterations have seen."""
    if residual <= 2.0 * max(tolerance, solution.residual):
        return solution
    message = f"{solution.message} In double precision it is {residual:.1e}: single precision ends there."
    return replace(solution, converged=False, residual=residual, message=message)


def _norm_ratio(a: Floats, b: Floats) -> float:
    largest = float(np.linalg.norm(b))
    return float(np.linalg.norm(a)) / largest if largest > 0.0 else 0.0


def _best_penalty(
    K: Floats, Y: Floats, weights: Floats, penalties: list[float], held_out: Array | None, criterion: Criterion
) -> float:
    """Choose the penalty by some rows; without such rows, the middle one."""
    if held_out is None:
        return penalties[len(penalties) // 2]
    kept, held = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    split = tuning.KernelSplit(K, Y, weights, kept, held)
    return min(penalties, key=lambda alpha: least(split.losses(alpha, criterion)))
