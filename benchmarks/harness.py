"""What the benchmarks share: alternated timing, the machine's own limits, tables, targets and result files.

Timing. The contestants of a race take turns, in an order that moves on by one from round to round, and the best time of
each counts. So all of them meet the same noise, a ratio belongs to one run, and no contestant always follows the same
neighbour. A short rest before each turn lets the idle threads of the neighbour's BLAS or OpenMP stop spinning; a turn
then repeats the call for 0.3 seconds and three times at least (but no longer than 1.5 seconds), because after a rest a
virtual machine must first get its cores' speed and its memory back, which would be charged to short calls alone.
Results are freed after the clock has stopped.

Limits. `gemm_rate` is what BLAS reaches here on large square matrices; `write_once` is the fastest of two ways to
write a buffer that is already in memory, with one thread per core.

Cores. Everything uses the cores that the process may use: `taskset -c 0,1 python benchmarks/features.py` for two.
"""

import argparse
import contextlib
import gc
import importlib
import importlib.metadata
import io
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

RESULTS = Path(__file__).parent / "results"
REST_SECONDS = 0.05
TURN_SECONDS, FEWEST_CALLS, LONGEST_TURN_SECONDS = 0.3, 3, 1.5
MISSING = "not installed"
PACKAGES = ("bochner", "numpy", "scipy", "scikit-learn", "numba", "torch", "xGPR", "xrfm")


# Command line and optional peers


def arguments(description: str, rounds: int, quick_rounds: int = 2) -> argparse.ArgumentParser:
    """Parser of the options that every benchmark has; `read` completes it."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: to see that it runs")
    parser.add_argument("--rounds", type=int, help=f"rounds of a race (default {rounds}, quick {quick_rounds})")
    parser.set_defaults(default_rounds=rounds, quick_rounds=quick_rounds)
    return parser


def read(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line and fill in the number of rounds."""
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = options.quick_rounds if options.quick else options.default_rounds
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1. Got {options.rounds} instead.")
    return options


def optional(module: str) -> ModuleType | None:
    """Import a peer, or None where it is not installed; what it prints on import is dropped."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return importlib.import_module(module)
        except ImportError:
            return None


def progress(message: str) -> None:
    """Say what is under way, apart from the results on standard output."""
    print(message, file=sys.stderr, flush=True)


# Timing


def timed(call: Callable[[], Any]) -> float:
    """Best seconds of a call in its turn, after a short rest and without the garbage collector."""
    time.sleep(REST_SECONDS)
    gc.collect()
    gc.disable()
    try:
        calls = [seconds_of(call)]
        while sum(calls) < (TURN_SECONDS if len(calls) >= FEWEST_CALLS else LONGEST_TURN_SECONDS):
            calls.append(seconds_of(call))
        return min(calls)
    finally:
        gc.enable()


def seconds_of(call: Callable[[], Any]) -> float:
    """Seconds of one call; its result is dropped after the clock has stopped."""
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return seconds


def alternate(measures: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Smallest value of each measure, taken in turns: one round after the other, each in an order drawn anew.

    Who comes after whom matters: the memory that one leaves behind is what the next one gets.
    """
    names = list(measures)
    best = dict.fromkeys(names, math.inf)
    order = np.random.default_rng(0)
    for _ in range(rounds):
        for name in order.permutation(names):
            best[name] = min(best[name], measures[name]())
    return best


def race(contestants: dict[str, Callable[[], Any]], rounds: int, warm_up: bool = True) -> dict[str, float]:
    """Best seconds of each contestant over alternated rounds."""
    if warm_up:
        for call in contestants.values():
            call()
    return alternate({name: partial(timed, call) for name, call in contestants.items()}, rounds)


