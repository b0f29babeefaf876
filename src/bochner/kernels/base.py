"""What every kernel has: parameters, validation, exact values, and for radial ones the law of the radius."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator
from scipy.spatial.distance import pdist

from .. import engine, laws, sampling
from .._validation import Range, as_points, check_number, invalid, is_number, result_type
from .._warnings import warn_user
from .operator import KernelOperator
from .parameters import Parametrised

Array = NDArray[np.float64]

# Rows that the median distance is taken over; half a million pairs give it to a fraction of a percent.
_MEDIAN_ROWS = 1024
_LENGTH_SCALES = "a positive number, a vector of them, 'median', or in a model 'auto'"
# Rows that the origin is taken from: it need not be exact, only amid the data and safe from outliers.
_AMID_ROWS = 64
# Eigenvalues of a metric may be negative by rounding, relative to the largest.
_EIGENVALUE_TOLERANCE = 1e-8


class Kernel(Parametrised, ABC):
    """A kernel ``k(x, z) = profile(distance(x, z))``: frozen, comparable, with the parameters of its constructor.

    The constructor only stores. `set_params` changes a kernel in place, as scikit-learn's grid search needs it;
    plain assignment to a parameter of the kernels that ship here is an error.
    """

    #: Allowed values of further numeric parameters.
    ranges: ClassVar[Mapping[str, Range]] = {}

    def __init__(self, length_scale: Any = 1.0, metric: Any = None) -> None:
        self.length_scale = length_scale
        self.metric = metric

    # --- validation ---------------------------------------------------------------------------------------------

    def validate(self, n_features: int | None = None) -> None:
        """Raise if a parameter is not allowed, or does not fit the number of columns of the data."""
        for name, allowed in self.ranges.items():
            check_number(self, name, getattr(self, name), allowed)
        self._validate_length_scale(n_features)
        self._validate_metric(n_features)

    def _validate_length_scale(self, n_features: int | None) -> None:
        value = self.length_scale
        if isinstance(value, str):
            if value not in ("median", "auto"):
                raise invalid(self, "length_scale", _LENGTH_SCALES, value)
            return
        if is_number(value):
            check_number(self, "length_scale", value, Range(0.0))
            return
        scales = _as_float_array(self, "length_scale", value, _LENGTH_SCALES)
        if scales.ndim != 1 or not (np.isfinite(scales).all() and (scales > 0).all()):
            raise invalid(self, "length_scale", _LENGTH_SCALES, value)
        _check_length(self, "length_scale", len(scales), n_features)

    def _validate_metric(self, n_features: int | None) -> None:
        if self.metric is None:
            return
        allowed = "None, a vector (its diagonal) or a symmetric positive semidefinite matrix"
        metric = _as_float_array(self, "metric", self.metric, allowed)
        if metric.ndim not in (1, 2) or metric.shape[0] != metric.shape[-1] or not np.isfinite(metric).all():
            raise invalid(self, "metric", allowed + " of finite numbers", self.metric)
        _check_length(self, "metric", len(metric), n_features)
        if metric.ndim == 1 and (metric < 0).any():
            raise invalid(self, "metric", "without negative entries if it is a vector", self.metric)
        if metric.ndim == 2:
            self._validate_matrix(metric)
        if not metric.any():
            raise invalid(self, "metric", "different from zero", self.metric)

    def _validate_matrix(self, metric: Array) -> None:
        largest = abs(metric).max()
        if abs(metric - metric.T).max() > _EIGENVALUE_TOLERANCE * largest:
            raise invalid(self, "metric", "symmetric", self.metric, "Use (M + M.T) / 2.")
        smallest = _eigen(metric)[0][0]
        if smallest < -_EIGENVALUE_TOLERANCE * largest:
            raise invalid(self, "metric", f"positive semidefinite (its eigenvalue {smallest:.3g} is not)", self.metric)

    # --- geometry -----------------------------------------------------------------------------------------------

    def whitening(self, n_features: int) -> Array:
        """Give T, a vector or a (d, k) matrix, such that the kernel's distance is that of ``x T`` and ``z T``.

        ``T = diag(1 / length_scale) sqrt(M)``, with the symmetric root for M of full rank; for singular M the
        directions that it does not see are left out, so k is its rank.
        """
        root = _square_root(self.metric, n_features)
        scale = np.broadcast_to(np.asarray(self.length_scale, dtype=np.float64), (n_features,))
        return root / scale if root.ndim == 1 else root / scale[:, None]

    def resolve(self, X: Any, rng: np.random.Generator | None = None) -> Self:
        """Validate against data and replace ``length_scale="median"`` by its value there.

        The median is that of the positive distances among all rows, or among 1024 random rows if there are more.
        """
        return self._resolve(as_points(X, self), rng)

    def _resolve(self, points: NDArray[Any], rng: np.random.Generator | None = None) -> Self:
        self.validate(points.shape[1])
        if not isinstance(self.length_scale, str):
            return self
        if self.length_scale == "auto":
            name = type(self).__name__
            raise ValueError(
                f"The length_scale='auto' of {name} is chosen by a model that knows the targets, such as "
                "RandomFeatureRegressor. Without targets use 'median'."
            )
        if len(points) > _MEDIAN_ROWS:
            rng = rng if rng is not None else np.random.default_rng(0)
            points = points[np.sort(rng.choice(len(points), _MEDIAN_ROWS, replace=False))]
        unit = self.replace(length_scale=1.0)
        whitened = engine.pairwise.Points(points, amid(points), unit.whitening(points.shape[1])).whitened(slice(None))
        return self.replace(length_scale=_median_or_one(self, unit._distances(whitened)))

    @abstractmethod
    def _lengths(self, whitened: Array) -> Array:
        """Give the lengths of the rows in the norm of the kernel."""

    @abstractmethod
    def _distances(self, whitened: Array) -> Array:
        """Give the distances between all pairs of different rows."""

    # --- values -------------------------------------------------------------------------------------------------

    @abstractmethod
    def profile(self, r: Any) -> Any:
        """Kernel value at distance r, an array of non-negative numbers in units of the length scale."""

    @abstractmethod
    def _tiles(self, a: Any, b: Any, dtype: Any) -> Any:
        """Give what computes tiles of the kernel matrix of two sets of points."""

    def _prepare(self, X: Any, Z: Any) -> Any:
        left = as_points(X, self)
        right = left if Z is None or Z is X else as_points(Z, self, "Z", left.shape[1])
        kernel = self._resolve(right)
        center = amid(right)
        T = kernel.whitening(left.shape[1])
        b = engine.pairwise.Points(right, center, T)
        a = b if right is left else engine.pairwise.Points(left, center, T)
        return kernel._tiles(a, b, result_type(left, right))

    def __call__(self, X: Any, Z: Any = None) -> NDArray[Any]:
        """Evaluate the kernel between all rows of X and all rows of Z (of X itself if Z is None).

        Parameters
        ----------
        X : array of shape (n, d)
        Z : array of shape (m, d), optional

        Returns
        -------
        K : array of shape (n, m)
            float32 if both are float32, else float64. If Z is None, exactly symmetric. Equal rows give exactly 1.

        Notes
        -----
        ``length_scale="median"`` is resolved on Z, the reference set, or on X if there is no Z.
        """
        return engine.pairwise.matrix(self._prepare(X, Z))

    def paired(self, X: Any, Z: Any) -> Array:
        """Evaluate the kernel between each row of X and the same row of Z, in float64."""
        left = as_points(X, self)
        right = as_points(Z, self, "Z", left.shape[1])
        if len(left) != len(right):
            raise ValueError(f"X and Z of {type(self).__name__}.paired must have equally many rows.")
        kernel = self._resolve(right)
        difference = engine.pairwise.Points(left, right, kernel.whitening(left.shape[1])).whitened(slice(None))
        return engine.pairwise.at_zero_one(kernel.profile, kernel._lengths(difference))

    def operator(self, X: Any, Z: Any = None) -> LinearOperator:
        """Return the kernel matrix as an operator: ``kernel.operator(X, Z) @ V`` works tile by tile.

        Examples
        --------
        >>> import numpy as np
        >>> from bochner import Laplacian
        >>> X, V = np.arange(8.0).reshape(4, 2), np.ones((4, 3))
        >>> kernel = Laplacian(length_scale=2.0)
        >>> np.allclose(kernel.operator(X) @ V, kernel(X) @ V)
        True
        """
        return KernelOperator(self._prepare(X, Z))


class RadialKernel(Kernel):
    """A kernel of the Euclidean (Mahalanobis) distance that is a Gaussian scale mixture.

    A subclass has two functions. ``profile(r)`` is the kernel at distance r. ``mixture(u)`` turns uniforms into the
    positive variable s of

        profile(r) = E exp(-s r^2 / 2),

    so that a frequency is ``sqrt(s)`` times a Gaussian vector. With these two it has exact values, every direction
    scheme and every sampling scheme. A mixture that needs more than one uniform says so in ``mixture_uniforms``, and
    gets them as further arguments; one that leaves the range of float64 overrides ``log_mixture``; one whose radius
    has a quantile function of its own overrides ``log_radius`` and ``radius_uniforms``.
    """

    #: How many uniforms a draw of the mixture takes.
    mixture_uniforms: ClassVar[int] = 1

    def mixture(self, *u: Array) -> Array:
        """Turn uniforms into the mixture variable s."""
        if type(self).log_mixture is RadialKernel.log_mixture:
            raise TypeError(f"{type(self).__name__} must define 'mixture': uniforms to the variable s of its mixture.")
        return laws.finite_exp(self.log_mixture(*u))

    def log_mixture(self, *u: Array) -> Array:
        """Turn uniforms into the logarithm of the mixture variable s."""
        return np.log(self.mixture(*u))

    @property
    def radius_uniforms(self) -> int:
        """How many uniforms a draw of the radius takes; with one, the radius is its quantile function."""
        return 1 + self.mixture_uniforms

    def log_radius(self, u: Array, dimension: int) -> Array:
        """Turn (radius_uniforms, n) uniforms into log lengths of frequencies, ``chi_dimension * sqrt(s)``."""
        return laws.log_chi(u[0], dimension) + 0.5 * self.log_mixture(*u[1:])

    def sample_log_radii(self, n: int, dimension: int, scheme: str, rng: np.random.Generator) -> Array:
        """Draw n log lengths of frequencies in ``dimension`` dimensions by a sampling scheme."""

        def draw(n_draws: int, by: str) -> Array:
            return self.log_radius(sampling.uniforms(by, n_draws, self.radius_uniforms, rng), dimension)

        if scheme == "stratified" and self.radius_uniforms > 1:
            return sampling.stratify_by_rank(lambda n_draws: draw(n_draws, "random"), n, rng)
        return draw(n, scheme)

    def _lengths(self, whitened: Array) -> Array:
        return np.linalg.norm(whitened, axis=1)

    def _distances(self, whitened: Array) -> Array:
        products = whitened @ whitened.T
        norms = np.diag(products)
        squared = norms[:, None] + norms - 2.0 * products
        # What a product leaves of the distance of equal rows is rounding, not distance.
        squared[squared < 1e-14 * (norms[:, None] + norms)] = 0.0
        return np.sqrt(squared[np.triu_indices(len(whitened), 1)])

    def _tiles(self, a: Any, b: Any, dtype: Any) -> Any:
        return engine.pairwise.euclidean_tiles(a, b, lambda t: self.profile(np.sqrt(t)), dtype)


class SeparableKernel(Kernel):
    """A kernel of the L1 distance: a product over coordinates, whose frequencies are independent, one by one.

    The metric can only be diagonal: a matrix would mix the coordinates.
    """

    @abstractmethod
    def coordinate_frequency(self, u: Array) -> Array:
        """Turn uniforms into frequencies of one coordinate, at length scale 1."""

    def _validate_metric(self, n_features: int | None) -> None:
        if self.metric is not None and np.ndim(self.metric) != 1:
            allowed = "None or a vector (the diagonal), because the kernel is a product over coordinates"
            raise invalid(self, "metric", allowed, self.metric)
        super()._validate_metric(n_features)

    def _lengths(self, whitened: Array) -> Array:
        return abs(whitened).sum(axis=1)

    def _distances(self, whitened: Array) -> Array:
        return pdist(whitened, "cityblock")

    def _tiles(self, a: Any, b: Any, dtype: Any) -> Any:
        return engine.pairwise.manhattan_tiles(a, b, self.profile, dtype)


def _as_float_array(owner: object, parameter: str, value: Any, allowed: str) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise invalid(owner, parameter, allowed, value)
    return array.astype(np.float64)


def amid(points: NDArray[Any]) -> Array:
    """Give a point amid the data, as the origin that saves most digits: the median, which no outlier moves."""
    some = points[:: -(-len(points) // _AMID_ROWS)].astype(np.float64)
    return np.median(np.ascontiguousarray(some.T), axis=1)


def _check_length(owner: object, parameter: str, length: int, n_features: int | None) -> None:
    if n_features is not None and length != n_features:
        name = type(owner).__name__
        raise ValueError(f"The '{parameter}' parameter of {name} has {length} entries, but X has {n_features} columns.")


def _square_root(metric: Any, n_features: int) -> Array:
    """Give a root of the metric as a vector or a (d, rank) matrix."""
    if metric is None:
        return np.ones(n_features)
    matrix = np.asarray(metric, dtype=np.float64)
    if matrix.ndim == 1:
        return np.sqrt(matrix)
    eigenvalues, vectors = _eigen(matrix)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    half = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return half @ vectors.T if kept.all() else half


def _eigen(matrix: Array) -> tuple[Array, Array]:
    """Give eigenvalues and eigenvectors of a symmetric matrix: those of the last few are remembered.

    A fit asks for those of its metric half a dozen times, and with a thousand columns they take a second.
    """
    return _eigen_of(np.ascontiguousarray(matrix, dtype=np.float64).tobytes(), len(matrix))


@lru_cache(maxsize=4)
def _eigen_of(content: bytes, d: int) -> tuple[Array, Array]:
    matrix = np.frombuffer(content).reshape(d, d)
    found = np.linalg.eigh((matrix + matrix.T) / 2.0)
    for array in found:
        array.setflags(write=False)
    return found.eigenvalues, found.eigenvectors


def _median_or_one(kernel: Kernel, distances: Array) -> float:
    positive = distances[distances > 0.0]
    if len(positive):
        return float(np.median(positive))
    warn_user(
        f"All rows are equal (or there is only one), so {type(kernel).__name__}(length_scale='median') has no median "
        "distance; 1.0 is taken."
    )
    return 1.0
