"""Which uniforms feed the laws: plain random, stratified or Sobol.

Every scheme gives uniforms that are, one by one, exactly uniform; so whatever is made of them is unbiased. They
differ in how evenly a set of them fills the interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SCHEMES = ("random", "stratified", "sobol")

# Candidates per stratum where a law has no quantile function; leaves 1/32 of the plain variance between strata.
_CANDIDATES = 32


def uniforms(scheme: str, n_points: int, dimension: int, rng: np.random.Generator) -> Array:
    """Draw (dimension, n_points) uniforms in the open interval (0, 1).

    Stratified is a Latin hypercube: along each axis one point in each of n_points intervals. Sobol is scrambled
    (a random linear scramble and a digital shift), so that each point alone is uniform.
    """
    if scheme == "sobol":
        points = _sobol(n_points, dimension, rng)
    else:
        points = rng.random((dimension, n_points))
        if scheme == "stratified":
            order = rng.permuted(np.tile(np.arange(n_points), (dimension, 1)), axis=1)
            points = (order + points) / n_points
    return open_interval(points)


def _sobol(n_points: int, dimension: int, rng: np.random.Generator) -> Array:
    from scipy.stats import qmc  # importing scipy.stats takes long

    if dimension > qmc.Sobol.MAXDIM:
        raise ValueError(
            f"sampling='sobol' has at most {qmc.Sobol.MAXDIM} dimensions, {dimension} are needed. "
            "Use sampling='stratified'."
        )
    # A whole power of two keeps the balance of the sequence; what is beyond n_points is left out.
    log2 = max(n_points - 1, 0).bit_length()
    engine = qmc.Sobol(dimension, scramble=True, bits=max(log2, 52), rng=rng)
    return np.ascontiguousarray(engine.random_base2(log2)[:n_points].T)


def open_interval(u: Array) -> Array:
    """Move the ends of the unit interval, which a generator may hit, inwards, where ``1 - u`` is exact as well."""
    return np.clip(u, 2.0**-53, 1.0 - 2.0**-53)


def stratify_by_rank(draw: Callable[[int], Array], n_points: int, rng: np.random.Generator) -> Array:
    """Draw n_points stratified variables of a law that can only be sampled, not inverted.

    Notes
    -----
    Of ``m n`` independent draws, sorted and cut into n groups of m neighbours, one of each group is taken at random,
    in random order. Each result is then a uniformly chosen element of an independent sample, so it has exactly the
    law; and together they are spread over its quantiles.
    """
    pool = np.sort(draw(_CANDIDATES * n_points)).reshape(n_points, _CANDIDATES)
    chosen = pool[np.arange(n_points), rng.integers(_CANDIDATES, size=n_points)]
    return rng.permutation(chosen)
