"""The names of the direction schemes, and the choice among them by cost."""

from __future__ import annotations

SCHEMES = ("auto", "gaussian", "orthogonal", "hadamard")

# Nanoseconds of one core for one point and one frequency, measured: a multiply-add of the dense product, an addition
# of the Hadamard transform, and what comes with the transform (laying out, sign flips).
_DENSE = 0.025
_HADAMARD = 0.045
_LAYING_OUT = 1.5
# Rows of three Hadamard rounds are uniform on the sphere only in the limit of many dimensions.
_FEWEST_FOR_HADAMARD = 64


def padded_dimension(dimension: int) -> int:
    """Round up to a power of two."""
    return 1 << max(dimension - 1, 0).bit_length()


def cheapest(dimension: int, n_frequencies: int) -> str:
    """Choose between "orthogonal" and "hadamard" by what a point costs; never "hadamard" in few dimensions."""
    if dimension < _FEWEST_FOR_HADAMARD:
        return "orthogonal"
    padded = padded_dimension(dimension)
    computed = -(-n_frequencies // padded) * padded
    dense = _DENSE * dimension * n_frequencies
    hadamard = (3.0 * padded.bit_length() * _HADAMARD + _LAYING_OUT) * computed
    return "hadamard" if hadamard < dense else "orthogonal"
