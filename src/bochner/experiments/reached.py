"""Where the paper's figures are reached, and what may explain the others: one table over all experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import copies
from .growth import GROWTHS, Key, Points
from .lookup import PUBLISHED, TOLERANCE, View, deviation, figures, grouped, has_fewer_features, has_fewer_rows, paper
from .plan import Experiment
from .records import Record
from .tables import Cell, Table, compared, half_width

#: The experiment that measures them all; others explain what it does not reach.
_FIRST = "table-5"
#: Kinds of experiments whose scores bear on the paper's figures.
_BEARING = ("prediction", "epochs", "choices", *GROWTHS)
#: What held-out rows choose, or the paper has for another table, unless it is given.
_CHOICES = ("length_scale", "alpha", "epochs", "exponent")
#: How much a score tells, from most to least: it has the paper's number of rows, or is continued to it, or has fewer.
_MEASURED, _CONTINUED, _FEWER = range(3)
#: Points that two scores may be apart for a figure between them to be called explained.
_WIDEST = 5.0
#: Runs whose mean each of the paper's figures is.
_RUNS = 5
ABOUT = Experiment(
    "reached",
    "Where the paper's figures are reached",
    "The figures of the paper's table 5 that the same table here does not have within half a point, what other "
    "experiments find for them, and what may explain the difference.",
    "Table 5",
    "reached",
    (),
)
_LEGEND = (
    "~: continued to the paper's number of rows or features by a power law. (): with a length scale, a penalty or "
    "epochs that are given, not chosen by held-out rows, or an exponent that is not 0.7. †: not all converged. *: of "
    "ORF, for a figure of RFF that was not measured; it must be near to the paper's figures of both.",
    "Differs by: the difference of what has the paper's number of rows, with choices by held-out rows; else of what is "
    "continued to it; else of fewer rows. Not of what is nearest.",
    "May be explained by, the first of these: a given choice, the nearest of all that were tried, that leads to the "
    "figure (which does not show that the paper made it); two scores, the nearest on either side and at most five "
    "points apart, of experiments that differ in what the paper does not say; of kmnist and svhn, what so many times "
    "as many rows would make of ours, if they brought what they bring to the other two data sets of images, or to a "
    "small copy, with so many times fewer rows and features (small-copy): one score within half a point, or the "
    "nearest on either side, at most five points apart; the same with given penalties of the small copy, which shows "
    "what a penalty costs there, not that the paper had it; a score, the nearest, within the 95 % interval of the "
    "paper's mean, by its deviation over five runs.",
)


@dataclass(frozen=True)
class _Found:
    """What an experiment has for a figure: scores, times 100, several if choices are given.

    ``also`` is another figure that they must be near to; ``lacking`` how many times as many rows the paper has, where
    these are all that are here.
    """

    scores: tuple[float, ...]
    rank: int
    given: bool = False
    converged: bool = True
    also: float | None = None
    lacking: float = 1.0

    @property
    def whole(self) -> bool:
        """Whether it has the paper's number of rows, or is continued to it."""
        return self.rank != _FEWER

    def cell(self, published: float) -> Cell:
        if self.given:
            ends = dict.fromkeys(f"{end:.1f}" for end in (min(self.scores), max(self.scores)))
            return Cell(f"({self.marked(' to '.join(ends))})")
        cell = compared(self.scores, published, 2, TOLERANCE)
        return replace(cell, text=self.marked(cell.text))

    def difference(self, published: float) -> float:
        figures_of_paper = [published] if self.also is None else [published, self.also]
        return float(min(max(abs(score - figure) for figure in figures_of_paper) for score in self.scores))

    def marked(self, text: str) -> str:
        """Mark what is continued, borrowed, or not converged."""
        return "~" * (self.rank == _CONTINUED) + text + "*" * (self.also is not None) + "†" * (not self.converged)


@dataclass(frozen=True)
class _Explained:
    """How a figure is explained, if it is."""

    way: str = ""
    text: str = ""


