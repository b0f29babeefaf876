"""Structured directions: three rounds of random sign flips and Hadamard transforms, never formed as a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import padded_dimension
from .orthogonal import haar

Array = NDArray[np.float64]

# Fewer dimensions are padded to this many. With few signs there are few different rows, and the error of a map would
# not fall any more with their number.
_SMALLEST = 16
# Up to this (padded) dimension the input is rotated first; beyond it the rows are uniform enough without.
_LARGEST_ROTATED = 256


@dataclass(frozen=True)
class HadamardRows:
    """The unit rows of ``H S3 H S2 H S1 R / D^(3/2)``, cut to n rows and to the first ``dimension`` columns.

    H is the D x D Hadamard matrix, with D a power of two, each S a diagonal of random signs, one set for each block of
    D rows. R, a Haar rotation shared by all blocks, is there in few dimensions only: with it each row is exactly
    uniform on the sphere, while the rows without it are so only in the limit of many dimensions.

    A row has length 1 in D dimensions, so its radius is that of D dimensions: the marginal of a scale mixture in D
    dimensions is the same mixture in fewer.
    """

    n: int
    dimension: int
    signs: Array  # (blocks, 3, D)
    rotation: Array | None  # (dimension, D): the transposed first columns of R

    @property
    def radial_dimension(self) -> int:
        """D, the dimension in which the rows have unit length."""
        return int(self.signs.shape[2])

    def mix(self, whitening: Array) -> Array:
        """Combine a whitening (vector or matrix) of the input with the rotation, if there is one."""
        if self.rotation is None:
            return whitening
        return whitening[:, None] * self.rotation if whitening.ndim == 1 else whitening @ self.rotation

    def project(self, mixed: Array) -> Array:
        """Give the (m, n) inner products of the rows with m mixed points: plainly, for few points."""
        size = self.radial_dimension
        padded = np.zeros((len(mixed), 1, size))
        padded[:, 0, : mixed.shape[1]] = mixed
        spun = np.broadcast_to(padded, (len(mixed), len(self.signs), size))
        for k in range(3):
            spun = _hadamard_transform(spun * self.signs[:, k]) / np.sqrt(size)
        return spun.reshape(len(mixed), -1)[:, : self.n]

    def rows(self, which: NDArray[np.intp]) -> Array:
        """Form some of the rows, shape (k, dimension), by the transposed transforms of unit vectors."""
        size = self.radial_dimension
        rows = np.zeros((len(which), size))
        rows[np.arange(len(which)), which % size] = 1.0
        for k in (2, 1, 0):
            rows = _hadamard_transform(rows) * self.signs[which // size, k] / np.sqrt(size)
        return rows[:, : self.dimension] if self.rotation is None else rows @ self.rotation.T


def hadamard_rows(n: int, dimension: int, rng: np.random.Generator) -> HadamardRows:
    """Draw the signs (and, in few dimensions, the rotation) of n structured rows."""
    # In one dimension a random sign is exact.
    size = max(padded_dimension(dimension), _SMALLEST) if dimension > 1 else 1
    n_blocks = -(-n // size)
    signs = rng.choice(np.array([-1.0, 1.0]), size=(n_blocks, 3, size))
    rotation = haar(1, size, rng)[0, :dimension] if size <= _LARGEST_ROTATED else None
    return HadamardRows(n, dimension, signs, rotation)


def _hadamard_transform(x: Array) -> Array:
    """Apply the unnormalised Hadamard matrix along the last axis, level by level."""
    *leading, size = x.shape
    h = 1
    while h < size:
        pairs = x.reshape(*leading, size // (2 * h), 2, h)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        x = np.stack([first + second, first - second], axis=-2).reshape(*leading, size)
        h *= 2
    return x
