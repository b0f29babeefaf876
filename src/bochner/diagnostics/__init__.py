"""How good a feature map is: errors of the kernel matrix, and pictures of them."""

from .approximation import approximation_error

__all__ = ["approximation_error"]
