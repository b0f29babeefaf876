"""The error of a feature map on given data, in three norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn import get_config
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import check_is_fitted

from .._validation import as_points, check_choice

Array = NDArray[Any]

NORMS = ("fro", "operator", "nuclear")
# The largest eigenvalue to four digits; Lanczos has it in a dozen products.
_TOLERANCE = 1e-4


def approximation_error(features: Any, X: Any, norm: str = "fro") -> float:
    """Compute the relative error ``|K - Phi Phi^T| / |K|`` of a fitted feature map on the rows of X.

    Parameters
    ----------
    features : fitted RandomFeatures
    X : array of shape (n, d)
    norm : {"fro", "operator", "nuclear"}, default="fro"

    Returns
    -------
    error : float

    Notes
    -----
    The Frobenius norm is summed over row blocks, so nothing of size n x n is held. The operator norm is the largest
    eigenvalue in modulus, by Lanczos; the difference, and the features, are held if they fit into scikit-learn's
    ``working_memory`` and made anew otherwise. The nuclear norm needs all eigenvalues, so it holds the difference; that
    of K itself is its trace, n.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFeatures
    >>> from bochner.diagnostics import approximation_error
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> few, many = (RandomFeatures("laplacian", n, random_state=0).fit(X) for n in (64, 4096))
    >>> approximation_error(many, X) < 0.5 * approximation_error(few, X)
    True
    """
    check_is_fitted(features)
    check_choice("approximation_error", "norm", norm, NORMS)
    points = as_points(X, "approximation_error", n_features=features.n_features_in_)
    of_norm = {"fro": _frobenius, "operator": _operator, "nuclear": _nuclear}[norm]
    return of_norm(features.kernel_, points, _Features(features, X))


class _Features:
    """The features of all rows: held if they fit into the working memory, or else made anew, block by block."""

    def __init__(self, features: Any, X: Any) -> None:
        self._features, self._X, self._n = features, X, len(X)
        one = self._made(slice(0, 1))
        self.dtype, n_bytes = one.dtype, _working_memory()
        self._block_rows = int(max(1, n_bytes / 8 / one.nbytes))
        self._held = self._made(slice(0, self._n)) if self._n * one.nbytes <= n_bytes else None

    def _made(self, rows: slice) -> Array:
        """Compute the features of some rows; as an array, though the user may have asked for frames."""
        return np.asarray(self._features.transform(_safe_indexing(self._X, rows)))

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        if self._held is not None:
            return iter([(slice(0, self._n), self._held)])
        return self._features.iter_blocks(self._X, self._block_rows)

    def __matmul__(self, v: Array) -> Array:
        """Multiply ``Phi Phi^T`` by a vector."""
        v = v.astype(self.dtype)
        sums = sum(block.T @ v[rows] for rows, block in self)
        return np.concatenate([block @ sums for _, block in self])

    def subtract(self, K: Array, rows: slice) -> None:
        """Subtract from a part of K, in place, that of ``Phi Phi^T``: some rows, from the diagonal on."""
        here = self._made(rows) if self._held is None else self._held[rows]
        for columns, block in self:
            if columns.stop > rows.start:
                first = max(columns.start, rows.start)
                K[:, first - rows.start : columns.stop - rows.start] -= here @ block[first - columns.start :].T


def _frobenius(kernel: Any, X: Array, Phi: _Features) -> float:
    numerator = denominator = 0.0
    for rows in gen_batches(len(X), _rows_in_memory(len(X))):
        K = kernel(X[rows], X[rows.start :])
        denominator += _squares_of_both_halves(K)
        Phi.subtract(K, rows)
        numerator += _squares_of_both_halves(K)
    return float(np.sqrt(numerator / denominator))


def _squares_of_both_halves(rows: Array) -> float:
    """Sum the squares of some rows of a symmetric matrix, given from the diagonal on, and of the columns below them."""
    square = rows[:, : len(rows)]
    return 2.0 * float(np.vdot(rows, rows)) - float(np.vdot(square, square))


def _operator(kernel: Any, X: Array, Phi: _Features) -> float:
    if len(X) ** 2 * 8 <= _working_memory():
        K = kernel(X)
        whole = _spectral_norm(K)
        return _spectral_norm(_difference(K, Phi)) / whole
    exact = kernel.operator(X)
    difference = LinearOperator(exact.shape, matvec=lambda v: exact @ v - Phi @ v, dtype=exact.dtype)
    return _spectral_norm(difference) / _spectral_norm(exact)


def _nuclear(kernel: Any, X: Array, Phi: _Features) -> float:
    difference = _difference(kernel(X).astype(np.float64, copy=False), Phi)
    return float(abs(eigvalsh(difference, overwrite_a=True)).sum() / len(X))


def _difference(K: Array, Phi: _Features) -> Array:
    """Subtract ``Phi Phi^T`` from the whole matrix, in place."""
    for rows in gen_batches(len(K), _rows_in_memory(len(K))):
        Phi.subtract(K[rows, rows.start :], rows)
        K[rows.stop :, rows] = K[rows, rows.stop :].T
    return K


def _spectral_norm(matrix: Any) -> float:
    """Give the largest eigenvalue, in modulus, of a symmetric matrix or operator."""
    n = matrix.shape[0]
    if n < 3:
        dense = matrix @ np.eye(n, dtype=matrix.dtype)
        return float(abs(np.linalg.eigvalsh(dense)).max())
    start = np.random.default_rng(0).standard_normal(n).astype(matrix.dtype)
    try:
        values = eigsh(matrix, k=1, which="LM", tol=_TOLERANCE, v0=start, return_eigenvectors=False)
    except ArpackNoConvergence as error:
        raise RuntimeError(f"Lanczos did not reach a tolerance of {_TOLERANCE} for the operator norm.") from error
    return float(abs(values[0]))


def _rows_in_memory(n: int) -> int:
    """Let two blocks of n columns fit into an eighth of the working memory."""
    return int(max(1, min(1024, _working_memory() / 8 / (16 * n))))


def _working_memory() -> float:
    """Give scikit-learn's ``working_memory`` in bytes."""
    return float(get_config()["working_memory"]) * 2**20
