"""The law of the frequencies of each kernel: its mixture and its radii give back the profile.

Seeds are fixed. With fresh ones, each statistical test would fail with probability ``FALSE_ALARM`` per distance; there
are about 1,000 of these here, so all together less than once in 1,000 runs.
"""

import numpy as np
import pytest
from scipy.special import gammaln, jv, ndtri

from bochner import ExponentialPower, Gaussian, L1Laplacian, Laplacian, Matern, RationalQuadratic, sampling

FALSE_ALARM = 1e-6
LARGEST_Z = -ndtri(FALSE_ALARM / 2)
DISTANCES = (0.1, 0.5, 1.0, 2.0)
KERNELS = [
    Gaussian(),
    Laplacian(),
    Matern(nu=0.01),
    Matern(nu=0.3),
    Matern(nu=4.0),
    Matern(nu=np.inf),
    ExponentialPower(exponent=0.02),
    ExponentialPower(exponent=0.7),
    ExponentialPower(exponent=1.5),
    ExponentialPower(exponent=2.0),
    RationalQuadratic(shape=0.01),
    RationalQuadratic(shape=0.5),
    RationalQuadratic(shape=1e4),
]
ENDS = sampling.open_interval(np.array([0.0, 1.0]))

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def plane_wave(t, d):
    """The mean of exp(i t u) over unit vectors u in d dimensions, as a function of t (Schoenberg, 1938)."""
    if d == 1:
        return np.cos(t)
    t = np.clip(t, 1e-5, 1e8)
    scale = gammaln(d / 2) + (d / 2 - 1) * np.log(2 / t)
    return np.where(t < 1e8, np.exp(scale) * jv(d / 2 - 1, t), 0.0)


def fits(values, expected):
    """Whether a mean is the expected one, by the standard error of independent draws."""
    return abs(values.mean() - expected) <= LARGEST_Z * values.std() / np.sqrt(len(values)) + 1e-7


@every_kernel
def test_profile_is_the_mean_of_gaussians_over_the_mixture(kernel):
    u = np.random.default_rng(0).uniform(*ENDS, size=(kernel.mixture_uniforms, 100_000))
    log_s = np.broadcast_to(kernel.log_mixture(*u), 100_000)
    for r in DISTANCES:
        assert fits(np.exp(-np.exp(np.minimum(log_s, 600)) * r**2 / 2), kernel.profile(r))


@every_kernel
def test_mixture_is_the_exponential_of_its_logarithm(kernel):
    u = np.random.default_rng(0).uniform(0.2, 0.8, size=(kernel.mixture_uniforms, 50))
    assert np.allclose(np.log(kernel.mixture(*u)), np.clip(kernel.log_mixture(*u), -690, 690), rtol=1e-12, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("scheme", sampling.SCHEMES)
@pytest.mark.parametrize("d", [1, 3, 16, 70])
def test_profile_is_the_mean_of_plane_waves_over_the_radii(kernel, scheme, d):
    n = 2048 if scheme == "stratified" and kernel.radius_uniforms > 1 else 16_384  # by rank, each takes 32 draws
    log_radii = kernel.sample_log_radii(n, d, scheme, np.random.default_rng(d))
    assert log_radii.shape == (n,)
    for r in DISTANCES:
        assert fits(plane_wave(r * np.exp(np.minimum(log_radii, 300)), d), kernel.profile(r))


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.radius_uniforms == 1], ids=repr)
@pytest.mark.parametrize("d", [3, 16, 70])
def test_profile_is_the_integral_of_plane_waves_over_the_quantiles(kernel, d):
    # Not a statistical test: the midpoint rule, which would see a bandwidth that is wrong by a part in a thousand.
    middles = (np.arange(20_000) + 0.5) / 20_000
    radii = np.exp(np.minimum(kernel.log_radius(middles[None], d), 300))
    for r in DISTANCES:
        assert abs(plane_wave(r * radii, d).mean() - kernel.profile(r)) < 1e-5


@every_kernel
@pytest.mark.parametrize("d", [1, 16])
def test_stratified_radii_are_more_even_than_random_ones(kernel, d):
    # Quantile ranges of a large sample: each holds its share, within a few of the rank's own noise.
    pool = np.sort(kernel.sample_log_radii(20_000, d, "random", np.random.default_rng(0)))
    ranks = np.searchsorted(pool, kernel.sample_log_radii(400, d, "stratified", np.random.default_rng(1))) / 20_000
    assert abs(np.sort(ranks) - (np.arange(400) + 0.5) / 400).max() < 0.02  # plainly drawn: 0.03 to 0.06


@every_kernel
def test_radii_at_the_ends_of_the_interval_are_finite(kernel):
    n = kernel.radius_uniforms
    corners = np.array(np.meshgrid(*[ENDS] * n)).reshape(n, -1)
    for d in (1, 3, 784):
        assert np.isfinite(kernel.log_radius(corners, d)).all()


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel.mixture_uniforms], ids=repr)
def test_mixtures_at_the_ends_of_the_interval_are_finite(kernel):
    n = kernel.mixture_uniforms
    corners = np.array(np.meshgrid(*[ENDS] * n)).reshape(n, -1)
    assert np.isfinite(kernel.log_mixture(*corners)).all()


def test_frequencies_of_the_l1_kernel_are_cauchy():
    w = L1Laplacian().coordinate_frequency(sampling.uniforms("random", 100_000, 1, np.random.default_rng(0))[0])
    for r in DISTANCES:
        assert fits(np.cos(r * w), np.exp(-r))
