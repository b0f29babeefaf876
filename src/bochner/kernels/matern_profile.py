"""The Matérn profile for any smoothness, right to the last digits from nu = 0.01 to infinity."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.special import gammaln, k0e, k1e, kve

Array = NDArray[np.float64]

# Above it the uniform expansion is exact to rounding, and Gamma(nu) would soon leave the range of float64.
_LARGEST_NU_BY_BESSEL = 60.0
_TERMS = 12
# Nearer than the first the profile is 1 to all digits; beyond the second it underflows.
_NEAR, _FAR = 1e-200, 1e5


def matern_profile(r: Array, nu: float) -> Array:
    """Evaluate ``2^(1-nu) / Gamma(nu) z^nu K_nu(z)``, ``z = sqrt(2 nu) r``; the limit ``exp(-r^2/2)`` at infinity."""
    nu = float(nu)
    if np.isinf(nu):
        return np.exp(-0.5 * np.square(r))
    if nu > _LARGEST_NU_BY_BESSEL:
        return _by_expansion(r, nu)
    return _by_recurrence(r, nu) if (2.0 * nu).is_integer() else _by_bessel(r, nu)


def _by_recurrence(r: Array, nu: float) -> Array:
    """Climb from the first two orders to a whole or half smoothness, in steps of one.

    By ``K_{m+1} = K_{m-1} + 2 m K_m / z`` the profiles f_m, as functions of the same z, obey

        f_{m+1} = f_m + z^2 / (4 m (m - 1)) f_{m-1}.

    All terms are positive, so nothing cancels, and this is much quicker than K_nu of any order.
    """
    z = np.clip(np.sqrt(2.0 * nu) * r, _NEAR, _FAR)
    # All of them times exp(z), which would underflow first.
    if nu.is_integer():
        order, last = 2.0, z * k1e(z)
        this = last + 0.5 * np.square(z) * k0e(z)
    else:
        order, last, this = 1.5, np.ones_like(z), 1.0 + z
    while order < nu:
        last, this = this, this + np.square(z) / (4.0 * order * (order - 1.0)) * last
        order += 1.0
    decay = np.exp(-0.5 * z)
    return np.minimum((this if order == nu else last) * decay * decay, 1.0)


def _by_bessel(r: Array, nu: float) -> Array:
    # Soon after _FAR SciPy's Bessel function gives no number.
    z = np.minimum(np.sqrt(2.0 * nu) * r, _FAR)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logarithm = (1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(z) + np.log(kve(nu, z)) - z
        values = np.exp(logarithm)
    # K_nu overflows near zero, where the first terms of the series are exact.
    return np.where(np.isfinite(values), np.minimum(values, 1.0), _near_zero(z, nu))


def _near_zero(z: Array, nu: float) -> Array:
    """Sum ``(z^2/4)^k / (k! (1-nu)(2-nu)...(k-nu))`` for k = 0, 1, 2; for nu <= 1 overflow only happens at z = 0."""
    if nu <= 2.0:
        return np.ones_like(z)
    quarter = np.minimum(np.square(z), 1.0) / 4.0
    return 1.0 - quarter / (nu - 1.0) * (1.0 - quarter / (2.0 * (nu - 2.0)))


def _by_expansion(r: Array, nu: float) -> Array:
    """Use the expansion of K_nu(nu x) that is uniform in x (NIST Handbook 10.41.4), with its large terms cancelled.

    With ``w = sqrt(1 + x^2) - 1``, ``t = 1 / (1 + w)``, ``U(t) = sum_k (-1)^k u_k(t) / nu^k``, and Stirling's series,
    which is U(1), for Gamma(nu):

        log of the profile = nu (log(1 + w/2) - w) - log(1 + w) / 2 + log U(t) - log U(1).
    """
    x_squared = 2.0 / nu * np.square(r)
    w = x_squared / (1.0 + np.sqrt(1.0 + x_squared))
    t = 1.0 / (1.0 + w)
    logarithm = nu * (np.log1p(w / 2.0) - w) - 0.5 * np.log1p(w)
    return np.exp(logarithm) * _expansion_sum(t, nu) / _expansion_sum(np.ones(()), nu)


def _expansion_sum(t: Array, nu: float) -> Array:
    total = np.zeros_like(t)
    for k, polynomial in enumerate(_debye_polynomials()):
        total = total + polynomial(t) * (-1.0 / nu) ** k
    return total


@lru_cache(maxsize=1)
def _debye_polynomials() -> tuple[Polynomial, ...]:
    """Give u_0 to u_11 by their recursion (NIST Handbook 10.41.9)."""
    square, weight = Polynomial([0, 0, 1]), Polynomial([1, 0, -5])
    polynomials = [Polynomial([1.0])]
    for _ in range(_TERMS - 1):
        last = polynomials[-1]
        polynomials.append(0.5 * square * (1 - square) * last.deriv() + (weight * last).integ() / 8.0)
    return tuple(polynomials)
