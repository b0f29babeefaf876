"""Plain float64 references, short enough to be seen to be right, which every fast path is compared with."""

import numpy as np
from scipy.linalg import hadamard
from scipy.spatial.distance import pdist
from scipy.special import gamma, kv, logsumexp


def matern(r, nu):
    if nu == np.inf:
        return np.exp(-(r**2) / 2)
    z = np.minimum(np.sqrt(2 * nu) * np.where(r > 0, r, 1), 1000)  # where kv is 0 already
    return np.where(r > 0, 2 ** (1 - nu) / gamma(nu) * z**nu * kv(nu, z), 1.0)


PROFILES = {
    "Gaussian": lambda k, r: np.exp(-(r**2) / 2),
    "Laplacian": lambda k, r: np.exp(-r),
    "Matern": lambda k, r: matern(r, k.nu),
    "ExponentialPower": lambda k, r: np.exp(-(r**k.exponent)),
    "RationalQuadratic": lambda k, r: (1 + r**2 / (2 * k.shape)) ** -k.shape,
    "L1Laplacian": lambda k, r: np.exp(-r),
}


def distances(kernel, X, Z=None):
    """Distances in units of the length scale, by differences: |D (x - z)|_M with D = 1 / length_scale."""
    X = np.asarray(X, dtype=np.float64)
    Z = X if Z is None else np.asarray(Z, dtype=np.float64)
    M = np.ones(X.shape[1]) if kernel.metric is None else np.asarray(kernel.metric, dtype=np.float64)
    out = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        difference = (x - Z) / np.asarray(kernel.length_scale)
        if type(kernel).__name__ == "L1Laplacian":
            out[i] = (np.sqrt(M) * abs(difference)).sum(axis=1)
        else:
            weighted = difference * M if M.ndim == 1 else difference @ M
            out[i] = np.sqrt(np.maximum((weighted * difference).sum(axis=1), 0))
    return out


def kernel_matrix(kernel, X, Z=None):
    """The kernel between all rows of X and Z; the kernel's length scale is a number or a vector."""
    return PROFILES[type(kernel).__name__](kernel, distances(kernel, X, Z))


def features(X, W):
    """Cosines, then sines, of the phases of X for the frequencies W (p x d), divided by sqrt(p)."""
    phases = np.asarray(X, dtype=np.float64) @ W.T
    return np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(len(W))


def median_distance(X, norm="euclidean"):
    """The median of the positive distances between rows."""
    distance = pdist(np.asarray(X, dtype=np.float64), norm)
    return np.median(distance[distance > 0])


def hadamard_product(columns):
    """The unnormalised Hadamard matrix times columns (D, R)."""
    return hadamard(len(columns)) @ columns


def log_loss_objective(features, codes, coefficients, intercept, alpha, weights=None):
    """The sum of weighted log losses plus alpha / 2 |T|^2; one column of coefficients stands for two classes."""
    scores = np.asarray(features, dtype=np.float64) @ coefficients + intercept
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(scores)), codes]
    return np.average(losses, weights=weights) * (len(losses) if weights is None else np.sum(weights)) + (
        0.5 * alpha * np.square(coefficients).sum()
    )
