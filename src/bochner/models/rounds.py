"""The rounds of a recursive feature machine: fit, gradients, metric, and what the held-out rows say."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from .._warnings import warn_user
from ..kernels import Kernel
from ..solvers import rows_of
from . import tuning
from .base import KernelMachine
from .gradients import GradientMoments
from .held_out import least, tempered_log_losses
from .labels import weights_of_classes
from .learned_metric import Choice, Form, best_kernel, median_distance, with_one_length_scale

Array = NDArray[Any]

#: Random features of the rounds, at most.
_FEATURES_OF_ROUNDS = 4096
#: Share of the rows that is held out to judge rounds, and how many at most.
_HELD_OUT, _MOST_HELD_OUT = 0.15, 20_000
#: Rounds without a better score after which to stop.
_PATIENCE = 2
#: Of the largest target: a deviation that is less is rounding.
_ROUNDING = 1e-10
#: Squared change, of targets whose variance is about 1, that is taken for nothing.
_VANISHING = 1e-12


@dataclass(frozen=True)
class Part:
    """Some rows with their targets and weights."""

    X: Any
    y: Array
    weights: Array | None

    def __getitem__(self, rows: Array) -> Part:
        return Part(self.X[rows], self.y[rows], rows_of(self.weights, rows))

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def counts(self) -> Array:
        """The weight of each row, 1 if there are none."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def deviation(self) -> Any:
        """The standard deviation of each of the targets; 1 for one that is constant but for rounding."""
        mean = np.average(self.y, axis=0, weights=self.weights)
        found = np.sqrt(np.average(np.square(self.y - mean), axis=0, weights=self.weights))
        return np.where(found > _ROUNDING * abs(self.y).max(axis=0), found, 1.0)

    def in_units_of(self, deviation: Any) -> Part:
        """Divide the targets."""
        return replace(self, y=self.y / deviation)


@dataclass(frozen=True)
class Best:
    """The best round so far, its kernel (None: the machine's own), and its error."""

    number: int
    kernel: Kernel | None
    error: float


