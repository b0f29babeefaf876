"""Named parameters that are stored by the constructor, compared, shown and, for grid search, set."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np

# Entries of an array that is shown whole.
_MOST_SHOWN = 9


def _shown(value: Any) -> str:
    """Give the repr of a value, but of a large array only the shape."""
    large = isinstance(value, np.ndarray) and value.size > _MOST_SHOWN
    return f"<array of shape {value.shape}>" if large else repr(value)


def _comparable(value: Any) -> tuple[Any, ...]:
    """Give the shape and the content of a value: of numbers as bytes, since a matrix may have a million."""
    array = np.asarray(value)
    if array.dtype.kind in "iuf":
        return array.shape, (array.astype(np.float64) + 0.0).tobytes()  # in which -0 is 0
    return array.shape, *array.ravel().tolist()


class Parametrised:
    """An object whose parameters are those of its constructor, under the same names."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, in place, and return the kernel."""
        unknown = sorted(set(params) - set(self._parameter_names()))
        if unknown:
            allowed = ", ".join(self._parameter_names())
            raise ValueError(f"{type(self).__name__} has no parameter {unknown[0]!r}. Its parameters are: {allowed}.")
        for name, value in params.items():
            object.__setattr__(self, name, value)
        return self

    def replace(self, **params: Any) -> Self:
        """Return a copy with some parameters changed."""
        return type(self)(**{**self.get_params(), **params})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        """Give the class and the parameters in a form that can be compared."""
        values = ((name, value) for name, value in self.get_params().items() if value is not None)
        return (type(self).__name__, *((name, *_comparable(value)) for name, value in values))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (
            f"{name}={_shown(value)}"
            for name, value in self.get_params().items()
            if not np.array_equal(np.asarray(value, dtype=object), np.asarray(defaults[name].default, dtype=object))
        )
        return f"{type(self).__name__}({', '.join(changed)})"