@dataclass(frozen=True)
class _Figure:
    """A figure of the paper, what experiments have for it, and what tells the use of more rows.

    These are lines of scores over rows that need no continuing, and the gains of a small copy by its penalties.
    ``deviation`` is the paper's own, over its runs.
    """

    key: Key
    published: float
    deviation: float
    found: Mapping[str, _Found]
    lines: Sequence[Points]
    of_copy: Mapping[Any, float]

    @cached_property
    def told(self) -> _Found:
        """What counts: of the same rank the method's own, of these others than the first experiment."""
        chosen = [one for name, one in self.found.items() if name != _FIRST and not one.given]
        return min([*chosen, self.found[_FIRST]], key=lambda one: (one.rank, one.also is not None))

    @property
    def apart(self) -> bool:
        """Whether the first experiment does not have it."""
        return self.found[_FIRST].difference(self.published) > TOLERANCE

    @property
    def reached(self) -> bool:
        """Whether another one has it."""
        return self.told.whole and self.told.difference(self.published) <= TOLERANCE

    def row(self, names: Iterable[str]) -> list[Any]:
        cells = [self.found[name].cell(self.published) if name in self.found else "" for name in names]
        difference = self.told.marked(f"{self.told.difference(self.published):.2f}")
        return [*self.key, self.published, difference, "" if self.reached else self.explained.text, *cells]

    @cached_property
    def explained(self) -> _Explained:
        ways = (self._by_given_choices, self._between, self._by_rows, self._by_rows_and_penalty, self._by_chance)
        return next((found for way in ways if (found := way())), _Explained())

    def _by_given_choices(self) -> _Explained | None:
        given = {name: one for name, one in self.found.items() if one.given and one.whole}
        name = min(given, key=lambda name: given[name].difference(self.published), default=None)
        if name is None or given[name].difference(self.published) > TOLERANCE:
            return None
        return _Explained("given", given[name].marked(name))

    def _between(self) -> _Explained | None:
        """Look for the nearest scores on either side."""
        whole = [(score, name, one) for name, one in self.found.items() if one.whole for score in one.scores]
        ends = self._around(whole, key=lambda end: end[0])
        if ends is None:
            return None
        texts = (f"{name} ({one.marked(f'{score:.1f}')})" for score, name, one in ends)
        return _Explained("between", " – ".join(texts))

    def _by_rows(self) -> _Explained | None:
        """Look whether the rows that are not here can make the difference."""
        alike = [line for line in self.lines if (line.key[2] == "exact") == (self.key[2] == "exact")]
        gains = [gain for line in alike if (gain := line.gain(self._lacking)) is not None]
        gains += [gain for penalty, gain in self.of_copy.items() if penalty == copies.HELD_OUT]
        text = self._made_by(gains)
        return _Explained("rows", f"{self._lacking:.1f} times the rows: {text}") if text else None

    def _by_rows_and_penalty(self) -> _Explained | None:
        """Look whether these rows and a penalty that is not chosen by held-out rows can."""
        text = self._made_by([*self.of_copy.values()])
        return _Explained("penalty", f"{self._lacking:.1f} times the rows, given penalty: {text}") if text else None

    @property
    def _lacking(self) -> float:
        return self.found[_FIRST].lacking

    def _made_by(self, gains: Sequence[float]) -> str:
        """Say what such gains make of our score, if that is the paper's, or lies closely around it."""
        error = 100.0 - self.found[_FIRST].scores[0]
        scores = [100.0 - gain * error for gain in gains]
        if self._lacking == 1.0 or not scores:
            return ""
        nearest = min(scores, key=lambda score: abs(score - self.published))
        if abs(nearest - self.published) <= TOLERANCE:
            return f"{nearest:.1f}"
        ends = self._around(scores, key=float)
        return " – ".join(f"{end:.1f}" for end in ends) if ends else ""

    def _around(self, found: Sequence[Any], key: Callable[[Any], float]) -> tuple[Any, Any] | None:
        """Give what is nearest to the figure on either side, if these are not too far apart."""
        below = max((one for one in found if key(one) <= self.published), key=key, default=None)
        above = min((one for one in found if key(one) >= self.published), key=key, default=None)
        if below is None or above is None or key(above) - key(below) > _WIDEST:
            return None
        return below, above

    def _by_chance(self) -> _Explained | None:
        """Look whether runs that vary as much as the paper's can have a mean like this."""
        whole = {name: one for name, one in self.found.items() if one.whole}
        name = min(whole, key=lambda name: whole[name].difference(self.published), default=None)
        allowed = half_width(self.deviation, _RUNS)
        if name is None or whole[name].difference(self.published) > allowed:
            return None
        return _Explained("chance", f"{whole[name].marked(name)}, ± {allowed:.2f} in the paper")


def view(found: Sequence[tuple[Experiment, Sequence[Record]]]) -> View | None:
    """Set the scores of all experiments beside the paper's, where those of the first are not the same."""
    by_name = {e.name: _found(e.kind, records) for e, records in found if e.kind in _BEARING}
    by_name = {name: scores for name, scores in by_name.items() if scores}
    lines = [line for e, records in found if e.kind == "rows" for line in _of_images(records)]
    gains = {key: by for e, records in found if e.kind == "copy" for key, by in copies.gains(records).items()}
    all_of_them = []
    for key, published in _published():
        if key in by_name.get(_FIRST, {}):
            of_key = {name: one for name, scores in by_name.items() if (one := _of(scores, key))}
            of_copy = {} if key[2] == "exact" else gains.get((*key[:2], "orf"), {})
            all_of_them.append(_Figure(key, published, deviation(*key) or 0.0, of_key, lines, of_copy))
    apart = [figure for figure in all_of_them if figure.apart]
    if not apart:
        return None
    columns = ["data", "kernel", "method", "paper", "differs by", "may be explained by", *by_name]
    rows, note = [figure.row(by_name) for figure in apart], "\n".join([_counted(all_of_them), *_LEGEND])
    return [Table("Figures that differ by more than half a point", columns, rows, note)], []


