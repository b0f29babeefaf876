"""Kernel x directions x sampling = frequencies: where the three independent choices meet.

A frequency is ``w = r u T``: a radius of the kernel's law, a direction, and the whitening T of length scale and metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from . import directions as direction_schemes
from . import sampling as sampling_schemes
from ._validation import invalid
from .directions import HadamardRows
from .kernels import Kernel, RadialKernel, SeparableKernel

Array = NDArray[np.float64]

# Larger radii are cut. A phase this large is random whatever the data, and its product with them stays finite.
_LARGEST_LOG_RADIUS = np.log(1e150)


@dataclass(frozen=True)
class DenseFrequencies:
    """Frequencies as a (p, d) matrix."""

    matrix: Array

    def __len__(self) -> int:
        return len(self.matrix)

    def rows(self, which: NDArray[np.intp]) -> Array:
        """Give some of the frequencies."""
        return self.matrix[which]

    def phases(self, point: Array) -> Array:
        """Give the phases of one point, in radians."""
        return self.matrix @ point

    def typical_phases(self, spread: Array) -> Array:
        """Give the standard deviation of each phase over data with these standard deviations of the columns."""
        return np.sqrt(np.einsum("pd,pd,d->p", self.matrix, self.matrix, np.square(spread)))  # no array of squares


@dataclass(frozen=True)
class HadamardFrequencies:
    """Frequencies as radii times structured rows, after a whitening (vector or matrix) of the input."""

    radii: Array
    directions: HadamardRows
    whitening: Array

    def __len__(self) -> int:
        return len(self.radii)

    def rows(self, which: NDArray[np.intp]) -> Array:
        """Form some of the frequencies."""
        rows = self.directions.rows(which) * self.radii[which, None]
        return rows * self.whitening if self.whitening.ndim == 1 else rows @ self.whitening.T

    @property
    def mixing(self) -> Array:
        """What is applied to the input before the transforms: a vector, or a matrix to at most D dimensions."""
        return self.directions.mix(self.whitening)

    def phases(self, point: Array) -> Array:
        """Give the phases of one point, in radians."""
        mixing = self.mixing
        mixed = point * mixing if mixing.ndim == 1 else point @ mixing
        return self.directions.project(mixed[None])[0] * self.radii

    def typical_phases(self, spread: Array) -> Array:
        """Give about the standard deviation of each phase over data with these standard deviations of the columns."""
        squared = np.square(self.whitening.T * spread).sum() / self.directions.radial_dimension
        return self.radii * np.sqrt(squared)


Frequencies = DenseFrequencies | HadamardFrequencies


def choose_directions(owner: object, kernel: Kernel, directions: str, n_features: int, n_frequencies: int) -> str:
    """Resolve "auto", and refuse directions that the kernel does not have."""
    if isinstance(kernel, SeparableKernel):
        if directions not in ("auto", "gaussian"):
            allowed = f"'auto' or 'gaussian' for {type(kernel).__name__}, whose coordinates are independent"
            raise invalid(owner, "directions", allowed, directions, "Orthogonality needs a radial kernel.")
        return "gaussian"
    if directions != "auto":
        return directions
    return direction_schemes.cheapest(kernel.whitening(n_features).shape[-1], n_frequencies)


def draw(
    kernel: Kernel, n_features: int, n_frequencies: int, directions: str, sampling: str, rng: np.random.Generator
) -> Frequencies:
    """Draw frequencies for a resolved kernel and resolved directions."""
    whitening = kernel.whitening(n_features)
    if isinstance(kernel, SeparableKernel):
        u = sampling_schemes.uniforms(sampling, n_frequencies, n_features, rng)
        return DenseFrequencies(_bounded(kernel.coordinate_frequency(u).T) * whitening)
    assert isinstance(kernel, RadialKernel)
    for_directions, for_radii = rng.spawn(2)
    dimension = whitening.shape[-1]
    if directions == "hadamard":
        structured = direction_schemes.hadamard_rows(n_frequencies, dimension, for_directions)
        radii = _radii(kernel, n_frequencies, structured.radial_dimension, sampling, for_radii)
        return HadamardFrequencies(radii, structured, whitening)
    if directions == "gaussian" and sampling != "stratified":
        rows = _scaled_gaussians(kernel, n_frequencies, dimension, sampling, for_directions, for_radii)
    else:
        unit = direction_schemes.orthogonal_rows if directions == "orthogonal" else direction_schemes.unit_rows
        radii = _radii(kernel, n_frequencies, dimension, sampling, for_radii)
        rows = unit(n_frequencies, dimension, for_directions) * radii[:, None]
    return DenseFrequencies(rows * whitening if whitening.ndim == 1 else rows @ whitening.T)


def _radii(kernel: RadialKernel, n: int, dimension: int, sampling: str, rng: np.random.Generator) -> Array:
    logarithms = kernel.sample_log_radii(n, dimension, sampling, rng)
    return np.exp(np.minimum(logarithms, _LARGEST_LOG_RADIUS))


def _scaled_gaussians(
    kernel: RadialKernel,
    n: int,
    dimension: int,
    sampling: str,
    for_directions: np.random.Generator,
    for_radii: np.random.Generator,
) -> Array:
    """Draw Gaussian rows times ``sqrt(s)``, one s for each row: the RFF column of the paper's Table 1.

    With Sobol the mixture takes the first coordinates of the sequence, its most even ones.
    """
    k = kernel.mixture_uniforms
    if sampling == "sobol":
        u = sampling_schemes.uniforms(sampling, n, k + dimension, for_radii)
        gaussians = ndtri(u[k:].T)
    else:
        u = sampling_schemes.uniforms(sampling, n, k, for_radii)
        gaussians = direction_schemes.gaussian_rows(n, dimension, for_directions)
    scales = np.exp(np.minimum(0.5 * kernel.log_mixture(*u[:k]), _LARGEST_LOG_RADIUS))
    return gaussians * np.broadcast_to(scales, (n,))[:, None]


def _bounded(values: Any) -> Array:
    return np.clip(values, -np.exp(_LARGEST_LOG_RADIUS), np.exp(_LARGEST_LOG_RADIUS))
