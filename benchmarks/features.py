"""Speed of random feature maps: bochner against its peers and against the limit of the machine.

Maps n rows of d inputs to 2p features (p frequencies) of the Laplacian kernel, rows of unit norm, and times the
transform only. One table, from one run in which the contestants take turns:

- bochner with "auto" directions, as a user calls it, output freshly allocated; also with "orthogonal" (dense)
  directions, fresh and into a reused output, and with "hadamard" ones;
- scikit-learn's RBFSampler with the same number of outputs. It knows only the Gaussian kernel and needs 2p
  frequencies for 2p outputs: a property of its formula, cos(w.x + b), that is part of its price;
- the plain NumPy formula, cos and sin of X @ W.T written into one array, and the plain torch formula;
- xGPR (its Matern 1/2, through `KernelFGen(...).kernel.transform_x`, which spares the copy that `predict` makes). It
  computes in single precision on one thread, and always returns double precision;
- the limit: 2npd operations at the gemm rate of this run, plus writing the output once into a reused buffer.

A second table is float64 against the NumPy formula; a third shows what the features of each are worth: the relative
Frobenius error of the kernel matrix of a few rows, so that nobody is fast by being wrong.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report, Target, arguments, gemm, gemm_rate, optional, progress, race, read, write_once
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel

from bochner import Laplacian, RandomFeatures

torch = optional("torch")
xgpr = optional("xGPR")

FeatureMap = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Shape:
    """Rows, frequencies and inputs, with the ratio RBFSampler / auto that is wanted there."""

    n: int
    p: int
    d: int
    sampler_ratio: float

    def __str__(self) -> str:
        return f"{self.n}, {self.p}, {self.d}"


SHAPES = (
    Shape(20_000, 1_536, 3, 5),
    Shape(10_000, 4_096, 16, 5),
    Shape(10_000, 2_048, 64, 2.5),
    Shape(4_000, 8_192, 784, 5),
    Shape(2_000, 12_288, 3_072, 15),
)
QUICK_SHAPES = (Shape(500, 256, 3, 5), Shape(500, 512, 16, 5), Shape(300, 512, 200, 5))
XGPR_RATIO, LIMIT_RATIO, FLOAT64_RATIO = 4.0, 1.6, 4.0

AUTO, DENSE, DENSE_REUSED, HADAMARD = "auto", "dense", "dense, reused", "hadamard"
SAMPLER, NUMPY, TORCH, XGPR = "RBFSampler", "NumPy", "torch", "xGPR"
COLUMNS = (AUTO, DENSE, DENSE_REUSED, HADAMARD, SAMPLER, NUMPY, TORCH, XGPR)
GEMM = "gemm"


# The contestants: each function makes a map from X to features


def bochner_map(directions: str, p: int, X: np.ndarray) -> RandomFeatures:
    """Fitted features of this library."""
    features = RandomFeatures(Laplacian(1.0), n_components=2 * p, directions=directions, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # structured directions in few dimensions are biased, and may say so
        return features.fit(X)


def sampler_map(p: int, X: np.ndarray) -> FeatureMap:
    """scikit-learn's Gaussian features with as many outputs."""
    return RBFSampler(gamma=0.5, n_components=2 * p, random_state=0).fit(X).transform


