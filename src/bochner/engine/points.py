"""Points made ready for distances: shifted, whitened and rounded for products, unrounded for differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import schedule
from .compiling import compiled
from .schedule import slices

Array = NDArray[Any]

#: Numbers that are worth a thread of their own.
_NUMBERS_OF_TASK = 1 << 17


class Points:
    """Points as the engine wants them: shifted and whitened for products, as they are for differences.

    ``whitening`` is a vector (one factor per coordinate) or a matrix (d, k); ``center`` is subtracted first, which
    changes no distance and saves digits.
    """

    def __init__(self, raw: Array, center: Array, whitening: Array) -> None:
        self.raw, self.center, self.whitening = raw, center, whitening
        # Squares of extreme factors would leave the range of float64; then the points are scaled first.
        extreme = bool(((whitening != 0.0) & ((abs(whitening) < 1e-100) | (abs(whitening) > 1e100))).any())
        self._mixed = _mix(raw, center, whitening) if whitening.ndim == 2 or extreme else None

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def dimension(self) -> int:
        """Number of coordinates after whitening."""
        return int(self.whitening.shape[-1])

    @property
    def reach(self) -> float:
        """A bound of the whitened coordinates."""
        return float(max(self.raw.max(), -float(self.raw.min())) * abs(self.whitening).sum(axis=0).max())

    def whitened(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float64]:
        """Whiten some rows in float64."""
        if self._mixed is not None:
            return self._mixed[rows]
        shifted = np.subtract(self.raw[rows], self.center, dtype=np.float64)
        shifted *= self.whitening
        return shifted

    def unrounded(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float64]:
        """Give some rows for differences: the whitening, if it is a vector, is left to `factors`.

        To shift or scale the points first would round them, and near ones would lose the digits of their difference.
        """
        return self.raw[rows].astype(np.float64) if self._mixed is None else self._mixed[rows]

    @property
    def factors(self) -> NDArray[np.float64]:
        """What the differences of `unrounded` points are multiplied by."""
        return self.whitening if self._mixed is None else np.ones(self.dimension)

    def rounded(self, dtype: Any) -> tuple[Array, Array]:
        """Whiten all rows, rounded to ``dtype``, and give them with their squared lengths."""
        out = np.empty((len(self), self.dimension), dtype=dtype)
        norms = np.empty(len(self), dtype=dtype)

        def whiten(rows: slice) -> None:
            if self._mixed is None:
                _scale_rows(self.raw[rows], self.center, self.whitening, out[rows])
            else:
                out[rows] = self._mixed[rows]
            norms[rows] = squared_norms(out[rows])

        schedule.run(whiten, slices(len(self), max(64, _NUMBERS_OF_TASK // self.dimension)))
        return out, norms


def _mix(raw: Array, center: Array, whitening: Array) -> NDArray[np.float64]:
    """Whiten all points; by a matrix, each row by the same operations in the same order, so that equal rows stay equal.

    A product by BLAS does not promise that: how it adds up depends on where a row stands.
    """
    if whitening.ndim == 1:
        return np.subtract(raw, center, dtype=np.float64) * whitening
    out = np.zeros((len(raw), whitening.shape[1]))
    contiguous = np.ascontiguousarray(whitening)

    def mix(rows: slice) -> None:
        _multiply_rows(np.subtract(raw[rows], center, dtype=np.float64), contiguous, out[rows])

    schedule.run(mix, slices(len(raw), 256))
    return out


def squared_norms(points: Array) -> Array:
    """Give the squared lengths of the rows, summed in float64."""
    return np.asarray(np.einsum("ij,ij->i", points, points, dtype=np.float64), dtype=points.dtype)


@compiled()
def _scale_row(row, center, factors, out):
    for j in range(out.shape[0]):
        out[j] = (row[j] - center[j]) * factors[j]


@compiled()
def _scale_rows(points, center, factors, out):
    """Write ``(points - center) * factors``, computed in float64, in one pass over the memory."""
    for i in range(points.shape[0]):
        _scale_row(points[i], center, factors, out[i])


@compiled(fastmath={"contract"})
def _add_multiple(factor, row, out):
    for j in range(out.shape[0]):
        out[j] += factor * row[j]


@compiled()
def _multiply_rows(points, matrix, out):
    """Add ``points @ matrix`` to ``out``, row by row."""
    for i in range(points.shape[0]):
        for k in range(matrix.shape[0]):
            _add_multiple(points[i, k], matrix[k], out[i])
