"""Who computes when: all tasks, the first error, and BLAS as it was."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bochner.engine import schedule


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.fixture(params=[1, 2])
def threads(request):
    """Let BLAS, and with it the schedule, have so many threads."""
    if request.param > schedule.available_cores():
        pytest.skip("needs two cores")
    with threadpool_limits(request.param, user_api="blas"):
        yield request.param


@pytest.mark.parametrize("n_tasks", [0, 1, 2, 3, 100])
def test_every_task_runs_once(threads, n_tasks):
    seen = []
    schedule.run(seen.append, iter(range(n_tasks)))
    assert sorted(seen) == list(range(n_tasks))


def test_a_task_may_be_anything(threads):
    seen = []
    schedule.run(seen.append, [None, 0, (), None])
    assert len(seen) == 4


def test_tasks_run_on_as_many_threads_as_blas_was_allowed(threads):
    seen = set()
    together = threading.Barrier(threads, timeout=20)

    def work(task):
        seen.add(threading.get_ident())
        together.wait()  # only passes if all threads are here

    schedule.run(work, range(threads))
    assert len(seen) == threads


def test_one_allowed_thread_is_the_caller():
    seen = set()
    with threadpool_limits(1, user_api="blas"):
        schedule.run(lambda task: (time.sleep(0.005), seen.add(threading.get_ident())), range(20))
    assert seen == {threading.get_ident()}


def test_blas_has_one_thread_within_the_work_and_is_restored(threads):
    before, within = blas_threads(), []
    schedule.run(lambda task: within.extend(blas_threads()), range(4))
    assert set(within) == {1}
    assert blas_threads() == before


def test_an_error_is_raised_and_stops_the_rest(threads):
    done, before = [], blas_threads()

    def work(task):
        if task == 3:
            raise ArithmeticError("task 3")
        time.sleep(0.001)
        done.append(task)

    with pytest.raises(ArithmeticError, match="task 3"):
        schedule.run(work, range(10_000))
    assert len(done) < 100
    assert blas_threads() == before


def test_an_error_in_every_task_is_raised_once(threads):
    def work(task):
        raise ArithmeticError(str(task))

    with pytest.raises(ArithmeticError):
        schedule.run(work, range(8))


def test_nested_runs_do_all_tasks_and_restore_blas(threads):
    before, seen = blas_threads(), []
    schedule.run(lambda i: schedule.run(lambda j: seen.append((i, j)), range(5)), range(4))
    assert sorted(seen) == [(i, j) for i in range(4) for j in range(5)]
    assert blas_threads() == before


def test_overlapping_runs_of_several_threads_restore_blas(threads):
    before, seen = blas_threads(), []

    def caller(k):
        for _ in range(5):
            schedule.run(lambda task: (time.sleep(0.0005 * k), seen.append(task)), range(4))

    callers = [threading.Thread(target=caller, args=(k,)) for k in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert len(seen) == 4 * 5 * 4
    assert blas_threads() == before


@pytest.mark.parametrize(("n", "step"), [(0, 3), (1, 3), (3, 3), (10, 3), (5, 100)])
def test_slices_cover_the_range(n, step):
    pieces = schedule.slices(n, step)
    assert np.array_equal(np.concatenate([np.arange(n)[piece] for piece in pieces] or [[]]), np.arange(n))
    assert all(piece.stop - piece.start <= step for piece in pieces)
