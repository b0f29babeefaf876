"""How much memory there is: the machine's, or what is left of it to a container.

Linux bounds the memory of containers, and of jobs on clusters, by control groups: a tree of folders with the limits of
either version of these. The least limit from the own group up to the root counts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["available", "total"]

_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_STATE = Path("/proc/meminfo")


class _Files(NamedTuple):
    """Names of what a version of control groups tells: limit, use, and files kept in memory that can leave it."""

    limit: str
    used: str
    files: str


_FIRST = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = _Files("memory.max", "memory.current", "inactive_file")


class _Limit(NamedTuple):
    """Bytes that a group may use, and those that it uses."""

    bytes: float
    used: float


def total() -> float:
    """Give the bytes of memory that this process could have; infinity where nobody tells."""
    return min([_physical(), *(limit.bytes for limit in _limits())])


def available() -> float:
    """Give the bytes of memory that are free for this process; infinity where nobody tells."""
    return min([_free(), *(max(0.0, limit.bytes - limit.used) for limit in _limits())])


def _physical() -> float:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return math.inf
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _free() -> float:
    try:
        return 1024.0 * _entry(_STATE, "MemAvailable:", math.inf)
    except OSError:
        return math.inf


def _limits() -> Iterator[_Limit]:
    for folder, files in _groups():
        try:
            # Files that were read stay in memory and count as used, until somebody needs their place.
            used = _number(folder / files.used) - _entry(folder / "memory.stat", files.files, 0.0)
            yield _Limit(_number(folder / files.limit), used)
        except OSError:
            continue  # the root of the second version has no limit


def _groups() -> Iterator[tuple[Path, _Files]]:
    """Give the folders of the own groups, and of those that they lie in."""
    try:
        lines = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:  # as "4:memory:/some/group", or "0::/some/group" in the second version
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, files = (_GROUPS / "memory", _FIRST) if controllers else (_GROUPS, _SECOND)
        # A container may be told the path that the host has, which is not there; its own group is the root then.
        group = root / path.lstrip("/")
        yield from ((folder, files) for folder in (group, *group.parents) if folder.is_relative_to(root))


def _number(path: Path) -> float:
    text = path.read_text(encoding="ascii").strip()
    return math.inf if text == "max" else float(text)


def _entry(path: Path, name: str, default: float) -> float:
    """Read the number behind a name."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return next((float(line[1]) for line in lines if line[0] == name), default)
