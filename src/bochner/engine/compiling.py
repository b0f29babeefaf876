"""How the loops are compiled: without the interpreter's lock, and once for all processes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at its first call, and keep the result on disk.

    Numba keeps it beside the source, or in the user's cache folder where that cannot be written. Where neither can,
    it refuses to decorate; then every process compiles anew.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            _warn_about_cache()
            return njit(nogil=True, **options)(function)

    return decorate


@lru_cache(maxsize=1)  # every loop would give the warning, and once is enough
def _warn_about_cache() -> None:
    warnings.warn(
        "No folder can be written to keep compiled loops in, so that this process compiles them anew. "
        "Set the environment variable NUMBA_CACHE_DIR to a folder that can.",
        RuntimeWarning,
        stacklevel=3,
    )
