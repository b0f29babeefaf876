"""What similarity means: exact kernel values, and the law of the frequencies that each kernel needs."""

from .base import Kernel, RadialKernel, SeparableKernel
from .named import BY_NAME, TakesKernel
from .radial import ExponentialPower, Gaussian, Laplacian, Matern, RationalQuadratic
from .separable import L1Laplacian

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
    "TakesKernel",
]
