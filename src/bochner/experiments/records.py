"""Results as JSON lines: each with its setting, figures, time, peak memory and versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import bochner
from bochner.datasets import Dataset

from .measures import KINDS
from .plan import Setting, Values

Record = dict[str, Any]
_PACKAGES = ("bochner", "numpy", "scipy", "scikit-learn", "numba")
#: Parts of this package that change no figure of a setting.
_NO_FIGURES = ("cli", "experiments", "progress.py")
#: What of them does.
_FIGURES = ("experiments/measures.py",)
#: What a record must have for the page.
_SHOWN = ("experiment", "setting", "figures", "peak MB", "cores")


def file_of(folder: Path, experiment: str) -> Path:
    """Say where the records of an experiment are."""
    return folder / f"{experiment}.jsonl"


def read(folder: Path, experiment: str) -> list[Record]:
    """Read what was measured; of records of the same setting the last, so that no seed counts twice.

    A last line that was cut off, when a run was ended by force, does not count.
    """
    path = file_of(folder, experiment)
    if not path.is_file():
        return []
    return list({_key(record): record for record in _records(path)}.values())


def _records(path: Path) -> Iterator[Record]:
    *lines, _ = path.read_bytes().split(b"\n")  # what has no end was cut off
    for number, line in enumerate(lines, start=1):
        try:
            yield _record(line)
        except ValueError as error:
            raise ValueError(
                f"Line {number} of {path} is no record ({error}). Remove this line, and its setting will be measured "
                "again; the other lines can stay."
            ) from error


def _record(line: bytes) -> Record:
    """Read a line, and check that it has what the page shows."""
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("it is not an object of JSON")
    absent = [name for name in _SHOWN if name not in record]
    if absent:
        raise ValueError(f"it has no {', '.join(absent)}")
    flat = [name for name in ("setting", "figures") if not isinstance(record[name], dict)]
    if flat:
        raise ValueError(f"its {flat[0]} is not an object of JSON")
    return record


def _key(record: Record) -> str:
    """What tells a setting from others, as `Setting.key`."""
    return json.dumps([record["experiment"], record["setting"]], sort_keys=True)


def append(folder: Path, experiment: str, record: Record) -> None:
    """Add a record, in one piece."""
    path = file_of(folder, experiment)
    _cut_unfinished(path)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _cut_unfinished(path: Path) -> None:
    """Cut off a last line without its end; in place, so that whatever happens, all before it stays."""
    if not path.is_file():
        return
    whole = path.read_bytes()
    end = whole.rfind(b"\n") + 1
    if end < len(whole):
        os.truncate(path, end)


def missing(settings: Iterable[Setting], records: Iterable[Record]) -> list[Setting]:
    """Give the settings that have no record yet."""
    settings = list(settings)
    done = {_key(record) for record in planned(settings, records)}
    return [setting for setting in settings if setting.key not in done]


def planned(settings: Iterable[Setting], records: Iterable[Record]) -> list[Record]:
    """Give the records of some settings: plans change, and what they had before is no seed of what they have.

    Nor is what has the choices of a setting that was measured anew since, and chose others.
    """
    by_key = {_key(record): record for record in records}
    of_settings = [(setting, by_key[setting.key]) for setting in settings if setting.key in by_key]
    return [record for setting, record in of_settings if _is_as_chosen(setting, record, by_key)]


def _is_as_chosen(setting: Setting, record: Record, by_key: Mapping[str, Record]) -> bool:
    chooser = setting.chooser and by_key.get(setting.chooser.key)
    return not chooser or all(math.isclose(taken, _choices(chooser)[name]) for name, taken in _choices(record).items())


def choices(setting: Setting, records: Iterable[Record]) -> Values:
    """Give the length scale and the penalty (for each row) that another setting chose for one, if that is planned."""
    chooser = setting.chooser
    if chooser is None:
        return {}
    return next(_choices(record) for record in records if _key(record) == chooser.key)


def _choices(record: Record) -> dict[str, float]:
    found = record["figures"]
    return {"length_scale": found["length scale"], "alpha": found["alpha"] / found["n_rows"]}


def measured(setting: Setting, data: Dataset, chosen: Values | None = None, verbose: bool = False) -> Record:
    """Measure a setting, with what was chosen for it by another one."""
    by = versions()  # before the work, in which the files may change
    peak = _peak_memory()
    start = time.perf_counter()
    figures = KINDS[setting.kind]({**setting.values, **(chosen or {})}, data, verbose)
    return {
        "experiment": setting.experiment,
        "setting": dict(setting.values),
        "figures": figures,
        "seconds": time.perf_counter() - start,
        "peak MB": peak(),
        "versions": by,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def versions() -> dict[str, str]:
    """Give the versions of Python and of the packages that compute, and the source of this one."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version()} | packages | {"source": _source()}


@lru_cache(maxsize=1)
def _source() -> str:
    """Tell states of this package apart that have the same version."""
    return source_of(Path(bochner.__file__).parent)


def source_of(package: Path) -> str:
    """Give 12 digits of a check sum over the files of a package that can change a figure, and their names."""
    paths = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    digest = hashlib.sha256()
    for name in sorted(paths):
        if name in _FIGURES or name.partition("/")[0] not in _NO_FIGURES:
            content = paths[name].read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


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
