"""What similarity means: exact kernel values, and the law of the frequencies that each kernel needs."""

from .base import Kernel, RadialKernel, SeparableKernel
from .radial import ExponentialPower, Gaussian, Laplacian, Matern, RationalQuadratic
from .separable import L1Laplacian

#: The short strings, each standing for a kernel with ``length_scale="median"``.
BY_NAME: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "matern": Matern,
    "exponential_power": ExponentialPower,
    "rational_quadratic": RationalQuadratic,
    "l1_laplacian": L1Laplacian,
}

__all__ = [
    "BY_NAME",
    "ExponentialPower",
    "Gaussian",
    "Kernel",
    "L1Laplacian",
    "Laplacian",
    "Matern",
    "RadialKernel",
    "RationalQuadratic",
    "SeparableKernel",
]
