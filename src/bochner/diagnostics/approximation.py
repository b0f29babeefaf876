"""The error of a feature map on given data, in three norms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn import get_config
from sklearn.utils import gen_batches
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
    eigenvalue in modulus, by Lanczos; the difference is held if it fits into scikit-learn's ``working_memory`` and
    made anew in each product otherwise. The nuclear norm needs all eigenvalues, so it holds the difference; that of K
    itself is its trace, n.

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
    Phi = np.asarray(features.transform(X))
    return {"fro": _frobenius, "operator": _operator, "nuclear": _nuclear}[norm](features.kernel_, points, Phi)


def _frobenius(kernel: Any, X: Array, Phi: Array) -> float:
    numerator = denominator = 0.0
    for rows in gen_batches(len(X), _rows_in_memory(len(X))):
        K = kernel(X[rows], X)
        denominator += float(np.vdot(K, K))
        K -= Phi[rows] @ Phi.T
        numerator += float(np.vdot(K, K))
    return float(np.sqrt(numerator / denominator))


def _operator(kernel: Any, X: Array, Phi: Array) -> float:
    if len(X) ** 2 * 8 <= get_config()["working_memory"] * 2**20:
        K = kernel(X)
        return _spectral_norm(K - Phi @ Phi.T) / _spectral_norm(K)
    exact = kernel.operator(X)
    difference = LinearOperator(
        exact.shape, matvec=lambda v: exact @ v - Phi @ (Phi.T @ v.astype(Phi.dtype)), dtype=exact.dtype
    )
    return _spectral_norm(difference) / _spectral_norm(exact)


def _nuclear(kernel: Any, X: Array, Phi: Array) -> float:
    difference = kernel(X).astype(np.float64, copy=False)
    difference -= Phi @ Phi.T
    return float(abs(eigvalsh(difference, overwrite_a=True)).sum() / len(X))


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
    """Let two blocks of n columns fit into an eighth of scikit-learn's working memory."""
    return int(max(1, min(1024, get_config()["working_memory"] * 2**20 / 8 / (16 * n))))
