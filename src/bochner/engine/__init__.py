"""The hot loops and their schedule; knows arrays only, neither kernels nor estimators.

Submodules load when first named: they import Numba, which takes longer than the rest of the library together, and
``import bochner`` should not wait for it.
"""

from importlib import import_module
from types import ModuleType

_SUBMODULES = ("compiling", "distances", "feature_map", "hadamard", "pairwise", "points", "schedule", "sincos", "table")


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
