"""EigenPro on kernel matrices whose rows are chosen: what a sample cannot see."""

import sys

import numpy as np
import pytest

from bochner import Gaussian, Laplacian, Matern
from bochner.models.expansion import KernelRows
from bochner.solvers import eigenpro
from bochner.solvers.eigenpro import Loss

N, FAR, EPOCHS = 1200, slice(600, 608), 30
UNLIKE = np.vstack([np.eye(3), -np.eye(3), [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]])


@pytest.fixture(autouse=True)
def _small_sample(monkeypatch):
    """A sample, and rows by which the length of steps is found, that leave rows between them."""
    for name, size in (("_SAMPLE", 512), ("_CHECKED", 256)):
        monkeypatch.setattr(sys.modules["bochner.solvers.eigenpro"], name, size)


def fitted(kernel, X, y, weights, alpha=1e-3):
    """Fit, and give the number of epochs, which is less than asked for if steps have gone astray, and the errors."""
    loss, matrix = Loss(lambda scores, rows: scores - y[rows], 1.0, np.zeros(1)), KernelRows(kernel, X)
    solution = eigenpro(matrix, loss, alpha, weights, np.random.default_rng(1), tolerance=0.0, max_epochs=EPOCHS)
    return solution.n_iter, abs(matrix.product(slice(0, N), solution.value[:N]) - y)


@pytest.mark.parametrize("shifts", [UNLIKE, np.tile([[1.0, 0.0, 0.0]], (8, 1))], ids=["unlike", "alike"])
def test_a_few_rows_far_from_the_sample_do_not_lead_the_others_astray(shifts):
    X = 0.05 * np.random.default_rng(0).normal(size=(N, 3))
    X[FAR] += shifts
    y = np.sin(20.0 * X[:, :1])
    y[FAR] = 5.0
    n_epochs, errors = fitted(Matern(1.5, 1.0), X, y, np.ones(N))
    assert n_epochs == EPOCHS
    assert np.delete(errors, np.arange(N)[FAR]).mean() < 0.1
    assert errors[FAR].mean() < 2.5  # later, these get there as well


@pytest.mark.parametrize("weight", [10.0, 1000.0])
def test_one_heavy_row_does_not_keep_the_others(weight):
    X = 0.05 * np.random.default_rng(0).normal(size=(N, 3))
    y, weights = np.sin(20.0 * X[:, :1]), np.ones(N)
    _, alike = fitted(Matern(1.5, 1.0), X, y, weights)
    weights[600] = weight
    n_epochs, errors = fitted(Matern(1.5, 1.0), X, y, weights)
    assert n_epochs == EPOCHS
    assert errors.mean() < 1.5 * alike.mean()


@pytest.mark.parametrize("alpha", [0.5, 5.0])
@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern(2.5, 5.0), Laplacian(3.0)], ids=repr)
def test_a_penalty_that_is_large_beside_what_eigenvectors_leave_is_no_hindrance(kernel, alpha):
    X = np.random.default_rng(0).normal(size=(N, 5))
    y = np.sin(X[:, :1]) + X[:, 1:2] ** 2
    _, errors = fitted(kernel, X, y, np.ones(N), alpha)
    K = kernel(X)
    exact = abs(K @ np.linalg.solve(K + alpha * np.eye(N), y) - y)
    assert np.linalg.norm(errors - exact) < 1e-3 * np.linalg.norm(y)


def test_rows_that_are_the_same_over_and_over_have_few_eigenvectors():
    """Of ten points there are ten eigenvalues; the others are rounding, by which nothing can be divided."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))[rng.integers(10, size=N)]
    _, errors = fitted(Laplacian(1.0), X, X[:, :1], np.ones(N))
    assert errors.max() < 1e-3


def test_progress_tells_epochs_and_both_errors():
    X = np.random.default_rng(0).normal(size=(N, 3))
    y, told = X[:, :1], []
    loss, matrix = Loss(lambda scores, rows: scores - y[rows], 1.0, np.zeros(1)), KernelRows(Laplacian(1.0), X)
    eigenpro(
        matrix,
        loss,
        0.1,
        np.ones(N),
        np.random.default_rng(1),
        max_epochs=2,
        training_error=lambda scores: float(np.square(scores - y).mean()),
        held_out_error=lambda coefficients, intercept: 0.5,
        progress=lambda what, done: told.append(what),
    )
    after_one = next(what for what in told if what.startswith("Epoch 2"))
    assert after_one.endswith(", held-out error 0.5")
    assert 0.0 < float(after_one.partition("training error ")[2].partition(",")[0]) < np.square(y).mean()
