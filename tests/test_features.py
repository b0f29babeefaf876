"""RandomFeatures: every path against the plain formula, and the manners of an estimator."""

import copy
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import naive
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from bochner import (
    ExponentialPower,
    Gaussian,
    L1Laplacian,
    Laplacian,
    Matern,
    RandomFeatures,
    RationalQuadratic,
)
from bochner.diagnostics import approximation_error

RADIAL = [Gaussian(), Laplacian(), Matern(1.5), Matern(np.inf), ExponentialPower(1.5), RationalQuadratic(0.8)]
DIRECTIONS = ["gaussian", "orthogonal", "hadamard"]
SAMPLINGS = ["random", "stratified", "sobol"]
COMBINATIONS = [(kernel, d, s) for kernel in RADIAL for d in DIRECTIONS for s in SAMPLINGS] + [
    (L1Laplacian(), "gaussian", s) for s in SAMPLINGS
]


def points(n=40, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def fitted(kernel=None, n_components=128, X=None, **parameters):
    parameters = {"random_state": 0, **parameters}
    X = points() if X is None else X
    return RandomFeatures(Laplacian() if kernel is None else kernel, n_components, **parameters).fit(X)


def phase_bound(features, X, dtype):
    """How far rounding may take a feature: a few roundings of the largest phase, and of the polynomial."""
    X = np.asarray(X, dtype=np.float64)
    phases = np.linalg.norm(features.frequencies_, axis=1) * np.linalg.norm(X, axis=1).max()
    return 4 * np.finfo(dtype).eps * (1 + phases) / np.sqrt(len(phases))


# --- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kernel", "directions", "sampling"), COMBINATIONS)
def test_transform_is_the_plain_formula(kernel, directions, sampling, dtype):
    X = points(37, 5).astype(dtype)
    features = fitted(kernel, 130, X, directions=directions, sampling=sampling)
    phi = features.transform(X)
    assert phi.dtype == dtype
    bound = phase_bound(features, X, dtype)
    assert (abs(phi - naive.features(X, features.frequencies_)) <= np.tile(bound, 2)).all()


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize(
    ("n", "d", "p"), [(1, 1, 1), (3, 1, 9), (500, 2, 5), (17, 70, 3), (200, 70, 700), (33, 300, 600)]
)
def test_transform_is_the_plain_formula_in_every_shape(directions, n, d, p):
    X = points(n, d)
    features = fitted(Gaussian(2.0), 2 * p, X, directions=directions)
    phi = features.transform(X)
    assert phi.shape == (n, 2 * p)
    assert abs(phi - naive.features(X, features.frequencies_)).max() < 1e-12


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize(
    "geometry",
    [
        {"length_scale": np.arange(1.0, 6.0)},
        {"metric": np.arange(5.0)},
        {"metric": np.outer(np.arange(5.0), np.arange(5.0)) + np.eye(5)},
        {"length_scale": np.arange(1.0, 6.0), "metric": np.outer(np.arange(5.0), np.arange(5.0))},
    ],
    ids=["length scales", "diagonal", "full", "singular"],
)
def test_features_approximate_the_kernel_in_every_geometry(directions, geometry):
    X = points()
    kernel = Laplacian(**geometry)
    phi = fitted(kernel, 1 << 14, X, directions=directions).transform(X)
    # The largest of 780 errors of about 0.65 / sqrt(8192) each.
    assert abs(phi @ phi.T - naive.kernel_matrix(kernel, X)).max() < 5 * 0.65 / np.sqrt(1 << 13)


def test_short_names_stand_for_kernels_with_the_median_distance():
    X = points()
    assert fitted("matern", X=X).kernel_ == Matern(length_scale=fitted("gaussian", X=X).kernel_.length_scale)
    assert fitted("laplacian", X=X).kernel_.length_scale == pytest.approx(naive.median_distance(X))
    assert fitted("l1_laplacian", X=X).kernel_.length_scale == pytest.approx(naive.median_distance(X, "cityblock"))
    assert fitted("exponential_power", X=X).kernel_.exponent == 1.0
    assert fitted("rational_quadratic", X=X).kernel_.shape == 1.0


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, sparse.csr_array])
def test_sparse_input_gives_what_dense_input_gives(layout, directions):
    X = points(60, 20) * (points(60, 20, seed=1) > 0.5)
    from_dense = RandomFeatures("laplacian", 64, directions=directions, random_state=0).fit(X)
    from_sparse = RandomFeatures("laplacian", 64, directions=directions, random_state=0).fit(layout(X))
    assert np.array_equal(from_dense.frequencies_, from_sparse.frequencies_)
    assert abs(from_dense.transform(X) - from_sparse.transform(layout(X))).max() < 1e-12
    assert from_sparse.transform(layout(X.astype(np.float32))).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float16, object])