def laplacian_frequencies(p: int, X: np.ndarray) -> np.ndarray:
    """Frequencies of the Laplacian kernel, multivariate Cauchy, in the precision of X."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((p, X.shape[1]))
    return (directions / np.abs(rng.standard_normal((p, 1)))).astype(X.dtype)


def numpy_map(p: int, X: np.ndarray) -> FeatureMap:
    """The formula in NumPy, without the extra copy that hstack makes."""
    W = laplacian_frequencies(p, X)

    def transform(X: np.ndarray) -> np.ndarray:
        phases = X @ W.T
        out = np.empty((len(X), 2 * p), X.dtype)
        np.cos(phases, out=out[:, :p])
        np.sin(phases, out=out[:, p:])
        out *= 1 / math.sqrt(p)
        return out

    return transform


def torch_map(p: int, X: np.ndarray) -> FeatureMap:
    """The formula in torch, on the processor."""
    W = torch.from_numpy(laplacian_frequencies(p, X))

    def transform(X: np.ndarray) -> Any:
        phases = torch.from_numpy(X) @ W.T
        return torch.cat([torch.cos(phases), torch.sin(phases)], dim=1).mul_(1 / math.sqrt(p))

    return transform


def xgpr_map(p: int, X: np.ndarray) -> FeatureMap:
    """Structured features of xGPR for the Matern kernel with nu = 1/2, which is the Laplacian."""
    settings = {"matern_nu": 0.5, "intercept": False}
    log_inverse_length_scale = np.zeros(1)
    generator = xgpr.KernelFGen(
        2 * p, log_inverse_length_scale, X.shape[1], kernel_choice="Matern", kernel_settings=settings, verbose=False
    )
    return generator.kernel.transform_x


def peer_maps(p: int, X: np.ndarray) -> dict[str, FeatureMap]:
    """The maps of all peers that are installed."""
    maps = {SAMPLER: sampler_map(p, X), NUMPY: numpy_map(p, X)}
    if torch is not None:
        maps[TORCH] = torch_map(p, X)
    if xgpr is not None:
        maps[XGPR] = xgpr_map(p, X)
    return maps


# Measuring


def unit_rows(n: int, d: int, dtype: type[np.floating]) -> np.ndarray:
    """Random rows of norm one."""
    X = np.random.default_rng(1).standard_normal((n, d))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)


@dataclass(frozen=True)
class Measured:
    """What one shape gave: best seconds, seconds of fit, errors of the kernel, and the limit."""

    shape: Shape
    seconds: dict[str, float]
    fit_seconds: dict[str, float]
    errors: dict[str, float]
    limit: float = math.nan

    def ratio(self, slower: str, faster: str) -> float | None:
        """How many times longer one contestant takes than another."""
        return self.seconds[slower] / self.seconds[faster] if slower in self.seconds else None


def fit_bochner(shape: Shape, X: np.ndarray) -> tuple[dict[str, RandomFeatures], dict[str, float]]:
    """Fitted maps of this library and the seconds that fitting took."""
    fitted, seconds = {}, {}
    for name, directions in ((AUTO, "auto"), (DENSE, "orthogonal"), (HADAMARD, "hadamard")):
        start = time.perf_counter()
        fitted[name] = bochner_map(directions, shape.p, X)
        seconds[name] = time.perf_counter() - start
    return fitted, seconds


def kernel_error(transform: FeatureMap, X: np.ndarray, K: np.ndarray) -> float:
    """Relative Frobenius error of the kernel matrix of the features."""
    features = np.asarray(transform(X), np.float64)
    return float(np.linalg.norm(features @ features.T - K) / np.linalg.norm(K))


def kernel_errors(maps: dict[str, FeatureMap], X: np.ndarray) -> dict[str, float]:
    """Errors of all maps on a few rows, each against the kernel that it is for."""
    few = X[:300]
    laplacian = Laplacian(1.0)(few.astype(np.float64))
    gaussian = rbf_kernel(few.astype(np.float64), gamma=0.5)
    return {name: kernel_error(f, few, gaussian if name == SAMPLER else laplacian) for name, f in maps.items()}


def measure_float32(shape: Shape, rounds: int, gemm_size: int) -> Measured:
    """Race of all contestants and of the machine's limits at one shape."""
    X = unit_rows(shape.n, shape.d, np.float32)
    fitted, fit_seconds = fit_bochner(shape, X)
    maps = {name: features.transform for name, features in fitted.items()} | peer_maps(shape.p, X)
    buffer = np.zeros((shape.n, 2 * shape.p), np.float32)
    calls = {name: (lambda f=f: f(X)) for name, f in maps.items()}
    calls[DENSE_REUSED] = lambda: fitted[DENSE].transform(X, out=buffer)
    writes = write_once(buffer)
    seconds = race(calls | writes | {GEMM: gemm(np.float32, gemm_size)}, rounds)
    seconds["write"] = min(seconds.pop(name) for name in writes)
    return Measured(shape, seconds, fit_seconds, kernel_errors(maps, X))


def with_limits(measured: list[Measured], gemm_size: int) -> tuple[list[Measured], float]:
    """Add the limit of each shape, from the best gemm rate of the whole run."""
    rate = gemm_rate(min(m.seconds[GEMM] for m in measured), gemm_size)
    limits = [2.0 * m.shape.n * m.shape.p * m.shape.d / rate + m.seconds["write"] for m in measured]
    completed = [
        Measured(m.shape, m.seconds, m.fit_seconds, m.errors, limit) for m, limit in zip(measured, limits, strict=True)
    ]
    return completed, rate


