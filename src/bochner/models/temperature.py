"""Temperature scaling: the one number by which scores are divided so that held-out rows have the least log loss.

Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", 2017.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ..solvers import log_losses

Array = NDArray[Any]

# Rows held out for the temperature.
_HELD_OUT = 0.15


def kept_and_held_out(codes: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Hold out some rows; every class keeps one to be learnt from."""
    order = rng.permutation(len(codes))
    needed = order[np.unique(codes[order], return_index=True)[1]]
    rest = np.setdiff1d(order, needed)
    n_held = int(_HELD_OUT * len(codes))
    if n_held < 1 or n_held > len(rest):
        raise ValueError(f"Temperature scaling holds rows out, and {len(codes)} rows are too few for that.")
    held = np.sort(rng.choice(rest, n_held, replace=False))
    return np.setdiff1d(order, held), held


def best_temperature(scores: Array, codes: Array, weights: Array | None) -> float:
    """Find the temperature of the least (weighted) mean log loss."""
    scores = scores.astype(np.float64)

    def loss(log_temperature: float) -> float:
        losses, _ = log_losses(scores / np.exp(log_temperature), codes)
        return float(np.average(losses, weights=weights))

    return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x))
