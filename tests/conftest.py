"""Processes that run the tests share the cores: with all threads in each of them, they would wait for one another."""

import os

import scipy.linalg  # noqa: F401  (its BLAS must be there to be limited)
from threadpoolctl import threadpool_limits

from bochner.engine.schedule import available_cores


def pytest_configure(config):
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes > 1:
        threadpool_limits(max(1, available_cores() // processes), user_api="blas")
