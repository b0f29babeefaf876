"""A kernel matrix as a linear operator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from .. import engine


class KernelOperator(LinearOperator):  # type: ignore[misc]
    """A kernel matrix that is computed anew, tile by tile, in each product and never held."""

    def __init__(self, tiles: Any) -> None:
        self._tiles = tiles
        super().__init__(np.dtype(tiles.dtype), (len(tiles.a), len(tiles.b)))

    def _matmat(self, V: NDArray[Any]) -> NDArray[Any]:
        return engine.pairwise.product(self._tiles, np.asarray(V))

    def some_times(self, rows: slice, V: NDArray[Any]) -> NDArray[Any]:
        """Multiply some rows of the matrix by (m, k) vectors."""
        return engine.pairwise.product(self._tiles, np.asarray(V), rows)

    def block(self, rows: slice, columns: slice) -> NDArray[Any]:
        """Compute the entries of some rows and columns."""
        return engine.pairwise.matrix(self._tiles, rows, columns)

    def _matvec(self, v: NDArray[Any]) -> NDArray[Any]:
        return self._matmat(np.reshape(v, (-1, 1))).ravel()

    def _adjoint(self) -> LinearOperator:
        return KernelOperator(self._tiles.transposed())
