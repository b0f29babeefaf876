"""What the tables and plots of all experiments ask for: records in groups, and the paper's own figures."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from .records import Record
from .svg import Plot
from .tables import Table

View = tuple[list[Table], list[Plot]]
#: Methods that the paper has figures of.
PUBLISHED = ("exact", "rff", "orf")
#: Points of a score by which it must differ from the paper's to be called better or worse.
TOLERANCE = 0.5
#: Share of the paper's rows below which a number of rows is called fewer.
_FEWER = 0.75


@lru_cache(maxsize=1)
def paper() -> dict[str, Any]:
    """Read the paper's own figures."""
    return tomllib.loads(files(__package__).joinpath("paper.toml").read_text(encoding="utf-8"))


def deviation(dataset: str, kernel: str, method: str) -> float | None:
    """Give the paper's standard deviation of a score over its runs; exact machines have none."""
    of_kernel: dict[str, float] = paper()["deviation"].get(dataset, {}).get(kernel, {})
    return of_kernel.get(method)


def grouped(records: Iterable[Record], *names: str) -> dict[tuple[Any, ...], list[Record]]:
    """Put records together that have the same values."""
    groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for record in records:
        groups[tuple(record["setting"].get(name) for name in names)].append(record)
    return groups


def figures(records: Iterable[Record], name: str) -> list[float]:
    """Give one figure of all records that have it."""
    return [record["figures"][name] for record in records if name in record["figures"]]


def has_fewer_rows(records: Sequence[Record]) -> bool:
    """Say whether records of a data set have noticeably fewer rows than the paper."""
    return max(figures(records, "n_rows")) < _FEWER * paper()["rows"].get(records[0]["setting"]["dataset"], 0)


def has_fewer_features(record: Record) -> bool:
    """Say whether features are so few, less than half of the paper's, that they tell nothing of its figures."""
    setting = record["setting"]
    return 2 * setting.get("n_components", np.inf) < paper()["features"].get(setting["dataset"], 0)


def in_order(values: Iterable[Any], order: Sequence[Any]) -> list[Any]:
    """Sort by an order; what it does not have comes last."""
    return sorted(set(values), key=lambda v: (order.index(v) if v in order else len(order), str(v)))
