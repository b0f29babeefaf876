"""Tabulated profiles against the profiles: the error that the theorem allows, for every kernel."""

import numpy as np
import pytest

from bochner import (
    ExponentialPower,
    Gaussian,
    L1Laplacian,
    Laplacian,
    Matern,
    RadialKernel,
    RationalQuadratic,
)
from bochner.engine import table


class Own(RadialKernel):
    """The rational quadratic of shape 1, of a user's hand."""

    def profile(self, r):
        return 1 / (1 + r**2 / 2)


PROFILES = {
    repr(kernel): kernel.profile
    for kernel in (
        Gaussian(),
        Laplacian(),
        Matern(nu=0.01),
        Matern(nu=0.3),
        Matern(nu=1.5),
        Matern(nu=20.0),
        Matern(nu=61.0),
        ExponentialPower(exponent=0.02),
        ExponentialPower(exponent=0.7),
        ExponentialPower(exponent=1.5),
        ExponentialPower(exponent=2.0),
        RationalQuadratic(shape=0.01),
        RationalQuadratic(shape=30.0),
    )
} | {"a user's": lambda r: Own.profile(None, r)}

RHO = 129
#: What the theorem leaves of degree 3 and 7, and the rounding of a few operations.
BOUND = {
    np.float32: 4 * RHO**-3 / (RHO - 1) + 2 * 2.0**-24,
    np.float64: 4 * RHO**-7 / (RHO - 1) + 4e-15,
}
#: Rounding of the profiles themselves, where it is more than that (see test_matern_profile), doubled by the table.
ROUNDING = {"Matern()": 2e-14, "Matern(nu=20.0)": 3e-13}
every_precision = pytest.mark.parametrize("dtype", BOUND, ids=lambda dtype: dtype.__name__)


def looked_up(tabulated, arguments):
    out = np.empty_like(arguments[None])
    table.look_up(tabulated, arguments[None], out)
    return out[0]


def arguments(tabulated, dtype, n=20_001):
    """Numbers over the whole table, with its ends and the edges of octaves and cells."""
    low, high = dtype(tabulated.smallest), np.nextafter(dtype(tabulated.largest), dtype(0))
    t = np.geomspace(tabulated.smallest, tabulated.largest, n).astype(dtype)
    edges = (tabulated.largest * 2.0 ** -np.arange(1, 8)[:, None] * (1 + np.arange(32) / 32)).ravel().astype(dtype)
    around = (np.nextafter(edges, dtype(0)), edges, np.nextafter(edges, dtype(np.inf)))
    return np.clip(np.concatenate([t, *around]), low, high)


@every_precision
@pytest.mark.parametrize("largest", [1e-3, 1.0, 37.0, 1e8])
@pytest.mark.parametrize("name", PROFILES)
def test_error_is_below_that_of_the_theorem(name, dtype, largest):
    def function(t):
        return PROFILES[name](np.sqrt(t))

    tabulated = table.tabulate(function, largest, dtype)
    t = arguments(tabulated, dtype)
    assert abs(looked_up(tabulated, t) - function(t.astype(np.float64))).max() < BOUND[dtype] + ROUNDING.get(name, 0)


@every_precision
def test_manhattan_profiles_are_tabulated_as_well(dtype):
    # exp(-r) as a function of r itself is analytic and bounded in the half plane, too.
    tabulated = table.tabulate(L1Laplacian().profile, 50.0, dtype)
    t = arguments(tabulated, dtype)
    assert abs(looked_up(tabulated, t) - np.exp(-t.astype(np.float64))).max() < BOUND[dtype]


@every_precision
@pytest.mark.parametrize("largest", [1e-30, 0.5, 1.0, 3.9, 4.0, 1e30])
def test_table_holds_the_largest_argument(dtype, largest):
    tabulated = table.tabulate(lambda t: np.exp(-t), largest, dtype)
    assert tabulated.largest >= dtype(largest)
    value = looked_up(tabulated, np.array([largest], dtype=dtype))[0]
    assert abs(value - np.exp(-float(dtype(largest)))) < BOUND[dtype]


@every_precision
def test_smaller_and_larger_arguments_are_clamped(dtype):
    tabulated = table.tabulate(lambda t: 1 / (1 + t), 8.0, dtype)
    below, above = looked_up(tabulated, np.array([0.0, 1e9], dtype=dtype))
    assert 0.99 < below <= 1
    assert 0 < above < 0.2
