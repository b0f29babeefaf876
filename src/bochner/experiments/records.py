"""Results as JSON lines: each with its setting, figures, time, peak memory and versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bochner.datasets import Dataset

from .measures import KINDS
from .plan import Setting

Record = dict[str, Any]
_PACKAGES = ("bochner", "numpy", "scipy", "scikit-learn", "numba")


def file_of(folder: Path, experiment: str) -> Path:
    """Say where the records of an experiment are."""
    return folder / f"{experiment}.jsonl"


def read(folder: Path, experiment: str) -> list[Record]:
    """Read what was measured; a last line that was cut off, when a run was ended by force, does not count."""
    path = file_of(folder, experiment)
    return list(_records(path.read_text(encoding="utf-8"))) if path.is_file() else []


def _records(text: str) -> Iterator[Record]:
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


def append(folder: Path, experiment: str, record: Record) -> None:
    """Add a record, in one piece."""
    path = file_of(folder, experiment)
    if path.is_file() and not path.read_bytes().endswith(b"\n") and path.stat().st_size:
        whole = path.read_bytes()
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())


def missing(settings: Iterable[Setting], records: Iterable[Record]) -> list[Setting]:
    """Give the settings that have no record yet."""
    done = {json.dumps([r["experiment"], r["setting"]], sort_keys=True) for r in records}
    return [setting for setting in settings if setting.key not in done]


def measured(setting: Setting, data: Dataset, verbose: bool = False) -> Record:
    """Measure a setting."""
    peak = _peak_memory()
    start = time.perf_counter()
    figures = KINDS[setting.kind](setting.values, data, verbose)
    return {
        "experiment": setting.experiment,
        "setting": dict(setting.values),
        "figures": figures,
        "seconds": time.perf_counter() - start,
        "peak MB": peak(),
        "versions": versions(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def versions() -> dict[str, str]:
    """Give the versions of Python and of the packages that compute."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in _PACKAGES}


def _peak_memory() -> Callable[[], float | None]:
    """Begin to watch the memory, and give the function that tells its peak above the beginning, if anybody knows."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    except OSError:
        return lambda: None
    before = _status("VmRSS")
    return lambda: (_status("VmHWM") - before) / 1e6


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))
