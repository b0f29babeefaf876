"""Parameter checks with one sentence style, and the one random stream.

Every message says whose parameter, what is allowed, what came, and where it helps what to do: "The 'nu' parameter of
Matern must be a number greater than 0. Got -1 instead."
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


class InvalidParameterError(ValueError, TypeError):
    """A parameter has a value or a type that is not allowed."""


def invalid(owner: object, parameter: str, allowed: str, value: Any, hint: str = "") -> InvalidParameterError:
    """Make the error for a parameter whose value is not allowed."""
    name = owner if isinstance(owner, str) else type(owner).__name__
    shown = repr(value)
    shown = shown if len(shown) <= 120 else shown[:117] + "..."
    return InvalidParameterError(
        f"The '{parameter}' parameter of {name} must be {allowed}. Got {shown} instead. {hint}".rstrip()
    )


@dataclass(frozen=True)
class Range:
    """An interval of numbers; its ends belong to it if it says so."""

    low: float
    high: float = np.inf
    includes_low: bool = False
    includes_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.includes_low else value > self.low
        below = value <= self.high if self.includes_high else value < self.high
        return bool(above and below)

    def __str__(self) -> str:
        text = f"a number {'at least' if self.includes_low else 'greater than'} {self.low:g}"
        if np.isfinite(self.high):
            return f"{text} and {'at most' if self.includes_high else 'less than'} {self.high:g}"
        return f"{text}, infinity included" if self.includes_high else text


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number, which True and False are not here."""
    return isinstance(value, Real) and not is_boolean(value)


def check_number(owner: object, parameter: str, value: Any, allowed: Range) -> float:
    """Return the value as a float, or raise."""
    if not is_number(value) or float(value) not in allowed:
        raise invalid(owner, parameter, str(allowed), value)
    return float(value)


def is_integer(value: Any) -> bool:
    """Tell whether a value is a whole number, which True and False are not here."""
    return isinstance(value, Integral) and not is_boolean(value)


def check_integer(owner: object, parameter: str, value: Any, low: int) -> int:
    """Return the value as an int of at least ``low``, or raise."""
    if not is_integer(value) or value < low:
        raise invalid(owner, parameter, f"an integer of at least {low}", value)
    return int(value)


def is_boolean(value: Any) -> bool:
    """Tell whether a value is True or False."""
    return isinstance(value, (bool, np.bool_))


def check_boolean(owner: object, parameter: str, value: Any) -> bool:
    """Return the value if it is True or False, or raise."""
    if not is_boolean(value):
        raise invalid(owner, parameter, "True or False", value)
    return bool(value)


def check_choice(owner: object, parameter: str, value: Any, choices: Sequence[str]) -> str:
    """Return the value if it is one of the choices, or raise."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise invalid(owner, parameter, f"one of {listed}", value)
    return value


def as_points(X: Any, owner: object, name: str = "X", n_features: int | None = None) -> NDArray[Any]:
    """Check that X is a dense, finite, numeric (n, d) array and return it as an array, copied only if it must be."""
    who = f"The '{name}' argument of {owner if isinstance(owner, str) else type(owner).__name__}"
    if hasattr(X, "toarray"):
        raise TypeError(f"{who} must be a dense array. Got a sparse matrix instead. Use {name}.toarray().")
    points = np.asarray(X)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"{who} must be a 2-D array with at least one row and one column. Got shape {points.shape}.")
    points = _as_numbers(points, who)
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(f"{who} must have {n_features} columns. Got {points.shape[1]}.")
    if not _is_finite(points):
        raise ValueError(f"{who} must be finite. It has NaN or infinite entries.")
    return points


def _is_finite(points: NDArray[Any]) -> bool:
    """Look at the sum first, which needs no memory: it is finite only if all entries are."""
    if points.dtype.kind != "f":
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(points.sum()) or np.isfinite(points).all())


def _as_numbers(points: NDArray[Any], who: str) -> NDArray[Any]:
    """Let integers and floats through as they are; turn objects into float64 if they are numbers."""
    if points.dtype.kind in "iufb" and points.dtype != np.longdouble:
        return points
    try:
        if points.dtype.kind in "Of":
            return points.astype(np.float64)
    except (TypeError, ValueError):
        pass  # said below, in our words
    raise ValueError(f"{who} must hold numbers. Got an array of type {points.dtype}.")


def result_type(*arrays: NDArray[Any]) -> type[np.float32] | type[np.float64]:
    """Choose float32 if every array is float32, and float64 otherwise."""
    return np.float32 if all(array.dtype == np.float32 for array in arrays) else np.float64


def as_generator(owner: object, random_state: Any) -> np.random.Generator:
    """Turn ``random_state`` (None, an integer, a Generator or a RandomState) into one Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint64))
    seed = random_state is None or (is_integer(random_state) and random_state >= 0)
    if seed or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise invalid(owner, "random_state", "None, a non-negative integer, a Generator or a RandomState", random_state)
