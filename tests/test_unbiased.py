"""Features are unbiased: over many seeds their inner products average to the kernel, as far as t-tests can tell.

A case is a kernel with directions and a sampling scheme. For every dimension it draws frequencies with SEEDS
independent seeds and averages cos(w . difference) at six differences: along an axis and in a generic direction, at
distances 0.3, 1 and 2. Geometry alternates: none, a vector of length scales, a full metric (singular if d = 5), both.
There are two verdicts:

- each mean is compared with the kernel by a t-test, Bonferroni over differences and dimensions;
- one more t-test takes them all together (but d = 1, which would rule it) along the change of a wrong bandwidth.

Each gets half of the level of a case. FALSE_ALARMS = 1e-3 is the probability, over seeds, that anything in this file
fails though all is right; the seeds are fixed. Every case also asserts that it would find a bandwidth that is wrong
by 3 % with probability 0.99, and at the end the slips of the paper are made on purpose, and found.
"""

import itertools

import naive
import numpy as np
import pytest
from scipy.stats import norm, t
from threadpoolctl import threadpool_limits

from bochner import (
    ExponentialPower,
    Gaussian,
    L1Laplacian,
    Laplacian,
    Matern,
    RandomFeatures,
    RationalQuadratic,
    directions,
    frequencies,
    kernels,
    laws,
)

FALSE_ALARMS = 1e-3
SEEDS = 40
DIMENSIONS = (1, 2, 3, 5, 16, 70)
# Frequencies of a seed, fewer for the samplings with less noise. Rough kernels feel a bandwidth less and need more.
RADIAL = {
    "gaussian": (Gaussian(), 800),
    "laplacian": (Laplacian(), 1700),
    "matern 0.3": (Matern(0.3), 1700),
    "matern 1.5": (Matern(1.5), 800),
    "matern 4": (Matern(4.0), 800),
    "matern inf": (Matern(np.inf), 800),
    "power 0.5": (ExponentialPower(0.5), 4800),
    "power 1.5": (ExponentialPower(1.5), 1000),
    "power 2": (ExponentialPower(2.0), 800),
    "rational quadratic": (RationalQuadratic(0.8), 1000),
}
KERNELS = {**RADIAL, "l1 laplacian": (L1Laplacian(), 1000)}
DIRECTIONS = ("gaussian", "orthogonal", "hadamard")
SAMPLINGS = {"random": 1, "stratified": 4, "sobol": 3}
CASES = [
    *itertools.product(RADIAL, DIRECTIONS, SAMPLINGS),
    *itertools.product(["l1 laplacian"], ["gaussian"], SAMPLINGS),
]
LARGE = [("laplacian", "stratified"), ("power 1.5", "random")]
LEVEL = FALSE_ALARMS / (len(CASES) + len(LARGE))


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):  # thousands of tiny products
        yield


def with_geometry(kernel, d, which):
    """The kernel with the identity, length scales, a metric (a diagonal one for the separable kernel), or both."""
    rng = np.random.default_rng(d)
    scales, diagonal = rng.uniform(0.5, 2.0, (2, d))
    root = (np.eye(d) + rng.normal(size=(d, d)) / np.sqrt(d))[:, : 3 if d == 5 else d]
    metric = diagonal if isinstance(kernel, L1Laplacian) else root @ root.T
    geometries = {}, {"length_scale": scales}, {"metric": metric}, {"length_scale": scales, "metric": metric}
    return kernel.replace(**geometries[which])


