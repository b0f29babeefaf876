"""Kernels of the L1 distance, products over the coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import laws
from .base import Array, SeparableKernel


@dataclass(frozen=True, eq=False, repr=False)
class L1Laplacian(SeparableKernel):
    """The L1-Laplacian kernel ``exp(-|x - z|_1 / length_scale)``, which scikit-learn calls the Laplacian kernel.

    Parameters
    ----------
    length_scale : number, vector or "median", default=1.0
        ``1 / gamma`` of scikit-learn.
    metric : None or vector, default=None
        Diagonal of M; coordinate j is multiplied by ``sqrt(M_jj)``.

    Notes
    -----
    The kernel of the paper, of the L2 distance, is `Laplacian`. This one is a product over coordinates, each with
    Cauchy frequencies, so it has no radius: only ``directions="gaussian"`` (independent frequencies) makes sense.

    Examples
    --------
    >>> from bochner import L1Laplacian
    >>> L1Laplacian(length_scale=7.0)([[0.0, 0.0], [3.0, 4.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    length_scale: Any = 1.0
    metric: Any = None

    def profile(self, r: Any) -> Any:  # noqa: D102
        return np.exp(-np.asarray(r, dtype=np.float64))

    def coordinate_frequency(self, u: Array) -> Array:  # noqa: D102
        return laws.cauchy(u)
