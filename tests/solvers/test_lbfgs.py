"""L-BFGS by gradients: quadratics, a preconditioner of the wrong size, and where rounding ends it."""

import numpy as np
import pytest

from bochner.solvers.lbfgs import minimise_by_gradients


def quadratic(p=40, k=3, decay=2.0, seed=0):
    """A matrix with eigenvalues over some digits, and right-hand sides; the minimum is where A V = right."""
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.normal(size=(p, p)))
    A = (vectors * 10.0 ** -np.linspace(0.0, decay, p)) @ vectors.T
    return A, rng.normal(size=(p, k))


def minimised(gradient, shape, precondition=lambda V: V, goal=1e-8, max_iter=1000, tell=lambda norm: None):
    start = np.zeros(shape)
    return minimise_by_gradients(
        gradient, start, gradient(start), precondition, goal=goal, max_iter=max_iter, tell=tell
    )


@pytest.mark.parametrize("decay", [0.0, 1.0, 2.0])
def test_a_quadratic_is_solved(decay):
    A, right = quadratic(decay=decay)
    found = minimised(lambda V: A @ V - right, right.shape)
    assert found.norm <= 1e-8
    assert found.norm == pytest.approx(np.linalg.norm(A @ found.point - right), rel=1e-6)
    np.testing.assert_allclose(found.point, np.linalg.solve(A, right), atol=1e-8 * 10.0**decay)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_size_of_the_preconditioner_hardly_matters(size):
    A, right = quadratic()
    inverse = size * np.linalg.inv(A)
    found = minimised(lambda V: A @ V - right, right.shape, lambda V: inverse @ V)
    assert found.norm <= 1e-8
    assert found.n_iter <= 4


def test_rounding_ends_it_at_the_best_point():
    A, right = quadratic()
    noise = np.random.default_rng(1)
    norms = []
    found = minimised(
        lambda V: A @ V - right + 1e-6 * noise.normal(size=V.shape),
        right.shape,
        goal=0.0,
        max_iter=10_000,
        tell=norms.append,
    )
    assert found.n_iter < 1000
    assert found.norm == min(norms)
    assert found.norm < 1e-3


def test_what_rounding_costs_is_bounded():
    A, right = quadratic()
    noise, calls = np.random.default_rng(1), []

    def gradient(V):
        calls.append(None)
        return A @ V - right + 1e-3 * noise.normal(size=V.shape)

    found = minimised(gradient, right.shape, goal=0.0, max_iter=10_000)
    assert len(calls) < 3 * found.n_iter + 100


def test_a_steep_wall_behind_a_plain_is_not_run_into():
    """The slope is a tanh of a steep line: a unit step may overshoot, and far off the curvature is next to nothing."""
    found = minimised(lambda V: np.tanh(50.0 * (V - 3.0)) + 1e-3 * (V - 3.0), (5, 2))
    np.testing.assert_allclose(found.point, 3.0, atol=1e-8)


def test_at_the_goal_nothing_is_done():
    A, right = quadratic()
    found = minimised(lambda V: A @ V - right, right.shape, goal=1e9)
    assert found.n_iter == 0
    assert not found.point.any()


def test_iterations_are_counted():
    A, right = quadratic()
    told = []
    found = minimised(lambda V: A @ V - right, right.shape, max_iter=3, tell=told.append)
    assert found.n_iter == len(told) == 3
