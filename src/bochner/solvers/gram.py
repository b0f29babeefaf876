"""Ridge regression from sums over the rows: a Gram matrix that can be added to, merged, subtracted and solved.

For weighted rows ``phi_i`` with targets ``y_i`` the sums of w, w phi, w phi phi^T, w phi y^T, w y and w y^2 are all
that ridge regression with a free intercept needs. They are a monoid: sums over parts of the data add up.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, eigh, lapack
from scipy.linalg.blas import dsymm, dsyrk, ssyrk

from ..progress import ignore_progress
from .base import Design, Progress, Solution, rows_of
from .conjugate_gradient import Map, centred_normal, conjugate_gradient, moments

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Rows whose products may be summed in float32 before they go into the float64 sums.
_ROWS_IN_SINGLE = 8192
#: Random signs by which a trace is estimated; its standard error is at most sqrt(2 trace / probes).
_PROBES = 48
#: Relative eigenvalues below which a direction is left out where no penalty holds it.
_CUT = 1e-13


class Gram:
    """Sums of a ridge problem.

    Parameters
    ----------
    n_features, n_targets : int
    precise : bool, default=True
        Form products in float64 even if the rows are float32. Otherwise they are formed in the precision of the rows,
        twice as fast for float32, and good to about 1e-7 of the largest eigenvalue: enough for a solution that is
        refined afterwards (`refine`) or for penalties well above that.
    """

    def __init__(self, n_features: int, n_targets: int, precise: bool = True) -> None:
        self.precise = precise
        self.n_rows, self.weight = 0, 0.0
        self._sums = np.zeros(n_features)
        self._products = np.zeros((n_features, n_features), order="F")  # the lower half
        self._cross = np.zeros((n_features, n_targets))
        self._target_sums, self._target_squares = np.zeros(n_targets), np.zeros(n_targets)
        self._single: Array | None = None
        self._rows_in_single = 0

    @classmethod
    def of(cls, design: Design, targets: Array, weights: Array | None, precise: bool = True) -> Gram:
        """Sum up a whole design."""
        gram = cls(design.shape[1], targets.shape[1], precise)
        for rows, block in design:
            gram.update(block, targets[rows], rows_of(weights, rows))
        return gram

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of features and of targets."""
        return self._cross.shape

    def update(self, features: Array, targets: Array, weights: Array | None = None) -> Gram:
        """Add rows: (n, p) features, (n, k) targets and, if they are given, (n,) weights."""
        targets = np.asarray(targets, dtype=np.float64)
        w = np.ones(len(features)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._check(features, targets, w)
        weighted = targets * w[:, None]
        compute = np.float64 if self.precise else features.dtype
        for start in range(0, len(features), 2048):  # a copy, where there must be one, is small
            rows = slice(start, start + 2048)
            block = np.ascontiguousarray(features[rows], dtype=compute)
            self._cross += block.T @ weighted[rows].astype(compute)
            self._sums += w[rows].astype(compute) @ block
            self._add_products(block if weights is None else block * np.sqrt(w[rows, None]).astype(compute))
        self.n_rows += int(np.count_nonzero(w))
        self.weight += float(w.sum())
        self._target_sums += weighted.sum(axis=0)
        self._target_squares += (weighted * targets).sum(axis=0)
        return self

    def _check(self, features: Array, targets: Array, weights: Array) -> None:
        """Raise, before anything is changed, if the rows do not belong to this problem."""
        n, (p, k) = len(features), self.shape
        if features.shape != (n, p) or targets.shape != (n, k) or weights.shape != (n,):
            raise ValueError(
                f"Sums of {p} features and {k} targets cannot take rows of shapes {features.shape}, {targets.shape} "
                f"and weights {weights.shape}."
            )

    def _add_products(self, block: Array) -> None:
        if block.dtype == np.float64:
            dsyrk(1.0, block.T, beta=1.0, c=self._products, lower=1, overwrite_c=1)
            return
        if self._single is None:
            self._single = np.zeros(self._products.shape, dtype=np.float32, order="F")
        ssyrk(1.0, block.T, beta=1.0, c=self._single, lower=1, overwrite_c=1)
        self._rows_in_single += len(block)
        if self._rows_in_single >= _ROWS_IN_SINGLE:
            self._flush()

    def _flush(self) -> None:
        if self._single is not None:
            self._products += self._single
            self._single[:] = 0.0
            self._rows_in_single = 0

    def merge(self, other: Gram) -> Gram:
        """Add the sums of other rows."""
        return self._combine(other, 1)

    def subtract(self, other: Gram) -> Gram:
        """Take the sums of some rows away."""
        return self._combine(other, -1)

    def _combine(self, other: Gram, sign: int) -> Gram:
        if other.shape != self.shape:
            raise ValueError(f"Sums of different problems cannot be combined: {self.shape} and {other.shape}.")
        self._flush()
        other._flush()
        self.n_rows += sign * other.n_rows
        self.weight += sign * other.weight
        for name in ("_sums", "_products", "_cross", "_target_sums", "_target_squares"):
            getattr(self, name)[...] += sign * getattr(other, name)
        return self

    @property
    def n_effective(self) -> float:
        """Rows, where a weight of 2 counts as two; weights that are less than 1 on average do not count for less."""
        return max(self.weight, float(self.n_rows))

    def copy(self) -> Gram:
        """Give sums that can be changed without changing these."""
        return copy.deepcopy(self)

    def in_units(self, units: Floats) -> Gram:
        """Give the sums of targets divided by units, one for each; other sums are the same arrays: do not update."""
        self._flush()
        other = copy.copy(self)
        other._cross, other._target_sums = self._cross / units, self._target_sums / units
        other._target_squares = self._target_squares / units**2
        return other

    @property
    def feature_mean(self) -> Floats:
        """The weighted mean of the features."""
        return self._sums / self.weight

    @property
    def target_mean(self) -> Floats:
        """The weighted mean of the targets."""
        return self._target_sums / self.weight

    @property
    def target_variation(self) -> Floats:
        """Weighted sums of squares of the centred targets."""
        return np.maximum(self._target_squares - self._target_sums**2 / self.weight, 0.0)

    @property
    def cross(self) -> Floats:
        """Weighted products (p, k) of the centred features and targets."""
        return self._cross - np.outer(self._sums, self.target_mean)

    def products(self, alpha: float = 0.0, scale: float = 1.0, centred: bool = True) -> Floats:
        """Give the lower half of ``scale * (Gram matrix) + alpha I``, centred or not, in a new array."""
        self._flush()
        of_mean = -scale / self.weight if centred else 0.0
        matrix = dsyrk(of_mean, self._sums[:, None], beta=scale, c=self._products, lower=1)
        matrix[np.diag_indices(len(matrix))] += alpha
        return matrix

    def factor(self, alpha: float) -> Factor:
        """Factor the penalised system once, to solve it many times."""
        self._flush()
        return Factor(lambda: self.products(alpha), alpha + float(np.trace(self._products)))

    def solve(self, alpha: float) -> Solution:
        """Solve for the (p, k) coefficients; the intercept is ``target_mean - feature_mean @ coefficients``."""
        factor = self.factor(alpha)
        return Solution(factor.solve(self.cross), True, 0, 0.0, factor.message)

    def squared_error_of(self, other: Gram, alpha: float) -> float:
        """Sum up the weighted squared errors, on these rows, of the solution for other rows."""
        coefficients = other.factor(alpha).solve(other.cross)
        intercept = other.target_mean - other.feature_mean @ coefficients
        self._flush()
        fitted = dsymm(1.0, self._products, coefficients, lower=1)
        squares = (coefficients * (fitted - 2.0 * self._cross)).sum(axis=0) + self._target_squares
        linear = 2.0 * intercept * (coefficients.T @ self._sums - self._target_sums)
        return float((squares + linear + self.weight * intercept**2).sum())

    def residual_squares(self, coefficients: Floats, alpha: float) -> Floats:
        """Weighted sums of squared residuals of coefficients that solve the system with this penalty."""
        fitted = (self.cross * coefficients).sum(axis=0) + alpha * np.square(coefficients).sum(axis=0)
        return np.maximum(self.target_variation - fitted, 0.0)


class Factor:
    """A factored positive semidefinite matrix: Cholesky, or eigenvectors where that breaks down.

    With a penalty near zero the matrix can be singular, or not even semidefinite by rounding. Then directions whose
    eigenvalues are rounding only, relative to a scale (the trace of the matrix before it was centred), are left out:
    the solution of least norm. No error reaches the user.
    """

    def __init__(self, make: Callable[[], Floats], scale: float) -> None:
        self.lower, info = lapack.dpotrf(make(), lower=1, overwrite_a=1, clean=0)
        self.message = "Solved by Cholesky factorisation."
        self._vectors: Floats | None = None
        self.rank = len(self.lower)
        if info == 0 and np.square(np.diag(self.lower)).min() > _CUT * scale:
            return
        values, self._vectors = eigh(make(), lower=True, overwrite_a=True, driver="evd")
        kept = values > _CUT * max(scale, np.finfo(float).tiny)
        self.rank = int(kept.sum())
        self._inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
        self.message = f"Solved by eigenvectors: {int((~kept).sum())} directions without information were left out."

    def solve(self, right: Floats) -> Floats:
        """Multiply by the inverse."""
        if self._vectors is None:
            return cho_solve((self.lower, True), right, check_finite=False)
        return self._vectors @ (self._inverse[:, None] * (self._vectors.T @ right))

    def inverse_trace(self) -> float:
        """Give the trace of the inverse, at the cost of another factorisation."""
        if self._vectors is not None:
            return float(self._inverse.sum())
        return float(np.square(np.tril(lapack.dtrtri(self.lower, lower=1)[0])).sum())

    def root_transposed(self, right: Floats) -> Floats:
        """Multiply by ``R^T``, where ``R R^T`` is the inverse: for variances."""
        if self._vectors is None:
            return lapack.dtrtrs(self.lower, right, lower=1)[0]
        return np.sqrt(self._inverse)[:, None] * (self._vectors.T @ right)


def refine(
    design: Design,
    targets: Array,
    weights: Array | None,
    gram: Gram,
    alpha: float,
    factor: Factor,
    tolerance: float = 3e-7,
    progress: Progress = ignore_progress,
) -> Solution:
    """Improve the solution for sums in float32, by conjugate gradients preconditioned with their factor.

    The residuals are taken on the rows themselves, so what float32 sums have lost is found again; two or three passes
    do.
    """
    mean, right = moments(design, targets - gram.target_mean, weights)
    normal, start = centred_normal(design, weights, mean), factor.solve(gram.cross)
    return conjugate_gradient(normal, right, factor.solve, start, alpha, tolerance, max_iter=50, progress=progress)


class FoldedGram:
    """Sums of a ridge problem in parts, so that each part can be held out: what is left is the total less the part.

    Parameters
    ----------
    n_features, n_targets : int
    n_parts : int
    precise : bool, default=True
        See `Gram`.
    """

    def __init__(self, n_features: int, n_targets: int, n_parts: int, precise: bool = True) -> None:
        self.parts = [Gram(n_features, n_targets, precise) for _ in range(n_parts)]

    def update(self, features: Array, targets: Array, weights: Array | None, parts: NDArray[np.integer]) -> FoldedGram:
        """Add rows, each to the part of its number."""
        for k, part in enumerate(self.parts):
            rows = slice(None) if len(self.parts) == 1 else np.flatnonzero(parts == k)
            part.update(features[rows], targets[rows], rows_of(weights, rows))
        return self

    def copy(self) -> FoldedGram:
        """Give sums that can be changed without changing these."""
        return copy.deepcopy(self)

    def in_units(self, units: Floats) -> FoldedGram:
        """Give the same for targets divided by units; see `Gram.in_units`."""
        other = copy.copy(self)
        other.parts = [part.in_units(units) for part in self.parts]
        return other

    def target_moments(self) -> tuple[Floats, Floats]:
        """Give the mean and the standard deviation of each target."""
        weight = sum(part.weight for part in self.parts)
        mean = sum((part._target_sums for part in self.parts), np.zeros(1)) / weight
        squares = sum((part._target_squares for part in self.parts), np.zeros(1)) / weight
        return mean, np.sqrt(np.maximum(squares - mean**2, 0.0))

    def total(self) -> Gram:
        """Add up the parts."""
        total = self.parts[0].copy() if len(self.parts) > 1 else self.parts[0]
        for part in self.parts[1:]:
            total.merge(part)
        return total


def choose_alpha(
    folded: FoldedGram,
    low: float,
    high: float = 1.0,
    n_held: int | None = None,
    error: Callable[[dict[int, Gram], float], float] | None = None,
) -> tuple[float, dict[float, float]]:
    """Choose the penalty by the error on parts that are held out: the squared error, which the sums alone can tell.

    Another ``error`` is given, by the number of the part that is held out, the sums of all others, and a penalty.
    Penalties are ``low`` to ``high`` times the total weight: steps of ten downhill from the middle, then the half steps
    beside the best. Only the first ``n_held`` parts are held out in turn; all of them by default.

    Returns
    -------
    alpha : float
    scores : dict
        Mean errors of all penalties that were tried.
    """
    total, scores = folded.total(), dict[float, float]()
    held = {k: part for k, part in enumerate(folded.parts[:n_held]) if 0.0 < part.weight < total.weight}
    if not held:  # one row, or one row over and over: nothing can be learnt about the penalty
        return total.weight * np.sqrt(low * high), {total.weight * np.sqrt(low * high): np.inf}
    kept = {k: total.copy().subtract(part) for k, part in held.items()}

    def squared_error(kept: dict[int, Gram], alpha: float) -> float:
        errors = [held[k].squared_error_of(rest, alpha) for k, rest in kept.items()]
        return sum(errors) / sum(part.weight for part in held.values())

    def score(exponent: float) -> float:
        alpha = total.weight * 10.0**exponent
        if alpha not in scores:
            scores[alpha] = float((error or squared_error)(kept, alpha))
        return scores[alpha]

    bounds = round(np.log10(low)), round(np.log10(high))
    best = float((bounds[0] + bounds[1]) // 2)
    for step in (-1.0, 1.0):
        while bounds[0] <= best + step <= bounds[1] and score(best + step) < score(best):
            best += step
    for half in (best - 0.5, best + 0.5):
        if bounds[0] <= half <= bounds[1]:
            score(half)
    return min(scores, key=lambda alpha: scores[alpha]), scores


def degrees_of_freedom(solve: Map, n_features: int, n_rows: float, alpha: float, rank: int | None = None) -> float:
    """Estimate ``1 + trace(A (A + alpha)^-1)``, the parameters that the data determine; always below the rows.

    ``solve`` multiplies by ``(A + alpha)^-1``, whose trace is taken by random signs z, ``E z^T (A + alpha)^-1 z``
    (Hutchinson, 1990).
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(n_features, _PROBES))
    inverse_trace = (signs * solve(signs)).sum() / _PROBES
    return float(
        1.0 + np.clip((n_features if rank is None else rank) - alpha * inverse_trace, 0.0, max(n_rows - 1.5, 0.0))
    )