# The machine's own limits


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def gemm(dtype: type[np.floating], size: int) -> Callable[[], Any]:
    """Contestant that multiplies two square matrices into a third."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((size, size)).astype(dtype) for _ in range(2))
    out = np.empty((size, size), dtype)
    return lambda: np.matmul(a, b, out=out)


def gemm_rate(seconds: float, size: int) -> float:
    """Floating-point operations per second of such a product."""
    return 2.0 * size**3 / seconds


def write_once(buffer: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Contestants that write each byte of a reused buffer once, with one thread per core.

    By ordinary stores: clearing memory with memset is twice as fast on some processors, but moves no numbers.
    """
    parts = np.array_split(buffer, cores())
    row = np.zeros(buffer.shape[1], buffer.dtype)
    pool = ThreadPoolExecutor(len(parts))

    def in_threads(write: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
        return lambda: list(pool.map(write, parts))

    return {
        "write, fill": in_threads(lambda part: np.copyto(part, buffer.dtype.type(0.5))),
        "write, rows": in_threads(lambda part: np.copyto(part, row)),
    }


# Tables, targets, result files


def markdown(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table with aligned columns: text to the left, numbers to the right."""
    cells = [[show(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(headers), *cells]) for i in range(len(headers))]
    numeric = [all(not row[i] or row[i][0] in "-.0123456789" for row in cells) for i in range(len(headers))]

    def line(row: Sequence[str]) -> str:
        padded = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric, strict=True)]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if n else "-") for w, n in zip(widths, numeric, strict=True)) + "|"
    return "\n".join([line(headers), rule, *map(line, cells)])


def show(value: Any) -> str:
    """Three digits of a number; a contestant that did not run is a missing one; anything else as it shows itself."""
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 0.1 else f"{value:.3g}"
    return str(value)


@dataclass(frozen=True)
class Target:
    """A figure that the library wants to reach, and what this run measured."""

    name: str
    value: float | None
    bound: float
    at_least: bool = True

    @property
    def verdict(self) -> str:
        """Whether the bound holds: reached, not reached, or not measured."""
        if self.value is None:
            return "not measured"
        holds = self.value >= self.bound if self.at_least else self.value <= self.bound
        return "reached" if holds else "NOT reached"

    def row(self) -> list[Any]:
        """A line of the table of targets."""
        sign = ">=" if self.at_least else "<="
        value = "" if self.value is None else show(self.value)
        return [self.name, value, f"{sign} {self.bound:g}", self.verdict]


class Report:
    """Collects what a benchmark found, prints it as it comes, and writes it as Markdown and JSON."""

    def __init__(self, name: str, title: str, options: argparse.Namespace) -> None:
        self.stem = f"{name}-quick" if options.quick else name
        self.parts: list[str] = []
        settings = {"quick": options.quick, "rounds": options.rounds}
        self.data: dict[str, Any] = {"benchmark": name, "settings": settings, "machine": machine(), "tables": {}}
        self.say(f"# {title}")
        self.say(described(self.data["machine"]))

    def say(self, text: str) -> None:
        """Print and keep a paragraph."""
        print(text, end="\n\n", flush=True)
        self.parts.append(text)

    def table(self, title: str, headers: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> None:
        """Print and keep a table."""
        self.say(f"## {title}")
        self.say(markdown(headers, rows))
        if note:
            self.say(note)
        self.data["tables"][title] = [dict(zip(headers, map(plain, row), strict=True)) for row in rows]

    def targets(self, targets: Sequence[Target]) -> None:
        """Print and keep the targets, and how many of the measured ones are reached."""
        self.table("Targets", ["target", "measured", "bound", "verdict"], [target.row() for target in targets])
        measured = [target for target in targets if target.value is not None]
        reached = sum(target.verdict == "reached" for target in measured)
        caveat = " A quick run: its sizes are too small to judge by." if self.stem.endswith("-quick") else ""
        self.say(f"{reached} of {len(measured)} measured targets reached.{caveat}")
        self.data["reached"] = {target.name: target.verdict for target in targets}

    def write(self) -> None:
        """Write the results beside the benchmarks."""
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.stem}.md").write_text("\n\n".join(self.parts) + "\n", encoding="utf-8")
        text = json.dumps(self.data, indent=1, ensure_ascii=False, allow_nan=False)
        (RESULTS / f"{self.stem}.json").write_text(text + "\n", encoding="utf-8")
        progress(f"written: {RESULTS.name}/{self.stem}.md and .json")


def plain(value: Any) -> Any:
    """A value that JSON knows."""
    if is_dataclass(value):
        return asdict(value)
    return value.item() if isinstance(value, np.generic) else value


def machine() -> dict[str, Any]:
    """Versions, cores and BLAS; no names of hosts, users or folders."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores(),
        "versions": {package: version(package) for package in PACKAGES},
        "blas": sorted({blas_name(pool) for pool in threadpool_info() if pool["user_api"] == "blas"}),
    }


def version(package: str) -> str:
    """Installed version of a package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return MISSING


def blas_name(pool: dict[str, Any]) -> str:
    """Name, version and kernels of a loaded BLAS."""
    facts = (pool["internal_api"], pool["version"], pool.get("architecture"))
    return " ".join(str(fact) for fact in facts if fact) + f", {pool['num_threads']} threads"


def described(facts: dict[str, Any]) -> str:
    """The machine in one sentence."""
    versions = ", ".join(f"{package} {number}" for package, number in facts["versions"].items())
    blas = "; ".join(facts["blas"])
    return f"{facts['cores']} cores, Python {facts['python']}, {facts['system']}. {versions}. BLAS: {blas}."
