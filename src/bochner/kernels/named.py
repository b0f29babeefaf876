"""Kernels by their names, as the estimators take them."""

from __future__ import annotations

from typing import Any, ClassVar

from .base import Kernel
from .radial import ExponentialPower, Gaussian, Laplacian, Matern, RationalQuadratic
from .separable import L1Laplacian

#: The short strings, each standing for a kernel whose length scale is left to the estimator.
BY_NAME: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "matern": Matern,
    "exponential_power": ExponentialPower,
    "rational_quadratic": RationalQuadratic,
    "l1_laplacian": L1Laplacian,
}


class TakesKernel:
    """Part of an estimator with a parameter ``kernel``, which may be a name; comes before scikit-learn's part."""

    kernel: Any
    #: The length scale of a kernel that is named.
    _length_scale_of_named: ClassVar[str]

    def _kernel(self) -> Any:
        """Turn the kernel's name into a kernel; whatever else there is stays as it is."""
        return self._named(self.kernel)

    def set_params(self, **params: Any) -> Any:
        """Set the parameters of this estimator, and as ``kernel__nu`` those of its kernel.

        The name of a kernel then becomes the kernel that it stands for.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        if any(name.startswith("kernel__") for name in params):
            params["kernel"] = self._named(params.get("kernel", self.kernel))
        return super().set_params(**params)  # type: ignore[misc]

    def _named(self, kernel: Any) -> Any:
        if isinstance(kernel, str) and kernel in BY_NAME:
            return BY_NAME[kernel](length_scale=self._length_scale_of_named)
        return kernel
