"""A fitted feature map made ready for one precision: what the engine needs, block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import engine
from .frequencies import DenseFrequencies, Frequencies, HadamardFrequencies

Array = NDArray[Any]

# Beyond so many turns a float32 phase has lost the fourth digit of the turn, and the product is taken in float64 ...
_COARSE_TURNS = 1e3
# ... for at most this share of the frequencies.
_FINE_SHARE = 1 / 128
# A row this many times farther out than usual is done in float64.
_FAR_OUT = 32.0
# Larger typical phases are folded back below it, see `_folding`.
_LARGEST_TURNS = {np.dtype(np.float32): 2.0**17, np.dtype(np.float64): 2.0**40}


@dataclass(frozen=True)
class DataScale:
    """Where the training data lie: what is needed to keep phases small, and to know those that are not."""

    center: NDArray[np.float64]
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]  # of the columns, in the distance of the kernel

    @classmethod
    def of(cls, sample: Array, whitening: NDArray[np.float64]) -> DataScale:
        """Measure a sample of rows, robustly: an outlier shifts neither the center nor the spread by much.

        The center is rounded to float32, so that subtracting it means the same in both precisions.
        """
        center = np.median(sample.astype(np.float64), axis=0)
        center = np.where(abs(center) < 1e38, center, 0.0).astype(np.float32).astype(np.float64)
        deviations = abs(sample - center)
        usual = np.quantile(deviations, 0.9, axis=0)
        capped = np.minimum(deviations, np.where(usual > 0.0, 10.0 * usual, np.inf))
        spread = np.sqrt(np.square(capped).mean(axis=0))
        spread = spread if spread.any() else np.ones_like(spread)
        weights = abs(whitening) if whitening.ndim == 1 else np.linalg.norm(whitening, axis=1)
        return cls(center, spread, weights)

    def weights_of_far(self) -> NDArray[np.float64]:
        """Give weights in which a row that is so far out that its phases are too large for float32 is longer than 1."""
        return self.weights / (_FAR_OUT * np.linalg.norm(self.spread * self.weights))


class FeaturePlan(ABC):
    """Turns blocks of rows into features in one precision.

    Phases are taken from the center of the training data: ``w.x = w.(x - c) + w.c``, where the second term is reduced
    to a fraction of a turn once, in float64. So phases stay small, and the features are still those of ``w.x``.
    """

    def __init__(self, frequencies: Frequencies, data: DataScale, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.n_frequencies = len(frequencies)
        self.scale = self.dtype.type(1.0 / np.sqrt(self.n_frequencies))
        self.offset = _fraction(frequencies.phases(data.center) / (2.0 * np.pi)).astype(self.dtype)
        self._per_radian = _folding(frequencies, data.spread, self.dtype) / (2.0 * np.pi)
        self._frequencies, self._data, self._center = frequencies, data, data.center.astype(self.dtype)
        self._fine = _FineColumns(frequencies, data) if self.dtype == np.float32 else None
        self._far = data.weights_of_far().astype(self.dtype)

    def write(self, X: Any, rows: slice, out: Array) -> None:
        """Write the features of some rows of X (dense or CSR) to the C-contiguous ``out``."""
        block = X[rows].toarray() if hasattr(X, "toarray") else X[rows]
        shifted = np.subtract(block, self._center, dtype=self.dtype, casting="same_kind")
        self._write_block(shifted, out)
        if self._fine is None:
            return
        if len(self._fine.which):
            self._fine.write(block, self.scale, out)
        outlying = np.flatnonzero(engine.feature_map.squared_lengths(shifted, self._far) > 1.0)
        if len(outlying):
            double = np.empty((len(outlying), out.shape[1]))
            self._in_double.write(block[outlying].astype(np.float64), slice(None), double)
            out[outlying] = double

    @cached_property
    def _in_double(self) -> FeaturePlan:
        """The same map in float64, for rows far outside of the training data."""
        return plan_for(self._frequencies, self._data, np.float64)

    @abstractmethod
    def block_rows(self, n_rows: int) -> int:
        """Choose how many rows the engine takes at once."""

    @abstractmethod
    def _write_block(self, shifted: Array, out: Array) -> None:
        """Write the features of points from which the center is subtracted."""


class DensePlan(FeaturePlan):
    """The plan of a dense frequency matrix: one matrix product a block, or a plain loop for data of few columns."""

    def __init__(self, frequencies: DenseFrequencies, data: DataScale, dtype: Any) -> None:
        super().__init__(frequencies, data, dtype)
        turns = np.ascontiguousarray(frequencies.matrix.T * self._per_radian, dtype=self.dtype)
        self._n_features = len(turns)
        few = self._n_features <= engine.feature_map.FEW_COLUMNS
        cut = engine.feature_map.columns_for_loops if few else engine.feature_map.columns_for_products
        self._turns = cut(turns)
        self._block = engine.feature_map.few_columns_block if few else engine.feature_map.dense_block

    def block_rows(self, n_rows: int) -> int:  # noqa: D102
        return engine.feature_map.rows_of_dense_block(n_rows, self._n_features, self.n_frequencies)

    def _write_block(self, shifted: Array, out: Array) -> None:
        self._block(shifted, self._turns, self.offset, self.scale, out)


class HadamardPlan(FeaturePlan):
    """The plan of structured frequencies: whitening, then fast transforms."""

    def __init__(self, frequencies: HadamardFrequencies, data: DataScale, dtype: Any) -> None:
        super().__init__(frequencies, data, dtype)
        size = frequencies.directions.radial_dimension
        self._signs = frequencies.directions.signs.astype(self.dtype)
        self._radii = (frequencies.radii * self._per_radian / size**1.5).astype(self.dtype)
        self._mixing = frequencies.mixing.astype(self.dtype)

    def block_rows(self, n_rows: int) -> int:  # noqa: D102
        size = self._signs.shape[2]
        return engine.feature_map.rows_of_hadamard_block(n_rows, size, self.n_frequencies)

    def _write_block(self, shifted: Array, out: Array) -> None:
        mixed = shifted * self._mixing if self._mixing.ndim == 1 else shifted @ self._mixing
        engine.feature_map.hadamard_block(mixed, self._signs, self._radii, self.offset, self.scale, out)


class _FineColumns:
    """The few frequencies whose phases are too large for a product in float32."""

    def __init__(self, frequencies: Frequencies, data: DataScale) -> None:
        typical = frequencies.typical_phases(data.spread) / (2.0 * np.pi)
        coarse = np.flatnonzero(typical > _COARSE_TURNS)
        n_fine = int(np.ceil(_FINE_SHARE * len(frequencies)))
        self.which = np.sort(coarse[np.argsort(typical[coarse], kind="stable")[:n_fine]])
        folding = _folding(frequencies, data.spread, np.float64)[self.which, None]
        turns = frequencies.rows(self.which) * folding / (2.0 * np.pi)
        self._center, self._turns = data.center, np.ascontiguousarray(turns.T)
        self._offset = _fraction(turns @ data.center)

    def write(self, block: Array, scale: float, out: Array) -> None:
        shifted = block.astype(np.float64)
        shifted -= self._center
        phases = shifted @ self._turns + self._offset
        angles = 2.0 * np.pi * (phases - np.rint(phases))
        out[:, self.which] = scale * np.cos(angles)
        out[:, out.shape[1] // 2 + self.which] = scale * np.sin(angles)


def plan_for(frequencies: Frequencies, data: DataScale, dtype: Any) -> FeaturePlan:
    """Make the plan that fits the kind of frequencies."""
    if isinstance(frequencies, DenseFrequencies):
        return DensePlan(frequencies, data, dtype)
    return HadamardPlan(frequencies, data, dtype)


def _fraction(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    return turns - np.rint(turns)


def _folding(frequencies: Frequencies, spread: Array, dtype: Any) -> NDArray[np.float64]:
    """Give a power of two for each frequency, 1 but for those whose phases are too large for the precision.

    A phase of many turns is random: it is how heavy-tailed kernels tell close points apart. But a floating-point
    number beyond 2^23 (2^52) is whole, so its fraction of a turn would be 0 for all points, which is not random at all.
    Such frequencies are halved until their typical phases have a fraction again. They stay different from one another,
    and still large enough to tell points apart that differ by 2^-17 (2^-40) of the spread of the data.
    """
    typical = np.maximum(frequencies.typical_phases(spread) / (2.0 * np.pi), 1e-300)
    return np.exp2(-np.ceil(np.maximum(np.log2(typical / _LARGEST_TURNS[np.dtype(dtype)]), 0.0)))
