"""Errors of the kernel matrix against dense linear algebra, and the estimate of them from random pairs."""

import tracemalloc

import naive
import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import bochner
from bochner import ExponentialPower, Gaussian, L1Laplacian, Laplacian, Matern, RandomFeatures
from bochner.diagnostics import approximation_error

DENSE = {"fro": "fro", "operator": 2, "nuclear": "nuc"}
# The operator norm is asked of Lanczos to four digits; the others are sums.
RELATIVE = {"fro": 1e-9, "operator": 1e-4, "nuclear": 1e-9}


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):  # many small problems
        yield


def points(n=400, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def fitted(kernel, X, n_components=64, **parameters):
    return RandomFeatures(kernel, n_components, **{"random_state": 0, **parameters}).fit(X)


def dense_error(features, X, norm="fro"):
    K = naive.kernel_matrix(features.kernel_, X)
    phi = naive.features(X, features.frequencies_)
    return np.linalg.norm(K - phi @ phi.T, DENSE[norm]) / np.linalg.norm(K, DENSE[norm])


# --- the error -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", DENSE)
@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplacian(2.0), Matern(0.8, [1.0, 2.0, 3.0, 4.0]), L1Laplacian("median")], ids=str
)
def test_the_error_is_that_of_the_dense_matrices(kernel, norm):
    X = points()
    features = fitted(kernel, X)
    assert approximation_error(features, X, norm) == pytest.approx(dense_error(features, X, norm), rel=RELATIVE[norm])


