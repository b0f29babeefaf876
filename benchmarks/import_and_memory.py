"""Import time, first use and peak memory of bochner, each measured in fresh processes.

- Import: `import bochner` against `import sklearn.kernel_approximation`, processes alternated, best of all rounds, and
  the number of functions that Numba compiled meanwhile (none).
- First use: seconds of the first small fit and transform in a process with an empty Numba cache, then in later
  processes that find that cache, and the number of functions compiled in each. The cache is a temporary folder.
- Memory: the most resident memory during a transform, above what was resident before it, less the output; at
  n = 200,000 rows, p = 512 frequencies, d = 16 inputs. Before it, one small transform loads the compiled code; the
  line "first of the process" leaves that out, so that loading is counted. Linux only: the high-water mark of the
  process (VmHWM) is reset before the call through /proc/self/clear_refs.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

from harness import Report, Target, alternate, arguments, progress, read

BOCHNER, SCIKIT_LEARN = "bochner", "sklearn.kernel_approximation"
IMPORT_RATIO, COMPILE_SECONDS, EXTRA_MEGABYTES = 1.5, 15.0, 64.0
MEGABYTE = 10**6

IMPORT = """
import json, time
start = time.perf_counter()
import {module}
print(json.dumps(time.perf_counter() - start))
"""

IMPORT_COMPILES = """
import json
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    import bochner
print(json.dumps(len(compiled.buffer) // 2))
"""

FIRST_USE = """
import json, time
import numpy as np
from bochner import Laplacian, RandomFeatures

X = np.random.default_rng(0).standard_normal((100, {d})).astype("{dtype}")
features = RandomFeatures(Laplacian(1.0), n_components=256, directions="{directions}", random_state=0)
start = time.perf_counter()
from numba.core import event  # on the clock: the first transform has to import Numba if nobody else did
with event.install_recorder("numba:compile") as compiled:
    features.fit(X).transform(X)
seconds = time.perf_counter() - start
print(json.dumps([seconds, len(compiled.buffer) // 2]))
"""

MEMORY = """
import json
import numpy as np
from bochner import Laplacian, RandomFeatures

def resident(field):
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))

X = np.random.default_rng(0).integers(0, 256, ({n}, {d}), dtype=np.uint8).astype("{dtype}")
features = RandomFeatures(Laplacian(300.0), n_components={outputs}, directions="{directions}", random_state=0)
features.fit(X[:1000])
out = None
if "{kind}" != "first":
    small = features.transform(X[:1000])
if "{kind}" == "reused":
    out = np.ones(({n}, {outputs}), small.dtype)
with open("/proc/self/clear_refs", "w") as control:
    control.write("5")
before = resident("VmRSS")
result = features.transform(X, out=out)
allocated = result.nbytes if out is None else 0
extra = resident("VmHWM") - before - allocated
print(json.dumps([str(result.dtype), result.nbytes, extra]))
"""


def in_new_process(program: str, cache: str | None = None) -> Any:
    """What a program prints as JSON, run by this Python, with a Numba cache of its own if one is named."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"A measured process failed:\n{done.stderr}")
    return json.loads(done.stdout)


# Import


def import_seconds(module: str) -> float:
    """Seconds of an import in a new process."""
    return in_new_process(IMPORT.format(module=module))


def measure_import(report: Report, rounds: int) -> Iterator[Target]:
    """Compare the import with that of the module of scikit-learn that does the same."""
    progress("import")
    measures = {module: partial(import_seconds, module) for module in (BOCHNER, SCIKIT_LEARN)}
    alternate(measures, 1)  # writes byte code
    best = alternate(measures, rounds)
    compiled = in_new_process(IMPORT_COMPILES)
    ratio = best[BOCHNER] / best[SCIKIT_LEARN]
    rows = [[f"import {module}", seconds] for module, seconds in best.items()]
    report.table("Seconds of an import", ["import", "seconds"], rows, f"Ratio {ratio:.2f}; {compiled} compiled.")
    yield Target(f"import {BOCHNER} / {SCIKIT_LEARN}", ratio, IMPORT_RATIO, at_least=False)
    yield Target("functions compiled by the import", compiled, 0, at_least=False)


# First use

USES = (("float32", "orthogonal", 16), ("float64", "orthogonal", 16), ("float32", "hadamard", 64))


def first_use(dtype: str, directions: str, d: int, rounds: int) -> dict[str, Any]:
    """Seconds and compiled functions without and with a cache; of the later processes the best counts."""
    progress(f"first use: {dtype}, {directions}")
    program = FIRST_USE.format(dtype=dtype, directions=directions, d=d)
    with tempfile.TemporaryDirectory() as cache:
        seconds, compiled = in_new_process(program, cache)
        later = min(in_new_process(program, cache) for _ in range(rounds))
    return {
        "input": f"{dtype}, {directions}",
        "empty cache": seconds,
        "compiled": compiled,
        "later process": later[0],
        "compiled later": later[1],
    }


def measure_first_use(report: Report, rounds: int) -> Iterator[Target]:
    """Time of the first fit and transform, compiling and not."""
    found = [first_use(*use, rounds) for use in USES]
    rows = [list(line.values()) for line in found]
    report.table("Seconds of the first fit and transform of a process", list(found[0]), rows)
    slowest = max(line["empty cache"] for line in found)
    yield Target("seconds of the first transform ever", slowest, COMPILE_SECONDS, at_least=False)
    compiled = max(line["compiled later"] for line in found)
    yield Target("functions compiled by later processes", compiled, 0, at_least=False)


# Memory

COLUMNS = ("input", "directions", "call", "output dtype", "output, MB", "extra, MB")
CALLS = {"fresh": "fresh output", "reused": "reused output", "first": "fresh, first of the process"}

MEMORY_NOTE = (
    "extra: above what was resident before and above a fresh output. The first transform of a process also loads "
    "Numba, LLVM and the compiled code, once and whatever the size of the data; that line is for information."
)


def extra_memory(n: int, dtype: str, directions: str, kind: str, cache: str) -> list[Any]:
    """A line of the table of memory."""
    progress(f"memory: {dtype}, {directions}, {kind}")
    program = MEMORY.format(n=n, d=16, outputs=1024, dtype=dtype, directions=directions, kind=kind)
    output_dtype, output, extra = in_new_process(program, cache)
    return [dtype, directions, CALLS[kind], output_dtype, output / MEGABYTE, extra / MEGABYTE]


def measure_memory(report: Report, n: int) -> Iterator[Target]:
    """Most resident memory of a transform above its output."""
    cases = [(dtype, "auto", "fresh") for dtype in ("float32", "float64", "uint8")]
    cases += [("float32", "hadamard", "fresh"), ("float32", "auto", "reused"), ("float32", "auto", "first")]
    with tempfile.TemporaryDirectory() as cache:
        rows = [extra_memory(n, *case, cache) for case in cases]
    title = f"Peak resident memory of a transform, {n} x 16 to 1024 features"
    report.table(title, COLUMNS, rows, MEMORY_NOTE)
    for dtype, directions, call, _, _, extra in rows:
        if call != CALLS["first"]:
            yield Target(f"extra MB, {dtype}, {directions}, {call}", extra, EXTRA_MEGABYTES, at_least=False)


def main() -> None:
    """Run the benchmark."""
    options = read(arguments(__doc__, rounds=7))
    report = Report("import_and_memory", "Import, first use and memory", options)
    targets = [*measure_import(report, options.rounds), *measure_first_use(report, options.rounds)]
    if sys.platform == "linux":
        targets += measure_memory(report, 20_000 if options.quick else 200_000)
    report.targets(targets)
    report.write()


if __name__ == "__main__":
    main()
