"""A kernel of a user's own: two functions, and everything else works."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaincinv
from sklearn.base import clone

from bochner import RadialKernel, RandomFeatures, RationalQuadratic


@dataclass(frozen=True, eq=False, repr=False)
class Own(RadialKernel):
    """The rational quadratic, written anew as a user would."""

    shape: float = 2.0
    length_scale: Any = 1.0
    metric: Any = None

    def profile(self, r):
        return (1 + r**2 / (2 * self.shape)) ** -self.shape

    def mixture(self, u):
        return gammaincinv(self.shape, u) / self.shape


class Bare(RadialKernel):
    """Only the two functions: the rational quadratic of shape 1."""

    def profile(self, r):
        return 1 / (1 + r**2 / 2)

    def mixture(self, u):
        return -np.log1p(-u)


class WithoutMixture(RadialKernel):
    def profile(self, r):
        return np.exp(-r)


X = np.random.default_rng(0).normal(size=(200, 5))


@pytest.mark.parametrize(("own", "shipped"), [(Own, RationalQuadratic(2.0)), (Bare, RationalQuadratic(1.0))])
@pytest.mark.parametrize(("dtype", "bound"), [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_values_are_those_of_the_kernel_that_ships(own, shipped, dtype, bound):
    points = X.astype(dtype)
    assert abs(own()(points) - shipped(points)).max() < bound


@pytest.mark.parametrize("own", [Own, Bare])
def test_it_has_parameters_like_the_kernels_that_ship(own):
    kernel = own(length_scale=2.0, metric=np.eye(5))
    assert clone(kernel) == kernel
    assert kernel.replace(length_scale="median").resolve(X).length_scale > 1
    assert type(own()).__name__ in repr(own())


@pytest.mark.parametrize("directions", ["auto", "gaussian", "orthogonal", "hadamard"])
@pytest.mark.parametrize("sampling", ["random", "stratified", "sobol"])
def test_it_works_with_all_directions_and_samplings(directions, sampling):
    features = RandomFeatures(
        Own(length_scale="median"), 4096, directions=directions, sampling=sampling, random_state=0
    )
    Phi = features.fit_transform(X)
    assert abs(Phi @ Phi.T - features.kernel_(X)).mean() < 0.02


def test_it_has_the_same_frequencies_as_the_kernel_that_ships():
    own, shipped = (RandomFeatures(k, 64, random_state=0).fit(X).frequencies_ for k in (Own(), RationalQuadratic(2.0)))
    assert np.allclose(own, shipped, rtol=1e-9)


def test_a_missing_mixture_is_named():
    with pytest.raises(TypeError, match="WithoutMixture must define 'mixture'"):
        WithoutMixture().mixture(np.array([0.5]))
