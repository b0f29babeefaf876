"""Choosing what the user left to us: the length scale and the penalty, on a subsample, by the score of the task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from .. import engine
from ..kernels import Kernel
from ..solvers import (
    Design,
    FoldedGram,
    Softmax,
    SoftmaxPreconditioning,
    choose_alpha,
    kernel_ridge_by_cholesky,
    log_losses,
    minimise_softmax,
    pivoted_cholesky,
    rows_of,
)
from .held_out import CLEARLY, Criterion, HeldOutRows, Judging, least, squared_errors

Array = NDArray[Any]
#: Relative gain that a length scale twice as long as the median distance, or a tenth of a penalty, must bring.
WORTH = 0.01
#: Features of a trial, unless the model is wide, and its rows, if there are as many.
TRIAL_FEATURES, FEW_ROWS = 1024, 2000
#: Rows, at most, whose products are all computed.
MOST_PRODUCTS = 4096
#: The least penalty of iterations, relative to the sum of weights.
_LEAST = 3e-9
#: What a row must have of its own, beside others, of its squared length 1.
_OWN = 1e-6
#: Powers of ten of the penalties of the log loss; separable classes would want none at all.
_SMALLEST, _LARGEST = -4.0, 8.0
_HELD_OUT = 0.25
# Numbers of features up to which exact solutions cost nothing.
_SMALL = 1 << 14
# Entries of a matrix up to which a second thread of BLAS costs more than it brings.
_FOR_ONE_THREAD = 1 << 21
FOLDS = 5
# Rows up to which products of all rows are factored for each fold.
_FOR_ALL_FOLDS = 1024


def threads_for(shape: tuple[int, int]) -> Any:
    """Hold BLAS to one thread for matrices so small that its threads would wait for each other most of the time."""
    return engine.schedule.single_threaded_blas() if shape[0] * shape[1] <= _FOR_ONE_THREAD else nullcontext()


def trial_shape(
    n_rows: int, n_components: int, most_rows: int, most_features: int, by_products: bool = False
) -> tuple[int, int]:
    """Choose the rows and features of a trial: smaller than the model, but with as many features per row.

    With few rows or few features per row the best length scale is longer, and the best penalty larger. An eighth of the
    rows at least, 2000 if there are as many, and no more than the most; 1024 features, for wide models up to the most.
    Of more features than rows, if their products are what is solved for, a fifth of the rows, 2000 to 4096, and up to
    four features for each of these, above which they differ little from the kernel.
    """
    proportional = n_rows * TRIAL_FEATURES // max(n_components, TRIAL_FEATURES)
    n_trial = min(n_rows, max(FEW_ROWS, min(most_rows, max(n_rows // 8, proportional))))
    if by_products and n_components > n_rows:
        n_trial = min(n_rows, max(FEW_ROWS, min(most_rows, MOST_PRODUCTS, n_rows // 5)))
        most_features = 4 * max(n_trial, FEW_ROWS)
    width = 2 * (n_components * n_trial // (2 * n_rows))
    return n_trial, min(n_components, max(TRIAL_FEATURES, min(most_features, width)))


def roots_of(K: Array) -> Array:
    """Give rows whose products are a kernel matrix, as many as it has: they stand for features of any number."""
    lower, order = pivoted_cholesky(K.astype(np.float64, copy=False), _OWN)
    roots = np.empty(lower.shape, dtype=np.float32)
    roots[order] = lower
    return roots


def search_length_scale(kernel: Kernel, score: Callable[[Kernel], float], first: Sequence[float] = (1.0,)) -> Kernel:
    """Walk downhill in factors of 2 from some multiple of the kernel's length scale, then in half steps.

    From the first one, unless another is clearly better. Scales above the kernel's must be better by a percent for each
    factor: they make all features alike, and the problem worse conditioned.
    """
    start, scores = kernel.length_scale, {}

    def at(exponent: float) -> float:
        if exponent not in scores:
            longer = (1.0 + WORTH) ** max(exponent, 0.0)
            scores[exponent] = longer * score(kernel.replace(length_scale=start * 2.0**exponent))
        return scores[exponent]

    best, *others = (float(np.log2(scale)) for scale in first)
    at(best)  # first, so that equally good ones do not take its place
    best = min([best, *(other for other in others if at(other) < CLEARLY * at(best))], key=at)
    for step in (-1.0, 1.0):
        while abs(best + step) <= 5 and at(best + step) < at(best):
            best += step
    for half in (best - 0.5, best + 0.5):
        at(half)
    best = min(scores, key=lambda exponent: scores[exponent])
    return kernel.replace(length_scale=start * 2.0**best)


def ridge_score(matrix: Array, targets: Array, weights: Array | None, judging: Judging) -> tuple[float, float]:
    """Give the penalty of the least error by cross-validation, and that error."""
    narrow = matrix.shape[1] <= TRIAL_FEATURES
    n_parts, n_held = (FOLDS, None) if narrow else (2, 1)  # of many features, factorisations are what costs
    folded = FoldedGram(matrix.shape[1], targets.shape[1], n_parts, precise=matrix.dtype == np.float64)
    parts = parts_of_rows(judging.hashes, n_parts)
    folded.update(matrix, targets, weights, parts)
    held_out = HeldOutRows.of_parts(parts, n_held, weights, judging, matrix.shape[1], matrix.dtype)
    if held_out is not None:
        held_out.take(slice(0, len(matrix)), matrix)
    error = None if held_out is None else held_out.error
    alpha, scores = choose_alpha(folded, smallest_alpha(matrix.dtype), n_held=n_held, error=error)
    return alpha, scores[alpha]


class KernelSplit:
    """The kernel matrix of some rows and of those held out, whose losses are asked for several penalties.

    With a free intercept the matrix is that of the points about the mean of the rows that are kept.
    """

    def __init__(
        self, K: Array, targets: Array, weights: Array, kept: Array, held: Array, free_intercept: bool = False
    ) -> None:
        self.held, self.held_weights = held, weights[held]
        self._inner, self._outer = K[np.ix_(kept, kept)], K[np.ix_(held, kept)]
        self._mean = np.average(targets[kept], axis=0, weights=weights[kept])
        self._targets, self._weights = targets[kept] - self._mean, weights[kept]
        if free_intercept:
            shares = self._weights / self._weights.sum()
            of_kept, of_held = self._inner @ shares, self._outer @ shares  # products with the mean
            own = shares @ of_kept
            self._inner = self._inner - of_kept[:, None] - of_kept + own
            self._outer = self._outer - of_held[:, None] - of_kept + own

    def losses(self, alpha: float, criterion: Criterion) -> Array:
        """Give the weighted sums of the losses, in all variants, of the rows that are held out."""
        coefficients, _ = kernel_ridge_by_cholesky(self._inner, self._targets, self._weights, alpha)
        return self.held_weights @ criterion(self._outer @ coefficients + self._mean, self.held)


def folds_held_out(weight: float) -> int:
    """Say how many of the five parts are held out in turn: all of them if rows of such a weight are few, else two."""
    return FOLDS if weight <= _FOR_ALL_FOLDS else 2


def kernel_score(
    matrix: Array,
    targets: Array,
    weights: Array | None,
    judging: Judging,
    n_held: int,
    free_intercept: bool = False,
) -> tuple[float, float]:
    """Give the penalty, in steps of ten, of the least cross-validated error with a kernel matrix, and that error.

    The first of five parts are held out in turn. Every third step is looked at, since there may be more than one
    minimum; from the best of these on downhill.
    """
    w, parts = np.ones(len(matrix)) if weights is None else weights, parts_of_rows(judging.hashes, FOLDS)
    criterion = judging.criterion or squared_errors(targets)
    sides = [(np.flatnonzero(parts != part), np.flatnonzero(parts == part)) for part in range(n_held)]
    sides = [(kept, held) for kept, held in sides if w[kept].any() and len(held)] or [(np.arange(len(matrix)),) * 2]
    splits = [KernelSplit(matrix, targets, w, kept, held, free_intercept) for kept, held in sides]
    weight, held_weight = float(w.sum()), float(sum(split.held_weights.sum() for split in splits))
    errors: dict[float, float] = {}

    def error(exponent: float) -> float:
        if exponent not in errors:
            sums = sum(split.losses(weight * 10.0**exponent, criterion) for split in splits)
            errors[exponent] = least(np.asarray(sums)) / held_weight
        return errors[exponent]

    best = downhill(error, min((-5.0, -8.0, -2.0, 1.0), key=error), 1.0, -8.0, 1.0)
    return weight * 10.0**best, errors[best]


def downhill(error: Callable[[float], float], start: float, step: float, low: float, high: float) -> float:
    """Walk in steps to where a function is least, first to smaller arguments."""
    for signed in (-step, step):
        while low <= start + signed <= high and error(start + signed) < error(start):
            start += signed
    return start


def smallest_alpha(dtype: Any) -> float:
    """Give the least penalty that is tried, relative to the sum of the weights: what the precision can hold."""
    return 1e-7 if dtype == np.float32 else 1e-8


def penalties_about(alpha: float, weight: float) -> list[float]:
    """Give the penalties that iterations compare: mostly smaller ones, since trials, with fewer rows, need more.

    None is so small that iterations in float32 would not end.
    """
    smallest = _LEAST * weight
    factors = 10.0 ** np.array([0.5, 0.0, -0.5, -1.0, -1.5])
    return sorted({max(float(max(alpha, smallest) * factor), smallest) for factor in factors})


def penalties_far_below(penalties: Sequence[float], weight: float) -> list[float]:
    """Give the smallest penalty, and one half way to it, for a machine that has more features than rows.

    It can pass through all rows, and may want nearly no penalty even where a narrow trial wants much, with larger
    errors in between. On covtype, 16,384 features of 12,500 rows (exponential power 0.7), 5e-5 for each row has 65.4,
    3e-9 74.8, and the exact kernel 75.7.
    """
    smallest, lowest = _LEAST * weight, min(penalties)
    return [smallest, float(np.sqrt(smallest * lowest))] if lowest > 10.0 * smallest else []


def parts_of_rows(hashes: Array, n_parts: int) -> Array:
    """Put rows into parts by their hashes: five folds, or one fold and the rest, or no parts at all."""
    folds = hashes % FOLDS
    return folds if n_parts == FOLDS else np.minimum(folds, n_parts - 1)


def hashes_of_rows(X: Any, seed: int) -> Array:
    """Give each row a number that depends on its content alone: equal rows are never on two sides of a split.

    A multilinear hash: the bits of the values, each times a random odd number of its column, summed modulo 2^64, of
    which the upper half counts. Zeros add nothing, so sparse and dense rows, float32 and float64, are the same.
    """
    odd = np.uint64(1)
    factors = np.random.default_rng(seed).integers(2**63, size=X.shape[1], dtype=np.uint64) << odd | odd
    if hasattr(X, "indptr"):
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_bits(X.data) * factors[X.indices])])
        return ((ends[X.indptr[1:]] - ends[X.indptr[:-1]]) >> np.uint64(32)).astype(np.uint32)
    hashes = np.empty(X.shape[0], dtype=np.uint32)
    for rows in gen_batches(X.shape[0], max(1, (1 << 20) // X.shape[1])):
        hashes[rows] = (_bits(X[rows]) * factors).sum(axis=1, dtype=np.uint64) >> np.uint64(32)
    return hashes


def _bits(values: Array) -> NDArray[np.uint64]:
    """Give the bits of numbers in float64, of which -0 and 0 are the same, well mixed; 0 stays 0.

    The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
    """
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits


class LogLossPath:
    """Fits with several penalties on some rows, and their log losses on others.

    Which rows are held out, a quarter of them, is said by their hashes. Penalties are powers of ten; each fit begins
    where the last ended. A tenth of a penalty must bring a percent: where the loss is flat, larger penalties give
    probabilities that are less sure of themselves on rows unlike those held out, and are sooner solved for.
    """

    def __init__(self, matrix: Array, codes: Array, n_classes: int, weights: Array | None, hashes: Array) -> None:
        kept, held = _kept_and_held(hashes)
        self._held, self._held_codes = matrix[held], codes[held]
        self._held_weights = rows_of(weights, held)
        weights_of_kept = rows_of(weights, kept)
        # Weights that are less than 1 on average are taken for another unit, greater ones for repetitions.
        self._unit = 1.0 if weights is None else min(1.0, float(weights.mean()))
        # Few rows are solved to the end, in float64: where losses are nearly equal, what is left would decide.
        few = len(kept) * matrix.shape[1] <= _SMALL
        matrix = np.ascontiguousarray(matrix[kept], dtype=np.float64 if few else matrix.dtype)
        self._problem = Softmax(Design.of(matrix), codes[kept], n_classes, 1.0, weights_of_kept)
        curvature = self._problem.total_curvature
        self._preconditioning = SoftmaxPreconditioning.of_matrix(matrix, weights_of_kept, curvature)
        self._problem.mean = self._preconditioning.mean
        self._effort: dict[str, Any] = {"tolerance": 1e-8 if few else 3e-4, "max_iter": 200}
        self._losses: dict[float, float] = {}
        self._last: Array | None = None

    def walk(self, exponent: float) -> float:
        """Walk downhill from a penalty in factors of ten, first to smaller ones; give the exponent of the best."""
        return downhill(self._worth, min(max(exponent, _SMALLEST), _LARGEST), 1.0, _SMALLEST, _LARGEST)

    def refine(self, exponent: float) -> float:
        """Look at half a step to both sides of a penalty; give the exponent of the best."""
        return min((exponent + 0.5, exponent, exponent - 0.5), key=self._worth)

    def alpha(self, exponent: float) -> float:
        """Give the penalty of an exponent."""
        return float(self._unit * 10.0**exponent)

    def best(self) -> tuple[float, float]:
        """Give the best penalty so far, and its loss."""
        exponent = min(self._losses, key=self._worth)
        return self.alpha(exponent), self._losses[exponent]

    def _worth(self, exponent: float) -> float:
        return self._loss(exponent) * (1.0 + WORTH) ** -exponent

    def _loss(self, exponent: float) -> float:
        if exponent not in self._losses:
            self._problem.alpha = self.alpha(exponent)
            preconditioner = self._preconditioning.at(self._problem.alpha)
            found = minimise_softmax(self._problem, preconditioner, start=self._last, **self._effort)
            self._last = found.value
            losses, _ = log_losses(self._held @ found.value[:-1] + found.value[-1], self._held_codes)
            self._losses[exponent] = float(np.average(losses, weights=self._held_weights))
        return self._losses[exponent]


def _kept_and_held(hashes: Array) -> tuple[Array, Array]:
    """Split rows by their hashes; rows that cannot be split are on both sides."""
    held = hashes < _HELD_OUT * 2.0**32
    if held.all() or not held.any():
        return np.arange(len(hashes)), np.arange(len(hashes))
    return np.flatnonzero(~held), np.flatnonzero(held)