class Rounds:
    """The rounds of fit, gradients and metric, judged by held-out rows."""

    def __init__(
        self,
        machine: Any,
        kept: Part,
        held: Part,
        for_trial: np.random.Generator,
        for_gradients: np.random.Generator,
        progress: Any,
    ) -> None:
        self._whole, self._machine = machine, _narrowed(machine)
        if not is_classifier(machine):  # so that all outputs count alike
            kept, held = kept.in_units_of(kept.deviation), held.in_units_of(kept.deviation)
        elif len(absent := np.setdiff1d(kept.y, held.y)):
            warn_user(f"No held-out row has the class {', '.join(map(str, absent))}: rounds are judged without.")
        self._held, self._progress = held, progress
        self._kept, self._rng = kept, for_gradients
        self._varying = _varying(kept.X)
        self._trial = self._machine._trial(*machine._trial_rows(kept.X, kept.y, kept.weights), for_trial)
        self._rule = machine._kernel().length_scale
        self._retune = isinstance(self._rule, str) and self._rule == "auto"
        self.history: list[dict[str, Any]] = []
        self.best = Best(0, None, np.inf)

    def run(
        self, n_rounds: int, forms: Sequence[Form], options: Mapping[str, Sequence[Any]], widths: Sequence[float]
    ) -> None:
        """Go on until the last round, or until the score has not become better for two.

        The first round fits the best metric of each of the forms, and the next ones go on with the better of these and
        its width of the smoothing; the other options are tried in every round.
        """
        if n_rounds == 0:
            return
        self._progress(f"Rounds, 0 of {n_rounds}", 0.0)
        model, _ = self._round(0, n_rounds, [None], time.perf_counter())
        for number in range(1, n_rounds + 1):
            start = time.perf_counter()
            choices = self._choices(model, forms, options, widths)
            if not choices:
                warn_user(
                    f"The gradient of the function fitted in round {number - 1} vanishes, so no metric can be learned "
                    f"from it. The best round so far, {self.best.number}, is used."
                )
                return
            model, chosen = self._round(number, n_rounds, choices, start)
            if chosen is not None and chosen.n_directions == 1:
                warn_user(f"The metric of round {number} sees one direction only: no other has a part in the function.")
            if chosen is None or number - self.best.number >= _PATIENCE:
                return
            forms, widths = [chosen.form], [chosen.width]

    def confirm(self) -> None:
        """Go back to the kernel as it was if the whole machine does better with it than with that of the rounds."""
        if self._machine is self._whole or self.best.kernel is None:
            return
        kernel = self.best.kernel
        if isinstance(self._rule, str):  # which was asked for, and narrow features want other length scales
            kernel = kernel.replace(length_scale=self._rule)
        self._progress("All features, with the learned metric and without", 0.0)
        own, learned = (self._fitted(self._whole, given)[0] for given in (None, kernel))
        if learned <= own:
            self.best = replace(self.best, kernel=kernel)
            return
        warn_user(
            f"The metric of round {self.best.number} helps {self._machine.n_components} features, but not "
            f"{self._whole.n_components}: the kernel is used as it was."
        )
        self.best = Best(0, None, own)

    def _choices(
        self, model: Any, forms: Sequence[Form], options: Mapping[str, Sequence[Any]], widths: Sequence[float]
    ) -> list[Choice]:
        """Give the best metric of each form: of all options with the first width, then of the other widths."""
        self._trial.forget()
        diagonal, part = all(form.diagonal for form in forms), self._some(model)
        moments = {width: self._moments(model, part, width, diagonal) for width in widths}
        if all(self._vanish(of_width) for of_width in moments.values()):
            return []
        found = []
        for form in forms:
            best: Choice | None = None
            for width in widths:
                given = (form, options) if best is None else (best.form, {})
                other = best_kernel(model.kernel_, *given, moments[width], self._trial, self._retune)
                if other is not None and (best is None or other.score < best.score):
                    best = replace(other, width=width)
            found += [] if best is None else [best]
        return found

    def _round(
        self, number: int, n_rounds: int, choices: Sequence[Choice | None], start: float
    ) -> tuple[Any, Choice | None]:
        """Fit the machine with each of some kernels, its own if there is none; judge them, and give the best."""
        kernels = [None if choice is None else choice.kernel for choice in choices]
        fits = [(*self._fitted(self._machine, kernel), choice) for kernel, choice in zip(kernels, choices, strict=True)]
        error, score, model, choice = min(fits, key=lambda fit: np.nan_to_num(fit[0], nan=np.inf))
        if error < self.best.error:
            self.best = Best(number, None if choice is None else choice.kernel, error)
        entry = {
            "round": number,
            "score": score,
            "error": error,
            "form": "as given" if choice is None else str(choice.form),
            "smoothing": np.nan if choice is None else choice.width,
            "length_scale": model.kernel_.length_scale,
            "alpha": model.alpha_,
            "seconds": time.perf_counter() - start,
        }
        self.history.append(entry)
        self._progress(f"Rounds, {number} of {n_rounds}, score {score:.4f}", (number + 1) / (n_rounds + 2))
        return model, choice

    def _fitted(self, machine: Any, kernel: Kernel | None) -> tuple[float, float, Any]:
        """Fit a machine with a kernel, or its own, and give its error and score on the held-out rows with it."""
        model = clone(machine)
        if kernel is not None:
            model.set_params(kernel=kernel)
        model.fit(self._kept.X, self._kept.y, self._kept.weights)
        return *self._judge(model), model

    def _judge(self, model: Any) -> tuple[float, float]:
        """Give error and score on the held-out rows: squared errors, or log losses at the best temperature."""
        held = self._held
        if is_classifier(model):
            judge = tempered_log_losses(np.searchsorted(model.classes_, held.y), np.zeros(1))
            losses = judge(model.decision_function(held.X).reshape(len(held), -1), np.arange(len(held)))
        else:
            losses = np.square(model.predict(held.X) - held.y).reshape(len(held), -1).sum(axis=1, keepdims=True)
        # R2 is not defined for one row.
        score = float(model.score(held.X, held.y, held.weights)) if len(held) > 1 else np.nan
        counts = self._counts(held)
        return least(counts @ losses) / float(counts.sum()), score

    def _counts(self, part: Part) -> Array:
        """Give what each row counts: its weight, times that of its class if the machine has such weights."""
        if getattr(self._whole, "class_weight", None) is None:
            return part.counts
        classes, of_classes = self._classes
        counts = part.counts * of_classes[np.searchsorted(classes, part.y)]
        return counts if counts.any() else part.counts  # classes without weight only: they are judged all the same

    @cached_property
    def _classes(self) -> tuple[Array, Array]:
        """The classes and their weights."""
        classes, codes = np.unique(self._kept.y, return_inverse=True)
        return classes, weights_of_classes(self._whole, classes, codes, self._kept.counts)

    def _some(self, model: Any) -> Part:
        """Choose some of the rows that a machine was fitted to."""
        most = min(len(self._kept), model._rows_of_gradients)
        return self._kept[np.sort(self._rng.choice(len(self._kept), most, replace=False))]

    def _vanish(self, moments: GradientMoments) -> bool:
        """Say whether the gradients are rounding only: the change that they tell of is nothing beside the targets."""
        diagonal = moments.outer if moments.outer.ndim == 1 else np.diag(moments.outer)
        change = float(diagonal @ self._trial.distinct_rows().var(axis=0, dtype=np.float64))
        return not change > _VANISHING

    def _moments(self, model: Any, part: Part, smoothing: float, diagonal: bool) -> GradientMoments:
        """Average the gradients of a fitted function over some rows."""
        # The median distance of the rows, in the kernel's own distance, is what the displacement is a share of.
        kernel = with_one_length_scale(model.kernel_)
        displacement = smoothing * median_distance(kernel, self._trial.distinct_rows()) / kernel.length_scale
        n_outputs = model._fitted().coefficients.shape[1]
        blocks = model._gradients(part.X, displacement)
        moments = GradientMoments.of(blocks, self._counts(part), n_outputs, part.X.shape[1], diagonal)
        return moments.among(self._varying)  # what random features say of constant inputs is their own noise