@pytest.mark.parametrize("norm", DENSE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_little_working_memory_gives_the_same_error(norm, dtype):
    X = points(600).astype(dtype)
    features = fitted(Laplacian(), X)
    expected = approximation_error(features, X, norm)
    with config_context(working_memory=1):
        assert approximation_error(features, X, norm) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("norm", ["fro", "operator"])
def test_neither_matrix_nor_features_are_held_beyond_the_working_memory(norm):
    X = points(1500)
    features = RandomFeatures(Laplacian(), 8192, random_state=0).fit(X)
    approximation_error(features, X[:100], norm)  # what is compiled and imported is not the error's
    tracemalloc.start()
    with config_context(working_memory=8):
        approximation_error(features, X, norm)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * 2**20 < 1500 * 8192 * 8


def test_a_frame_keeps_its_names_in_little_memory():
    frame = pandas.DataFrame(points(200), columns=list("abcd"))
    features = fitted(Laplacian(), frame)
    expected = approximation_error(features, frame)
    with config_context(working_memory=0.01):
        assert approximation_error(features, frame) == pytest.approx(expected)


@pytest.mark.parametrize("norm", DENSE)
def test_float32_has_the_error_of_float64(norm):
    X = points()
    features = fitted(ExponentialPower(0.7, "median"), X, 1024)
    single = approximation_error(features, X.astype(np.float32), norm)
    assert single == pytest.approx(approximation_error(features, X, norm), rel=1e-3)


@pytest.mark.parametrize("norm", DENSE)
@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_few_rows_and_equal_rows_have_an_error(n, norm):
    X = points(n)
    features = fitted(Laplacian(), points(), 4)
    assert approximation_error(features, X, norm) == pytest.approx(dense_error(features, X, norm), rel=1e-4, abs=1e-12)
    assert approximation_error(features, np.repeat(X[:1], n, axis=0), norm) < 1e-12


def test_the_norm_is_frobenius_unless_said_otherwise():
    X = points()
    features = fitted(Laplacian(), X)
    assert bochner.diagnostics.approximation_error(features, X) == approximation_error(features, X, "fro")


@pytest.mark.parametrize(
    ("X", "norm", "error", "message"),
    [
        (
            points(),
            "frobenius",
            ValueError,
            "The 'norm' parameter of approximation_error must be one of 'fro', 'operator', ",
        ),
        (points(d=3), "fro", ValueError, "4"),
        (np.full((3, 4), np.nan), "fro", ValueError, "NaN"),
        (np.empty((0, 4)), "fro", ValueError, r"\(0, 4\)|0 sample"),
        (sparse.csr_matrix(points()), "fro", TypeError, "dense"),
    ],
    ids=["norm", "columns", "nan", "no rows", "sparse"],
)
def test_wrong_arguments_of_the_error_are_refused(X, norm, error, message):
    with pytest.raises(error, match=message):
        approximation_error(fitted(Laplacian(), points()), X, norm)


def test_the_error_needs_a_fitted_map():
    with pytest.raises(NotFittedError):
        approximation_error(RandomFeatures(), points())
    with pytest.raises(NotFittedError):
        RandomFeatures().error_estimate(points())


# --- the estimate ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_the_interval_covers_the_error_in_about_the_stated_share(confidence):
    """Over 300 data sets and maps the share has a standard deviation of at most 0.03; 0.1 is allowed."""
    kernels = [Laplacian("median"), Gaussian(1.0), ExponentialPower(0.4, "median")]
    covered = []
    for seed in range(300):
        X = points(100, 1 + seed % 7, seed)
        features = fitted(kernels[seed % 3], X, random_state=seed)
        estimate = features.error_estimate(X, confidence=confidence, n_pairs=1000)
        assert estimate.low < estimate.error < estimate.high
        covered.append(estimate.low <= dense_error(features, X) <= estimate.high)
    assert np.mean(covered) == pytest.approx(confidence, abs=0.1)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
def test_the_estimate_is_near_the_error_for_every_kind_of_data(layout):
    X = points()
    features = fitted(Laplacian("median"), X, 256)
    estimate = features.error_estimate(layout(X))
    assert estimate.error == pytest.approx(dense_error(features, X), rel=0.05)
    assert (estimate.confidence, estimate.n_pairs) == (0.95, 20_000)
    assert estimate.n_components is None


def test_pixels_do_not_wrap_around():
    X = np.random.default_rng(0).integers(0, 256, size=(100, 6), dtype=np.uint8)
    features = fitted("laplacian", X)
    assert features.error_estimate(X) == features.error_estimate(X.astype(np.float64))
    assert approximation_error(features, X) == pytest.approx(dense_error(features, X.astype(np.float64)))


def test_more_confidence_and_fewer_pairs_make_the_interval_wider():
    X = points()
    features = fitted(Laplacian(), X)

    def width(**parameters):
        estimate = features.error_estimate(X, **parameters)
        return estimate.high - estimate.low

    assert width(confidence=0.5) < width(confidence=0.95) < width(confidence=0.99)
    assert width(n_pairs=20_000) < width(n_pairs=2000)


@pytest.mark.parametrize("directions", ["gaussian", "orthogonal", "hadamard"])
@pytest.mark.parametrize("kernel", [Laplacian("median"), Matern(2.5, "median")], ids=str)
def test_the_width_for_a_target_reaches_the_target(kernel, directions):
    X = points(200, 8)
    target = 0.05
    # One narrow map is a noisy guide to wide ones: the mean over ten, and ten of them tried.
    maps = [fitted(kernel, X, 256, directions=directions, random_state=seed) for seed in range(10)]
    widths = [features.error_estimate(X, target, n_pairs=4000).n_components for features in maps]
    reached = [
        dense_error(fitted(kernel, X, n, directions=directions, random_state=100 + seed), X)
        for seed, n in enumerate(widths)
    ]
    assert np.mean(reached) == pytest.approx(target, rel=0.1)


def test_the_width_for_a_target_is_even_and_goes_with_its_square():
    X = points()
    features = fitted(Laplacian(), X)
    near, far = features.error_estimate(X, 0.1), features.error_estimate(X, 0.01)
    assert near.target == 0.1
    assert near.n_components % 2 == far.n_components % 2 == 0
    assert far.n_components / near.n_components == pytest.approx(100, rel=0.01)
    assert near.n_components <= near.n_components_high
    assert features.error_estimate(X, 100.0).n_components == 2


def test_one_row_has_no_error():
    features = fitted(Laplacian(), points())
    estimate = features.error_estimate(points(1), target=0.1)
    assert (estimate.error, estimate.low, estimate.high, estimate.n_components) == (0.0, 0.0, 0.0, 2)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("target", v) for v in (0, -0.1, np.nan, "small", True)]
    + [("confidence", v) for v in (0, 1, 1.5, np.nan, None)]
    + [("n_pairs", v) for v in (0, 1, 2.5, True, None)],
)
def test_wrong_arguments_of_the_estimate_are_refused(parameter, value):
    with pytest.raises(
        ValueError, match=rf"^The '{parameter}' parameter of error_estimate must be .* Got .* instead\."
    ):
        fitted(Laplacian(), points()).error_estimate(points(), **{parameter: value})


def test_the_message_on_confidence_does_not_allow_what_it_refuses():
    with pytest.raises(ValueError, match=r"less than 1|smaller than 1|below 1|between 0 and 1"):
        fitted(Laplacian(), points()).error_estimate(points(), confidence=1)
