"""How the frequencies point: independent, orthogonal, or structured."""

from .base import SCHEMES, cheapest
from .gaussian import gaussian_rows, unit_rows
from .hadamard import HadamardRows, hadamard_rows
from .orthogonal import haar, orthogonal_rows

__all__ = [
    "SCHEMES",
    "HadamardRows",
    "cheapest",
    "gaussian_rows",
    "haar",
    "hadamard_rows",
    "orthogonal_rows",
    "unit_rows",
]