def measure_float64(shape: Shape, rounds: int) -> Measured:
    """Race of this library and the NumPy formula in double precision."""
    X = unit_rows(shape.n, shape.d, np.float64)
    maps = {AUTO: bochner_map("auto", shape.p, X).transform, NUMPY: numpy_map(shape.p, X)}
    calls = {name: (lambda f=f: f(X)) for name, f in maps.items()}
    return Measured(shape, race(calls, rounds), {}, kernel_errors(maps, X))


def measure(shapes: tuple[Shape, ...], function: Callable[..., Measured], *settings: int) -> list[Measured]:
    """Measure every shape, saying which one is under way."""
    found = []
    for shape in shapes:
        progress(f"{function.__name__}: {shape}")
        found.append(function(shape, *settings))
    return found


# Reporting


def float32_targets(measured: list[Measured]) -> Iterator[Target]:
    """What the float32 table should show."""
    for m in measured:
        yield Target(f"RBFSampler / auto at {m.shape}", m.ratio(SAMPLER, AUTO), m.shape.sampler_ratio)
    for m in measured:
        yield Target(f"xGPR / auto at {m.shape}", m.ratio(XGPR, AUTO), XGPR_RATIO)
    for m in measured:
        yield Target(f"dense, reused / limit at {m.shape}", m.seconds[DENSE_REUSED] / m.limit, LIMIT_RATIO, False)


def float64_targets(measured: list[Measured]) -> Iterator[Target]:
    """What the float64 table should show."""
    for m in measured:
        yield Target(f"float64: NumPy / auto at {m.shape}", m.ratio(NUMPY, AUTO), FLOAT64_RATIO)


def limit_note(measured: list[Measured], rate: float) -> str:
    """The rates that the limits come from."""
    written = [8 * m.shape.n * m.shape.p / m.seconds["write"] for m in measured]
    return (
        f"limit: the product at {rate / 1e9:.0f} GFlop/s (measured sgemm) plus writing the output once at "
        f"{min(written) / 1e9:.1f} to {max(written) / 1e9:.1f} GB/s (measured, reused buffer of the same size)."
    )


def report_float32(report: Report, measured: list[Measured], rate: float) -> None:
    """Tables of seconds, of ratios to the default of this library, of fit and of errors."""
    shown = [[m.seconds.get(name) for name in COLUMNS] for m in measured]
    rows = [[str(m.shape), *row, m.limit] for m, row in zip(measured, shown, strict=True)]
    headers = ["n, p, d", *COLUMNS, "limit"]
    report.table("Seconds of a transform, float32", headers, rows, limit_note(measured, rate))
    ratios = [[str(m.shape), *(m.ratio(name, AUTO) for name in COLUMNS)] for m in measured]
    report.table("The same as multiples of auto", headers[:-1], ratios)
    fits = [[str(m.shape), *m.fit_seconds.values()] for m in measured]
    report.table("Seconds of fit (once, not alternated)", ["n, p, d", *measured[0].fit_seconds], fits)
    kinds = [name for name in COLUMNS if name != DENSE_REUSED]
    errors = [[str(m.shape), *(m.errors.get(name) for name in kinds)] for m in measured]
    report.table("Relative error of the kernel matrix", ["n, p, d", *kinds], errors, "RBFSampler: Gaussian kernel.")


def report_float64(report: Report, measured: list[Measured]) -> None:
    """Table of seconds in double precision."""
    rows = [[str(m.shape), m.seconds[AUTO], m.seconds[NUMPY], m.ratio(NUMPY, AUTO)] for m in measured]
    report.table("Seconds of a transform, float64", ["n, p, d", AUTO, NUMPY, "NumPy / auto"], rows)


def main() -> None:
    """Run the benchmark."""
    options = read(arguments(__doc__, rounds=7))
    shapes, gemm_size = (QUICK_SHAPES, 512) if options.quick else (SHAPES, 2048)
    report = Report("features", "Speed of random feature maps", options)
    single, rate = with_limits(measure(shapes, measure_float32, options.rounds, gemm_size), gemm_size)
    report_float32(report, single, rate)
    double = measure(shapes, measure_float64, max(1, options.rounds - 3))
    report_float64(report, double)
    report.targets([*float32_targets(single), *float64_targets(double)])
    report.write()


if __name__ == "__main__":
    main()