def test_other_numbers_are_taken_as_float64(dtype):
    X = np.random.default_rng(0).integers(0, 2 if dtype is bool else 256, size=(30, 4)).astype(dtype)
    features = fitted("laplacian", X=X)
    expected = fitted("laplacian", X=X.astype(np.float64))
    assert features.transform(X).dtype == np.float64
    assert abs(features.transform(X) - expected.transform(X.astype(np.float64))).max() < 1e-12


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_the_memory_layout_of_the_input_does_not_matter(order, directions):
    X = points(60, 6)
    other = np.repeat(X, 2, axis=1)[:, ::2] if order == "strided" else np.array(X, order=order)
    features = fitted(X=X, directions=directions)
    assert abs(features.transform(other) - features.transform(X)).max() < 1e-14


# --- precision -------------------------------------------------------------------------------------------------------


HEAVY = [*(ExponentialPower(e, "median") for e in (0.02, 0.05, 0.1)), *(Matern(nu, "median") for nu in (0.01, 0.02))]


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("kernel", HEAVY, ids=str)
def test_heavy_tails_are_finite_and_as_good_in_float32(kernel, directions):
    X = points(100, 8)
    features = fitted(kernel, 2048, X, directions=directions)
    errors = []
    for dtype in (np.float32, np.float64):
        phi = features.transform(X.astype(dtype))
        assert np.isfinite(phi).all()
        assert abs(np.square(phi).sum(axis=1) - 1).max() < 1e-5
        errors.append(np.linalg.norm(phi @ phi.T - naive.kernel_matrix(features.kernel_, X)))
    assert errors[0] == pytest.approx(errors[1], rel=0.1)


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("scale", [1e-12, 1e9, 1e20])
def test_heavy_tails_are_finite_in_any_unit(scale, directions):
    X = (scale * points()).astype(np.float32)
    for kernel in (ExponentialPower(0.02, "median"), Matern(0.01, scale)):
        assert np.isfinite(fitted(kernel, 512, X, directions=directions).transform(X)).all()


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_a_large_offset_costs_no_digits_in_float32(directions):
    X = (1e4 + points(50, 8)).astype(np.float32)
    features = fitted(Gaussian("median"), 512, X, directions=directions)
    error = abs(features.transform(X) - naive.features(X, features.frequencies_))
    assert error.max() * np.sqrt(256) < 5e-6


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("outlier", [1e4, 1e7])
def test_an_outlier_does_not_spoil_the_other_rows_in_float32(outlier, directions):
    X = points(300, 8).astype(np.float32)
    X[0, 0] = outlier
    features = fitted(Laplacian("median"), 2048, X, directions=directions)
    single, double = (approximation_error(features, X[1:].astype(dtype)) for dtype in (np.float32, np.float64))
    assert single == pytest.approx(double, rel=0.1)


def test_data_without_a_variance_are_as_good_in_float32():
    X = (np.random.default_rng(0).standard_cauchy(size=(500, 3)) ** 3).astype(np.float32)
    features = fitted(Laplacian("median"), 2048, X)
    single, double = (approximation_error(features, X.astype(dtype)) for dtype in (np.float32, np.float64))
    assert single == pytest.approx(double, rel=0.1)


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_phases_of_many_turns_are_taken_in_float64(directions):
    """A few of the phases here have thousands of turns, of which a float32 product keeps three digits."""
    X = (5.0 + points(300, 3)).astype(np.float32)
    features = fitted(Laplacian(0.05), 8192, X, directions=directions)
    errors = abs(features.transform(X) - features.transform(X.astype(np.float64))) * np.sqrt(4096)
    turns = np.tile(np.linalg.norm(features.frequencies_, axis=1) / (2.0 * np.pi), 2)
    many = (turns > 2e3) & (turns < 5e4)  # still more are folded, in each precision by another power of two
    assert many.sum() > 10
    assert errors[:, many].max() < 1e-6
    assert errors[:, turns < 1e3].max() < 1e-2


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_rows_far_out_are_taken_in_float64(directions):
    X = points(300, 3).astype(np.float32)
    features = fitted(Matern(1.5), 512, X, directions=directions)
    X[[7, 20]] *= 1e5
    single, double = features.transform(X), features.transform(X.astype(np.float64))
    assert abs(single - double).max() < 1e-5


