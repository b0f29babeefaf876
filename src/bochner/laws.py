"""Univariate laws as transforms of uniforms.

Each function maps uniforms in the open interval (0, 1) to a variable of its law, so that any source of uniforms
(random, stratified, Sobol) serves any law. Laws whose tails leave the range of float64 come as logarithms: with
exponent 0.05 the positive stable variable reaches 1e218 in 4e5 draws. Their plain forms are clipped to that range,
so every value is finite and positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv, betaln, gammainccinv, gammaincinv, gammaln

Array = NDArray[np.float64]

# exp of it, and of its negative, is finite and positive in float64, with room for a factor.
_LARGEST_LOG = 690.0
# Below this a quantile is given by the first term of its series: the next is smaller by this very factor.
_TINY = 1e-200


def finite_exp(logarithm: Array) -> Array:
    """Exponentiate, clipped to the finite and positive numbers."""
    return np.exp(np.clip(logarithm, -_LARGEST_LOG, _LARGEST_LOG))


def _log_or(quantile: Array, tail: Array) -> Array:
    """Take the logarithm of a quantile, and of its tail's first term where the quantile underflows."""
    return np.where(quantile > _TINY, np.log(np.maximum(quantile, _TINY)), tail)


def log_gamma(u: Array, shape: float) -> Array:
    """Logarithm of a gamma variable of unit scale.

    Notes
    -----
    Near zero ``P(G <= g) = g**shape / Gamma(shape + 1) (1 + O(g))``, which gives the logarithm of a quantile that
    is too small for float64 itself.
    """
    return _log_or(gammaincinv(shape, u), (np.log(u) + gammaln(shape + 1.0)) / shape)


def log_inverse_gamma(u: Array, shape: float) -> Array:
    """Logarithm of the reciprocal of a gamma variable of unit scale; increasing in ``u``, exact in both tails."""
    return -_log_or(gammainccinv(shape, u), (np.log1p(-u) + gammaln(shape + 1.0)) / shape)


def gamma(u: Array, shape: float) -> Array:
    """Gamma variable of unit scale."""
    return finite_exp(log_gamma(u, shape))


def inverse_gamma(u: Array, shape: float) -> Array:
    """Reciprocal of a gamma variable of unit scale; increasing in ``u``."""
    return finite_exp(log_inverse_gamma(u, shape))


def log_chi(u: Array, df: float) -> Array:
    """Logarithm of the length of a standard Gaussian vector in ``df`` dimensions (any df > 0)."""
    return 0.5 * (np.log(2.0) + log_gamma(u, df / 2.0))


def chi(u: Array, df: float) -> Array:
    """Length of a standard Gaussian vector in ``df`` dimensions (any df > 0)."""
    return finite_exp(log_chi(u, df))


def log_beta_prime(u: Array, a: float, b: float) -> Array:
    """Logarithm of a beta prime variable, the odds ``z / (1 - z)`` of a beta variable.

    Notes
    -----
    ``1 - z`` is Beta(b, a), and taken as the quantile of its upper probability u, so that both tails keep their
    digits.
    """
    z = _log_or(betaincinv(a, b, u), (np.log(u) + np.log(a) + betaln(a, b)) / a)
    complement = _log_or(betainccinv(b, a, u), (np.log1p(-u) + np.log(b) + betaln(a, b)) / b)
    return z - complement


def beta_prime(u: Array, a: float, b: float) -> Array:
    """Beta prime variable."""
    return finite_exp(log_beta_prime(u, a, b))


def generalized_beta_prime(u: Array, a: float, b: float, p: float, q: float) -> Array:
    """Generalised beta prime variable ``q * BetaPrime(a, b)**(1/p)``.

    Notes
    -----
    The length of a multivariate t variable with 2 nu degrees of freedom and scale sigma in d dimensions has this law
    with ``(d/2, nu, 2, sigma sqrt(2 nu))`` (the paper's lemma on the norm of t).
    """
    return finite_exp(np.log(q) + log_beta_prime(u, a, b) / p)


def log_positive_stable(u: Array, v: Array, a: float) -> Array:
    """Logarithm of the positive stable variable S with Laplace transform ``E exp(-t S) = exp(-t**a)``, 0 < a <= 1.

    Notes
    -----
    Chambers, Mallows and Stuck's method (the paper's appendix) for ``S(a, 1, sigma)`` in the 1-parametrisation, with
    ``sigma = cos(pi a / 2)**(1/a)``. For skewness 1 and a < 1 their constant ``C`` cancels sigma and their angle
    becomes ``theta = V + pi/2``, uniform on (0, pi); with W exponential,

        S = sin(a theta) / sin(theta)**(1/a) * (sin((1 - a) theta) / W)**((1 - a) / a),

    which is also Kanter's form. At a = 1 it is the constant 1.
    """
    if a == 1.0:
        return np.zeros(np.broadcast(u, v).shape)
    theta = np.pi * u
    # sin(theta) = sin(pi - theta); the smaller angle has the digits.
    sin_theta = np.sin(np.pi * np.minimum(u, 1.0 - u))
    log_ratio = np.log(np.sin((1.0 - a) * theta)) - np.log(-np.log(v))
    return np.log(np.sin(a * theta)) - np.log(sin_theta) / a + (1.0 - a) / a * log_ratio


def positive_stable(u: Array, v: Array, a: float) -> Array:
    """Positive stable variable with Laplace transform ``exp(-t**a)``; see `log_positive_stable`."""
    return finite_exp(log_positive_stable(u, v, a))


def cauchy(u: Array) -> Array:
    """Cauchy variable, ``-cot(pi u)``, with the digits of both tails."""
    near = np.minimum(u, 1.0 - u)
    return np.where(u < 0.5, -1.0, 1.0) / np.tan(np.pi * near)
