"""Gradients of fitted functions against finite differences, and their moments against the definition."""

import numpy as np
import pytest

from bochner import (
    ExponentialPower,
    Gaussian,
    KernelRegressor,
    Laplacian,
    Matern,
    RandomFeatureRegressor,
    RationalQuadratic,
)
from bochner.models.gradients import GradientMoments, gradients_of_expansion

KERNELS = [Gaussian(2.0), Laplacian(2.0), Matern(0.3, 2.0), Matern(2.5, 2.0), ExponentialPower(0.7, 2.0)]
METRICS = {"none": None, "diagonal": np.array([1.0, 0.2, 3.0, 0.0]), "full": np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5}


def data(n=30, d=4, k=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(n, k)), rng.normal(size=(7, d))


def softened(kernel, points, coefficients, X, softening):
    """The expansion itself, plainly."""
    T = kernel.whitening(X.shape[1])
    difference = X[:, None] - points
    difference = difference * T if T.ndim == 1 else difference @ T
    return kernel.profile(np.sqrt(np.square(difference).sum(axis=-1) + softening**2)) @ coefficients


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kernel", [*KERNELS, RationalQuadratic(1.5, 2.0)], ids=repr)
def test_gradients_of_an_expansion_are_those_of_finite_differences(kernel, metric):
    points, coefficients, X = data()
    kernel = kernel.replace(metric=METRICS[metric])
    (rows, found), *rest = gradients_of_expansion(kernel, points, coefficients, X, 0.3)
    assert not rest
    assert rows == slice(0, 7)
    h = 1e-5
    for j, step in enumerate(h * np.eye(4)):
        ahead, behind = (softened(kernel, points, coefficients, X + s * step, 0.3) for s in (1, -1))
        assert found[:, :, j] == pytest.approx((ahead - behind) / (2 * h), rel=1e-5, abs=1e-7)


def test_an_outlier_leaves_the_softening_of_the_others_as_it_is():
    points, coefficients, X = data()
    points[0], coefficients[0] = 1e4, 0.0
    kernel, softening = Laplacian(2.0), 0.1
    ((_, found),) = gradients_of_expansion(kernel, points, coefficients, X, softening)
    ((_, expected),) = gradients_of_expansion(kernel, points[1:], coefficients[1:], X, softening)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_gradients_at_the_points_themselves_are_finite_without_softening():
    points, coefficients, _ = data()
    ((_, found),) = gradients_of_expansion(Laplacian(2.0), points, coefficients, points, 0.0)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("diagonal", [False, True])
def test_moments_are_weighted_averages_over_rows_and_sums_over_outputs(diagonal):
    rng = np.random.default_rng(1)
    gradients, weights = rng.normal(size=(50, 3, 4)), rng.uniform(size=50)
    blocks = [(slice(0, 20), gradients[:20]), (slice(20, 50), gradients[20:])]
    moments = GradientMoments.of(blocks, weights, 3, 4, diagonal)
    outer = np.einsum("i,ika,ikb->ab", weights, gradients, gradients) / weights.sum()
    mean = np.average(gradients, axis=0, weights=weights)
    centred = outer - mean.T @ mean
    assert moments.outer == pytest.approx(np.diag(outer) if diagonal else outer)
    assert moments.centred == pytest.approx(np.diag(centred) if diagonal else centred)


def test_several_outputs_are_the_sum_of_single_ones():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
    kernel = Laplacian(2.0)

    def outer(y):
        model = RandomFeatureRegressor(kernel, 256, alpha=0.1, random_state=0).fit(X, y)
        coefficients = model._fitted().coefficients
        return GradientMoments.of(model._gradients(X, 0.2), np.ones(300), coefficients.shape[1], 3, False).outer

    assert outer(Y) == pytest.approx(outer(Y[:, 0]) + outer(Y[:, 1]), rel=1e-6)


def test_features_and_the_exact_kernel_have_the_same_gradients():
    """With many features of a smooth kernel; the heavy tails of others need a smoothing that differs between both."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    kernel = Gaussian(1.5)
    models = [
        RandomFeatureRegressor(kernel, 16384, alpha=1.0, random_state=0).fit(X, y),
        KernelRegressor(kernel, alpha=1.0).fit(X, y),
    ]
    approximate, exact = (GradientMoments.of(m._gradients(X, 0.0), np.ones(400), 1, 3, False).outer for m in models)
    assert abs(approximate - exact).max() < 0.03 * abs(exact).max()
