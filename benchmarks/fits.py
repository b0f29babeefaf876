"""Data sets, and fits in processes of their own with their time and peak memory: for the benchmarks of models.

Data sets are .npz files in $BOCHNER_DATA, or in ../shared/data beside the repository. Every fit runs in a new process,
one after the other, so that its peak memory (the process's high-water mark, less what is resident once the data are
loaded) is its own.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import progress
from sklearn.preprocessing import normalize

Result = dict[str, Any]
FOLDER = Path(os.environ.get("BOCHNER_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LONGEST_SECONDS = 1800.0

# Data


def load(name: str) -> tuple[np.ndarray, ...]:
    """Training and test part of a data set, inputs in single precision."""
    with np.load(FOLDER / f"{name}.npz") as z:
        return z["X_train"].astype(np.float32), z["y_train"], z["X_test"].astype(np.float32), z["y_test"]


def standardised(name: str, shuffled: bool = False) -> tuple[np.ndarray, ...]:
    """Columns of mean zero and variance one; constant ones become zero."""
    X, y, Xt, yt = split_anew(name) if shuffled else load(name)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0.0] = 1.0
    return (X - mean) / scale, y, (Xt - mean) / scale, yt


def unit_norm(name: str, centre: bool = False, shuffled: bool = False) -> tuple[np.ndarray, ...]:
    """Rows of norm one, after subtracting the mean if the paper does; rows of zeros stay."""
    X, y, Xt, yt = split_anew(name) if shuffled else load(name)
    mean = X.mean(axis=0) if centre else np.float32(0.0)
    return normalize(X - mean, copy=False), y, normalize(Xt - mean, copy=False), yt


def split_anew(name: str) -> tuple[np.ndarray, ...]:
    """Four fifths for training, a fifth for testing: of all rows of letter, of the training rows of ijcnn1."""
    X, y, Xt, yt = load(name)
    if name == "letter":
        X, y = np.vstack([X, Xt]), np.concatenate([y, yt])
    order, n_test = np.random.default_rng(0).permutation(len(X)), round(0.2 * len(X))
    test, train = order[:n_test], order[n_test:]
    return X[train], y[train], X[test], y[test]


# Measuring


def resident(field: str) -> int:
    """A field of the process's memory, in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))


def measured(call: Callable[[], Any]) -> tuple[Any, Result]:
    """Result, seconds and peak memory above the data, in MB."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as control:
        control.write("5")
    before, start = resident("VmRSS"), time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    return result, {"seconds": seconds, "MB": (resident("VmHWM") - before) / 1e6}


# Processes


def in_process(call: str, *given: Any, longest: float | None = None) -> Result | None:
    """Run a function of the running script in a new process; None where it cannot run."""
    progress(f"{call} {' '.join(map(str, given))}")
    command = [sys.executable, sys.argv[0], "--call", json.dumps([call, *given])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=longest or LONGEST_SECONDS)
    except subprocess.TimeoutExpired as expired:
        progress(f"{call}: given up after {expired.timeout:.0f} s")
        return None
    if done.returncode:
        progress(done.stderr[-2000:])
        return None
    result = json.loads(done.stdout.splitlines()[-1])
    progress(
        ", ".join(
            f"{key} {value:.5g}" if isinstance(value, float) else f"{key} {value}" for key, value in result.items()
        )
    )
    return result


def answer(call: str, functions: dict[str, Any]) -> None:
    """Run what `in_process` asks for, and print its result."""
    name, *given = json.loads(call)
    print(json.dumps(functions[name](*given)))
