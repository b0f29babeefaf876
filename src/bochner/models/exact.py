"""What the two exact kernel machines share: an expansion in the kernel over all training rows, and how it is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from .._validation import invalid
from ..features import RandomFeatures
from ..kernels import BY_NAME, Kernel
from ..solvers import (
    Design,
    Factor,
    Loss,
    Softmax,
    Solution,
    eigenpro,
    gram_preconditioner,
    log_losses,
    minimise_softmax,
)
from . import tuning
from .base import KernelMachine
from .linear import gram_of
from .trials import Trial

Array = NDArray[Any]
Floats = NDArray[np.float64]

# Features by which length scales and penalties are tried.
_TRIAL_FEATURES = 1024
# Rows that are held out to stop early, as a share and at most.
_HELD_OUT, _MOST_HELD_OUT = 0.05, 4096


@dataclass(frozen=True)
class Expansion:
    """``f = sum_j c_j k(x_j, .) + b`` with (n, k) coefficients c and (k,) intercepts b, and how it was found."""

    points: Array
    coefficients: Floats
    intercept: Floats
    alpha: float
    solver: str
    solution: Solution

    def values(self, kernel: Kernel, X: Array) -> Array:
        """Give the (n, k) values at new points, tile by tile."""
        return np.asarray(kernel.operator(X, self.points) @ self.coefficients.astype(X.dtype)) + self.intercept


class KernelRows:
    """The kernel matrix of some points, of which only parts are ever there."""

    def __init__(self, kernel: Kernel, X: Array) -> None:
        self._kernel, self._X, self.n_rows = kernel, X, len(X)

    def block(self, rows: Array, columns: Array) -> Array:
        """Give the entries of some rows and columns."""
        return self._kernel(self._X[rows], self._X[columns])

    def product(self, rows: Array, V: Floats) -> Floats:
        """Multiply some rows by a matrix."""
        return np.asarray(self._kernel.operator(self._X[rows], self._X) @ V.astype(self._X.dtype), dtype=np.float64)


class ExactModel(KernelMachine):
    """Common part of the exact kernel machines."""

    allowed: ClassVar[dict[str, Any]] = {"dtype": [np.float64, np.float32]}

    def __init__(
        self,
        kernel: str | Kernel = "laplacian",
        *,
        alpha: float | str = "auto",
        solver: str = "auto",
        tol: float = 1e-4,
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
        if not isinstance(self.early_stopping, (bool, np.bool_)):
            raise invalid(self, "early_stopping", "True or False", self.early_stopping)
        if not isinstance(self._kernel(), Kernel):
            raise invalid(self, "kernel", f"a kernel or one of {sorted(BY_NAME)}", self.kernel)
        return rng

    def _solvers(self) -> list[str]:
        return ["auto", "cholesky", "eigenpro"]

    def _chosen_solver(self, n_rows: int) -> str:
        """Choose Cholesky if the matrix and its factor fit into the memory allowed."""
        if self.solver != "auto":
            return self.solver
        return "cholesky" if 16.0 * n_rows**2 <= get_config()["working_memory"] * 2.0**20 else "eigenpro"

    @staticmethod
    def _trial_map(kernel: Kernel, seed: int, n_rows: int, n_trial: int) -> RandomFeatures:
        """Make the features of a trial: no more than can be of use for so many rows."""
        return RandomFeatures(kernel, min(_TRIAL_FEATURES, max(64, 2 * n_trial)), random_state=seed)

    # --- squared error ------------------------------------------------------------------------------------------

    def _fit_squares(
        self,
        kernel: Kernel,
        X: Array,
        targets: Array,
        weights: Array | None,
        trial: Trial,
        rng: np.random.Generator,
        progress: Any,
    ) -> Expansion:
        mean = np.average(targets, axis=0, weights=weights)
        Y, w, solver = targets - mean, np.ones(len(X)) if weights is None else weights, self._chosen_solver(len(X))
        if self._given_alpha is None:
            penalties = tuning.penalties_about(trial.penalty(kernel), float(w.sum()))
        else:
            penalties = [self._given_alpha]
        if solver == "eigenpro":
            loss = Loss(lambda scores, rows: scores - Y[rows], 1.0, Y.shape[1], np.zeros(Y.shape[1]))

            def error(scores: Floats, rows: Array) -> float:
                return float(np.average(np.square(scores - Y[rows]).sum(axis=1), weights=w[rows]))

            # Stopping early does the rest.
            return self._by_eigenpro(kernel, X, loss, error, w, penalties[0], mean, rng, progress)
        progress("Cholesky", 0.0)
        K = kernel(X).astype(np.float64, copy=False)
        alpha = penalties[0] if len(penalties) == 1 else _best_penalty(K, Y, w, penalties, tuning.hashes_of_rows(X, 0))
        coefficients, message = _solve(K, Y, w, alpha)
        solution = Solution(coefficients, True, 0, 0.0, message)
        return Expansion(X, coefficients, mean, alpha, "cholesky", solution)

    # --- log loss -----------------------------------------------------------------------------------------------

    def _fit_log_loss(
        self,
        kernel: Kernel,
        X: Array,
        codes: Array,
        n_classes: int,
        weights: Array | None,
        trial: Trial,
        rng: np.random.Generator,
        progress: Any,
    ) -> Expansion:
        alpha = trial.penalty(kernel) if self._given_alpha is None else self._given_alpha
        if self._chosen_solver(len(X)) == "cholesky":
            return self._softmax_on_roots(kernel, X, codes, n_classes, weights, alpha, progress)
        w = np.ones(len(X)) if weights is None else weights
        problem = Softmax(Design.of(np.zeros((len(X), 0))), codes, n_classes, alpha, weights)
        start = problem.start_intercept()
        curvature = 0.25 if n_classes == 2 else 0.5  # Böhning, 1992
        loss = Loss(lambda scores, rows: log_losses(scores, codes[rows])[1], curvature, len(start), start)

        def error(scores: Floats, rows: Array) -> float:
            return float(np.average(log_losses(scores, codes[rows])[0], weights=w[rows]))

        return self._by_eigenpro(kernel, X, loss, error, w, alpha, np.zeros(len(start)), rng, progress)

    def _softmax_on_roots(
        self,
        kernel: Kernel,
        X: Array,
        codes: Array,
        n_classes: int,
        weights: Array | None,
        alpha: float,
        progress: Any,
    ) -> Expansion:
        """Solve as logistic regression on the rows of L, ``K = L L^T``: coefficients t there are ``L^-T t`` here."""
        lower, order = _pivoted_cholesky(kernel(X).astype(np.float64, copy=False))
        rows = np.empty_like(lower)
        rows[order] = lower
        design = Design.of(rows)
        gram = gram_of(design, np.zeros((len(X), 1)), weights, precise=len(X) <= 1024)
        problem = Softmax(design, codes, n_classes, alpha, weights, free_intercept=False)
        preconditioner = gram_preconditioner(gram, problem.curvature, alpha)
        goal = min(self.tol, 1e-10) if len(X) <= 256 else self.tol
        solution = minimise_softmax(
            problem, preconditioner, tolerance=goal, max_iter=max(self.max_iter, 200), progress=progress
        )
        solution = replace(solution, converged=solution.residual <= self.tol)
        rank, coefficients = lower.shape[1], np.zeros((len(X), problem.n_scores))
        coefficients[order[:rank]] = solve_triangular(lower[:rank], solution.value[:-1], lower=True, trans=1)
        return Expansion(X, coefficients, solution.value[-1], alpha, "cholesky", solution)

    # --- iterations ---------------------------------------------------------------------------------------------

    def _by_eigenpro(
        self,
        kernel: Kernel,
        X: Array,
        loss: Loss,
        error: Any,
        weights: Array,
        alpha: float,
        shift: Array,
        rng: np.random.Generator,
        progress: Any,
    ) -> Expansion:
        """Fit by EigenPro; some rows are held out to know when to stop, unless that is not wanted."""
        kept, held = np.arange(len(X)), None
        if self.early_stopping and len(X) >= 20:
            n_held = min(_MOST_HELD_OUT, max(1, int(_HELD_OUT * len(X))))
            order = rng.permutation(len(X))
            held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
        points = X[kept]
        among_kept = replace(loss, slope=lambda scores, rows: loss.slope(scores, kept[rows]))

        def held_out_error(coefficients: Floats, intercept: Floats) -> float:
            values = np.asarray(kernel.operator(X[held], points) @ coefficients.astype(X.dtype), dtype=np.float64)
            return error(values + intercept, held)

        solution = eigenpro(
            KernelRows(kernel, points),
            among_kept,
            alpha,
            weights[kept],
            rng,
            tolerance=self.tol,
            max_epochs=self.max_iter,
            held_out_error=None if held is None else held_out_error,
            progress=progress,
        )
        return Expansion(points, solution.value[:-1], solution.value[-1] + shift, alpha, "eigenpro", solution)

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


def _solve(K: Floats, Y: Floats, weights: Floats, alpha: float) -> tuple[Floats, str]:
    """Solve ``(K + alpha / w) c = y`` in its symmetric form; directions without information are left out."""
    roots = np.sqrt(weights)

    def matrix() -> Floats:
        scaled = np.asfortranarray(K * roots[:, None] * roots)
        scaled[np.diag_indices(len(K))] += alpha
        return scaled

    factor = Factor(matrix, float(weights.sum()) + alpha)
    return roots[:, None] * factor.solve(roots[:, None] * Y), factor.message


def _best_penalty(K: Floats, Y: Floats, weights: Floats, penalties: list[float], hashes: Array) -> float:
    """Choose the penalty by the squared error on a tenth of the rows, which hashes hold out together."""
    held = hashes % 10 == 0
    if held.all() or not held.any():
        return penalties[len(penalties) // 2]
    kept, held = np.flatnonzero(~held), np.flatnonzero(held)
    inner, outer = K[np.ix_(kept, kept)], K[np.ix_(held, kept)]
    mean = np.average(Y[kept], axis=0, weights=weights[kept])

    def error(alpha: float) -> float:
        coefficients, _ = _solve(inner, Y[kept] - mean, weights[kept], alpha)
        return float(weights[held] @ np.square(outer @ coefficients + mean - Y[held]).sum(axis=1))

    return min(penalties, key=error)


def _pivoted_cholesky(K: Floats) -> tuple[Floats, Array]:
    """Give L (n, rank) and an order of the rows such that ``K[order][:, order] = L L^T``.

    Rows that those before them determine, as copies do, come last and have no column of their own.
    """
    lower, order, rank, _ = lapack.dpstrf(K, tol=1e-12 * len(K), lower=1)
    return np.ascontiguousarray(np.tril(lower)[:, :rank]), order - 1
