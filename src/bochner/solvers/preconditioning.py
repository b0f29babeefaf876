"""Preconditioners of rows for any penalty, by some of the rows that stand for all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import SMALL, Design, total_weight
from .gram import Gram
from .nystrom import Preconditioner, RowSample, gram_preconditioner

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Preconditioning:
    """Approximate inverses of ``A + alpha I``, where A is the Gram matrix of rows, for any penalty alpha.

    Of features up to a width by the sums of their products, of wider ones by the rows themselves (`RowSample`).

    Parameters
    ----------
    some : Design
        Rows that stand for all.
    weights : array, optional
        Of these rows.
    total : float
        What all rows weigh, times the curvature that they have.
    widest_sums : int
        Features whose products are summed up, at most.
    damping : float, default=2
        Of wider ones; see `RowSample.damping`.
    centred : bool, default=True
        Whether the mean is subtracted from the rows of A.

    Attributes
    ----------
    mean : array of shape (p,)
        What is subtracted from the rows: their mean, or zero.
    """

    def __init__(
        self,
        some: Design,
        weights: Array | None,
        total: float,
        *,
        widest_sums: int,
        damping: float = 2.0,
        centred: bool = True,
    ) -> None:
        self._scale, self._damping = total / total_weight(some, weights), damping
        self._gram: Gram | None = None
        self._made = dict[float, Preconditioner]()
        if some.shape[1] <= widest_sums:
            precise = some.dtype == np.float64 and some.shape[0] * some.shape[1] <= SMALL
            self._gram = Gram.of(some, np.zeros((some.shape[0], 1)), weights, precise)
            self._centred, mean = centred, self._gram.feature_mean
        else:
            mean = some.mean(weights) if centred else np.zeros(some.shape[1])
            self._rows = RowSample(some, mean, self._scale, weights)
        self.mean = mean if centred else np.zeros_like(mean)

    def at(self, alpha: float) -> Preconditioner:
        """Give the inverse for a penalty, damped where the rows do not tell enough."""
        if alpha not in self._made:
            if self._gram is not None:
                self._made = {alpha: gram_preconditioner(self._gram, self._scale, alpha, self._centred)}
            else:
                self._made = {alpha: self._rows.inverse(self._rows.damping(alpha, self._damping))}
        return self._made[alpha]

    def undamped_at(self, alpha: float, design: Design) -> Preconditioner:
        """Give the inverse for a penalty alone, which variances need, with the rows as a design makes them anew."""
        return self.at(alpha) if self._gram is not None else self._rows.inverse(alpha).with_design(design)
