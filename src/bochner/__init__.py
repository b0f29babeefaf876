"""Random features for the Laplacian, Matérn and exponential-power kernels, and the kernel machines they make cheap."""

from importlib.metadata import version

from . import diagnostics
from .features import RandomFeatures
from .kernels import (
    ExponentialPower,
    Gaussian,
    L1Laplacian,
    Laplacian,
    Matern,
    RadialKernel,
    RationalQuadratic,
    SeparableKernel,
)
from .models import (
    KernelClassifier,
    KernelRegressor,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
    RecursiveFeatureMachine,
)

__version__ = version("bochner")

__all__ = [
    "ExponentialPower",
    "Gaussian",
    "KernelClassifier",
    "KernelRegressor",
    "L1Laplacian",
    "Laplacian",
    "Matern",
    "RadialKernel",
    "RandomFeatureClassifier",
    "RandomFeatureRegressor",
    "RandomFeatures",
    "RationalQuadratic",
    "RecursiveFeatureMachine",
    "SeparableKernel",
    "diagnostics",
]
