"""Choosing what the user left to us: the length scale and the penalty, on a subsample, by the score of the task."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..kernels import Kernel
from ..solvers import Design, FoldedGram, Gram, Softmax, choose_alpha, gram_preconditioner, log_losses, minimise_softmax

Array = NDArray[Any]
#: Least penalty that is tried, relative to the sum of the weights.
SMALLEST_ALPHA = 1e-8
#: Most rows and features of a trial.
TRIAL_ROWS, TRIAL_FEATURES = 8000, 1024
#: Of the penalties of the log loss, a power of ten; separable classes would have none at all.
SMALLEST_EXPONENT = -4.0
_HELD_OUT = 0.25
FOLDS = 5


def threads_for(shape: tuple[int, int]) -> Any:
    """Hold BLAS to one thread for matrices so small that its threads would wait for each other most of the time."""
    return engine.schedule.single_threaded_blas() if shape[0] * shape[1] <= 1 << 18 else nullcontext()


def trial_rows(n_rows: int, rng: np.random.Generator) -> Array:
    """Choose the rows of a trial: a sixteenth of the data, but at least 2000 and at most 8000 if there are as many."""
    n_trial = min(n_rows, TRIAL_ROWS, max(2000, n_rows // 16))
    return np.sort(rng.choice(n_rows, n_trial, replace=False))


def search_length_scale(kernel: Kernel, score: Callable[[Kernel], float]) -> Kernel:
    """Walk downhill from the kernel's length scale in factors of 2, then look at the half steps beside the best."""
    start, scores = kernel.length_scale, {}

    def at(exponent: float) -> float:
        if exponent not in scores:
            scores[exponent] = score(kernel.replace(length_scale=start * 2.0**exponent))
        return scores[exponent]

    best = 0.0
    for step in (1.0, -1.0):
        while abs(best + step) <= 5 and at(best + step) < at(best):
            best += step
    for half in (best - 0.5, best + 0.5):
        at(half)
    best = min(scores, key=lambda exponent: scores[exponent])
    return kernel.replace(length_scale=start * 2.0**best)


def squared_error_score(matrix: Array, targets: Array, weights: Array | None, hashes: Array) -> tuple[float, float]:
    """Give the penalty of the least squared error by cross-validation, and that error."""
    folded = FoldedGram(matrix.shape[1], targets.shape[1], FOLDS, precise=matrix.dtype == np.float64)
    folded.update(matrix, targets, weights, parts_of_rows(hashes, FOLDS))
    alpha, scores = choose_alpha(folded, SMALLEST_ALPHA)
    return alpha, scores[alpha]


def parts_of_rows(hashes: Array, n_parts: int) -> Array:
    """Put rows into parts by their hashes: five folds, or one fold and the rest, or no parts at all."""
    folds = hashes % FOLDS
    return folds if n_parts == FOLDS else np.minimum(folds, n_parts - 1)


def hashes_of_rows(X: Any, seed: int) -> Array:
    """Give each row a number that depends on its content alone: equal rows are never on two sides of a split."""
    if hasattr(X, "indptr"):
        rows = ((X.indices[i:j], X.data[i:j]) for i, j in pairwise(X.indptr))
    else:
        rows = ((np.arange(X.shape[1]), row) for row in X)
    return np.array([_hash(columns, values, seed) for columns, values in rows], dtype=np.uint32)


def _hash(columns: Array, values: Array, seed: int) -> int:
    """Hash what is not zero, so that sparse and dense rows, float32 and float64, are the same."""
    there = values != 0
    return crc32(values[there].astype(np.float64).tobytes(), crc32(columns[there].astype(np.int64).tobytes(), seed))


def log_loss_score(
    matrix: Array, classes: Array, n_classes: int, weights: Array | None, hashes: Array
) -> tuple[float, float]:
    """Give the penalty of the least log loss on held-out rows, and that loss.

    Which rows are held out, a quarter of them, is said by their hashes. Penalties fall by factors of ten, each fit
    beginning where the last ended, until the loss rises; then the half steps beside the best are tried.
    """
    is_held = hashes < _HELD_OUT * 2.0**32
    everything = np.arange(len(matrix))
    both = bool(is_held.any() and not is_held.all())
    held, kept = (np.flatnonzero(is_held), np.flatnonzero(~is_held)) if both else (everything, everything)
    path = _Path(matrix, classes, n_classes, weights, kept, held)
    # Weights that are less than 1 on average are taken for another unit, greater ones for repetitions.
    unit = 1.0 if weights is None else min(1.0, float(weights.mean()))
    exponent, start = 1.0, path.loss(unit * 10.0)
    while exponent > SMALLEST_EXPONENT and path.loss(unit * 10.0 ** (exponent - 1.0)) < start:
        exponent -= 1.0
        start = path.loss(unit * 10.0**exponent)
    for half in (exponent + 0.5, exponent - 0.5):
        path.loss(unit * 10.0**half)
    alpha = min(path.losses, key=lambda a: path.losses[a])
    return alpha, path.losses[alpha]


class _Path:
    """Fits with falling penalties on some rows, and their losses on others."""

    def __init__(
        self, matrix: Array, classes: Array, n_classes: int, weights: Array | None, kept: Array, held: Array
    ) -> None:
        self.design = Design.of(np.ascontiguousarray(matrix[kept]))
        self.held, self.held_classes = matrix[held], classes[held]
        self.held_weights = np.ones(len(held)) if weights is None else weights[held]
        weights = None if weights is None else weights[kept]
        self.gram = Gram(matrix.shape[1], 1, precise=False)
        self.gram.update(matrix[kept], np.zeros((len(kept), 1)), weights)
        self.problem = Softmax(self.design, classes[kept], n_classes, 1.0, weights, self.gram.feature_mean)
        self.losses: dict[float, float] = {}
        self._last: tuple[Array, Array] | None = None

    def loss(self, alpha: float) -> float:
        if alpha not in self.losses:
            self.problem.alpha = alpha
            preconditioner = gram_preconditioner(self.gram, self.problem.curvature, alpha)
            value = minimise_softmax(self.problem, preconditioner, start=self._last, tolerance=1e-2, max_iter=30).value
            self._last = value[:-1], value[-1]
            losses, _ = log_losses(self.held @ value[:-1] + value[-1], self.held_classes)
            self.losses[alpha] = float(np.average(losses, weights=self.held_weights))
        return self.losses[alpha]
