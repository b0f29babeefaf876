"""From a TOML file to the settings that are to be measured.

A file has a ``title``, what it is ``about``, the ``paper``'s name of it, its ``place`` among the others, the ``kind``
of measurement, experiments that are shown ``beside`` it, and a ``grid`` of lists whose product are the settings, or
several, ``[[grid]]``, one after the other. Tables ``[[set]]`` add values, or change them, where others have given ones;
tables ``[[skip]]`` leave settings out; what comes later counts. ``quick`` has the same on small data.

A setting with ``choices_of_seed`` takes the length scale and the penalty that this seed of it chose.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

Values = Mapping[str, Any]
_CHOICES = "choices_of_seed"


@dataclass(frozen=True)
class Setting:
    """One thing to measure: all values that decide the result."""

    experiment: str
    kind: str
    values: Values

    @cached_property
    def key(self) -> str:
        """What tells it from others, whatever the order of its values."""
        return json.dumps([self.experiment, dict(self.values)], sort_keys=True)

    @property
    def chooser(self) -> Setting | None:
        """The setting whose length scale and penalty this one takes, if it does not choose them itself."""
        if _CHOICES not in self.values:
            return None
        values = {name: value for name, value in self.values.items() if name != _CHOICES}
        return replace(self, values=values | {"seed": self.values[_CHOICES]})

    def __str__(self) -> str:
        return " ".join([self.experiment, *(str(value) for value in self.values.values())])


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper, or of ours."""

    name: str
    title: str
    about: str
    paper: str
    kind: str
    settings: tuple[Setting, ...]
    beside: tuple[str, ...] = ()


def names() -> list[str]:
    """Give the names of the experiments: those of the files, in their places."""
    return list(_files())


@lru_cache(maxsize=1)
def _files() -> dict[str, Values]:
    """Read all plans."""
    paths = files(__package__).joinpath("plans").iterdir()
    found = {
        path.name.removesuffix(".toml"): tomllib.loads(path.read_text(encoding="utf-8"))
        for path in paths
        if path.name.endswith(".toml")
    }
    return dict(sorted(found.items(), key=lambda item: item[1]["place"]))


def read(name: str, quick: bool = False) -> Experiment:
    """Read an experiment, whole or the quick version of it."""
    if name not in names():
        raise ValueError(f"There is no experiment {name!r}. Known are {', '.join(names())}.")
    file = _files()[name]
    part = file["quick"] if quick else file
    settings = tuple(Setting(name, file["kind"], values) for values in expanded(part))
    _check_choosers(settings)
    beside = tuple(file.get("beside", ()))
    return Experiment(name, file["title"], file["about"], file["paper"], file["kind"], settings, beside)


def _check_choosers(settings: Sequence[Setting]) -> None:
    """Raise if choices are to be taken of a setting that is not there, or that does not choose."""
    choosing = {setting.key for setting in settings if setting.chooser is None}
    for setting in settings:
        if setting.chooser and setting.chooser.key not in choosing:
            raise ValueError(f"The plan has no setting that chooses for '{setting}': it must be '{setting.chooser}'.")


def expanded(part: Values) -> Iterator[dict[str, Any]]:
    """Multiply out the grids, and apply what depends on other values."""
    grids = part["grid"] if isinstance(part["grid"], list) else [part["grid"]]
    for values in itertools.chain.from_iterable(map(_product, grids)):
        for rule in part.get("set", []):
            if _matches(values, rule["where"]):
                values |= {name: value for name, value in rule.items() if name != "where"}
        if not any(_matches(values, rule["where"]) for rule in part.get("skip", [])):
            yield values


def _product(grid: Values) -> Iterator[dict[str, Any]]:
    for combination in itertools.product(*grid.values()):
        yield dict(zip(grid, combination, strict=True))


def _matches(values: Values, where: Values) -> bool:
    """Say whether all that is asked for is there; a list asks for one of its members."""
    return all(
        values.get(name) in wanted if isinstance(wanted, list) else values.get(name) == wanted
        for name, wanted in where.items()
    )


def chosen(experiments: Sequence[Experiment], wanted: Mapping[str, list[str]]) -> list[Setting]:
    """Give the settings whose values are among the wanted ones; it is an error if there are none."""
    settings = [setting for experiment in experiments for setting in experiment.settings]
    of = ", ".join(experiment.name for experiment in experiments)
    for name, values in wanted.items():
        _check_known(settings, of, name, values)
    found = _wanted(settings, wanted)
    if wanted and not found:
        asked = " and ".join(f"{name} {' or '.join(values)}" for name, values in wanted.items())
        raise ValueError(f"No setting of {of} has {asked}.{_instead(settings, wanted)}")
    return found


def with_choosers(settings: Sequence[Setting]) -> list[Setting]:
    """Add the settings whose choices others take, if they are not there."""
    choosers = [chooser for setting in settings if (chooser := setting.chooser)]
    return list({setting.key: setting for setting in (*settings, *choosers)}.values())


def _check_known(settings: Sequence[Setting], of: str, name: str, values: Sequence[str]) -> None:
    """Raise if no setting has something of this name, or one of its values."""
    known = _known(settings, name)
    if not known:
        others = ", ".join(dict.fromkeys(other for setting in settings for other in setting.values))
        raise ValueError(f"Settings of {of} have no {name}. They have {others}.")
    unknown = [value for value in values if value not in known]
    if unknown:
        raise ValueError(f"There is no {name} {', '.join(unknown)} here. Known are {', '.join(known)}.")


def _instead(settings: Sequence[Setting], wanted: Mapping[str, list[str]]) -> str:
    """Say which values there are if only one choice is changed."""
    possible = {}
    for name in wanted:
        others = {other: values for other, values in wanted.items() if other != name}
        possible[name] = _known(_wanted(settings, others), name)
    texts = [f"{name} can be {', '.join(values)}" for name, values in possible.items() if values]
    return f" With the rest as it is, {'; '.join(texts)}." if texts else ""


def _wanted(settings: Sequence[Setting], wanted: Mapping[str, list[str]]) -> list[Setting]:
    return [s for s in settings if all(n in s.values and str(s.values[n]) in values for n, values in wanted.items())]


def _known(settings: Sequence[Setting], name: str) -> list[str]:
    """Give the values of a name, as they are typed."""
    return sorted({str(setting.values[name]) for setting in settings if name in setting.values})
