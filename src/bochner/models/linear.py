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
#: Rows per feature below which what a fit leaves of them can be a small difference; random signs that tell it then.
_FEW_ROWS, _PROBES = 4, 32
#: Share of the rows below which what is left is rounding.
_NOTHING = 1e-6
#: Share of the variation of the targets below which residuals from float32 sums may be rounding.
_CANCELLED = 1e-3
#: Penalty for each row below which rounding of float32 products shows.
_LEAST_IN_SINGLE = 1e-6
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

    def times(self, units: Array) -> LinearModel:
        """Multiply by the units that targets were divided by, one for each."""
        solution = replace(self.solution, value=self.solution.value * units)
        uncertainty = None if self.uncertainty is None else self.uncertainty.times(units)
        coefficients, intercept = self.coefficients * units, self.intercept * units
        return replace(self, coefficients=coefficients, intercept=intercept, solution=solution, uncertainty=uncertainty)


@dataclass(frozen=True)
class Uncertainty:
    """The posterior of the Bayesian linear model.

    It has the (k,) standard deviations of the noise, and of the features their mean and factored precision, which comes
    from all rows (Gram matrix) or stands for all of them (the preconditioner of an iteration). Weights that
    are less than 1 on average only say how rows compare: all of them together weigh as many as they are.
    """

    noise: Floats
    feature_mean: Floats
    factor: Factor | Preconditioner
    weight: float
    n_rows: float

    def times(self, units: Array) -> Uncertainty:
        """Multiply by the units that targets were divided by, one for each."""
        return replace(self, noise=self.noise * units)

    def standard_deviation(self, features: Array) -> Floats:
        """Give the (n, k) standard deviations of new targets: noise, and what is not known of the function.

        ``var = noise (1 + 1/W + c^T (A + alpha)^-1 c)`` for the centred features c, the covariance of a ridge solution
        under the prior that it is the posterior mean of (Bishop, Pattern Recognition, equation 3.59).
        """
        centred = features.T - self.feature_mean[:, None]
        unknown = 1.0 / self.weight + np.square(self.factor.root_transposed(centred)).sum(axis=0)
        return np.sqrt(1.0 + self.weight / self.n_rows * unknown)[:, None] * self.noise


@dataclass(frozen=True)
class Sample:
    """Some rows with their weights, by which iterations are preconditioned; whether memory allows to keep them."""

    design: Design
    weights: Array | None
    may_be_kept: bool

    def __len__(self) -> int:
        return self.design.shape[0]

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


def ridge_from_sums(
    folded: FoldedGram, alpha: float | None, error: Any = None, error_bars: bool = False
) -> LinearModel:
    """Solve for given sums; without a penalty, choose it, by an error that is not the squared one if it is given."""
    gram, alpha, factor = _factored(folded, alpha, error)
    solution = Solution(factor.solve(gram.cross), True, 0, 0.0, factor.message)
    rest = None
    if error_bars:
        rest = Rest(gram.residual_squares(solution.value, alpha), _rows_left(gram.n_effective, alpha, factor))
    return _ridge_model(gram, alpha, factor, solution, rest)


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


def _ridge_model(gram: Gram, alpha: float, factor: Factor, solution: Solution, rest: Rest | None = None) -> LinearModel:
    uncertainty = None
    if rest is not None:
        uncertainty = rest.uncertainty(gram.feature_mean, factor, gram.weight, gram.n_effective)
    intercept = gram.target_mean - gram.feature_mean @ solution.value
    return LinearModel(solution.value, intercept, alpha, "gram", solution, uncertainty)


@dataclass(frozen=True)
class Rest:
    """What a fit leaves: weighted sums of squared residuals (k,), and rows less the parameters that they determine."""

    squares: Floats
    rows: float

    def uncertainty(self, mean: Floats, factor: Factor | Preconditioner, weight: float, n_rows: float) -> Uncertainty:
        """Estimate the noise."""
        variances = self.squares / weight * n_rows / max(self.rows, _NOTHING * n_rows)
        return Uncertainty(np.sqrt(variances), mean, factor, weight, n_rows)


