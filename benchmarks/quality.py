"""Approximation error of random features over p, for the schemes of this library and of the paper.

The error is |Phi Phi^T - K|_F / |K|_F (`bochner.diagnostics.approximation_error`), K the exact kernel matrix of 1000
rows of unit norm, length scale 1, as the mean over independent draws (--rounds) with its standard error. The schemes
are pairs of directions and sampling:

- RFF (gaussian/random) and ORF (orthogonal/random) are the paper's Table 1 to the letter;
- stratified and Sobol sampling with gaussian, orthogonal and hadamard directions are this library's;
  orthogonal/stratified is the one that is judged.

Data: digits (comes with scikit-learn), Gaussian points in four dimensions and, where a folder has them,
`letter.npz` (centred) and `fashion_mnist.npz`. The folder is --data, or $BOCHNER_DATA, or ../shared/data beside the
repository. Every cell has random states of its own, so that cells are independent of each other.

Judged: the mean over the table of the ratio orthogonal/stratified to ORF, and whether any single ratio is above 1 by
more than noise, 2.5 of its standard errors. Means of the paper's schemes vary a lot between draws, since large
radii decide: see the column of standard errors before comparing two figures.
"""

import argparse
import itertools
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import Report, Target, arguments, progress, read
from sklearn.datasets import load_digits

from bochner import ExponentialPower, Laplacian, Matern, RandomFeatures
from bochner.diagnostics import approximation_error

KERNELS = {
    "Laplacian": Laplacian(1.0),
    "Matern 1.5": Matern(nu=1.5),
    "Matern 4": Matern(nu=4),
    "Exp. power 0.7": ExponentialPower(exponent=0.7),
}
SCHEMES = {
    "RFF": ("gaussian", "random"),
    "ORF": ("orthogonal", "random"),
    "gaussian, strat.": ("gaussian", "stratified"),
    "orthogonal, strat.": ("orthogonal", "stratified"),
    "hadamard, strat.": ("hadamard", "stratified"),
    "orthogonal, Sobol": ("orthogonal", "sobol"),
    "gaussian, Sobol": ("gaussian", "sobol"),
}
PAPER, JUDGED = "ORF", "orthogonal, strat."
FREQUENCIES, QUICK_FREQUENCIES = (256, 1024, 4096), (128,)
ROWS = 1000
MEAN_RATIO, NOISE = 0.92, 2.5


# Data


def unit_norm(X: np.ndarray) -> np.ndarray:
    """Rows scaled to norm one, in single precision."""
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def some_rows(X: np.ndarray) -> np.ndarray:
    """The same random subsample every time, in double precision."""
    chosen = np.random.default_rng(0).permutation(len(X))[:ROWS]
    return X[chosen].astype(np.float64)


def data_folder(given: Path | None) -> Path:
    """Where the optional data sets are."""
    beside_repository = Path(__file__).resolve().parents[2] / "shared" / "data"
    return given or Path(os.environ.get("BOCHNER_DATA", beside_repository))


def from_folder(folder: Path, name: str, centre: bool) -> dict[str, np.ndarray]:
    """Training rows of a stored data set, or nothing."""
    file = folder / f"{name}.npz"
    if not file.exists():
        progress(f"{name}: no {file.name} in the data folder, left out")
        return {}
    with np.load(file) as arrays:
        X = arrays["X_train"]
    mean = X.mean(axis=0, dtype=np.float64) if centre else 0.0
    return {name: unit_norm(some_rows(X) - mean)}


def datasets(folder: Path) -> dict[str, np.ndarray]:
    """All data sets, rows of norm one."""
    few_dimensions = np.random.default_rng(0).standard_normal((ROWS, 4))
    sets = {"synthetic": unit_norm(few_dimensions), "digits": unit_norm(some_rows(load_digits().data))}
    sets |= from_folder(folder, "letter", centre=True)
    return sets | from_folder(folder, "fashion_mnist", centre=False)


# Errors


@dataclass(frozen=True)
class Estimate:
    """Mean over draws and its standard error."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: list[float]) -> "Estimate":
        """Estimate from independent draws."""
        return cls(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))))

    def over(self, other: "Estimate") -> "Estimate":
        """Ratio of two independent estimates, to first order."""
        ratio = self.mean / other.mean
        relative = np.hypot(self.standard_error / self.mean, other.standard_error / other.mean)
        return Estimate(ratio, float(ratio * relative))

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.standard_error:.4f}"


@dataclass(frozen=True)
class Cell:
    """One line of the table: the errors of all schemes for one data set, kernel and p."""

    data: str
    kernel: str
    p: int
    errors: dict[str, Estimate]

    @property
    def ratio(self) -> Estimate:
        """The judged scheme over the paper's."""
        return self.errors[JUDGED].over(self.errors[PAPER])

    @property
    def excess(self) -> float:
        """How far the ratio is above one, in standard errors."""
        return (self.ratio.mean - 1) / self.ratio.standard_error

    def __str__(self) -> str:
        return f"{self.data}, {self.kernel}, p = {self.p}"


