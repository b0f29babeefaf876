"""Kernels as values: stored, compared, shown, cloned, pickled, and set by grid search only."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import clone

from bochner import ExponentialPower, Gaussian, L1Laplacian, Laplacian, Matern, RationalQuadratic

KERNELS = [
    Gaussian(),
    Laplacian(length_scale="median"),
    Matern(nu=2.5, length_scale=3.0),
    ExponentialPower(exponent=0.7, length_scale=[1.0, 2.0]),
    RationalQuadratic(shape=2.0, metric=np.array([[2.0, 1.0], [1.0, 3.0]])),
    L1Laplacian(metric=[1.0, 0.0]),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Gaussian, ["length_scale", "metric"]),
        (Laplacian, ["length_scale", "metric"]),
        (L1Laplacian, ["length_scale", "metric"]),
        (Matern, ["nu", "length_scale", "metric"]),
        (ExponentialPower, ["exponent", "length_scale", "metric"]),
        (RationalQuadratic, ["shape", "length_scale", "metric"]),
    ],
)
def test_parameters_are_those_of_the_design(kernel, names):
    assert list(kernel().get_params()) == names


@every_kernel
def test_constructor_only_stores(kernel):
    for name, value in kernel.get_params().items():
        assert getattr(type(kernel)(**kernel.get_params()), name) is value


def test_constructor_does_not_validate():
    assert Matern(nu=-1).get_params()["nu"] == -1


@every_kernel
def test_clone_is_equal_and_separate(kernel):
    copy = clone(kernel)
    assert copy is not kernel
    assert copy == kernel
    assert copy.set_params(length_scale=7.0) != kernel


@every_kernel
def test_pickle_keeps_the_kernel(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@every_kernel
def test_equal_kernels_have_equal_hashes(kernel):
    same = type(kernel)(**{name: _copied(value) for name, value in kernel.get_params().items()})
    assert same == kernel
    assert hash(same) == hash(kernel)


def _copied(value):
    return np.array(value).tolist() if isinstance(value, list | np.ndarray) else value


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Matern(nu=1.5), Matern(nu=2.5)),
        (Matern(nu=0.5), Laplacian()),
        (Laplacian(), L1Laplacian()),
        (Gaussian(), Gaussian(length_scale=2.0)),
        (Gaussian(), Gaussian(length_scale="median")),
        (Gaussian(), Gaussian(length_scale=[1.0])),
        (Gaussian(), Gaussian(metric=[1.0])),
        (Gaussian(metric=[1.0, 1.0]), Gaussian(metric=[1.0, 2.0])),
        (Gaussian(metric=[1.0, 1.0, 1.0, 1.0]), Gaussian(metric=np.ones((2, 2)))),
        (Gaussian(length_scale=[1.0, 2.0]), Gaussian(metric=[1.0, 2.0])),
        (Gaussian(), "gaussian"),
    ],
    ids=repr,
)
def test_different_kernels_are_not_equal(first, second):
    assert first != second


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Gaussian(), "Gaussian()"),
        (Laplacian("median"), "Laplacian(length_scale='median')"),
        (Matern(nu=2.5), "Matern(nu=2.5)"),
        (Matern(nu=1.5, length_scale=2.0), "Matern(length_scale=2.0)"),
        (ExponentialPower(0.5, [1.0, 2.0]), "ExponentialPower(exponent=0.5, length_scale=[1.0, 2.0])"),
    ],
    ids=repr,
)
def test_repr_shows_what_was_changed(kernel, text):
    assert repr(kernel) == text
    assert eval(text) == kernel


def test_assignment_is_an_error():
    kernel = Matern()
    for name in ("nu", "length_scale", "metric", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(kernel, name, 3.0)
    assert kernel == Matern()


def test_set_params_changes_in_place():
    kernel = Matern()
    assert kernel.set_params(nu=0.5, length_scale=2.0) is kernel
    assert kernel == Matern(nu=0.5, length_scale=2.0)


def test_replace_leaves_the_original():
    kernel = Matern()
    assert kernel.replace(nu=0.5) == Matern(nu=0.5)
    assert kernel == Matern()


def test_unknown_parameter_changes_nothing():
    kernel = Matern()
    with pytest.raises(
        ValueError, match=r"Matern has no parameter 'mu'\. Its parameters are: nu, length_scale, metric"
    ):
        kernel.set_params(nu=3.0, mu=1.0)
    assert kernel == Matern()


def test_resolve_returns_a_new_kernel_and_leaves_the_old():
    kernel = Laplacian("median")
    assert kernel.resolve([[0.0], [3.0]]) == Laplacian(3.0)
    assert kernel.length_scale == "median"
