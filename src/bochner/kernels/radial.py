"""The radial kernels: Gaussian, Laplacian, Matérn, exponential power, rational quadratic.

Each is a profile and the law of its Gaussian scale mixture; distances are ``r = |x - z|_M / length_scale``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import laws
from .._validation import Range
from .base import Array, RadialKernel
from .matern_profile import matern_profile

# From here on the law of the Matérn kernel is the Gaussian to the last digit, and its quantile function breaks down.
_GAUSSIAN_NU = 1e14


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(RadialKernel):
    """The Gaussian kernel ``exp(-r^2 / 2)``.

    Parameters
    ----------
    length_scale : number, vector or "median", default=1.0
    metric : None, vector or matrix, default=None
        M of the distance ``|x - z|_M``: None is the identity, a vector its diagonal.

    Notes
    -----
    Its mixture is the constant 1: frequencies are Gaussian vectors.

    Examples
    --------
    >>> from bochner import Gaussian
    >>> Gaussian()([[0.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    length_scale: Any = 1.0
    metric: Any = None
    mixture_uniforms: ClassVar[int] = 0

    def profile(self, r: Any) -> Any:  # noqa: D102
        return np.exp(-0.5 * np.square(r))

    def log_mixture(self, *u: Array) -> Array:  # noqa: D102
        return np.zeros(())


@dataclass(frozen=True, eq=False, repr=False)
class Matern(RadialKernel):
    """The Matérn kernel of smoothness nu.

    Parameters
    ----------
    nu : number > 0, default=1.5
        Smoothness; 0.5 is the Laplacian kernel, infinity the Gaussian.
    length_scale : number, vector or "median", default=1.0
    metric : None, vector or matrix, default=None
        M of the distance ``|x - z|_M``: None is the identity, a vector its diagonal.

    Notes
    -----
    ``2^(1 - nu) / Gamma(nu) z^nu K_nu(z)`` with ``z = sqrt(2 nu) r`` and K the modified Bessel function of the second
    kind. It is the characteristic function of the multivariate t law with 2 nu degrees of freedom, so the mixture is
    ``2 nu / chi2(2 nu)`` and the radius in d dimensions is ``sqrt(2 nu BetaPrime(d/2, nu))``.

    Examples
    --------
    >>> from bochner import Laplacian, Matern
    >>> X = [[0.0, 0.0], [3.0, 4.0]]
    >>> bool(abs(Matern(nu=0.5)(X) - Laplacian()(X)).max() < 1e-14)
    True
    """

    nu: float = 1.5
    length_scale: Any = 1.0
    metric: Any = None
    ranges: ClassVar[dict[str, Range]] = {"nu": Range(0.0, includes_high=True)}

    def profile(self, r: Any) -> Any:  # noqa: D102
        return matern_profile(np.asarray(r, dtype=np.float64), self.nu)

    def log_mixture(self, *u: Array) -> Array:  # noqa: D102
        if self.nu > _GAUSSIAN_NU:
            return np.zeros_like(u[0])
        return np.log(self.nu) + laws.log_inverse_gamma(u[0], self.nu)

    @property
    def radius_uniforms(self) -> int:  # noqa: D102
        return 1

    def log_radius(self, u: Array, dimension: int) -> Array:  # noqa: D102
        if self.nu > _GAUSSIAN_NU:
            return laws.log_chi(u[0], dimension)
        return 0.5 * (np.log(2.0 * self.nu) + laws.log_beta_prime(u[0], dimension / 2.0, self.nu))


@dataclass(frozen=True, eq=False, repr=False)
class Laplacian(Matern):
    """The Laplacian kernel ``exp(-r)`` of the Euclidean (L2) distance.

    Parameters
    ----------
    length_scale : number, vector or "median", default=1.0
    metric : None, vector or matrix, default=None
        M of the distance ``|x - z|_M``: None is the identity, a vector its diagonal.

    Notes
    -----
    This is the L2 one, as in the paper. What scikit-learn calls the Laplacian kernel is `L1Laplacian`.

    It is the Matérn kernel with nu = 1/2: its frequencies are multivariate Cauchy variables.

    Examples
    --------
    >>> from bochner import Laplacian
    >>> Laplacian(length_scale=5.0)([[0.0, 0.0], [3.0, 4.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    nu: ClassVar[float] = 0.5  # type: ignore[misc]  # not a parameter any more
    length_scale: Any = 1.0
    metric: Any = None

    def profile(self, r: Any) -> Any:  # noqa: D102
        return np.exp(-np.asarray(r, dtype=np.float64))


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialPower(RadialKernel):
    """The exponential power kernel ``exp(-r^exponent)``.

    Parameters
    ----------
    exponent : number in (0, 2], default=1.0
        1 is the Laplacian kernel, 2 the Gaussian with length scale ``1 / sqrt(2)``.
    length_scale : number, vector or "median", default=1.0
    metric : None, vector or matrix, default=None
        M of the distance ``|x - z|_M``: None is the identity, a vector its diagonal.

    Notes
    -----
    The mixture is twice the positive stable variable with Laplace transform ``exp(-t^(exponent / 2))``: the paper's
    ``S(a/2, 1, 2 cos^(2/a)(pi a / 4))``. Its logarithm is drawn, since it leaves the range of float64.
    """

    exponent: float = 1.0
    length_scale: Any = 1.0
    metric: Any = None
    mixture_uniforms: ClassVar[int] = 2
    ranges: ClassVar[dict[str, Range]] = {"exponent": Range(0.0, 2.0, includes_high=True)}

    def profile(self, r: Any) -> Any:  # noqa: D102
        return np.exp(-np.power(np.asarray(r, dtype=np.float64), self.exponent))

    def log_mixture(self, *u: Array) -> Array:  # noqa: D102
        return np.log(2.0) + laws.log_positive_stable(u[0], u[1], self.exponent / 2.0)


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(RadialKernel):
    """The rational quadratic kernel ``(1 + r^2 / (2 shape))^(-shape)``.

    Parameters
    ----------
    shape : number > 0, default=1.0
        Large values approach the Gaussian kernel.
    length_scale : number, vector or "median", default=1.0
    metric : None, vector or matrix, default=None
        M of the distance ``|x - z|_M``: None is the identity, a vector its diagonal.

    Notes
    -----
    The mixture is a gamma variable of mean 1, ``Gamma(shape) / shape`` (Rasmussen and Williams, section 4.2.1).
    """

    shape: float = 1.0
    length_scale: Any = 1.0
    metric: Any = None
    ranges: ClassVar[dict[str, Range]] = {"shape": Range(0.0)}

    def profile(self, r: Any) -> Any:  # noqa: D102
        return np.exp(-self.shape * np.log1p(np.square(r) / (2.0 * self.shape)))

    def mixture(self, *u: Array) -> Array:  # noqa: D102
        return laws.gamma(u[0], self.shape) / self.shape
