"""From a TOML file to the settings that are to be measured.

A file has a ``title``, what it is ``about``, the ``paper``'s name of it, its ``place`` among the others, the ``kind``
of measurement, experiments that are shown ``beside`` it, and a ``grid`` of lists whose product are the settings. Tables
``[[set]]`` add values, or change them, where others have given ones; tables ``[[skip]]`` leave settings out; what comes
later counts. ``quick`` has the same on small data.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

Values = Mapping[str, Any]


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
    beside = tuple(file.get("beside", ()))
    return Experiment(name, file["title"], file["about"], file["paper"], file["kind"], settings, beside)


def expanded(part: Values) -> Iterator[dict[str, Any]]:
    """Multiply out a grid, and apply what depends on other values."""
    grid = part["grid"]
    for combination in itertools.product(*grid.values()):
        values = dict(zip(grid, combination, strict=True))
        for rule in part.get("set", []):
            if _matches(values, rule["where"]):
                values |= {name: value for name, value in rule.items() if name != "where"}
        if not any(_matches(values, rule["where"]) for rule in part.get("skip", [])):
            yield values


def _matches(values: Values, where: Values) -> bool:
    """Say whether all that is asked for is there; a list asks for one of its members."""
    return all(
        values.get(name) in wanted if isinstance(wanted, list) else values.get(name) == wanted
        for name, wanted in where.items()
    )


def chosen(experiments: Sequence[Experiment], wanted: Mapping[str, list[str]]) -> list[Setting]:
    """Give the settings whose values are among the wanted ones; a value that no setting has is an error."""
    settings = [setting for experiment in experiments for setting in experiment.settings]
    for name, values in wanted.items():
        known = {str(setting.values.get(name)) for setting in settings}
        unknown = [value for value in values if value not in known]
        if unknown:
            raise ValueError(f"There is no {name} {', '.join(unknown)} here. Known are {', '.join(sorted(known))}.")
    return [s for s in settings if all(str(s.values.get(name)) in values for name, values in wanted.items())]
