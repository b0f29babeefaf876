"""Uniforms of each scheme: each alone is uniform, and a set of them is as even as the scheme promises.

Seeds are fixed. With fresh ones, each statistical test would fail with probability ``FALSE_ALARM``; there are about
50 of them here, so all together less than once in 10,000 runs.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from bochner import sampling

FALSE_ALARM = 1e-6
SEEDS = range(1500)


def streams():
    return (np.random.default_rng(seed) for seed in SEEDS)


def is_uniform(sample):
    return stats.kstest(sample, "uniform").pvalue > FALSE_ALARM


def strata(u):
    """The stratum of each point, if each axis is cut into as many as there are points."""
    return np.floor(u * u.shape[-1] * (1 + 1e-15)).astype(int)


@pytest.mark.parametrize("scheme", sampling.SCHEMES)
@pytest.mark.parametrize("n_points", [1, 8, 13])
def test_each_position_alone_is_uniform(scheme, n_points):
    draws = np.array([sampling.uniforms(scheme, n_points, 3, rng) for rng in streams()])
    for position in {0, n_points // 2, n_points - 1}:
        assert is_uniform(draws[:, 0, position])
        assert is_uniform(draws[:, 2, position])


@pytest.mark.parametrize("scheme", sampling.SCHEMES)
def test_axes_are_not_correlated(scheme):
    u, v = np.array([sampling.uniforms(scheme, 4, 2, rng)[:, 1] for rng in streams()]).T
    assert stats.pearsonr(u, v).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scheme", sampling.SCHEMES)
@pytest.mark.parametrize(("dimension", "n_points"), [(1, 1), (3, 7), (5, 64), (70, 100)])
def test_shape_is_axes_times_points_in_the_open_interval(scheme, dimension, n_points):
    u = sampling.uniforms(scheme, n_points, dimension, np.random.default_rng(0))
    assert u.shape == (dimension, n_points)
    assert u.dtype == np.float64
    assert ((u > 0) & (u < 1)).all()


@pytest.mark.parametrize("n_points", [1, 2, 7, 100, 1024, 4097])
def test_stratified_has_one_point_in_each_stratum_of_each_axis(n_points):
    u = sampling.uniforms("stratified", n_points, 4, np.random.default_rng(0))
    assert (np.sort(strata(u), axis=1) == np.arange(n_points)).all()


@pytest.mark.parametrize("n_points", [1, 2, 64, 1024])
def test_sobol_has_one_point_in_each_stratum_of_each_axis(n_points):
    u = sampling.uniforms("sobol", n_points, 4, np.random.default_rng(0))
    assert (np.sort(strata(u), axis=1) == np.arange(n_points)).all()


def test_sobol_has_one_point_in_each_elementary_rectangle():
    u, v = sampling.uniforms("sobol", 256, 2, np.random.default_rng(0))
    for k in range(9):
        boxes = np.floor(u * 2**k) * 2 ** (8 - k) + np.floor(v * 2 ** (8 - k))
        assert len(set(boxes)) == 256


def test_sobol_cut_short_still_has_different_strata():
    u = sampling.uniforms("sobol", 100, 3, np.random.default_rng(0))
    assert all(len(set(row)) == 100 for row in np.floor(u * 128))


def test_random_is_not_stratified():
    u = sampling.uniforms("random", 1000, 1, np.random.default_rng(0))
    assert 580 < len(set(strata(u)[0])) < 690  # 632 strata of 1000 are hit on average, with deviation 10


@pytest.mark.parametrize("scheme", sampling.SCHEMES)
def test_the_same_stream_gives_the_same_uniforms(scheme):
    first, second = (sampling.uniforms(scheme, 33, 3, np.random.default_rng(5)) for _ in range(2))
    assert (first == second).all()


def test_too_many_axes_for_sobol_are_refused():
    most = stats.qmc.Sobol.MAXDIM
    with pytest.raises(ValueError, match=f"at most {most} dimensions, {most + 1} are needed"):
        sampling.uniforms("sobol", 2, most + 1, np.random.default_rng(0))


def test_the_ends_of_the_interval_move_inside():
    low, middle, high = sampling.open_interval(np.array([0.0, 0.5, 1.0]))
    assert 0 < low < 2e-16
    assert 1 - low < 1  # what the laws take for the other tail
    assert middle == 0.5
    assert 1 - 2e-16 < high < 1


class AtTheEnds:
    """A generator that hits the ends of its interval."""

    def __init__(self, value):
        self.value = value

    def random(self, shape):
        return np.full(shape, self.value)

    def permuted(self, x, axis):
        return x


@pytest.mark.parametrize("value", [0.0, 1 - 2.0**-53])
@pytest.mark.parametrize("scheme", ["random", "stratified"])
def test_uniforms_at_the_ends_are_still_inside(scheme, value):
    u = sampling.uniforms(scheme, 7, 2, AtTheEnds(value))
    assert ((u > 0) & (u < 1)).all()


def by_rank(rng, n_points=6):
    return sampling.stratify_by_rank(lambda n: rng.exponential(size=n), n_points, rng)


@pytest.mark.parametrize("position", [0, 3, 5])
def test_stratified_by_rank_has_exactly_the_law(position):
    sample = [by_rank(rng)[position] for rng in streams()]
    assert stats.kstest(sample, "expon").pvalue > FALSE_ALARM


def test_stratified_by_rank_has_the_right_mean():
    means = np.array([by_rank(rng).mean() for rng in streams()])
    assert abs(means.mean() - 1) < -ndtri(FALSE_ALARM / 2) * means.std() / np.sqrt(len(means))


def test_stratified_by_rank_spreads_over_the_quantiles():
    # Plainly drawn, the mean of u would have a variance of 1 / 12n; one exact stratum for each leaves 1 / 12n^3, and
    # ranks among 32 candidates a stratum add 1 / 32 of the plain variance.
    u = np.array([-np.expm1(-by_rank(rng, 16)).mean() for rng in streams()])
    assert u.var() < 0.06 / (12 * 16)
