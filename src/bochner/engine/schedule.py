"""Who computes when: row blocks on a plain thread pool, with BLAS held to one thread.

Blocks run on as many threads as BLAS is allowed when the work begins, so one setting (``threadpool_limits``, the
environment variables of BLAS, a joblib worker's share) governs everything. Within the work BLAS itself gets one
thread: its own threads and ours would fight for the same cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
_NO_TASK: Any = object()


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Find the BLAS libraries once: looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


class _SingleThreadedBlas:
    """A re-entrant, thread-safe hold on the BLAS libraries.

    The limit is a setting of the whole process. The first that enters sets it and the last that leaves restores
    it; without the count, two overlapping calls would restore each other's limit and leave BLAS slow for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._budget = 1
        self._limiter: Any = None

    def enter(self) -> int:
        """Take hold of BLAS and return how many threads it was allowed."""
        with self._lock:
            if self._holders == 0:
                allowed = [info["num_threads"] for info in _controller().info()]
                self._budget = min(max(allowed, default=available_cores()), available_cores())
                self._limiter = _controller().limit(limits=1)
            self._holders += 1
            return self._budget

    def leave(self) -> None:
        """Let go; the last to do so restores what was there."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limiter.restore_original_limits()


_blas = _SingleThreadedBlas()


def available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def single_threaded_blas() -> Iterator[int]:
    """Hold BLAS to one thread and yield the number of threads that the caller may use instead."""
    budget = _blas.enter()
    try:
        yield budget
    finally:
        _blas.leave()


def slices(whole: int | slice, step: int) -> list[slice]:
    """Cut a range, or that of so many from 0, into slices of at most ``step``."""
    first, last = (0, whole) if isinstance(whole, int) else (whole.start, whole.stop)
    return [slice(start, min(start + step, last)) for start in range(first, last, step)]


def run(function: Callable[[Task], object], tasks: Iterable[Task]) -> None:
    """Call ``function`` on every task, in parallel; the first error stops the rest and is raised."""
    pending = list(tasks)
    with single_threaded_blas() as budget:
        if budget == 1 or len(pending) <= 1:
            for task in pending:
                function(task)
            return
        _run_on_threads(function, pending, min(budget, len(pending)))


def sum_in_order(
    function: Callable[[Task], Sequence[ArrayLike]],
    tasks: Sequence[Task],
    tell: Callable[[float], None] = lambda done: None,
) -> tuple[NDArray[np.float64], ...]:
    """Add up the arrays that ``function`` gives for every task: in parallel, but in the order of the tasks.

    So the rounding of the sums does not depend on the number of threads. ``tell`` hears the share that is done.
    """
    lock, waiting, sums = threading.Lock(), dict[int, Any](), list[NDArray[np.float64]]()
    n_added = 0

    def work(number: int) -> None:
        nonlocal n_added
        parts = function(tasks[number])
        with lock:
            waiting[number] = parts
            while n_added in waiting:
                accumulate(sums, waiting.pop(n_added))
                n_added += 1
            tell(n_added / len(tasks))

    run(work, range(len(tasks)))
    return tuple(sums)


def accumulate(sums: list[NDArray[np.float64]], parts: Sequence[ArrayLike]) -> None:
    """Add arrays to sums in float64; an empty list takes copies of the first ones."""
    if not sums:
        sums.extend(np.array(part, dtype=np.float64) for part in parts)
        return
    for one, part in zip(sums, parts, strict=True):
        np.add(one, part, out=one)


def _run_on_threads(function: Callable[[Task], object], tasks: list[Task], n_threads: int) -> None:
    """Let each thread, this one included, take the next task as it gets free."""
    queue = iter(tasks)
    lock = threading.Lock()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with lock:
                task = next(queue, _NO_TASK)
            if task is _NO_TASK:
                return
            try:
                function(task)
            except BaseException:
                stop.set()
                raise

    helpers = [_pool(available_cores()).submit(work) for _ in range(n_threads - 1)]
    try:
        work()
        # A helper that has not begun is not needed any more, and may never begin: all threads of the pool can be
        # waiting in this very line, for tasks that are themselves parallel.
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    finally:
        stop.set()
        wait([helper for helper in helpers if not helper.cancel()])


@lru_cache(maxsize=1)
def _pool(cores: int) -> ThreadPoolExecutor:
    """Keep the threads between calls: to start them takes as long as a small transform."""
    return ThreadPoolExecutor(max(1, cores - 1), thread_name_prefix="bochner")


if hasattr(os, "register_at_fork"):
    # A forked child has none of its parent's threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)