def _varying(X: Any) -> Array:
    """Tell which inputs are not the same in all rows."""
    highest, lowest = X.max(axis=0), X.min(axis=0)
    different = highest.toarray() != lowest.toarray() if hasattr(highest, "toarray") else highest != lowest
    return np.asarray(different).ravel()


def _narrowed(machine: Any) -> Any:
    """Give the machine of the rounds: the same one, with fewer random features if it has many."""
    if machine.get_params().get("n_components", 0) <= _FEATURES_OF_ROUNDS:
        return machine
    return clone(machine).set_params(n_components=_FEATURES_OF_ROUNDS)


def split(rows: Part, machine: KernelMachine, seed: int) -> tuple[Array, Array]:
    """Choose rows to fit in the rounds, and rows to judge them by; every class has a row among the former.

    By the content of the rows, so that equal ones are on one side, and a weight of two is a row that is there twice.
    Rows that are all equal are on both. Rows without weight judge nothing.
    """
    hashes, weighted = tuning.hashes_of_rows(rows.X, seed) / 2.0**32, rows.counts > 0.0
    share = min(_HELD_OUT, _MOST_HELD_OUT / len(rows))
    held = weighted & (hashes < max(share, float(hashes[weighted].min()) + 2.0**-33))
    kept = ~held & (hashes < share + machine._rows_of_rounds / len(rows))
    if is_classifier(machine):
        absent = np.setdiff1d(rows.y, rows.y[kept])
        kept |= np.isin(rows.y, absent)
        held &= ~kept
    if not kept.any() or not held.any():
        return np.arange(len(rows)), np.arange(len(rows))
    return np.flatnonzero(kept), np.flatnonzero(held)
