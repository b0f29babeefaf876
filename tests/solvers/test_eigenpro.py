"""EigenPro on kernel matrices whose rows are chosen: what a sample cannot see."""

import sys

import numpy as np

from bochner import Matern
from bochner.models.expansion import KernelRows
from bochner.solvers import eigenpro
from bochner.solvers.eigenpro import Loss


def test_a_few_rows_far_from_the_sample_do_not_lead_the_others_astray(monkeypatch):
    """Rows that are unlike the sample, and unlike those by which the length of steps is found."""
    for name, size in (("_SAMPLE", 512), ("_CHECKED", 256)):
        monkeypatch.setattr(sys.modules["bochner.solvers.eigenpro"], name, size)
    rng, n, far = np.random.default_rng(0), 1200, slice(600, 604)
    X = 0.05 * rng.normal(size=(n, 3))
    X[far] += [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]
    y = np.sin(20.0 * X[:, :1])
    y[far] = 5.0
    loss, matrix = Loss(lambda scores, rows: scores - y[rows], 1.0, np.zeros(1)), KernelRows(Matern(1.5, 1.0), X)
    how = {"tolerance": 0.0, "max_epochs": 30}
    solution = eigenpro(matrix, loss, 1e-3, np.ones(n), np.random.default_rng(1), **how)
    errors = abs(matrix.product(slice(0, n), solution.value[:n]) - y)
    assert solution.n_iter == how["max_epochs"]  # or else they have gone astray
    assert np.delete(errors, np.arange(n)[far]).mean() < 0.1
    assert errors[far].mean() < 2.5  # later, these get there as well
