"""Which solver: a written model of cost and memory.

Costs are in floating-point operations of single precision. For n rows, p features and k outputs:

- the Gram matrix takes ``n p^2`` (twice that in float64), each factorisation ``p^3 / 3`` in float64, so twice that in
  time, and memory for three matrices of p x p float64;
- conjugate gradients take ``n p (4 k + 100)`` an iteration, where 100 stands for making a feature anew (its cosine, its
  share of the product or of the Hadamard transform), some 12 iterations, and the preconditioner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers import ROWS_OF_SAMPLE, WIDEST_SUMS, steps_memory

_ITERATIONS = 12
_FEATURE = 100.0
#: Widest Gram matrix that preconditions ridge regression; above it a sample of rows does.
WIDEST_GRAM = 8192
#: Rows of such a sample at most: their products take 256 MB.
_LARGEST_SAMPLE = 8192
#: Points of a sample that preconditions an exact machine, at most, and the iterations that it may cost.
_MOST_POINTS, _ITERATIONS_FOR_SAMPLE = 4096, 3.0
#: Columns of the data from which on a feature takes longer to be made than to be read from memory.
MANY_COLUMNS = 64
#: Factorisations that the choice of a penalty takes.
_PENALTIES = 7


@dataclass(frozen=True)
class Problem:
    """Sizes of a fit, and the memory it may use, in bytes."""

    n_rows: int
    n_features: int
    n_outputs: int
    item_size: int
    memory: float

    @property
    def gram_memory(self) -> float:
        """Bytes of the Gram matrix, its float32 buffer and its factor."""
        return 24.0 * self.n_features**2

    @property
    def gram_cost(self) -> float:
        """Operations of a fit by the Gram matrix, the choice of the penalty included."""
        precision = self.item_size / 4.0
        return precision * self.n_rows * self.n_features**2 + _PENALTIES * 2.0 * self.n_features**3 / 3.0

    @property
    def iteration_cost(self) -> float:
        """Operations of a fit by conjugate gradients."""
        p, precision = self.n_features, self.item_size / 4.0
        passes = _ITERATIONS * self.n_rows * p * self._pass
        return precision * (passes + self.rows_for_preconditioner * p * min(p, self.rows_for_preconditioner))

    @property
    def _pass(self) -> float:
        """Operations on one feature in one iteration."""
        return 4.0 * self.n_outputs + _FEATURE

    @property
    def rows_for_preconditioner(self) -> int:
        """Rows that the preconditioner is made of, as many as cost what a few iterations do.

        For a Gram matrix 4 to 32 times the features; for a sample those whose products cost as much as ten iterations.
        """
        n, p = self.n_rows, self.n_features
        if p <= WIDEST_GRAM:
            return min(n, max(4 * p, min(32 * p, int(4.0 * self._pass * n / p))))
        return min(n, _LARGEST_SAMPLE, max(1024, int(np.sqrt(10.0 * self._pass * n))))

    @property
    def rows_for_softmax(self) -> int:
        """Rows that precondition the softmax: a few, unless all products of features cost little."""
        return self.rows_for_preconditioner if self.n_features <= WIDEST_SUMS else min(self.n_rows, ROWS_OF_SAMPLE)

    @property
    def blocks_memory(self) -> float:
        """Bytes that conjugate gradients cannot do without: a block, and vectors of the width of the features."""
        p, m = self.n_features, self.rows_for_preconditioner
        matrices = 16.0 * p**2 if p <= WIDEST_GRAM else 12.0 * m**2 + 2.0**29
        return self._block + 8.0 * 6 * p * self.n_outputs + matrices

    @property
    def softmax_memory(self) -> float:
        """Bytes that L-BFGS cannot do without: a block, the steps that it remembers, and the preconditioner."""
        p, m = self.n_features, self.rows_for_softmax
        matrices = 16.0 * p**2 if p <= WIDEST_SUMS else 12.0 * m**2 + min(4.0 * p * m, 2.0**29)
        return self._block + steps_memory(p * self.n_outputs) + 8.0 * 6 * p * self.n_outputs + matrices

    @property
    def _block(self) -> float:
        """Bytes of a block of rows."""
        return 512.0 * self.item_size * self.n_features


def choose_ridge_solver(problem: Problem) -> str:
    """Choose "gram" if its matrices fit into memory and it is cheaper, else "conjugate_gradient"."""
    fits = problem.gram_memory <= problem.memory
    return "gram" if fits and problem.gram_cost <= problem.iteration_cost else "conjugate_gradient"


def points_for_preconditioner(n_rows: int, n_columns: int, memory: float) -> int:
    """Choose the sample that preconditions an exact machine: its factors cost what a few iterations do.

    For m points these take ``6 m^2 n``, and 4 m n bytes; an iteration takes ``n^2 (d + 300)``, where 300 stands for the
    kernel's function of a distance, and the products with a tile.
    """
    by_cost = np.sqrt(_ITERATIONS_FOR_SAMPLE * n_rows * (n_columns + 300.0) / 6.0)
    return int(min(n_rows, _MOST_POINTS, max(256, min(by_cost, memory / (4.0 * n_rows)))))