def one_error(X: np.ndarray, kernel: str, p: int, scheme: str, random_state: int) -> float:
    """Error of one draw."""
    directions, sampling = SCHEMES[scheme]
    features = RandomFeatures(
        KERNELS[kernel], n_components=2 * p, directions=directions, sampling=sampling, random_state=random_state
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hadamard directions in few dimensions are biased, and may say so
        return float(approximation_error(features.fit(X), X, norm="fro"))


def one_cell(data: str, X: np.ndarray, kernel: str, p: int, seeds: range) -> Cell:
    """Errors of all schemes."""
    errors = {scheme: Estimate.of([one_error(X, kernel, p, scheme, s) for s in seeds]) for scheme in SCHEMES}
    return Cell(data, kernel, p, errors)


def all_cells(sets: dict[str, np.ndarray], frequencies: tuple[int, ...], draws: int) -> Iterator[Cell]:
    """The whole table, cell by cell, each with random states of its own."""
    for number, (data, kernel, p) in enumerate(itertools.product(sets, KERNELS, frequencies)):
        progress(f"{data}, {kernel}, p = {p}")
        yield one_cell(data, sets[data], kernel, p, range(draws * number, draws * (number + 1)))


# Reporting


def report_errors(report: Report, cells: list[Cell], sets: dict[str, np.ndarray]) -> None:
    """The table of errors and the ratios that are judged."""
    headers = ["data", "d", "kernel", "p", *SCHEMES, "ratio"]
    rows = [[c.data, sets[c.data].shape[1], c.kernel, c.p, *c.errors.values(), c.ratio] for c in cells]
    note = f"ratio: {JUDGED} over {PAPER}. Mean ± standard error."
    report.table("Relative Frobenius error", headers, rows, note)


def mean_ratio(cells: list[Cell], scheme: str) -> float:
    """Mean over cells of the error of a scheme as a multiple of the paper's."""
    return float(np.mean([cell.errors[scheme].over(cell.errors[PAPER]).mean for cell in cells]))


def report_schemes(report: Report, cells: list[Cell]) -> None:
    """Mean ratio of every scheme to the paper's, for each data set and over all."""
    groups = {name: [cell for cell in cells if cell.data == name] for name in dict.fromkeys(c.data for c in cells)}
    groups["all"] = cells
    rows = [[scheme, *(mean_ratio(group, scheme) for group in groups.values())] for scheme in SCHEMES]
    report.table(f"Mean error as a multiple of {PAPER}", ["scheme", *groups], rows)


def targets(cells: list[Cell]) -> list[Target]:
    """The mean of the ratio, and its worst cell beside the noise of that cell."""
    worst = max(cells, key=lambda cell: cell.excess)
    noise = np.linalg.norm([cell.ratio.standard_error for cell in cells]) / len(cells)
    mean = Estimate(mean_ratio(cells, JUDGED), float(noise))
    return [
        Target(f"mean of {JUDGED} / {PAPER} over the table ({mean})", mean.mean, MEAN_RATIO, at_least=False),
        Target(f"standard errors above 1, worst cell ({worst}: {worst.ratio})", worst.excess, NOISE, at_least=False),
    ]


def options_from_command_line() -> argparse.Namespace:
    """The common options and the folder of the data; rounds are draws here."""
    parser = arguments(__doc__, rounds=10)
    parser.add_argument("--data", type=Path, help="folder with letter.npz and fashion_mnist.npz")
    options = read(parser)
    if options.rounds < 2:
        parser.error("--rounds is the number of draws here, and must be at least 2 for a standard error.")
    return options


def main() -> None:
    """Run the benchmark."""
    options = options_from_command_line()
    sets = datasets(data_folder(options.data))
    report = Report("quality", "Approximation error of random features", options)
    frequencies = QUICK_FREQUENCIES if options.quick else FREQUENCIES
    cells = list(all_cells(sets, frequencies, options.rounds))
    report_errors(report, cells, sets)
    report_schemes(report, cells)
    report.targets(targets(cells))
    report.write()


if __name__ == "__main__":
    main()