def differences(kernel, d):
    """Differences along an axis and in a generic direction, at distances 0.3, 1 and 2, with these distances."""
    directions = np.vstack([np.eye(1, d, d // 2), np.random.default_rng(d).normal(size=(1, d))])[: min(d, 2)]
    unit = directions / naive.distances(kernel, directions, np.zeros((1, d)))
    radii = np.repeat([0.3, 1.0, 2.0], len(unit))
    return np.tile(unit, (3, 1)) * radii[:, None], radii


def estimates(kernel, directions, sampling, p, d, entropy):
    """The kernel at the differences as the features have it, one row for each seed."""
    deltas, radii = differences(kernel, d)
    base = np.linspace(-1.0, 1.0, d)
    rows = np.vstack([base, base + deltas])
    found = np.empty((SEEDS, len(deltas)))
    for seed in range(SEEDS):
        rng = np.random.default_rng((*entropy, d, seed))
        features = RandomFeatures(kernel, 2 * p, directions=directions, sampling=sampling, random_state=rng).fit(rows)
        if d in (2, 5, 16, 300):  # through the transform, elsewhere through the frequencies
            phi = features.transform(rows)
            found[seed] = phi[1:] @ phi[0]
        else:
            found[seed] = np.cos(features.frequencies_ @ deltas.T).mean(axis=0)
    return found, radii


def verdicts(name, directions, sampling, dimensions=DIMENSIONS, p=None):
    """The corrected p-values of the single tests (the least) and of the pooled one, and the power of the latter."""
    kernel, most = KERNELS[name]
    p = most // SAMPLINGS[sampling] if p is None else p
    case = list(KERNELS).index(name)
    entropy = (case, DIRECTIONS.index(directions), list(SAMPLINGS).index(sampling))
    profile = naive.PROFILES[type(kernel).__name__]
    errors, shifts = [], []
    for i, d in enumerate(dimensions):
        found, radii = estimates(with_geometry(kernel, d, (case + i) % 4), directions, sampling, p, d, entropy)
        errors.append(found - profile(kernel, radii))
        shifts.append((d > 1) * (profile(kernel, 1.03 * radii) - profile(kernel, radii)))
    errors, shift = np.hstack(errors), np.hstack(shifts)
    weights = shift / errors.var(axis=0, ddof=1)
    pooled = errors @ weights
    noncentrality = abs(shift @ weights) / (pooled.std(ddof=1) / np.sqrt(SEEDS))
    power = norm.cdf(noncentrality - t.isf(LEVEL / 4, SEEDS - 1))
    return 2 * errors.shape[1] * p_values(errors).min(), 2 * p_values(pooled), power


def p_values(errors):
    scores = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(SEEDS))
    return 2 * t.sf(abs(scores), SEEDS - 1)


@pytest.mark.parametrize(("name", "directions", "sampling"), CASES)
def test_features_are_unbiased(name, directions, sampling):
    single, pooled, power = verdicts(name, directions, sampling)
    assert single > LEVEL
    assert pooled > LEVEL
    assert power > 0.99


@pytest.mark.parametrize(("name", "sampling"), LARGE)
def test_hadamard_rows_without_a_rotation_are_unbiased_within_their_noise(name, sampling):
    single, pooled, _ = verdicts(name, "hadamard", sampling, dimensions=(300,), p=1024)
    assert single > LEVEL
    assert pooled > LEVEL


# --- the same tests on deliberately wrong laws ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "name", "directions", "sampling"),
    [
        (1.03, "laplacian", "orthogonal", "stratified"),
        (1 / 1.03, "power 0.5", "hadamard", "random"),
        (1.03, "l1 laplacian", "gaussian", "sobol"),
    ],
)
def test_a_bandwidth_wrong_by_3_percent_is_found(factor, name, directions, sampling, monkeypatch):
    right = kernels.Kernel.whitening
    monkeypatch.setattr(kernels.Kernel, "whitening", lambda self, d: factor * right(self, d))
    single, pooled, _ = verdicts(name, directions, sampling)
    assert min(single, pooled) < LEVEL


def one_scale_per_coordinate(monkeypatch):
    def wrong(kernel, n, dimension, sampling, for_directions, for_radii):
        scales = np.exp(0.5 * kernel.log_mixture(*for_radii.random((kernel.mixture_uniforms, n, dimension))))
        return scales * for_directions.standard_normal((n, dimension))

    monkeypatch.setattr(frequencies, "_scaled_gaussians", wrong)


def no_root_of_two_nu(monkeypatch):
    mixture, radius = Matern.log_mixture, Matern.log_radius
    monkeypatch.setattr(Matern, "log_mixture", lambda self, *u: mixture(self, *u) - np.log(2 * self.nu))
    monkeypatch.setattr(Matern, "log_radius", lambda self, u, d: radius(self, u, d) - 0.5 * np.log(2 * self.nu))


def radius_is_the_stable_variable(monkeypatch):
    monkeypatch.setattr(ExponentialPower, "log_radius", lambda self, u, d: self.log_mixture(*u[1:]))


def radius_of_the_unpadded_dimension(monkeypatch):
    unpadded, rows, radii = [], directions.hadamard_rows, frequencies._radii

    def noting_rows(n, dimension, rng):
        unpadded.append(dimension)
        return rows(n, dimension, rng)

    monkeypatch.setattr(directions, "hadamard_rows", noting_rows)
    monkeypatch.setattr(frequencies, "_radii", lambda kernel, n, _, *rest: radii(kernel, n, unpadded[-1], *rest))


def stable_in_the_0_parametrisation(monkeypatch):
    right = laws.log_positive_stable

    def wrong(u, v, a):
        shift = np.cos(np.pi * a / 2) ** (1 / a) * np.tan(np.pi * a / 2)
        return np.log(abs(np.exp(right(u, v, a)) - shift))

    monkeypatch.setattr(laws, "log_positive_stable", wrong)


def stable_of_half_the_scale(monkeypatch):
    right = laws.log_positive_stable
    monkeypatch.setattr(laws, "log_positive_stable", lambda u, v, a: right(u, v, a) - np.log(2))


SLIPS = [
    (one_scale_per_coordinate, "laplacian", "gaussian", "random"),
    (one_scale_per_coordinate, "power 1.5", "gaussian", "random"),
    (no_root_of_two_nu, "matern 1.5", "gaussian", "random"),
    (no_root_of_two_nu, "matern 0.3", "orthogonal", "stratified"),
    (radius_is_the_stable_variable, "power 0.5", "orthogonal", "random"),
    (radius_is_the_stable_variable, "power 1.5", "hadamard", "sobol"),
    (radius_of_the_unpadded_dimension, "gaussian", "hadamard", "random"),
    (radius_of_the_unpadded_dimension, "laplacian", "hadamard", "stratified"),
    (stable_in_the_0_parametrisation, "power 0.5", "gaussian", "random"),
    (stable_in_the_0_parametrisation, "power 1.5", "orthogonal", "sobol"),
    (stable_of_half_the_scale, "power 0.5", "gaussian", "random"),
]


@pytest.mark.parametrize(("slip", "name", "directions", "sampling"), SLIPS)
def test_a_slip_is_found(slip, name, directions, sampling, monkeypatch):
    slip(monkeypatch)
    single, pooled, _ = verdicts(name, directions, sampling, DIMENSIONS[:4])
    assert min(single, pooled) < LEVEL
