"""EigenPro 2: stochastic gradient steps on a kernel expansion, preconditioned by the leading eigenvectors of a sample.

S. Ma and M. Belkin, "Kernel machines that adapt to GPUs for effective large batch training", 2019. For the function
``f = sum_j c_j k(x_j, .) + b`` and the objective

    sum_i w_i loss(f(x_i), y_i) + alpha / 2 |f|^2

the gradient in the space of the kernel has the coefficients ``r_i = w_i loss'(f(x_i)) + alpha c_i``. A step on a batch
of rows B takes ``step * r_B`` from their coefficients. Its length is bound by the largest eigenvalue of the kernel, so
the leading eigenvectors are damped: with the eigenvectors V and eigenvalues l of the (weighted) kernel matrix of a
sample S, down to the value t of the first that is left as it is, the coefficients of the sample get

    step * V diag((1 - (t + a) / (l + a)) / l) V^T K_SB r_B,    a = alpha |S| / (n curvature of the loss)

back. Then all these directions fall as fast as that of t, and step lengths and batches can be as much larger. (The
paper has no penalty, a = 0. With that, directions of large eigenvalues would lose what the penalty takes of them as
well, and hardly move where the penalty rules the step length.) A row of which the
eigenvectors leave more than of those that the step length was found by, since it is far from the sample, has a large
weight, or copies in its batch, takes as much shorter steps: a handful of such rows would lead all others astray. Where
the gradient vanishes is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from ..engine.schedule import slices
from ..progress import ignore_progress
from .base import KernelMatrix, Progress, Solution

Array = NDArray[Any]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Rows of the sample, and how many of its eigenvectors are damped, at most.
_SAMPLE, _EIGENVECTORS = 4096, 512
#: Other rows, by which is judged what these leave.
_CHECKED = 2048
#: Eigenvectors are good if they are few beside the rows of the sample.
_ROWS_PER_EIGENVECTOR = 8
#: Steps, of those that the two bounds allow; from twice these on they would go astray.
_STEP = 1.5
#: Rows of a batch, at most: enough for products of matrices.
_BATCH = 2048
#: Eigenvalues beside the largest that are not told from rounding: single precision leaves no less of a damped one.
_ROUNDING = 1e-6
#: Cosine of the angle between what is left of two rows of a batch that are called alike.
_ALIKE = 0.5
#: Norm of the gradient, beside the first, that says that steps are too long.
_ASTRAY = 10.0
#: Part of the held-out error by which an epoch must lower it to count.
_NOTICEABLE = 1e-3
#: Powers of the matrix that a random start is multiplied by for its leading eigenvectors.
_POWERS = 4


@dataclass(frozen=True)
class Loss:
    """A loss of the (m, k) scores of some rows: its derivatives, and a bound of its second derivative.

    The (k,) intercept is added to all scores, and stays.
    """

    slope: Callable[[Floats, Any], Floats]
    curvature: float
    intercept: Floats

    def among(self, kept: Rows) -> Loss:
        """Give the loss whose rows are counted among some of the rows of this one."""
        return replace(self, slope=lambda scores, rows: self.slope(scores, kept[rows]))


@dataclass(frozen=True)
class _Damping:
    """What the sample says: whose coefficients a step corrects, by which matrix, and the step length for any batch."""

    rows: slice
    vectors: Floats  # times the roots of the weights
    factors: Floats
    largest_eigenvalue: float
    largest_diagonal: float
    penalty: float  # for each of the curvature of the loss

    def correction(self, block: Array, moved: Floats) -> Floats:
        inner = self.vectors.T @ (block @ moved.astype(block.dtype)).astype(np.float64)
        return self.vectors @ (self.factors[:, None] * inner)

    def steps(self, left: Floats, batch: int, curvature: float) -> Floats:
        own = np.maximum(left, self.largest_diagonal) + self.penalty
        return _STEP / (curvature * (own + (batch - 1) * self.largest_eigenvalue))

    @property
    def best_batch(self) -> int:
        """Rows beyond which a larger batch gains nothing: where both terms of the step length are alike."""
        own = self.largest_diagonal + self.penalty
        return int(min(_BATCH, max(64.0, own / max(self.largest_eigenvalue, 1e-12))))


def eigenpro(
    matrix: KernelMatrix,
    loss: Loss,
    alpha: float,
    weights: Floats,
    rng: np.random.Generator,
    *,
    start: Floats | None = None,
    tolerance: float = 1e-4,
    max_epochs: int = 100,
    training_error: Callable[[Floats], float] | None = None,
    held_out_error: Callable[[Floats, Floats], float] | None = None,
    patience: int = 3,
    progress: Progress = ignore_progress,
) -> Solution:
    """Fit the expansion; the value of the solution is (n + 1, k): the coefficients, and the intercept as last row.

    The rows must come in random order: the first of them are the sample, and neighbours are a batch. It has converged
    if the norm of the gradient's coefficients, each divided by the root of its weight, over an epoch is below
    ``tolerance`` times that of the first epoch's beginning from zero, or if the held-out error, where there is one, has
    not fallen by a thousandth for some epochs: then the best is kept. The training error, which is only told, is that
    of the scores of all rows, each before its step.
    """
    n = matrix.n_rows
    damping = _damping(matrix, weights, alpha / loss.curvature, rng)
    batch = min(n, damping.best_batch)
    batches = slices(n, batch)
    left = np.concatenate([_left_in_batch(matrix, weights, damping, rows) for rows in batches])
    steps = damping.steps(left, batch, loss.curvature)
    coefficients, intercept = np.zeros((n, len(loss.intercept))), loss.intercept
    if start is not None:
        coefficients[:] = start[:-1]
    scores, roots = np.empty_like(coefficients), np.sqrt(weights)[:, None]
    # As in the system for c / w^(1/2): else rows of large weights alone would say how far it is.
    first = float(np.linalg.norm(roots * loss.slope(np.tile(intercept, (n, 1)), slice(0, n))))
    best = _Best(patience)
    residual, epoch, converged, said = float(first > 0.0), 0, first == 0.0, ""
    while not converged and epoch < max_epochs:
        squares = 0.0
        for number, which in enumerate(rng.permutation(len(batches))):
            rows = batches[which]
            scores[rows] = matrix.product(rows, coefficients) + intercept
            residuals = weights[rows, None] * loss.slope(scores[rows], rows) + alpha * coefficients[rows]
            squares += float(np.square(residuals / roots[rows]).sum())
            moved = steps[rows, None] * residuals
            coefficients[rows] -= moved
            coefficients[damping.rows] += damping.correction(matrix.block(damping.rows, rows), moved)
            progress(f"Epoch {epoch + 1}{said}", (number + 1) / len(batches))
        epoch, residual = epoch + 1, np.sqrt(squares) / first
        if not residual < _ASTRAY:
            return _gone_astray(best.value, start, np.vstack([np.zeros_like(coefficients), intercept]), epoch, residual)
        said = "" if training_error is None else f", training error {training_error(scores):.3g}"
        converged = residual <= tolerance
        if held_out_error is not None:
            error = held_out_error(coefficients, intercept)
            said += f", held-out error {error:.3g}"
            converged = best.tell(error, coefficients, intercept, residual) or converged
    value = np.vstack([coefficients, intercept])
    message = f"The relative gradient norm is {residual:.1e} after {epoch} epochs; {tolerance:.1e} was asked for."
    if best.value is not None:
        value, residual = best.value, best.residual
        message = f"Stopped after {epoch} epochs; the held-out error was least, {best.error:.4g}, after {best.epoch}."
    return Solution(value, bool(converged), epoch, float(residual), message)


def _gone_astray(best: Floats | None, start: Floats | None, zero: Floats, epoch: int, residual: float) -> Solution:
    """Give the last good coefficients, and say what can be done: more epochs cannot help."""
    value = next(one for one in (best, start, zero) if one is not None)
    message = (
        f"Steps went astray: after {epoch} epochs the relative gradient norm is {residual:.1e}. What was found before "
        "them is kept; solver='conjugate_gradient' takes no such steps."
    )
    return Solution(value, False, epoch, float(residual), message)


class _Best:
    """The coefficients with the least held-out error, and for how many epochs it has not fallen noticeably."""

    def __init__(self, patience: int) -> None:
        self._patience, self._idle, self._told = patience, 0, 0
        self.error, self.epoch, self.residual = np.inf, 0, np.inf
        self.value: Floats | None = None

    def tell(self, error: float, coefficients: Floats, intercept: Floats, residual: float) -> bool:
        """Take the result of an epoch; say whether the error has not fallen for long."""
        self._told += 1
        self._idle = 0 if error < (1.0 - _NOTICEABLE) * self.error else self._idle + 1
        if error < self.error:
            self.error, self.epoch, self.residual = error, self._told, residual
            self.value = np.vstack([coefficients, intercept])
        return self._idle >= self._patience


def _damping(matrix: KernelMatrix, weights: Floats, penalty: float, rng: np.random.Generator) -> _Damping:
    """Find the leading eigenvectors of a sample, and what they leave."""
    n = matrix.n_rows
    size = min(n, _SAMPLE)
    rows = slice(0, size)
    roots = np.sqrt(weights[rows])
    products = matrix.block(rows, rows).astype(np.float64) * roots[:, None] * roots
    n_vectors = min(_EIGENVECTORS, max(1, size // _ROWS_PER_EIGENVECTOR))
    values, vectors = _leading(products, min(n_vectors + 1, size), rng)
    values = np.maximum(values, _ROUNDING * values[0])
    rest = values[-1]
    values, vectors = values[:-1], vectors[:, :-1]
    of_sample = penalty * size / n
    shares = 1.0 - (rest + of_sample) / (values + of_sample)
    left = np.diag(products) - np.square(vectors) @ (shares * values)
    scaled, factors = roots[:, None] * vectors, shares / values
    diagonal, eigenvalue = _left_elsewhere(matrix, weights, rows, scaled, factors, rng)
    largest = max(float(np.max(values * (1.0 - shares), initial=rest)) / size, eigenvalue)
    return _Damping(rows, scaled, factors, largest, max(float(left.max()), diagonal, float(rest / size)), penalty)


def _left_elsewhere(
    matrix: KernelMatrix, weights: Floats, sample: slice, vectors: Floats, factors: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """Give the largest entry, and the largest eigenvalue per row, of what a sample's damping leaves of other rows.

    Of the sample's own rows its eigenvectors leave less than of others: of smooth kernels much less, and steps by that
    would be too long.
    """
    n = matrix.n_rows
    rows = slice(max(0, n - _CHECKED), n)
    roots = np.sqrt(weights[rows]).astype(np.float32)
    seen = matrix.block(rows, sample).astype(np.float32) @ vectors.astype(np.float32) * roots[:, None]
    left = matrix.block(rows, rows).astype(np.float32) * roots[:, None] * roots
    left -= seen * factors.astype(np.float32) @ seen.T
    diagonal = float(np.diag(left).max())
    # Of so few rows the diagonal would count among the eigenvalues for much more than it does among all rows.
    np.fill_diagonal(left, 0.0)
    values, _ = _leading(left, 1, rng)
    return diagonal, float(values[0]) / max(1, len(left) - 1)


def _left_in_batch(matrix: KernelMatrix, weights: Floats, damping: _Damping, rows: slice) -> Floats:
    """Give what the damping leaves of the diagonal entries of a batch.

    The entries of rows that are alike add up: of copies, and of those where much is left. There sums of the moduli
    count, a bound of their eigenvalues (Gershgorin), if these are larger than all that the step length was found by.
    """
    roots = np.sqrt(weights[rows])
    seen = roots[:, None] * (matrix.block(rows, damping.rows) @ damping.vectors)
    left = matrix.block(rows, rows) * roots[:, None] * roots - seen * damping.factors @ seen.T
    own = left.diagonal().copy()
    far, lengths = own > damping.largest_diagonal, np.sqrt(np.maximum(own, 0.0))
    are_alike = abs(left) > _ALIKE * np.outer(lengths, lengths)
    are_alike |= np.outer(far, far)
    np.fill_diagonal(are_alike, True)
    sums = abs(left).sum(axis=1, where=are_alike)
    return np.where(sums > damping.largest_diagonal, sums, own)


def _leading(matrix: Array, n_vectors: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Give the leading eigenvalues, falling, and eigenvectors, by powers of the matrix on a random start.

    Halko, Martinsson and Tropp, "Finding structure with randomness", 2011, algorithm 4.4.
    """
    if 4 * n_vectors >= len(matrix):
        values, vectors = eigh(matrix)
        return values[::-1][:n_vectors], vectors[:, ::-1][:, :n_vectors]
    basis = rng.standard_normal((len(matrix), n_vectors + 16))
    for _ in range(_POWERS):
        basis, _ = qr(matrix @ basis, mode="economic", overwrite_a=True, check_finite=False)
    values, inner = eigh(basis.T @ (matrix @ basis))
    return values[::-1][:n_vectors], (basis @ inner)[:, ::-1][:, :n_vectors]