def _rows_left(n_rows: float, alpha: float, factor: Factor) -> float:
    """Give ``n - 1 - trace(A (A + alpha)^-1)``, exactly where rows are few: there it is a small difference."""
    p = len(factor.lower)
    if n_rows > _FEW_ROWS * p:
        return n_rows - degrees_of_freedom(factor.solve, p, n_rows, alpha, factor.rank)
    return n_rows - 1.0 - factor.rank + alpha * factor.inverse_trace()


def _residual_squares(
    design: Design, targets: Floats, weights: Array | None, mean: Floats, coefficients: Floats
) -> Floats:
    """Sum up the squared residuals of centred targets on the rows themselves: differences of sums may be rounding."""
    single, shift = coefficients.astype(design.dtype), mean @ coefficients

    def squares(rows: slice, block: Array) -> tuple[Floats]:
        left = np.square(targets[rows] + shift - block @ single)
        return (left.sum(axis=0) if weights is None else weights[rows] @ left,)

    return design.total(squares)[0]


def _rows_left_on(
    design: Design,
    weights: Array | None,
    mean: Floats,
    alpha: float,
    factor: Factor | Preconditioner,
    of_all_rows: bool,
) -> float:
    """Estimate the trace of ``I - H``, where H makes fitted targets of targets, as `_rows_left` does from sums.

    Where rows are few that is taken by random signs z, ``E z^T (I - H) z`` (Hutchinson, 1990), whose error is small
    beside even a small trace. H needs an inverse of all rows; one that stands for them is asked for its trace only.
    """
    (n, p), weight = design.shape, total_weight(design, weights)
    n_rows = max(weight, float(n))
    if n > _FEW_ROWS * p or not of_all_rows:
        rank = factor.rank if isinstance(factor, Factor) else p
        return n_rows - degrees_of_freedom(factor.solve, p, n_rows, alpha, rank)
    roots = np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, _PROBES))
    signs -= roots * (roots.T @ signs) / weight  # what the intercept takes
    coefficients = factor.solve(design.transposed_product(roots * signs))
    fitted = roots * (design.product(coefficients) - mean @ coefficients)
    # A weight of two is another row, and the fit takes it from no other.
    return n_rows - n + float((signs * (signs - fitted)).sum()) / _PROBES


def ridge_by_gram(
    design: Design,
    targets: Array,
    weights: Array | None,
    alpha: float | None,
    judging: Judging | None,
    effort: Effort,
    error_bars: bool = False,
) -> LinearModel:
    """Fit by the Gram matrix; of float32 rows by products in float32, refined on the rows.

    How penalties are judged must be said if there is none. Rounding of float32 products is to be less than the penalty:
    where that is very small, or none, they are in float64.
    """
    tiny = alpha is not None and alpha < _LEAST_IN_SINGLE * total_weight(design, weights)
    single = design.dtype == np.float32 and not tiny
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
        return ridge_from_sums(folded, alpha, error, error_bars).shifted(shift)
    gram, alpha, factor = _factored(folded, alpha, error)
    solution = refine(design, targets - shift, weights, gram, alpha, factor, progress=effort.progress)
    solution = replace(solution, converged=solution.residual <= effort.tolerance)
    rest = None
    if error_bars:
        squares, mean = gram.residual_squares(solution.value, alpha), gram.feature_mean
        if (squares < _CANCELLED * gram.target_variation).any():
            centred = targets - shift - gram.target_mean
            squares = _residual_squares(design, centred, weights, mean, solution.value)
        rest = Rest(squares, _rows_left_on(design, weights, mean, alpha, factor, of_all_rows=True))
    return _ridge_model(gram, alpha, factor, solution, rest).shifted(shift)


def ridge_by_iteration(
    design: Design,
    some: Sample,
    targets: Array,
    weights: Array | None,
    alphas: Sequence[float],
    judging: Judging | None,
    effort: Effort,
    far_below: Sequence[float] = (),
    error_bars: bool = False,
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
    uncertainty = None
    if error_bars:
        inverse, of_all_rows = preconditioning.undamped_at(alpha, some.design), len(some) == len(targets)
        squares = _residual_squares(design, targets, weights, mean, solution.value)
        rest = Rest(squares, _rows_left_on(design, weights, mean, alpha, inverse, of_all_rows))
        uncertainty = rest.uncertainty(mean, inverse, weight, max(weight, float(len(targets))))
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
