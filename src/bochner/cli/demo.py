"""The demonstration: the exact Laplacian kernel against random features, on handwritten digits."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from bochner import Laplacian, RandomFeatures
from bochner.diagnostics import approximation_error

KERNEL = Laplacian(length_scale=1.0)
ALPHA = 3e-2  # the penalty of both machines, so that the exact one is the limit of the linear one


@dataclass(frozen=True)
class Scheme:
    """One way to draw the frequencies, and the name that it has in the table."""

    label: str
    directions: str
    sampling: str


SCHEMES = (
    Scheme("RFF", "gaussian", "random"),
    Scheme("ORF", "orthogonal", "random"),
    Scheme("ORF, stratified", "orthogonal", "stratified"),
    Scheme("Hadamard, stratified", "hadamard", "stratified"),
)


@dataclass(frozen=True)
class Settings:
    """How much the demonstration measures."""

    n_seeds: dict[int, int]  # by the number of features: narrow maps vary more and cost less
    n_rows: int | None = None

    @property
    def work(self) -> int:
        """What the progress bar counts: features made, and a fixed cost per map in the same unit."""
        return sum(cost(width) * n_seeds for width, n_seeds in self.n_seeds.items()) * len(SCHEMES)


FULL = Settings(n_seeds={64: 16, 256: 16, 1024: 8, 4096: 8})
QUICK = Settings(n_seeds={64: 6, 256: 6}, n_rows=500)


@dataclass(frozen=True)
class Digits:
    """Handwritten digits as rows of unit norm, and the indices that train and test a machine."""

    X: Any
    y: Any
    train: Any
    test: Any


@dataclass(frozen=True)
class Measurement:
    """One scheme at one width: the means over the seeds, and the least of the times."""

    scheme: str
    n_components: int
    error: float
    seconds: float
    accuracy: float


@dataclass(frozen=True)
class Comparison:
    """All that the table and the picture show."""

    n_rows: int
    compile_seconds: float
    exact_seconds: float
    exact_accuracy: float
    measurements: tuple[Measurement, ...]


def cost(width: int) -> int:
    """The work of measuring one map, as far as the estimate of the time left needs it."""
    return width + 512


def run(output: Path, settings: Settings) -> None:
    """Measure, show the table in the terminal and write the picture to `output`."""
    # Imported here, so that a missing extra is told before any work.
    from bochner.cli import console
    from bochner.diagnostics import plots

    with console.progress(settings.work) as advance:
        comparison = compare(load(settings.n_rows), settings, advance)
    console.show(comparison)
    figure = plots.schemes_figure(
        list(settings.n_seeds),
        errors=curves(comparison, "error"),
        scores=curves(comparison, "accuracy"),
        exact_score=comparison.exact_accuracy,
        title=f"Random features for the Laplacian kernel, on {comparison.n_rows} handwritten digits",
    )
    figure.savefig(output)
    console.saved(output)


def load(n_rows: int | None = None) -> Digits:
    """The first `n_rows` digits, split in halves."""
    X, y = load_digits(return_X_y=True)
    X, y = normalize(X)[:n_rows].astype(np.float32), y[:n_rows]
    train, test = train_test_split(np.arange(len(X)), test_size=0.5, stratify=y, random_state=0)
    return Digits(X, y, train, test)


def compare(digits: Digits, settings: Settings, advance: Callable[[int], None]) -> Comparison:
    """Measure the exact kernel, then each scheme at each width; `advance` hears of the work done."""
    compile_seconds = warm_up(digits.X)
    exact_seconds = best_time(lambda: KERNEL(digits.X), n_repeats=10)
    accuracy = exact_accuracy(digits)
    measurements = tuple(measure(digits, settings, advance))
    return Comparison(len(digits.X), compile_seconds, exact_seconds, accuracy, measurements)


def warm_up(X: Any) -> float:
    """Use everything once, and return the seconds that compiling, or loading what was compiled, took."""

    def use_all() -> None:
        approximation_error(feature_map(SCHEMES[0], 128, seed=0).fit(X), X)
        for scheme in SCHEMES:
            feature_map(scheme, 128, seed=0).fit_transform(X)

    return max(0.0, best_time(use_all, n_repeats=1) - best_time(use_all, n_repeats=1))


def measure(digits: Digits, settings: Settings, advance: Callable[[int], None]) -> Iterator[Measurement]:
    """Yield one measurement per width and scheme."""
    for width, n_seeds in settings.n_seeds.items():
        for scheme in SCHEMES:
            trials = []
            for seed in range(n_seeds):
                trials.append(trial(feature_map(scheme, width, seed), digits))
                advance(cost(width))
            errors, seconds, accuracies = zip(*trials, strict=True)
            yield Measurement(scheme.label, width, float(np.mean(errors)), min(seconds), float(np.mean(accuracies)))


def trial(features: RandomFeatures, digits: Digits) -> tuple[float, float, float]:
    """The error of one map, the time to apply it, and the accuracy of a linear model on it."""
    Phi = features.fit_transform(digits.X)
    seconds = best_time(lambda: features.transform(digits.X), n_repeats=3)
    # Systems this small are quicker on one thread, above all where the machine has other work.
    with threadpool_limits(limits=1, user_api="blas"):
        error = approximation_error(features, digits.X)
        # Without an intercept, as in the exact machine, which has none.
        model = RidgeClassifier(alpha=ALPHA, fit_intercept=False).fit(Phi[digits.train], digits.y[digits.train])
        accuracy = model.score(Phi[digits.test], digits.y[digits.test])
    return error, seconds, accuracy


def feature_map(scheme: Scheme, width: int, seed: int) -> RandomFeatures:
    """The map, not yet fitted, of a scheme."""
    return RandomFeatures(
        KERNEL, n_components=width, directions=scheme.directions, sampling=scheme.sampling, random_state=seed
    )


def exact_accuracy(digits: Digits) -> float:
    """The accuracy of exact kernel ridge classification: one target of -1 and 1 per class."""
    X, X_test = digits.X[digits.train], digits.X[digits.test]
    classes, codes = np.unique(digits.y[digits.train], return_inverse=True)
    targets = 2.0 * np.eye(len(classes))[codes] - 1.0
    coefficients = cho_solve(cho_factor(KERNEL(X) + ALPHA * np.eye(len(X))), targets)
    predictions = classes[np.argmax(KERNEL(X_test, X) @ coefficients, axis=1)]
    return float(np.mean(predictions == digits.y[digits.test]))


def best_time(work: Callable[[], Any], n_repeats: int) -> float:
    """The least wall-clock time of some calls, in seconds: the one that other work disturbed least."""
    return min(timeit.repeat(work, number=1, repeat=n_repeats))


def curves(comparison: Comparison, quantity: str) -> dict[str, list[float]]:
    """One quantity of the measurements over the widths, by scheme."""
    return {
        scheme.label: [getattr(m, quantity) for m in comparison.measurements if m.scheme == scheme.label]
        for scheme in SCHEMES
    }