def test_near_points_have_near_features_in_float32():
    """The few frequencies that float32 cannot hold are taken in float64, so small distances are resolved."""
    X = points(200, 8).astype(np.float32)
    X[1::2] = X[::2] + np.float32(1e-3) * points(100, 8, seed=1).astype(np.float32)
    features = fitted(Laplacian("median"), 1 << 14, X)
    phi, exact = features.transform(X), naive.features(X, features.frequencies_)
    squared = [np.square(f[1::2] - f[::2]).sum(axis=1) for f in (phi, exact)]
    assert abs(squared[0] - squared[1]).max() < 2e-3 * squared[1].max()


# --- buffers and blocks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_writes_into_a_given_buffer(dtype):
    X = points().astype(dtype)
    features = fitted()
    out = np.full((40, 128), np.nan, dtype=dtype)
    assert features.transform(X, out=out) is out
    assert np.array_equal(out, features.transform(X))
    part = np.empty((100, 128), dtype=dtype)[10:50]
    assert np.array_equal(features.transform(X, out=part), out)


@pytest.mark.parametrize(
    "out",
    [
        np.empty((40, 127)),
        np.empty((39, 128)),
        np.empty((40, 128), dtype=np.float32),
        np.empty((40, 128), order="F"),
        np.empty((40, 256))[:, ::2],
        np.broadcast_to(0.0, (40, 128)),
        [[0.0] * 128] * 40,
    ],
    ids=["columns", "rows", "type", "order", "strided", "read-only", "list"],
)
def test_a_wrong_buffer_is_refused(out):
    with pytest.raises(ValueError, match=r"The 'out' argument of transform must be .* Got a"):
        fitted().transform(points(), out=out)


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("block_rows", [None, 1, 7, 40, 1000])
def test_blocks_are_the_rows_of_transform(block_rows, directions):
    X = points()
    features = fitted(directions=directions)
    expected, seen = features.transform(X), np.zeros(40, dtype=int)
    for rows, block in features.iter_blocks(X, block_rows):
        assert block.shape == (rows.stop - rows.start, 128)
        assert block_rows is None or len(block) <= block_rows
        assert abs(block - expected[rows]).max() < 1e-13
        seen[rows] += 1
    assert (seen == 1).all()


def test_blocks_share_one_buffer_within_the_working_memory():
    X, features = points(1000), fitted(n_components=1024)
    with config_context(working_memory=1):
        blocks = [block for _, block in features.iter_blocks(X)]
    assert all(np.shares_memory(block, blocks[0]) for block in blocks)
    assert max(block.nbytes for block in blocks) == 2**20
    assert sum(map(len, blocks)) == 1000


@pytest.mark.parametrize("block_rows", [0, -1, 2.0, True])
def test_wrong_block_rows_are_refused_at_the_call(block_rows):
    with pytest.raises(
        ValueError, match=r"The 'block_rows' parameter of RandomFeatures must be an integer of at least 1"
    ):
        fitted().iter_blocks(points(), block_rows)


