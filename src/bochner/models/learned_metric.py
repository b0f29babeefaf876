"""From the average outer product of gradients to a metric: the ways that are tried, and the one that is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel
from .gradients import GradientMoments
from .trials import Trial
from .tuning import WORTH

Floats = NDArray[np.float64]

#: Powers of M that are tried: the outer product itself, and its root, which is milder.
POWERS = (1.0, 0.5)
#: Shares of the identity that are tried.
RIDGES = (0.0, 0.03)
#: Of the uncentred moments: what is left after centring is rounding of single precision if it is less.
_CANCELLED = 1e-6
#: Of the trace: directions that have less are not seen.
_UNSEEN = 1e-6
#: Steps that the length scale may go in a round.
_MOST_STEPS = 2


@dataclass(frozen=True)
class Form:
    """How a metric is made of the moments of gradients."""

    diagonal: bool
    power: float
    ridge: float
    centred: bool = False

    def metric(self, moments: GradientMoments) -> Floats | None:
        """Give M with a mean diagonal of 1, as a matrix or its diagonal; None if the gradients vanish."""
        outer = moments.centred if self.centred else moments.outer
        if _trace(outer) <= _CANCELLED * _trace(moments.outer):
            return None
        if self.diagonal and outer.ndim == 2:
            outer = np.diag(outer)
        powered = _diagonal_power(outer, self.power) if outer.ndim == 1 else _matrix_power(outer, self.power)
        if powered is None:
            return None
        ridge = self.ridge if powered.ndim == 1 else self.ridge * np.eye(len(powered))
        return (powered + ridge) / (1.0 + self.ridge)

    def __str__(self) -> str:
        parts = ["diagonal" if self.diagonal else "full", f"power {self.power:g}"]
        parts += [f"ridge {self.ridge:g}"] if self.ridge else []
        return ", ".join([*parts, "centred"] if self.centred else parts)


def _trace(outer: Floats) -> float:
    return float(outer.sum() if outer.ndim == 1 else np.trace(outer))


def _diagonal_power(diagonal: Floats, power: float) -> Floats | None:
    values = np.maximum(diagonal, 0.0)
    largest = float(values.max())
    if not np.isfinite(largest) or largest <= 0.0:
        return None
    values = (values / largest) ** power
    return np.asarray(values / values.mean())


def _matrix_power(matrix: Floats, power: float) -> Floats | None:
    if not np.isfinite(matrix).all():
        return None
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    powers = _diagonal_power(values, power)
    if powers is None:
        return None
    product = (vectors * powers) @ vectors.T
    return np.asarray((product + product.T) / 2.0)


@dataclass(frozen=True)
class Choice:
    """A kernel with a metric, its score in the trial (the less, the better), and how the metric was made."""

    kernel: Kernel
    score: float
    form: Form
    width: float = 0.0

    @property
    def n_directions(self) -> int:
        """Directions that the metric sees."""
        metric = np.asarray(self.kernel.metric)
        values = metric if metric.ndim == 1 else np.linalg.eigvalsh(metric)
        return int((values > _UNSEEN * values.sum()).sum())


def best_kernel(
    kernel: Kernel,
    start: Form,
    options: Mapping[str, Sequence[Any]],
    moments: GradientMoments,
    trial: Trial,
    retune: bool,
) -> Choice | None:
    """Change the properties of a form, one after the other, to the values that are best in the trial.

    Each form gets a length scale as long, relative to the median distance, as the kernel has it now; the best one has
    it tuned, if that is left to us. None if the gradients vanish.
    """
    kernel, rows = with_one_length_scale(kernel), trial.distinct_rows()
    relative = kernel.length_scale / median_distance(kernel, rows)

    def tried(form: Form) -> Choice | None:
        metric = form.metric(moments)
        if metric is None:
            return None
        unscaled = kernel.replace(metric=metric)
        scaled = unscaled.replace(length_scale=relative * median_distance(unscaled, rows))
        return Choice(scaled, trial.score(scaled), form)

    best = tried(start)
    for name, values in options.items():
        form = start if best is None else best.form
        for value in values:
            if value == getattr(form, name):  # tried already
                continue
            other = tried(replace(form, **{name: value}))
            if other is not None and (best is None or other.score < best.score):
                best = other
    if best is None or not retune:
        return best
    tuned = _retuned(best.kernel, trial)
    return replace(best, kernel=tuned, score=trial.score(tuned))


def with_one_length_scale(kernel: Kernel) -> Kernel:
    """Move a vector of length scales into the metric."""
    scales = np.asarray(kernel.length_scale)
    if scales.ndim == 0:
        return kernel
    metric = np.ones(len(scales)) if kernel.metric is None else np.asarray(kernel.metric)
    scaled = metric / scales**2 if metric.ndim == 1 else metric / np.outer(scales, scales)
    return kernel.replace(length_scale=1.0, metric=scaled)


def median_distance(kernel: Kernel, rows: Floats) -> float:
    """Give the median distance of rows in the kernel's metric, whatever its length scale."""
    return float(kernel.replace(length_scale="median").resolve(rows).length_scale)


def _retuned(kernel: Kernel, trial: Trial) -> Kernel:
    """Walk downhill in factors of the root of two: from round to round the length scale changes little.

    Longer scales must be better by a percent for each factor of two, as in `tuning.search_length_scale`.
    """

    def at(steps: int) -> tuple[float, Kernel]:
        scaled = kernel.replace(length_scale=2.0 ** (steps / 2.0) * kernel.length_scale)
        return (1.0 + WORTH) ** max(steps / 2.0, 0.0) * trial.score(scaled), scaled

    best = 0
    for step in (1, -1):
        while abs(best + step) <= _MOST_STEPS and at(best + step)[0] < at(best)[0]:
            best += step
    return at(best)[1]