def _counted(figures_of_paper: Sequence[_Figure]) -> str:
    """Say how many figures are reached, and how; and what explains the others."""
    own = [figure.found[_FIRST] for figure in figures_of_paper if not figure.apart]
    near = [figure.told for figure in figures_of_paper if figure.apart and figure.reached]
    others = [figure for figure in figures_of_paper if figure.apart and not figure.reached]
    names = ("given", "between", "rows", "penalty", "chance", "")
    ways = {way: [f for f in others if f.explained.way == way] for way in names}
    borrowed = sum(one.also is not None for one in near) + sum("*" in figure.explained.text for figure in others)
    return (
        f"{len(own)} of {len(figures_of_paper)} figures are within half a point in table 5 itself, "
        f"{sum(not one.whole for one in own)} of these with fewer rows. Other experiments have "
        f"{sum(one.rank == _MEASURED for one in near)} more with the paper's number of rows, and "
        f"{sum(one.rank == _CONTINUED for one in near)} as continued. Given choices lead to {len(ways['given'])} more, "
        f"{len(ways['between'])} are between two scores, {len(ways['rows'])} are within what the rows that are not "
        f"here can make of ours, {len(ways['penalty'])} with a given penalty, "
        f"{len(ways['chance'])} within the interval of the paper's own mean, and "
        f"{len(ways[''])} are not explained. Of all these {borrowed} of RFF stand on ORF's."
    )


def _of_images(records: Sequence[Record]) -> list[Points]:
    return [line for line in GROWTHS["rows"].whole_lines(records) if line.key[0] in paper()["images"]]


def _of(scores: Mapping[Key, _Found], key: Key) -> _Found | None:
    """Give the score of a figure, or for RFF that of ORF, which must be near to the paper's figure of ORF too."""
    dataset, kernel, method = key
    if key in scores or method != "rff":
        return scores.get(key)
    other = scores.get((dataset, kernel, "orf"))
    return replace(other, also=paper()["prediction"][dataset][kernel]["orf"]) if other else None


def _published() -> Iterator[tuple[Key, float]]:
    for dataset, kernels in paper()["prediction"].items():
        for kernel, methods in kernels.items():
            for method in PUBLISHED:
                yield (dataset, kernel, method), methods[method]


def _found(kind: str, records: Sequence[Record]) -> dict[Key, _Found]:
    """Give what an experiment has for the paper's figures."""
    groups: dict[Any, list[Record]] = grouped(records, "dataset", "kernel", "method")
    if kind not in GROWTHS:
        return {key: _scores(group) for key, group in groups.items()}
    found = {}
    for key, ends in GROWTHS[kind].ends(records).items():
        rank = _CONTINUED if any(end.continued for end in ends) else _MEASURED
        scores, converged = tuple(end.score for end in ends), all(end.converged for end in ends)
        found[key] = _Found(scores, rank, any(map(_is_given, groups[key])), converged)
    return found


def _scores(records: Sequence[Record]) -> _Found:
    """Give the mean score of seeds; with given choices all scores, of those with the paper's rows if there are such."""
    whole = [record for record in records if not has_fewer_rows([record]) and not has_fewer_features(record)]
    shown, rank = whole or records, _MEASURED if whole else _FEWER
    scores, given = [100.0 * score for score in figures(shown, "score")], any(map(_is_given, shown))
    told = tuple(scores) if given else (float(np.mean(scores)),)
    return _Found(told, rank, given, all(figures(shown, "converged")), lacking=_lacking(shown))


def _is_given(record: Record) -> bool:
    """Say whether something is given that is otherwise chosen by held-out rows, or as in the paper's other table."""
    return any(record["setting"].get(name, "auto") != "auto" for name in _CHOICES)


def _lacking(records: Sequence[Record]) -> float:
    """Say how many times as many rows the paper has as there are here, if all that are here are used; else 1."""
    used, there = (max(figures(records, name)) for name in ("n_rows", "all rows"))
    short = used == there and has_fewer_rows(records)
    return paper()["rows"][records[0]["setting"]["dataset"]] / there if short else 1.0