@pytest.mark.parametrize(
    ("n", "d", "p", "directions", "dtype", "kind"),
    [
        (4000, 784, 1024, "gaussian", np.float32, "dense"),
        (4000, 784, 1024, "hadamard", np.float32, "dense"),
        (4000, 784, 16, "orthogonal", np.float64, "dense"),
        (20_000, 3, 16, "orthogonal", np.float32, "dense"),
        (4000, 20_000, 16, "gaussian", np.float64, "sparse"),
        (4000, 20_000, 16, "hadamard", np.float32, "sparse"),
    ],
)
def test_a_transform_takes_at_most_64_megabytes_beside_its_output(n, d, p, directions, dtype, kind):
    if kind == "sparse":
        X = sparse.csr_matrix((np.ones(n, dtype), np.arange(n) % d, np.arange(n + 1)), (n, d))
    else:
        X = np.random.default_rng(0).standard_normal((n, d), dtype=dtype)
    features = fitted(Laplacian(float(d)), 2 * p, X[:10], directions=directions)
    features.transform(X[:10])
    out = np.empty((n, 2 * p), dtype=dtype)
    tracemalloc.start()
    features.transform(X, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20


# --- data frames -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_go_in_and_out(library):
    frames = pytest.importorskip(library)
    X = points()
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("abcde")})
    features = fitted(X=frame)
    assert list(features.feature_names_in_) == list("abcde")
    assert np.array_equal(features.transform(frame), fitted(X=X).transform(X))
    result = features.set_output(transform=library).transform(frame)
    assert isinstance(result, frames.DataFrame)
    assert list(result.columns) == list(features.get_feature_names_out())
    assert np.array_equal(result.to_numpy(), fitted(X=X).transform(X))
    with pytest.raises(ValueError, match="feature names should match"):
        features.transform(frame.rename({"a": "z"}) if library == "polars" else frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_every_method_takes_the_data_frame_that_was_fitted_without_a_warning(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({name: points()[:, j] for j, name in enumerate("abcde")})
    plain, features = fitted(), fitted(X=frame).set_output(transform=library)
    assert features.error_estimate(frame) == plain.error_estimate(points())
    assert np.array_equal(features.gradient(frame, np.ones(128)), plain.gradient(points(), np.ones(128)))
    assert all(isinstance(block, np.ndarray) for _, block in features.iter_blocks(frame))
    for norm in ("fro", "operator", "nuclear"):
        assert approximation_error(features, frame, norm) == approximation_error(plain, points(), norm)


def test_names_of_features_are_readable_and_unique():
    names = fitted(n_components=6).get_feature_names_out()
    assert list(names) == ["cos0", "cos1", "cos2", "sin0", "sin1", "sin2"]
    with pytest.raises(NotFittedError):
        RandomFeatures().get_feature_names_out()


# --- random states ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "directions", "sampling"), COMBINATIONS)
def test_the_seed_decides(kernel, directions, sampling):
    first, second, other = (
        fitted(kernel, directions=directions, sampling=sampling, random_state=s).frequencies_ for s in (0, 0, 1)
    )
    assert np.array_equal(first, second)
    assert not np.isclose(first, other).any()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_goes_on_where_it_stopped(make):
    first, second = make(7), make(7)
    expected = [fitted(random_state=first).frequencies_ for _ in range(2)]
    found = [fitted(random_state=second).frequencies_ for _ in range(2)]
    assert np.array_equal(expected, found)
    assert not np.isclose(expected[0], expected[1]).any()


def test_no_seed_means_new_frequencies_each_time():
    first, second = (fitted(random_state=None).frequencies_ for _ in range(2))
    assert not np.isclose(first, second).any()


@pytest.mark.parametrize("seed", [-1, 1.5, "seed", True])
def test_a_wrong_seed_is_refused(seed):
    with pytest.raises(
        ValueError, match=r"The 'random_state' parameter of RandomFeatures must be None, a non-negative"
    ):
        fitted(random_state=seed)


def test_the_width_of_the_data_does_not_enter_the_stream():
    few, many = (fitted(Laplacian(), X=points(n)).frequencies_ for n in (2, 2000))
    assert np.array_equal(few, many)


def test_another_process_draws_the_same_frequencies():
    code = (
        "import numpy as np; from bochner import RandomFeatures, Matern\n"
        "for d in ('gaussian', 'orthogonal', 'hadamard'):\n"
        "    f = RandomFeatures(Matern(0.7), 64, directions=d, random_state=3).fit(np.zeros((1, 5)))\n"
        "    print(repr(f.frequencies_.tolist()))"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    for directions, line in zip(DIRECTIONS, run.stdout.splitlines(), strict=True):
        here = fitted(Matern(0.7), 64, np.zeros((1, 5)), directions=directions, random_state=3).frequencies_
        assert np.allclose(here, np.array(eval(line)), rtol=1e-12, atol=0)


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_changes_no_bit(directions, dtype):
    X = points(3000, 70).astype(dtype)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(fitted("laplacian", 600, X, directions=directions).transform(X))
    assert np.array_equal(*found)


# --- state of the estimator ------------------------------------------------------------------------------------------


def state(features):
    """What a fit leaves, as the user sees it."""
    names = [name for name in vars(features) if name.endswith("_")]
    return {**{name: getattr(features, name) for name in names}, "frequencies_": features.frequencies_}


def assert_same_state(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert np.array_equal(one[name], other[name]), name


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("copied", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_of_a_fitted_map_are_the_same_map(copied, directions):
    X = points()
    features = fitted("matern", X=X, directions=directions)
    expected = features.transform(X)
    assert np.array_equal(copied(features).transform(X), expected)
    assert np.array_equal(copied(features).frequencies_, features.frequencies_)


def test_a_pickle_holds_nothing_that_can_be_made_anew():
    features = fitted("matern", 1024)
    before = len(pickle.dumps(features))
    features.transform(points())
    features.transform(points().astype(np.float32))
    assert len(pickle.dumps(features)) == before


def test_an_unfitted_map_pickles_and_clones():
    features = RandomFeatures(Matern(0.7, [1.0, 2.0], np.eye(2)), 64, directions="orthogonal", random_state=1)
    for other in (pickle.loads(pickle.dumps(features)), copy.deepcopy(features), clone(features)):
        assert other.get_params()["kernel"] == features.kernel
        assert not hasattr(other, "frequencies_")
    assert not hasattr(clone(features.fit(points(d=2))), "kernel_")


def test_fit_changes_no_parameter():
    scales, metric = np.ones(5), np.eye(5)
    features = RandomFeatures(Matern(0.7, scales, metric), 64, random_state=np.random.default_rng(0))
    before, values = features.get_params(), copy.deepcopy(features.get_params())
    features.fit(points()).transform(points())
    after = features.get_params()
    assert all(after[name] is before[name] for name in before)
    assert all(np.array_equal(after[name], values[name]) for name in values if name != "random_state")


def test_changing_the_kernel_parameter_does_not_change_the_fitted_kernel():
    features = fitted(Laplacian(1.0))
    features.set_params(kernel__length_scale=5.0)
    assert features.kernel_ == Laplacian(1.0)


def test_fitting_again_starts_anew():
    frame = pytest.importorskip("pandas").DataFrame(points(d=3), columns=list("abc"))
    features = fitted("laplacian", X=frame)
    features.transform(frame)
    features.fit(points(d=4))
    fresh = fitted("laplacian", X=points(d=4))
    assert_same_state(state(features), state(fresh))
    assert np.array_equal(features.transform(points(d=4)), fresh.transform(points(d=4)))


BAD_REFITS = {
    "directions": (L1Laplacian(), {"directions": "orthogonal"}, points(d=3)),
    "length scales": (Laplacian(np.ones(5)), {}, points(d=3)),
    "metric": (Laplacian(metric=np.eye(5)), {}, points(d=3)),
    "data": (Laplacian(), {}, np.full((2, 3), np.nan)),
    "n_components": (Laplacian(), {"n_components": 3}, points(d=3)),
    "sobol": (Laplacian(), {"sampling": "sobol", "directions": "gaussian"}, np.zeros((1, 30_000))),
}


@pytest.mark.parametrize("bad", BAD_REFITS.values(), ids=BAD_REFITS)
def test_a_fit_that_fails_leaves_the_fitted_map_as_it_was(bad):
    kernel, parameters, X = bad
    features = fitted(Laplacian(np.ones(5)))
    before, expected = copy.deepcopy(state(features)), features.transform(points())
    features.set_params(kernel=kernel, **parameters)
    with pytest.raises(ValueError, match=r"."):
        features.fit(X)
    assert_same_state(before, state(features))
    assert np.array_equal(features.transform(points()), expected)


@pytest.mark.parametrize("bad", BAD_REFITS.values(), ids=BAD_REFITS)
def test_a_first_fit_that_fails_leaves_the_map_unfitted(bad):
    kernel, parameters, X = bad
    features = RandomFeatures(kernel, **parameters)
    with pytest.raises(ValueError, match=r"."):
        features.fit(X)
    with pytest.raises(NotFittedError):
        features.transform(X)


@pytest.mark.parametrize("method", ["transform", "iter_blocks", "error_estimate", "get_feature_names_out"])
def test_methods_need_a_fit(method):
    arguments = () if method == "get_feature_names_out" else (points(),)
    with pytest.raises(NotFittedError):
        getattr(RandomFeatures(), method)(*arguments)
    with pytest.raises(NotFittedError):
        RandomFeatures().gradient(points(), np.ones(1024))
    assert not hasattr(RandomFeatures(), "frequencies_")


# --- gradients -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.7])
def test_the_gradient_is_that_of_finite_differences(smoothing, directions):
    X, coef = points(6, 3), points(128, 1)[:, 0]
    features = fitted(Matern(2.5), X=X, directions=directions)
    W = features.frequencies_
    damped = np.tile(np.exp(-0.5 * smoothing**2 * np.square(W).sum(axis=1)), 2) * coef
    h = 1e-5
    steps = h * np.eye(3)
    ahead, behind = (naive.features((X[:, None] + s * steps).reshape(-1, 3), W) @ damped for s in (1, -1))
    expected = ((ahead - behind) / (2 * h)).reshape(6, 3)
    assert features.gradient(X, coef, smoothing) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_smoothing_is_in_the_metric_of_the_kernel():
    """The squared length of a frequency w in the kernel's own distance is ``l^2 w^T M^-1 w``."""
    X, coef, M = points(6, 3), points(128, 1)[:, 0], np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.5]])
    features = fitted(Matern(2.5, 1.7, M), X=X)
    W = features.frequencies_
    squared = 1.7**2 * np.einsum("ij,ij->i", W @ np.linalg.inv(M), W)
    damped = np.tile(np.exp(-0.5 * 0.7**2 * squared), 2) * coef
    assert features.gradient(X, coef, 0.7) == pytest.approx(features.gradient(X, damped), rel=1e-9, abs=1e-12)


def test_the_gradient_of_the_smoothed_function_is_that_of_its_average():
    """Smoothing by h is the mean of f over Gaussian steps of size h, here on a grid in one dimension."""
    X, coef, h = points(5, 1), points(64, 1)[:, 0], 0.3
    features = fitted(Gaussian(), 64, X)
    steps, weights = np.polynomial.hermite_e.hermegauss(40)
    average = sum(w * features.gradient(X + h * s, coef) for s, w in zip(steps, weights, strict=True)) / weights.sum()
    assert features.gradient(X, coef, smoothing=h) == pytest.approx(average, abs=1e-10)


def test_the_gradient_has_an_axis_for_outputs_and_keeps_the_precision():
    X, coef = points(3000, 3), points(128, 4)
    features = fitted(X=X)
    gradient = features.gradient(X, coef, 0.1)
    assert gradient.shape == (3000, 4, 3)
    assert features.gradient(X, coef[:, 2], 0.1) == pytest.approx(gradient[:, 2])
    assert features.gradient(X, coef[:, :1], 0.1).shape == (3000, 1, 3)
    single = features.gradient(X.astype(np.float32), coef, 0.1)
    assert single.dtype == np.float32
    assert abs(single - gradient).max() < 1e-4 * abs(gradient).max()
    assert features.gradient(sparse.csr_matrix(X), coef, 0.1) == pytest.approx(gradient)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_of_heavy_tails_is_finite(smoothing, dtype):
    X = points().astype(dtype)
    features = fitted(ExponentialPower(0.02, 1e-3), X=X)
    assert np.isfinite(features.gradient(X, np.ones(128), smoothing)).all()


@pytest.mark.parametrize(
    "coef", [np.ones(127), np.ones((1, 128)), np.ones((128, 1, 1)), ["a"] * 128, 1.0], ids=lambda c: str(np.shape(c))
)
def test_wrong_coefficients_are_refused(coef):
    with pytest.raises(ValueError, match=r"The 'coef' argument of gradient must be numbers of shape \(128,\)"):
        fitted().gradient(points(), coef)


@pytest.mark.parametrize("smoothing", [-1.0, np.nan, np.inf, "wide"])
def test_a_wrong_smoothing_is_refused(smoothing):
    with pytest.raises(ValueError, match=r"The 'smoothing' parameter of RandomFeatures must be a number at least 0"):
        fitted().gradient(points(), np.ones(128), smoothing)


# --- odd data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("n_components", [2, 4, 10])
def test_few_components_and_constant_columns_work(n_components, directions):
    X = points(30, 8)
    X[:, 3] = 7.0
    features = fitted("laplacian", n_components, X, directions=directions)
    assert abs(features.transform(X) - naive.features(X, features.frequencies_)).max() < 1e-10


@pytest.mark.parametrize(
    "X", [np.ones((1, 3)), np.full((20, 3), 4.0), np.full((20, 1), -1.0)], ids=["one", "equal", "d=1"]
)
@pytest.mark.parametrize("kernel", ["laplacian", "l1_laplacian"])
def test_equal_rows_warn_and_work(X, kernel):
    with pytest.warns(UserWarning, match=r"All rows are equal .* 1\.0 is taken"):
        features = RandomFeatures(kernel, 64, random_state=0).fit(X)
    phi = features.transform(X)
    assert features.kernel_.length_scale == 1.0
    assert abs(phi @ phi.T - 1).max() < 1e-12


def test_one_row_with_a_given_length_scale_works_without_a_warning():
    assert fitted(Laplacian(2.0), X=np.ones((1, 3))).transform(points(d=3)).shape == (40, 128)


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_a_single_component_is_one_cosine_with_a_random_phase(directions):
    X, h = points(20, 3), 1e-6
    features = fitted(Matern(2.5), 1, X, directions=directions)
    phi = features.transform(X)
    assert phi.shape == (20, 1)
    assert list(features.get_feature_names_out()) == ["cos0"]
    # sqrt(2) cos(w.x + b) is a combination of cos(w.x) and sin(w.x), of squared length 2.
    combination, residual, *_ = np.linalg.lstsq(naive.features(X, features.frequencies_), phi[:, 0])
    assert residual.max() < 1e-20
    assert np.square(combination).sum() == pytest.approx(2)
    steps = [(features.transform(X + h * e) - features.transform(X - h * e))[:, 0] / (2 * h) for e in np.eye(3)]
    assert features.gradient(X, np.ones(1)) == pytest.approx(np.stack(steps, axis=1), abs=1e-7)


@pytest.mark.parametrize("directions", ["orthogonal", "hadamard"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_writer_writes_any_rows_in_any_thread(directions, dtype):
    X = points(500, 20).astype(dtype)
    features = fitted(Laplacian(2.0), 64, X, directions=directions)
    write = features.writer(X)
    expected = features.transform(X)
    for one in (write, pickle.loads(pickle.dumps(write))):
        out = np.full((500, 64), np.nan, dtype=dtype)
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(
                    lambda start, one=one, out=out: one(slice(start, start + 50), out[start : start + 50]),
                    range(0, 500, 50),
                )
            )
        assert out == pytest.approx(expected, abs=2e-4 if dtype == np.float32 else 1e-13)


# --- in company ------------------------------------------------------------------------------------------------------


def test_a_grid_search_over_the_parameters_of_the_kernel_finds_the_good_ones():
    X = points(300, 2)
    y = np.sin(3 * X[:, 0])
    model = make_pipeline(RandomFeatures(Matern(), 256, random_state=0), Ridge(1e-3))
    grid = {
        "randomfeatures__kernel__length_scale": [0.01, 1.0],
        "randomfeatures__kernel__nu": [0.05, 2.5],
        "randomfeatures__directions": ["orthogonal", "gaussian"],
    }
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_["randomfeatures__kernel__length_scale"] == 1.0
    assert search.best_params_["randomfeatures__kernel__nu"] == 2.5
    assert search.best_score_ > 0.95
    assert model[0].kernel == Matern()


def test_a_grid_search_runs_in_processes():
    X = points(60, 2)
    model = make_pipeline(RandomFeatures(Laplacian(), 32, random_state=0), Ridge())
    grid = {"randomfeatures__kernel__length_scale": [0.1, 1.0]}
    scores = [GridSearchCV(model, grid, cv=2, n_jobs=n).fit(X, X[:, 0]).cv_results_["mean_test_score"] for n in (1, 2)]
    assert scores[0] == pytest.approx(scores[1])
