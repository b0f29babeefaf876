"""The Matérn profile against mpmath, for all smoothnesses and distances."""

import mpmath
import numpy as np
import pytest

from bochner import Gaussian, Matern

#: The Bessel function, its power and the Gamma function cancel in logarithms: a few hundred roundings at nu = 60.
RELATIVE, ABSOLUTE = 5e-13, 1e-300
DISTANCES = np.geomspace(1e-8, 50, 23)


def exact(r, nu):
    """The formula itself; beyond nu = 200, where mpmath's Bessel function fails, from its integral about the peak."""
    r, nu = mpmath.mpf(r), mpmath.mpf(nu)
    z = mpmath.sqrt(2 * nu) * r
    bessel = log_bessel_by_integral(z, nu) if nu > 200 else mpmath.log(mpmath.besselk(nu, z))
    return mpmath.exp((1 - nu) * mpmath.log(2) - mpmath.loggamma(nu) + nu * mpmath.log(z) + bessel)


def log_bessel_by_integral(z, nu):
    """Logarithm of K_nu(z), the integral of exp(-z cosh t) cosh(nu t) over t > 0."""
    t, width = mpmath.asinh(nu / z), (nu**2 + z**2) ** mpmath.mpf("-0.25")
    peak = nu * t - z * mpmath.cosh(t)
    nodes = [max(t + k * width, 0) for k in range(-14, 15, 2)]
    return peak + mpmath.log(mpmath.quad(lambda s: mpmath.exp(-z * mpmath.cosh(s) - peak) * mpmath.cosh(nu * s), nodes))


@pytest.mark.parametrize("nu", [1e-4, 0.01, 0.3, 0.5, 1, 1.5, 2, 2.5, 4, 20, 59, 60, 60.001, 61, 200])
def test_profile_is_the_formula(nu):
    with mpmath.workdps(40):
        for r, value in zip(DISTANCES, Matern(nu).profile(DISTANCES), strict=True):
            assert float(abs(mpmath.mpf(value) - exact(r, nu))) <= ABSOLUTE + RELATIVE * value


@pytest.mark.parametrize("nu", [1e3, 1e5, 1e6, 1e12])
def test_profile_of_large_smoothness_is_the_formula(nu):
    r = np.array([1e-3, 0.1, 1.0, 5.0, 30.0])
    with mpmath.workdps(30):
        for x, value in zip(r, Matern(nu).profile(r), strict=True):
            assert float(abs(mpmath.mpf(value) - exact(x, nu))) <= RELATIVE * value


def test_profile_is_continuous_where_the_method_changes():
    below, above = Matern(60.0).profile(DISTANCES), Matern(np.nextafter(60.0, 61)).profile(DISTANCES)
    assert (abs(below - above) <= RELATIVE * above).all()


@pytest.mark.parametrize("nu", [1e-3, 0.3, 1.0, 2.0, 2.0 + 1e-9, 4.0, 59.0, 61.0, 1e6, np.inf])
def test_profile_is_one_at_zero_and_near_it(nu):
    # At small nu even 1e-300 is a distance: 1 - K is about r^(2 nu).
    r = np.array([0.0, 1e-300, 1e-200, 1e-150, 1e-100])
    values = Matern(nu).profile(r)
    assert values[0] == 1
    if nu > 0.2:
        assert (abs(values - 1) < 1e-12).all()


@pytest.mark.parametrize("nu", [0.01, 0.3, 0.5, 1.0, 1.5, 2.5, 4.0, 20.0, 59.0, 61.0, 1e6])
def test_profile_vanishes_at_large_distances(nu):
    assert (Matern(nu).profile(np.array([1e4, 1e7, 1e9, 1e10, 1e20, 1e150])) == 0).all()


@pytest.mark.parametrize("nu", [0.01, 0.3, 1.5, 4.0, 59.0, 61.0, 1e6])
def test_profile_decreases(nu):
    values = Matern(nu).profile(np.geomspace(1e-8, 1e3, 2000))
    assert (np.diff(values) <= 5e-14).all()


@pytest.mark.parametrize("nu", [1e8, 1e15, 1e200, 1e308])
def test_profile_approaches_the_gaussian(nu):
    assert abs(Matern(nu).profile(DISTANCES) - Gaussian().profile(DISTANCES)).max() < 1e-8
