"""Penalties are compared on rows that are held out: which rows, and by which losses of their scores.

Ridge regression on indicators of classes is not judged by its squared error: that would take a penalty that is too
large, since most of the error is not that labels are wrong but that right ones are timid. What counts is the log loss
of the scores after the best temperature, by which probabilities and labels are judged alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers import Gram, log_losses, rows_of

Array = NDArray[Any]
Floats = NDArray[np.float64]
#: Gives (m, t) losses, in t variants of which the best counts, for the (m, k) scores of some rows.
Criterion = Callable[[Floats, Array], Floats]

#: Share of an error that another region of choices must be below: errors of few rows differ by a few percent.
CLEARLY = 0.93
#: Rows, at most, that are looked at when sums over all the others are solved for many penalties.
_MOST_ROWS = 8192
#: Scores of indicators are multiplied by 1, 2^(1/2), 2, ... up to so many doublings for their log losses.
_DOUBLINGS = 6


def squared_errors(targets: Floats) -> Criterion:
    """Judge by the squared error, summed over the targets."""
    return lambda scores, rows: np.square(scores - targets[rows]).sum(axis=1)[:, None]


def plain_log_losses(codes: Array) -> Criterion:
    """Judge logits by their log loss."""
    return lambda scores, rows: log_losses(scores, codes[rows])[0][:, None]


def tempered_log_losses(codes: Array, shift: Floats) -> Criterion:
    """Judge scores that, with a shift, estimate indicators: by their log losses at several temperatures."""

    def losses(scores: Floats, rows: Array) -> Floats:
        logits = scores + shift
        if logits.shape[1] == 1:
            logits = np.hstack([-0.5 * logits, 0.5 * logits])
        below_top = logits - logits.max(axis=1, keepdims=True)
        own = below_top[np.arange(len(scores)), codes[rows]]
        out = np.empty((len(scores), 2 * _DOUBLINGS + 2))
        for half in (0, 1):
            powers = np.exp(2.0 ** (half / 2) * below_top)
            for i in range(half, out.shape[1], 2):
                out[:, i] = np.log(powers.sum(axis=1)) - 2.0 ** (i / 2) * own
                powers *= powers  # to double the scores
        return out

    return losses


def least(sums: Floats) -> float:
    """Give the least of the sums over variants; between neighbours, where a parabola through three has its least."""
    i = int(sums.argmin())
    if not 0 < i < len(sums) - 1:
        return float(sums[i])
    below, at, above = sums[i - 1 : i + 2]
    bend = below - 2.0 * at + above
    return float(at - (above - below) ** 2 / (8.0 * bend)) if bend > 0.0 else float(at)


def one_in_ten(hashes: Array) -> Array | None:
    """Say which rows are held out when penalties are compared row by row; None if they cannot be split."""
    held = hashes % 10 == 0
    return None if held.all() or not held.any() else held


@dataclass(frozen=True)
class Judging:
    """How penalties are compared: on rows that hashes hold out together, by a criterion or else the squared error."""

    hashes: Array
    criterion: Criterion | None = None


@dataclass(frozen=True)
class HeldOutRows:
    """Features of some rows that sums have in parts, by which solutions without their part are judged."""

    features: Array
    rows: Array
    parts: Array
    weights: Array | None
    criterion: Criterion

    @classmethod
    def of_parts(
        cls, parts: Array, n_held: int | None, weights: Array | None, judging: Judging | None, width: int, dtype: Any
    ) -> HeldOutRows | None:
        """Make room for rows of the parts that are held out, unless the sums alone can tell."""
        if judging is None or judging.criterion is None:
            return None
        rows = rows_to_look_at(parts, n_held, judging.hashes)
        features = np.empty((len(rows), width), dtype=dtype)
        return cls(features, rows, parts[rows], rows_of(weights, rows), judging.criterion)

    def take(self, rows: slice, block: Array) -> None:
        """Copy what is wanted of a block of rows."""
        start, stop = np.searchsorted(self.rows, (rows.start, rows.stop))
        self.features[start:stop] = block[self.rows[start:stop] - rows.start]

    def error(self, kept: Mapping[int, Gram], alpha: float) -> float:
        """Give the mean loss of the rows of some parts, each by the solution for the sums without its part."""
        sums, weight = np.zeros(1), 0.0
        for part, gram in kept.items():
            here = np.flatnonzero(self.parts == part)
            coefficients = gram.solve(alpha).value
            scores = self.features[here] @ coefficients.astype(self.features.dtype)
            scores = scores + (gram.target_mean - gram.feature_mean @ coefficients)
            w = np.ones(len(here)) if self.weights is None else self.weights[here]
            sums, weight = sums + w @ self.criterion(scores, self.rows[here]), weight + w.sum()
        return least(sums) / weight if weight else np.inf


def rows_to_look_at(parts: Array, n_held: int | None, hashes: Array) -> Array:
    """Choose rows of the first parts, or of all: those with the least hashes, if there are too many."""
    rows = np.arange(len(parts)) if n_held is None else np.flatnonzero(parts < n_held)
    if len(rows) > _MOST_ROWS:
        rows = np.sort(rows[np.argpartition(hashes[rows], _MOST_ROWS)[:_MOST_ROWS]])
    return rows
