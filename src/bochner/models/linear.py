"""A linear model on a design: ridge or softmax, by the solver that fits the size, with its diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers import (
    SMALL,
    Design,
    Factor,
    FoldedGram,
    Gram,
    Preconditioner,
    Preconditioning,
    Solution,
    centred_normal,
    choose_alpha,
    conjugate_gradient,
    degrees_of_freedom,
    moments,
    refine,
    ridge_by_conjugate_gradient,
    rows_of,
    total_weight,
)
from .costs import WIDEST_GRAM
from .held_out import CLEARLY, Criterion, HeldOutRows, Judging, least, one_in_ten, squared_errors
from .tuning import FOLDS, parts_of_rows, smallest_alpha

Array = NDArray[Any]
Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]
#: Entries of a design that is solved to the last digits.
TINY = 1 << 15
#: Widths at which a factorisation takes no time, and rows per feature beside which it does not count.
_FEW_FEATURES, _MANY_ROWS = 512, 64
#: How far iterations go that compare penalties.
_ROUGH, _ROUGH_ITERATIONS = 1e-2, 30


@dataclass(frozen=True)
class LinearModel:
    """Coefficients (p, k) and intercept (k,) of a fitted model, and how they were found."""

    coefficients: Floats
    intercept: Floats
    alpha: float
    solver: str
    solution: Solution
    # Of ridge regression: what the uncertainty of a prediction needs.
    uncertainty: Uncertainty | None = None

    def values(self, features: Array) -> Array:
        """Give the (n, k) values for (n, p) features."""
        return features @ self.coefficients + self.intercept

    def shifted(self, shift: Array) -> LinearModel:
        """Add to the intercept what was taken from the targets."""
        return replace(self, intercept=self.intercept + shift)


@dataclass(frozen=True)
class Uncertainty:
    """The posterior of the Bayesian linear model: noise variances (k,), mean and factored precision of the features.

    The precision comes from all rows (Gram matrix) or stands for all of them (the preconditioner of an iteration).
    """

    noise_variance: Floats
    feature_mean: Floats
    factor: Factor | Preconditioner
    weight: float

    def standard_deviation(self, features: Array) -> Floats:
        """Give the (n, k) standard deviations of new targets: noise, and what is not known of the function.

        ``var = noise (1 + 1/W + c^T (A + alpha)^-1 c)`` for the centred features c, the covariance of a ridge solution
        under the prior that it is the posterior mean of (Bishop, Pattern Recognition, equation 3.59).
        """
        centred = features.T - self.feature_mean[:, None]
        spread = 1.0 + 1.0 / self.weight + np.square(self.factor.root_transposed(centred)).sum(axis=0)
        return np.sqrt(spread[:, None] * self.noise_variance)


@dataclass(frozen=True)
class Sample:
    """Some rows with their weights, by which iterations are preconditioned; whether memory allows to keep them."""

    design: Design
    weights: Array | None
    may_be_kept: bool

    def rows(self, effort: Effort, widest_sums: int) -> Design:
        """Give the rows, kept if they are read more than once: where features are too wide to sum their products."""
        telling = self.design.telling("Preconditioner", effort.progress)
        if self.design.shape[1] <= widest_sums:
            return telling
        return telling.kept() if self.may_be_kept else self.design


@dataclass(frozen=True)
class Effort:
    """How far iterations go: until a relative residual or a number of them, telling how far they are."""

    tolerance: float
    max_iter: int
    progress: Progress


def empty_sums(n_features: int, n_targets: int, n_rows: int, chosen: bool, precise: bool = True) -> FoldedGram:
    """Make the sums for a fit: in parts if the penalty is to be chosen.

    Five folds, each held out in turn, if their factorisations cost little beside the sums; else one fold and the rest.
    """
    cheap = n_features <= _FEW_FEATURES or n_rows > _MANY_ROWS * n_features
    n_parts = 1 if not chosen else FOLDS if cheap else 2
    return FoldedGram(n_features, n_targets, n_parts, precise)


def ridge_from_sums(folded: FoldedGram, alpha: float | None, error: Any = None) -> LinearModel:
    """Solve for given sums; without a penalty, choose it, by an error that is not the squared one if it is given."""
    gram, alpha, factor = _factored(folded, alpha, error)
    return _ridge_model(gram, alpha, factor, Solution(factor.solve(gram.cross), True, 0, 0.0, factor.message))


def _n_held(folded: FoldedGram) -> int | None:
    """Say how many parts are held out: the first of two, or each in turn."""
    return None if len(folded.parts) > 2 else 1


def _factored(folded: FoldedGram, alpha: float | None, error: Any = None) -> tuple[Gram, float, Factor]:
    """Give the total sums, the penalty, chosen if there is none, and the factor of both."""
    if alpha is None:
        precision = np.float64 if folded.parts[0].precise else np.float32
        alpha = choose_alpha(folded, smallest_alpha(precision), n_held=_n_held(folded), error=error)[0]
    total = folded.total()
    return total, alpha, total.factor(alpha)


def _ridge_model(gram: Gram, alpha: float, factor: Factor, solution: Solution) -> LinearModel:
    residuals = gram.residual_squares(solution.value, alpha)
    uncertainty = _uncertainty(residuals, gram.n_effective, gram.weight, gram.feature_mean, alpha, factor)
    intercept = gram.target_mean - gram.feature_mean @ solution.value
    return LinearModel(solution.value, intercept, alpha, "gram", solution, uncertainty)


def _uncertainty(
    residuals: Floats, n_rows: float, weight: float, mean: Floats, alpha: float, factor: Factor | Preconditioner
) -> Uncertainty:
    """Estimate the noise from the residual squares and the rows that are left after the fit."""
    rank = factor.rank if isinstance(factor, Factor) else len(mean)
    freedom = degrees_of_freedom(factor.solve, len(mean), n_rows, alpha, rank)
    left = max(n_rows - freedom, 0.5)  # one row, of which nothing is left
    return Uncertainty(residuals / weight * n_rows / left, mean, factor, weight)


def ridge_by_gram(
    design: Design, targets: Array, weights: Array | None, alpha: float | None, judging: Judging | None, effort: Effort
) -> LinearModel:
    """Fit by the Gram matrix; of float32 rows by products in float32, refined on the rows.

    How penalties are judged must be said if there is none.
    """
    single = design.dtype == np.float32
    folded = empty_sums(design.shape[1], targets.shape[1], design.shape[0], alpha is None, precise=not single)
    parts = np.zeros(design.shape[0], int) if judging is None else parts_of_rows(judging.hashes, len(folded.parts))
    held_out = HeldOutRows.of_parts(parts, _n_held(folded), weights, judging, design.shape[1], design.dtype)
    shift = np.average(targets, axis=0, weights=weights)  # of which float32 products would lose digits
    for rows, block in design.telling("Gram matrix", effort.progress):
        folded.update(block, targets[rows] - shift, rows_of(weights, rows), parts[rows])
        if held_out is not None:
            held_out.take(rows, block)
    error = None if held_out is None else held_out.error
    if not single:
        return ridge_from_sums(folded, alpha, error).shifted(shift)
    gram, alpha, factor = _factored(folded, alpha, error)
    solution = refine(design, targets - shift, weights, gram, alpha, factor, progress=effort.progress)
    solution = replace(solution, converged=solution.residual <= effort.tolerance)
    return _ridge_model(gram, alpha, factor, solution).shifted(shift)


def ridge_by_iteration(
    design: Design,
    some: Sample,
    targets: Array,
    weights: Array | None,
    alphas: Sequence[float],
    judging: Judging | None,
    effort: Effort,
    far_below: Sequence[float] = (),
) -> LinearModel:
    """Fit by conjugate gradients, preconditioned by some of the rows.

    Of several penalties the one that is judged best on held-out rows is taken; one that is far below the others only if
    it is clearly better.
    """
    weight, target_mean = total_weight(design, weights), np.average(targets, axis=0, weights=weights)
    targets = targets - target_mean
    mean, cross = moments(design.telling("Moments", effort.progress), targets, weights)
    preconditioning = Preconditioning(some.rows(effort, WIDEST_GRAM), some.weights, weight, widest_sums=WIDEST_GRAM)
    alpha, start = float(alphas[len(alphas) // 2]), None
    held = None if judging is None else one_in_ten(judging.hashes)
    if judging is not None and held is not None:
        tried, criterion = [*far_below, *alphas], judging.criterion or squared_errors(targets)
        errors, found = _errors_of_penalties(design, targets, weights, tried, held, criterion, preconditioning, effort)
        best = _clearly_best(errors, len(far_below))
        alpha, start = float(tried[best]), found[best]
    solution = ridge_by_conjugate_gradient(
        design,
        mean,
        cross,
        weights,
        alpha,
        preconditioning.at(alpha).solve,
        start=start,
        tolerance=goal(design, effort.tolerance, 1e-12, SMALL),
        max_iter=effort.max_iter,
        progress=effort.progress,
    )
    solution = replace(solution, converged=solution.residual <= effort.tolerance)
    # By einsum, which makes no array of squares.
    w = np.broadcast_to(1.0, len(targets)) if weights is None else weights
    variation = np.einsum("i,ik,ik->k", w, targets, targets)
    fitted = (cross * solution.value).sum(axis=0) + alpha * np.square(solution.value).sum(axis=0)
    residuals, n_rows = np.maximum(variation - fitted, 0.0), max(weight, design.shape[0])
    uncertainty = _uncertainty(residuals, n_rows, weight, mean, alpha, preconditioning.undamped_at(alpha, some.design))
    intercept = target_mean - mean @ solution.value
    return LinearModel(solution.value, intercept, alpha, "conjugate_gradient", solution, uncertainty)


def _clearly_best(errors: Sequence[float], n_far: int) -> int:
    """Say which error is the least; one of the first few counts only if it is clearly less than the others."""
    near = n_far + int(np.argmin(errors[n_far:]))
    far = int(np.argmin([*errors[:n_far], np.inf]))
    return far if far < n_far and errors[far] < CLEARLY * errors[near] else near


def _errors_of_penalties(
    design: Design,
    targets: Array,
    weights: Array | None,
    alphas: Sequence[float],
    held: Array,
    criterion: Criterion,
    preconditioning: Preconditioning,
    effort: Effort,
) -> tuple[list[float], list[Floats]]:
    """Solve for the penalties without the rows that are held out, and look at these.

    Penalties within two powers of ten, which one preconditioner serves, are solved for at once, each a column more. All
    begin at zero: ending before they converge, as the least penalties may, is not to their advantage. The solutions
    come along, for the iterations with all rows to begin at.
    """
    w = np.where(held, 0.0, 1.0 if weights is None else weights)
    mean, cross = moments(design, targets, w)
    normal = centred_normal(design, w, mean)
    found = np.empty((len(mean), 0))
    for group in _groups(alphas):
        of_group = conjugate_gradient(
            normal,
            np.tile(cross, len(group)),
            preconditioning.at(float(np.exp(np.log(group).mean()))).solve,
            shifts=np.repeat(group, targets.shape[1]),
            tolerance=goal(design, _ROUGH, 1e-6, SMALL),
            max_iter=min(_ROUGH_ITERATIONS, effort.max_iter),
            progress=lambda _, done: effort.progress("Penalties", done),
        )
        found = np.hstack([of_group.value, found])
    shift = np.tile(np.average(targets, axis=0, weights=w), len(alphas)) - mean @ found

    def losses(rows: slice, block: Array) -> tuple[Array]:
        here = np.flatnonzero(held[rows])
        w = np.ones(len(here)) if weights is None else weights[rows][here]
        scores = np.split(block[here] @ found + shift, len(alphas), axis=1)
        return (np.stack([w @ criterion(one, rows.start + here) for one in scores]),)

    (sums,) = design.total(losses)
    return [least(of_one) for of_one in sums], np.split(found, len(alphas), axis=1)


def _groups(alphas: Sequence[float]) -> list[list[float]]:
    """Put ascending penalties into groups, each within two powers of ten: that of the largest ones first."""
    groups: list[list[float]] = []
    for alpha in reversed(alphas):
        if not groups or alpha < 0.0099 * groups[-1][-1]:  # a hundredth, but for rounding
            groups.append([])
        groups[-1].insert(0, alpha)
    return groups


def goal(design: Design, tolerance: float, smallest: float, most: int) -> float:
    """Ask for more digits where they cost nothing: small problems in float64."""
    small = design.dtype == np.float64 and design.shape[0] * design.shape[1] <= most
    return min(tolerance, smallest) if small else tolerance
