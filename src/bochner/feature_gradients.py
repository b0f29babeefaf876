"""Gradients of functions on random features, with respect to the input, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels import Kernel

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Numbers of a block of gradients, and its rows at least and at most.
_NUMBERS, _ROWS = 1 << 21, (16, 1024)
#: Frequencies are cut off here, so that they are finite in single precision too.
_HIGHEST = 1e30


def rows_at_once(n_outputs: int, d: int) -> int:
    """Give the rows of a block."""
    return int(np.clip(_NUMBERS // (n_outputs * d), *_ROWS))


def damped(W: Floats, kernel: Kernel, smoothing: float) -> Floats:
    """Multiply frequencies of radius r by ``exp(-h^2 r^2 / 2)``, which convolves the function with a Gaussian."""
    if smoothing > 0.0:
        W = W * np.exp(-0.5 * smoothing**2 * np.square(_radii(W, kernel)))[:, None]
    return np.clip(W, -_HIGHEST, _HIGHEST)


def _radii(W: Floats, kernel: Kernel) -> Floats:
    """Give the lengths of frequencies in the kernel's own distance: before its length scale and metric."""
    T = kernel.whitening(W.shape[1])
    if T.ndim == 2:
        return np.linalg.norm(W @ np.linalg.pinv(T).T, axis=1)
    return np.linalg.norm(np.divide(W, T, out=np.zeros_like(W), where=T > 0.0), axis=1)


def gradient_blocks(
    blocks: Iterable[tuple[slice, Array]], W: Array, of_pairs: Array, block_rows: int
) -> Iterator[tuple[slice, Array]]:
    """Turn blocks of features, all cosines before all sines, into (rows, n_outputs, d) gradients, in one buffer.

    ``of_pairs`` are the (2p, n_outputs) coefficients; the gradient of ``a cos(w.x) + b sin(w.x)`` is
    ``(b cos(w.x) - a sin(w.x)) w``.
    """
    of_cos, of_sin = np.split(of_pairs, 2)
    n_outputs = of_pairs.shape[1]
    buffer = np.empty((block_rows, n_outputs, W.shape[1]), dtype=W.dtype)
    for rows, block in blocks:
        gradient = buffer[: rows.stop - rows.start]
        cos, sin = np.split(block, 2, axis=1)
        for k in range(n_outputs):
            np.matmul(cos * of_sin[:, k] - sin * of_cos[:, k], W, out=gradient[:, k])
        yield rows, gradient
