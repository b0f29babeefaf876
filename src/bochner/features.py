"""RandomFeatures: a kernel, directions and sampling as a scikit-learn transformer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from . import directions as direction_schemes
from . import engine
from . import sampling as sampling_schemes
from ._validation import Range, as_generator, check_choice, check_integer, check_number, invalid, is_integer
from .error_estimate import ErrorEstimate, estimate_error
from .feature_gradients import damped, gradient_blocks, rows_at_once
from .feature_plan import DataScale, FeaturePlan, plan_for
from .frequencies import choose_directions, draw
from .kernels import BY_NAME, Kernel, TakesKernel

Array = NDArray[Any]

_ALLOWED: dict[str, Any] = {"accept_sparse": "csr", "dtype": "numeric"}


class RandomFeatures(TakesKernel, TransformerMixin, BaseEstimator):
    """Random features whose inner products approximate a kernel.

    Maps x to ``(cos(w_1.x), ..., cos(w_p.x), sin(w_1.x), ..., sin(w_p.x)) / sqrt(p)``, where the frequencies follow
    the kernel's spectral law, so that ``transform(X) @ transform(Z).T`` is close to ``kernel(X, Z)``.

    Parameters
    ----------
    kernel : str or kernel, default="laplacian"
        A kernel of this library or your own, or one of "laplacian", "matern", "exponential_power", "gaussian",
        "rational_quadratic", "l1_laplacian", each with ``length_scale="median"``: the median distance in the data.
    n_components : int, default=1024
        Width of the output, even: twice the number p of frequencies. Or 1: a single ``sqrt(2) cos(w.x + b)`` with
        a random phase b, unbiased too, which scikit-learn's conventions ask for.
    directions : {"auto", "gaussian", "orthogonal", "hadamard"}, default="auto"
        Independent frequencies (RFF), orthogonal ones (ORF), orthogonal ones by fast Hadamard transforms, or the
        cheaper of the last two.
    sampling : {"stratified", "random", "sobol"}, default="stratified"
        What feeds the laws: one radius in each quantile range, independent draws (as in the paper), or a scrambled
        Sobol sequence. With "gaussian" directions Sobol also draws these; other directions stay random.
    random_state : None, int, Generator or RandomState, default=None

    Attributes
    ----------
    kernel_ : kernel
        With the length scale that was used.
    directions_ : str
        The directions that were used.
    frequencies_ : array of shape (n_components / 2, n_features_in_)
        The frequencies w; for "hadamard" formed when asked for.
    n_features_in_ : int

    Notes
    -----
    "gaussian" or "orthogonal" with sampling="random" is Table 1 of "Feature maps for the Laplacian kernel and its
    generalizations". All combinations give unbiased kernel values ("hadamard" up to a bias far below its noise).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bochner import Laplacian, RandomFeatures
    >>> X = load_digits().data / 16.0
    >>> features = RandomFeatures(Laplacian("median"), n_components=8192, random_state=0).fit(X)
    >>> Phi = features.transform(X[:5])
    >>> Phi.shape
    (5, 8192)
    >>> bool(abs(Phi @ Phi.T - features.kernel_(X[:5])).max() < 0.05)
    True
    """

    _length_scale_of_named = "median"

    def __init__(
        self,
        kernel: str | Kernel = "laplacian",
        n_components: int = 1024,
        *,
        directions: str = "auto",
        sampling: str = "stratified",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.directions = directions
        self.sampling = sampling
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RandomFeatures:
        """Draw the frequencies; of the data only the number of columns, the median distance and the mean are used.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        kernel = self.checked_kernel()
        rng = as_generator(self, self.random_state)
        named, X = X, self._checked(check_array(X, estimator=self, **_ALLOWED))
        n_features, n_frequencies = X.shape[1], max(1, self.n_components // 2)
        for_kernel, for_frequencies, for_phase = rng.spawn(3)
        resolved = _resolve(kernel, X, for_kernel)
        chosen = choose_directions(self, resolved, self.directions, n_features, n_frequencies)
        frequencies = draw(resolved, n_features, n_frequencies, chosen, self.sampling, for_frequencies)
        data = DataScale.of(_sample(X), resolved.whitening(n_features))
        # Everything that can fail is behind us: only now the estimator changes.
        validate_data(self, named, reset=True, skip_check_array=True)
        self.kernel_, self.directions_ = copy.deepcopy(resolved), chosen
        self._frequencies = frequencies
        self._single_cosine = _single_cosine(for_phase) if self.n_components == 1 else None
        self._data = data
        self._plans: dict[Any, FeaturePlan] = {}
        return self

    def transform(self, X: Any, out: Array | None = None) -> Array:
        """Compute the features of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        out : array of shape (n, n_components), optional
            Where to write; C-contiguous, of the precision of the result.

        Returns
        -------
        features : array of shape (n, n_components)
            The cosines, then the sines; float32 if X is float32, else float64.
        """
        check_is_fitted(self)
        return self._transformed(self._validated(X), out)

    def iter_blocks(self, X: Any, block_rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        """Iterate over ``(rows, features of these rows)``; every block is in the same buffer.

        A block is used, or copied, before the next is asked for.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        block_rows : int, optional
            Rows of a block; by default what fits into scikit-learn's ``working_memory``.
        """
        check_is_fitted(self)
        X = self._validated(X)
        plan = self._plan(X.dtype)
        if block_rows is None:
            block_rows = max(1, int(get_config()["working_memory"] * 2**20 / (self._width * plan.dtype.itemsize)))
        block_rows = check_integer(self, "block_rows", block_rows, 1)
        return self._blocks(plan, X, block_rows, self._width)

    def writer(self, X: Any) -> Callable[[slice, Array], None]:
        """Give a function ``write(rows, out)`` that writes the features of some rows of X, in the calling thread.

        For loops that run in threads of their own; many threads may call it at once. ``out`` is C-contiguous and of the
        precision of the features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        """
        check_is_fitted(self)
        return _Writer(self, self._validated(X))

    def gradient(self, X: Any, coef: Any, smoothing: float = 0.0) -> Array:
        """Compute the gradient, with respect to the input, of ``f(x) = transform(x) @ coef``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        coef : array of shape (n_components,) or (n_components, n_outputs)
        smoothing : float, default=0.0
            Standard deviation h of a Gaussian that f is convolved with first, in the kernel's own distance: a multiple
            of its length scale, in its metric. It multiplies a frequency of radius r by ``exp(-h^2 r^2 / 2)``; without
            it heavy-tailed frequencies make the gradient mere noise.

        Returns
        -------
        gradient : array of shape (n, d) or (n, n_outputs, d)
        """
        X, coef, smoothing = self._validated_for_gradient(X, coef, smoothing)
        outputs = coef.reshape(len(coef), -1)
        gradient = np.empty((X.shape[0], outputs.shape[1], X.shape[1]), dtype=self._plan(X.dtype).dtype)
        for rows, block in self._gradients(X, outputs, smoothing):
            gradient[rows] = block
        return gradient[:, 0] if coef.ndim == 1 else gradient

    def iter_gradients(self, X: Any, coef: Any, smoothing: float = 0.0) -> Iterator[tuple[slice, Array]]:
        """Iterate over ``(rows, gradients of these rows)``, each (rows, n_outputs, d) and in the same buffer.

        Parameters
        ----------
        X, coef, smoothing
            See `gradient`.
        """
        X, coef, smoothing = self._validated_for_gradient(X, coef, smoothing)
        return self._gradients(X, coef.reshape(len(coef), -1), smoothing)

    def _gradients(self, X: Any, coef: Array, smoothing: float) -> Iterator[tuple[slice, Array]]:
        plan = self._plan(X.dtype)
        W = damped(self.frequencies_, self.kernel_, smoothing).astype(plan.dtype)
        of_pairs = coef if self._single_cosine is None else self._single_cosine @ coef
        block_rows = rows_at_once(coef.shape[1], W.shape[1])
        blocks = self._blocks(plan, X, block_rows, 2 * plan.n_frequencies)
        return gradient_blocks(blocks, W, of_pairs.astype(plan.dtype), block_rows)

    def error_estimate(
        self, X: Any, target: float | None = None, *, confidence: float = 0.95, n_pairs: int = 20_000
    ) -> ErrorEstimate:
        """Estimate the relative error of the kernel matrix of X, and the width that a wished error needs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        target : float, optional
            A wished relative error, for which the needed ``n_components`` is estimated.
        confidence : float, default=0.95
        n_pairs : int, default=20000
            Random pairs of rows that the estimate is taken from.

        Returns
        -------
        estimate : ErrorEstimate
            With ``error``, ``low``, ``high`` and, for a target, ``n_components``.
        """
        check_is_fitted(self)
        X = self._validated(X)
        return estimate_error(self._transformed, self.kernel_, X, target, confidence, n_pairs)

    @property
    def frequencies_(self) -> NDArray[np.float64]:
        """The (p, d) frequencies, in radians."""
        if "_frequencies" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute 'frequencies_' before it is fitted.")
        return self._frequencies.rows(np.arange(len(self._frequencies)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Name the features: cos0, cos1, ..., sin0, sin1, ..."""
        check_is_fitted(self)
        names = [f"{name}{i}" for name in ("cos", "sin") for i in range(len(self._frequencies))]
        return np.array(names[: self._width], dtype=object)

    # --- checks -------------------------------------------------------------------------------------------------

    def checked_kernel(self, owner: object = None) -> Kernel:
        """Check all parameters, and turn the kernel's name into a kernel; errors name the estimator that has them."""
        owner = self if owner is None else owner
        if not (
            is_integer(self.n_components) and (self.n_components == 1 or self.n_components % 2 == 0 < self.n_components)
        ):
            raise invalid(owner, "n_components", "an even integer of at least 2, or 1", self.n_components)
        check_choice(owner, "directions", self.directions, direction_schemes.SCHEMES)
        check_choice(owner, "sampling", self.sampling, sampling_schemes.SCHEMES)
        kernel = self._kernel()
        if isinstance(kernel, Kernel):
            kernel.validate()
            return kernel
        is_class = isinstance(kernel, type) and issubclass(kernel, Kernel)
        hint = f"Write {kernel.__name__}() for a kernel of that class." if is_class else ""
        names = ", ".join(repr(name) for name in BY_NAME)
        raise invalid(owner, "kernel", f"a kernel of bochner or one of {names}", kernel, hint)

    def _validated(self, X: Any) -> Any:
        return self._checked(validate_data(self, X, reset=False, **_ALLOWED))

    @staticmethod
    def _checked(X: Any) -> Any:
        """Leave integers as they are: blocks are converted when they are used."""
        return X if X.dtype in (np.float32, np.float64) or X.dtype.kind in "iub" else X.astype(np.float64)

    def _validated_out(self, out: Any, shape: tuple[int, int], dtype: Any) -> Array:
        good = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == dtype
        if not good or not out.flags.c_contiguous or not out.flags.writeable:
            got = f"{type(out).__name__} of shape {np.shape(out)} and type {getattr(out, 'dtype', None)}"
            raise ValueError(
                f"The 'out' argument of transform must be a writeable C-contiguous array of shape {shape} and type "
                f"{np.dtype(dtype)}. Got a {got}."
            )
        return out

    def _validated_for_gradient(self, X: Any, coef: Any, smoothing: Any) -> tuple[Any, Array, float]:
        check_is_fitted(self)
        smoothing = check_number(self, "smoothing", smoothing, Range(0.0, includes_low=True))
        coef, width = np.asarray(coef), self._width
        if coef.ndim not in (1, 2) or len(coef) != width or coef.dtype.kind not in "iuf":
            raise ValueError(
                f"The 'coef' argument of gradient must be numbers of shape ({width},) or ({width}, n_outputs). "
                f"Got shape {coef.shape} and type {coef.dtype}."
            )
        return self._validated(X), coef, smoothing

    # --- execution ----------------------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return 2 * len(self._frequencies) if self._single_cosine is None else 1

    def _transformed(self, X: Any, out: Array | None = None) -> Array:
        """Compute the features of data that are checked."""
        plan = self._plan(X.dtype)
        shape = (X.shape[0], self._width)
        out = np.empty(shape, dtype=plan.dtype) if out is None else self._validated_out(out, shape, plan.dtype)
        self._write(plan, X, slice(0, X.shape[0]), out)
        return out

    def _plan(self, dtype: Any) -> FeaturePlan:
        """Give what the engine needs in the precision of the result, made once."""
        dtype = np.dtype(np.float32 if dtype == np.float32 else np.float64)
        if dtype not in self._plans:
            self._plans[dtype] = plan_for(self._frequencies, self._data, dtype)
        return self._plans[dtype]

    def _blocks(self, plan: FeaturePlan, X: Any, block_rows: int, width: int) -> Iterator[tuple[slice, Array]]:
        buffer = np.empty((min(block_rows, X.shape[0]), width), dtype=plan.dtype)
        for rows in gen_batches(X.shape[0], block_rows):
            block = buffer[: rows.stop - rows.start]
            self._write(plan, X, rows, block)
            yield rows, block

    def _write(self, plan: FeaturePlan, X: Any, rows: slice, out: Array) -> None:
        """Write the features of some rows, in parallel."""

        def write(block: slice) -> None:
            self._write_rows(plan, X, slice(rows.start + block.start, rows.start + block.stop), out[block])

        engine.schedule.run(write, gen_batches(len(out), plan.block_rows(len(out))))

    def _write_rows(self, plan: FeaturePlan, X: Any, rows: slice, out: Array) -> None:
        """Write the features of some rows, in this thread."""
        if out.shape[1] > 1:
            plan.write(X, rows, out)
            return
        pairs = np.empty((len(out), 2), dtype=out.dtype)
        plan.write(X, rows, pairs)
        out[:] = pairs @ self._single_cosine

    def __getstate__(self) -> dict[str, Any]:
        """Leave out of a pickle what is made anew from the rest."""
        state = dict(super().__getstate__())
        if "_plans" in state:
            state["_plans"] = {}
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Writer:
    """Writes the features of some rows; a class, and without a plan of its own, so that it can be pickled."""

    def __init__(self, features: RandomFeatures, X: Any) -> None:
        self._features, self._X = features, X
        features._plan(X.dtype)  # made now, not by many threads at once

    def __call__(self, rows: slice, out: Array) -> None:
        self._features._write_rows(self._features._plan(self._X.dtype), self._X, rows, out)


def _single_cosine(rng: np.random.Generator) -> NDArray[np.float64]:
    """Give the (2, 1) matrix that turns a cosine and a sine into ``sqrt(2) cos(. + b)`` with a random phase b."""
    b = rng.uniform(0.0, 2.0 * np.pi)
    return np.sqrt(2.0) * np.array([[np.cos(b)], [-np.sin(b)]])


def _resolve(kernel: Kernel, X: Any, rng: np.random.Generator) -> Kernel:
    """Fix the length scale on the data; of a sparse matrix only the rows that the median needs become dense."""
    if sparse.issparse(X):
        n_rows = min(X.shape[0], 1024)
        X = X[np.sort(rng.choice(X.shape[0], n_rows, replace=False))].toarray()
    return kernel.resolve(X, rng)


def _sample(X: Any) -> Array:
    """Take at most 1024 rows, spread over the data."""
    sample = X[:: -(-X.shape[0] // 1024)]
    return sample.toarray() if sparse.issparse(X) else sample
