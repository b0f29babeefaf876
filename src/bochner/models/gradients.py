"""Gradients of fitted functions: their average outer product, and how they come from an exact expansion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..kernels import Kernel

Array = NDArray[Any]
Floats = NDArray[np.float64]
Blocks = Iterable[tuple[slice, Array]]

# Numbers of a block of pairs of points.
_NUMBERS_OF_PAIRS = 1 << 22
# Relative step of the central difference that gives the slope of a profile: its error is about 1e-10 of a profile of
# order one, so relative to slopes it is small wherever the profile changes at all.
_STEP = 1e-5


@dataclass(frozen=True)
class GradientMoments:
    """Averages over rows of the gradients of k outputs, (k, d), and of their outer products, (d, d), summed over them.

    Of the outer products only the diagonal, (d,), may be there.
    """

    means: Floats
    outer: Floats

    @classmethod
    def of(cls, blocks: Blocks, weights: Array, n_outputs: int, n_inputs: int, diagonal: bool) -> GradientMoments:
        """Add up blocks of (rows, k, d) gradients; memory does not depend on the number of rows."""
        means = np.zeros((n_outputs, n_inputs))
        outer = np.zeros(n_inputs if diagonal else (n_inputs, n_inputs))
        for rows, block in blocks:
            of_rows = weights[rows].astype(block.dtype)
            means += np.tensordot(of_rows, block, axes=1)
            rooted = (block * np.sqrt(of_rows)[:, None, None]).reshape(-1, n_inputs)
            outer += np.square(rooted).sum(axis=0) if diagonal else rooted.T @ rooted
        total = float(weights.sum())
        return cls(means / total, outer / total)

    def among(self, inputs: Array) -> GradientMoments:
        """Give those of some inputs, by a mask; the gradients along others count as zero."""
        of_outer = inputs if self.outer.ndim == 1 else np.outer(inputs, inputs)
        return GradientMoments(self.means * inputs, self.outer * of_outer)

    @property
    def centred(self) -> Floats:
        """The covariance of the gradients, summed over the outputs: what a linear trend has no part in."""
        if self.outer.ndim == 1:
            return self.outer - np.square(self.means).sum(axis=0)
        return self.outer - self.means.T @ self.means


def gradients_of_expansion(
    kernel: Kernel, points: Array, coefficients: Floats, X: Array, softening: float
) -> Iterator[tuple[slice, Floats]]:
    """Iterate over ``(rows, gradients)`` of ``f(x) = sum_j c_j phi(sqrt(|x - x_j|^2 + h^2))``, (rows, k, d) each.

    Distances are the kernel's own, and h softens them: without it kernels with a cusp, as the Laplacian, have no
    gradient at the points. ``|x - x_j|^2 + h^2`` is the mean squared distance after displacements of root mean square
    h, so this is f smoothed by a Gaussian, to first order in the spread of these distances, which is small where inputs
    are many. With ``g(t) = phi(sqrt(t))`` and the whitening T of the kernel,

        grad f(x) = T sum_j 2 c_j g'(|T^T (x - x_j)|^2 + h^2) T^T (x - x_j).
    """
    T, center = kernel.whitening(X.shape[1]), points.mean(axis=0, dtype=np.float64)
    a, b = _whitened(X - center, T), _whitened(points - center, T)
    norms = np.square(b).sum(axis=1)
    largest = 2.001 * (float(norms.max()) + float(np.square(a).sum(axis=1).max())) + softening**2
    # What is typical, not the largest, says where the table begins: an outlier must not add to the softening.
    typical = min((t for t in (softening**2, float(np.median(norms))) if t > 0.0), default=None)
    table = engine.table.tabulate(_slope_of(kernel), largest or 1.0, np.float64, typical)
    for rows in engine.schedule.slices(len(X), max(1, _NUMBERS_OF_PAIRS // len(points))):
        left = a[rows]
        squared = np.square(left).sum(axis=1)[:, None] + norms - 2.0 * (left @ b.T)
        np.maximum(squared, 0.0, out=squared)
        squared += max(softening**2, table.smallest)
        slopes = np.empty_like(squared)
        engine.table.look_up(table, squared, slopes)
        sums = slopes @ coefficients
        gradient = np.empty((len(left), coefficients.shape[1], b.shape[1]))
        for k, c in enumerate(coefficients.T):
            gradient[:, k] = 2.0 * (sums[:, k, None] * left - (slopes * c) @ b)
        yield rows, gradient * T if T.ndim == 1 else gradient @ T.T


def _whitened(X: Array, T: Floats) -> Floats:
    return np.asarray(X * T if T.ndim == 1 else X @ T, dtype=np.float64)


def _slope_of(kernel: Kernel) -> Any:
    """Give the derivative of ``phi(sqrt(t))`` as a function of t > 0."""

    def slope(t: Floats) -> Floats:
        ahead, behind = (kernel.profile(np.sqrt(t * (1.0 + step))) for step in (_STEP, -_STEP))
        return np.asarray((ahead - behind) / (2.0 * _STEP * t))

    return slope
