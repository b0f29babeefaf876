"""Speed and accuracy of exact kernel matrices: bochner against scikit-learn.

Times the matrix K(X, X) of n standard normal rows (one in a hundred a near copy of another) with length scale
sqrt(d), in a race where both take turns:

- Matern with nu = 4, and the Laplacian, against scikit-learn's Matern with nu = 4 and nu = 1/2. These evaluate half of
  the matrix when both arguments are the same, which is their best case and the one timed here;
- the L1 Laplacian against `laplacian_kernel`, and the Gaussian against `rbf_kernel`, for information.

scikit-learn is given float64; this library float64 and, in a column of its own, float32. At n = 10,000 scikit-learn
takes up to a minute or two for a matrix and is timed once, without a warm-up.

The errors are the largest absolute ones in the rows of some points against a direct evaluation: differences in
float64, then the formula with SciPy's Bessel function, on the same (rounded) input.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report, Target, arguments, progress, race, read
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv
from sklearn.gaussian_process.kernels import Matern as ScikitLearnMatern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from bochner import Gaussian, L1Laplacian, Laplacian, Matern

MATERN, LAPLACIAN, L1, GAUSSIAN = "Matern, nu = 4", "Laplacian", "L1 Laplacian", "Gaussian"
OURS, OURS_32, THEIRS = "bochner", "bochner, float32", "scikit-learn"
WANTED = {MATERN: 30.0, LAPLACIAN: 4.0}
DIMENSIONS = (12, 784)
REFERENCE_ROWS = 200

Kernel = Callable[[np.ndarray], np.ndarray]


def ours(kind: str, length_scale: float) -> Any:
    """Kernel of this library."""
    if kind == MATERN:
        return Matern(nu=4, length_scale=length_scale)
    return {LAPLACIAN: Laplacian, L1: L1Laplacian, GAUSSIAN: Gaussian}[kind](length_scale)


def theirs(kind: str, length_scale: float) -> Kernel:
    """The same kernel in scikit-learn."""
    return {
        MATERN: ScikitLearnMatern(length_scale, nu=4),
        LAPLACIAN: ScikitLearnMatern(length_scale, nu=0.5),
        L1: lambda X: laplacian_kernel(X, gamma=1 / length_scale),
        GAUSSIAN: lambda X: rbf_kernel(X, gamma=0.5 / length_scale**2),
    }[kind]


def matern_profile(r: np.ndarray, nu: float = 4.0) -> np.ndarray:
    """The Matern kernel as a function of the distance, one Bessel call per value."""
    t = np.sqrt(2 * nu) * np.where(r == 0, 1.0, r)
    return np.where(r == 0, 1.0, 2 ** (1 - nu) / gamma(nu) * t**nu * kv(nu, t))


def reference(kind: str, X: np.ndarray, Z: np.ndarray, length_scale: float) -> np.ndarray:
    """Direct evaluation in float64."""
    metric = "cityblock" if kind == L1 else "euclidean"
    r = cdist(X.astype(np.float64), Z.astype(np.float64), metric) / length_scale
    if kind == MATERN:
        return matern_profile(r)
    return np.exp(-(r**2) / 2 if kind == GAUSSIAN else -r)


def rows_with_near_copies(n: int, d: int) -> np.ndarray:
    """Standard normal rows; every hundredth one repeats its neighbour up to 1e-5."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[1::100] = X[0:-1:100] + 1e-5 * rng.standard_normal(X[1::100].shape)
    return X


@dataclass(frozen=True)
class Measured:
    """Best seconds and largest errors of the contestants for one kernel at one size."""

    kind: str
    n: int
    d: int
    seconds: dict[str, float]
    errors: dict[str, float]

    @property
    def ratio(self) -> float:
        """How many times longer scikit-learn takes."""
        return self.seconds[THEIRS] / self.seconds[OURS]

    def row(self) -> list[Any]:
        """A line of the table."""
        names = (OURS, THEIRS, OURS_32)
        return [self.kind, self.n, self.d, *(self.seconds[name] for name in names), self.ratio] + [
            f"{self.errors[name]:.1e}" for name in names
        ]


def largest_error(kernel: Kernel, kind: str, X: np.ndarray, length_scale: float) -> float:
    """Largest absolute error in the first rows of the kernel matrix."""
    K = kernel(X)[:REFERENCE_ROWS]
    return float(np.abs(K - reference(kind, X[:REFERENCE_ROWS], X, length_scale)).max())


def measure(kind: str, n: int, d: int, rounds: int) -> Measured:
    """Race and errors of one kernel at one size."""
    progress(f"{kind}: n = {n}, d = {d}")
    X, length_scale = rows_with_near_copies(n, d), float(np.sqrt(d))
    own, peer = ours(kind, length_scale), theirs(kind, length_scale)
    inputs = {OURS: (own, X), OURS_32: (own, X.astype(np.float32)), THEIRS: (peer, X)}
    calls = {name: (lambda kernel=kernel, X=X: kernel(X)) for name, (kernel, X) in inputs.items()}
    slow = n > 5000
    seconds = race({name: calls.pop(name) for name in [THEIRS]}, 1, warm_up=False) if slow else {}
    seconds |= race(calls, rounds)
    return Measured(kind, n, d, seconds, errors(inputs, kind, length_scale))


def errors(inputs: dict[str, tuple[Kernel, np.ndarray]], kind: str, length_scale: float) -> dict[str, float]:
    """Largest errors of all contestants, on as many points as all of them can afford."""
    return {name: largest_error(kernel, kind, X[:2000], length_scale) for name, (kernel, X) in inputs.items()}


def sizes(quick: bool) -> list[tuple[str, int, int]]:
    """Kernels, numbers of rows and of inputs to measure."""
    kinds = (MATERN, LAPLACIAN, L1, GAUSSIAN)
    small = [(kind, 300 if quick else 2000, d) for kind in kinds for d in DIMENSIONS]
    large = [(kind, 10_000, d) for kind in (MATERN, LAPLACIAN) for d in DIMENSIONS]
    return small if quick else small + large


def targets(measured: list[Measured]) -> list[Target]:
    """Ratios wanted at the smaller number of rows."""
    smallest = min(m.n for m in measured)
    judged = [m for m in measured if m.kind in WANTED and m.n == smallest]
    return [Target(f"scikit-learn / bochner, {m.kind}, n = {m.n}, d = {m.d}", m.ratio, WANTED[m.kind]) for m in judged]


def main() -> None:
    """Run the benchmark."""
    options = read(arguments(__doc__, rounds=10))
    report = Report("kernels", "Exact kernel matrices", options)
    measured = [measure(kind, n, d, options.rounds) for kind, n, d in sizes(options.quick)]
    headers = ["kernel", "n", "d", OURS, THEIRS, OURS_32, "ratio"]
    headers += [f"error, {name}" for name in ("float64", THEIRS, "float32")]
    report.table("Seconds of K(X, X) and largest errors", headers, [m.row() for m in measured])
    report.targets(targets(measured))
    report.write()


if __name__ == "__main__":
    main()
