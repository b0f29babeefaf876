"""Exact kernel values: every kernel, on data that is hard for float arithmetic, against differences in float64."""

import tracemalloc
from functools import cache

import naive
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bochner import ExponentialPower, Gaussian, L1Laplacian, Laplacian, Matern, RationalQuadratic

KERNELS = [
    Gaussian(),
    Laplacian(),
    Matern(nu=0.01),
    Matern(nu=1.5),
    Matern(nu=20.0),
    ExponentialPower(exponent=0.02),
    ExponentialPower(exponent=1.5),
    RationalQuadratic(shape=0.5),
    L1Laplacian(),
]
#: Largest allowed error; float32 is compared with the exact kernel of the same float32 points.
BOUND = {np.float64: 1e-12, np.float32: 2e-6}

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_precision = pytest.mark.parametrize("dtype", BOUND, ids=lambda dtype: dtype.__name__)


def normal(d, n=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def near_duplicates(d):
    """Pairs of points at relative distances from 1e-6 to 1e-2."""
    X = normal(d)
    X[30:] = X[:30] + np.repeat(10.0 ** -np.arange(2, 7), 6)[:, None] * normal(d, 30, seed=1)
    return X


def duplicates(d):
    return np.tile(normal(d, 20), (3, 1))[np.random.default_rng(1).permutation(60)]


def far_clusters(d):
    """Two clusters a thousand of their radii apart."""
    return normal(d) + np.repeat([0.0, 1e3], 30)[:, None]


def close_clusters(d, spread=0.25):
    """Many clusters, with distances within them of a quarter of those between."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, d))[rng.integers(20, size=150)] + spread * rng.normal(size=(150, d))


def loose_clusters(d):
    """So loose that no pair is near for a product, just."""
    return close_clusters(d, 0.65)


def core(d):
    """A few points close to the middle of many that are not."""
    X = np.concatenate([1e-5 * normal(d, 10), normal(d, 30, seed=1)])
    return np.concatenate([X, -X])


def pixels(d):
    """Raw pixels with a dark background, as in pictures of digits."""
    rng = np.random.default_rng(0)
    return (rng.integers(0, 256, size=(60, d)) * (rng.random((60, d)) < 0.4)).astype(np.uint8)


def large_offset(d):
    return 1e4 + 0.01 * normal(d)


DATA = {
    **{f"normal {d}": (normal, d) for d in (1, 2, 3, 12, 33, 70, 784)},
    **{f"near duplicates {d}": (near_duplicates, d) for d in (1, 2, 12, 20, 33, 784)},
    **{f"duplicates {d}": (duplicates, d) for d in (1, 12, 70)},
    **{f"far clusters {d}": (far_clusters, d) for d in (1, 12, 70)},
    **{f"close clusters {d}": (close_clusters, d) for d in (12, 33, 784)},
    **{f"loose clusters {d}": (loose_clusters, d) for d in (70, 784)},
    **{f"core {d}": (core, d) for d in (3, 20, 70)},
    **{f"pixels {d}": (pixels, d) for d in (64, 784)},
    **{f"large offset {d}": (large_offset, d) for d in (3, 70)},
}


@cache
def points(name):
    make, d = DATA[name]
    return make(d)


@cache
def median(name, norm):
    return naive.median_distance(points(name), norm)


def scaled(kernel, name, factor=1.0):
    """The kernel with a multiple of the median distance as its length scale."""
    norm = "cityblock" if isinstance(kernel, L1Laplacian) else "euclidean"
    return kernel.replace(length_scale=float(factor * median(name, norm)))


@every_kernel
@every_precision
@pytest.mark.parametrize("name", DATA)
def test_values_are_those_of_direct_differences(kernel, dtype, name):
    X = points(name).astype(dtype)
    for factor in (0.25, 1.0):
        k = scaled(kernel, name, factor)
        assert abs(k(X) - naive.kernel_matrix(k, X)).max() <= BOUND[dtype]


@every_kernel
@every_precision
@pytest.mark.parametrize(
    "name",
    [
        "near duplicates 2",
        "near duplicates 20",
        "near duplicates 33",
        "far clusters 70",
        "core 3",
        "core 20",
        "core 70",
    ],
)
@pytest.mark.parametrize("factor", [1e-3, 1e-6])
def test_values_are_right_at_a_length_scale_of_the_near_pairs(kernel, dtype, name, factor):
    X = points(name).astype(dtype)
    k = scaled(kernel, name, factor)
    assert abs(k(X) - naive.kernel_matrix(k, X)).max() <= BOUND[dtype]


@every_kernel
@every_precision
@pytest.mark.parametrize("name", ["near duplicates 2", "near duplicates 33", "far clusters 70", "pixels 784"])
def test_values_between_two_sets_are_those_of_direct_differences(kernel, dtype, name):
    X = points(name).astype(dtype)
    k = scaled(kernel, name)
    assert abs(k(X[10:], X[:45]) - naive.kernel_matrix(k, X[10:], X[:45])).max() <= BOUND[dtype]


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), L1Laplacian()], ids=repr)
@every_precision
@pytest.mark.parametrize("d", [3, 40])
def test_values_are_right_across_tiles(kernel, dtype, d):
    X = normal(d, 1030).astype(dtype)
    k = kernel.replace(length_scale=2.0 * d**0.5)
    exact = naive.kernel_matrix(k, X)
    assert abs(k(X) - exact).max() <= BOUND[dtype]
    assert abs(k(X[7:520], X) - exact[7:520]).max() <= BOUND[dtype]


@every_kernel
@pytest.mark.parametrize("name", ["pixels 64", "pixels 784"])
def test_integers_are_exact_in_float64(kernel, name):
    X = points(name)
    k = scaled(kernel, name)
    assert abs(k(X) - naive.kernel_matrix(k, X)).max() <= BOUND[np.float64]


@every_kernel
@every_precision
@pytest.mark.parametrize("distance", [1e5, 1e10, 1e18])
@pytest.mark.parametrize("d", [1, 40])
def test_far_points_have_the_values_of_far_points(kernel, dtype, distance, d):
    X = np.zeros((2, d), dtype=dtype)
    X[1, 0] = distance
    assert abs(kernel(X) - naive.kernel_matrix(kernel, X)).max() <= BOUND[dtype]


@every_kernel
@pytest.mark.parametrize(("dtype", "distance"), [(np.float32, 1e25), (np.float64, 1e25), (np.float64, 1e160)])
@pytest.mark.parametrize("d", [3, 20, 40])
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_points_whose_squares_overflow_are_not_similar(kernel, dtype, distance, d):
    X = np.zeros((3, d), dtype=dtype)
    X[1, 0], X[2, 0] = distance, 2 * distance
    slow = kernel == ExponentialPower(exponent=0.02)  # the only one that is not 0 by then
    expected = np.exp(-(np.array([distance, 2 * distance]) ** 0.02)) if slow else np.zeros(2)
    assert abs(kernel(X)[0, 1:] - expected).max() <= BOUND[dtype]


@every_kernel
@pytest.mark.parametrize("unit", [1e-170, 1e-30, 1e30, 1e170])
@pytest.mark.parametrize("d", [3, 40])
def test_the_unit_of_the_data_does_not_matter(kernel, unit, d):
    X = normal(d)
    K = kernel.replace(length_scale=unit)(unit * X)
    assert abs(K - naive.kernel_matrix(kernel, X)).max() <= BOUND[np.float64]


@pytest.mark.parametrize(("kernel", "order"), [(Laplacian(), 2), (L1Laplacian(), 1)], ids=repr)
@every_precision
@pytest.mark.parametrize("d", [2, 10, 64])
def test_opposite_points_are_as_far_as_points_can_be(kernel, order, dtype, d):
    # Their distance is the bound of all distances itself, at unit length a power of two, but for rounding.
    for x in normal(d, 100):
        x = (x / np.linalg.norm(x, order)).astype(dtype)
        X = np.stack([x, -x])
        assert abs(kernel(X) - naive.kernel_matrix(kernel, X)).max() <= BOUND[dtype]


@every_kernel
@every_precision
@pytest.mark.parametrize("distance", [1e6, 1e12])
@pytest.mark.parametrize("d", [2, 40])
def test_an_outlier_does_not_spoil_the_other_values(kernel, dtype, distance, d):
    X = normal(d, 50).astype(dtype)
    X[0] = distance
    assert abs(kernel(X) - naive.kernel_matrix(kernel, X)).max() <= BOUND[dtype]


# --- exact properties ----------------------------------------------------------------------------------------------


@every_kernel
@every_precision
@pytest.mark.parametrize("name", ["normal 2", "near duplicates 33", "duplicates 12", "far clusters 70", "pixels 784"])
def test_matrix_of_a_set_is_exactly_symmetric_with_ones_on_the_diagonal(kernel, dtype, name):
    K = scaled(kernel, name)(points(name).astype(dtype))
    assert (K == K.T).all()
    assert (np.diag(K) == 1).all()


@every_kernel
@every_precision
@pytest.mark.parametrize("metric", ["none", "vector", "matrix"])
@pytest.mark.parametrize("d", [1, 3, 12, 70])
def test_equal_rows_give_exactly_one(kernel, dtype, metric, d):
    if metric == "matrix" and isinstance(kernel, L1Laplacian):
        pytest.skip("has no such metric")
    kernel = kernel.replace(metric={"none": None, "vector": np.arange(1.0, d + 1), "matrix": dense_metric(d)}[metric])
    X = np.tile(normal(d, 77), (3, 1)).astype(dtype)
    equal = np.tile(np.eye(77, dtype=bool), (3, 3))
    assert (kernel(X)[equal] == 1).all()
    assert (kernel(X, X.copy())[equal] == 1).all()
    assert (kernel(X[5:], X)[equal[5:]] == 1).all()


@every_kernel
@every_precision
def test_values_lie_between_zero_and_one(kernel, dtype):
    K = kernel(np.linspace(0, 60, 300, dtype=dtype)[:, None])
    assert K.max() <= 1
    assert float(K.min()) > -1e-200  # a polynomial of the table may miss a value of 1e-225 by as much


@every_kernel
def test_matrix_is_positive_semidefinite(kernel):
    K = scaled(kernel, "normal 3")(points("normal 3"))
    assert np.linalg.eigvalsh(K)[0] > -1e-12


@every_kernel
@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (np.float32, np.float32, np.float32),
        (np.float64, np.float64, np.float64),
        (np.float32, np.float64, np.float64),
        (np.float64, np.float32, np.float64),
        (np.int64, np.int64, np.float64),
        (np.uint8, np.float32, np.float64),
        (np.float16, np.float16, np.float64),
        (bool, bool, np.float64),
    ],
)
def test_result_is_float32_only_if_all_points_are(kernel, left, right, result):
    X, Z = pixels(4)[:5].astype(left), pixels(4)[:7].astype(right)
    assert kernel(X, Z).dtype == result
    assert kernel.operator(X, Z).dtype == result


@every_kernel
def test_lists_and_other_layouts_give_the_same_values(kernel):
    X = normal(5)
    for other in (X.tolist(), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert abs(kernel(other) - kernel(X)).max() < 1e-13


@every_kernel
def test_values_do_not_change_the_points(kernel):
    X = normal(40)
    before = X.copy()
    kernel(X)
    assert np.array_equal(X, before)


@every_kernel
def test_paired_values_are_the_diagonal(kernel):
    X, Z = points("near duplicates 12")[:30], points("near duplicates 12")[30:]
    k = scaled(kernel, "near duplicates 12")
    assert abs(k.paired(X, Z) - np.diag(naive.kernel_matrix(k, X, Z))).max() <= BOUND[np.float64]
    assert (k.paired(X, X) == 1).all()


# --- length scale and metric ---------------------------------------------------------------------------------------


def dense_metric(d):
    A = np.random.default_rng(7).normal(size=(d, d))
    return A @ A.T / d


def singular_metric(d):
    A = np.random.default_rng(8).normal(size=(d, max(1, d // 3)))
    return A @ A.T / d


METRICS = {
    "vector": lambda d: np.random.default_rng(6).exponential(size=d),
    "vector with zeros": lambda d: np.r_[0.0, np.ones(d - 1)],
    "matrix": dense_metric,
    "singular matrix": singular_metric,
}


@every_kernel
@every_precision
@pytest.mark.parametrize("d", [3, 12, 70])
@pytest.mark.parametrize("metric", METRICS)
def test_metric_enters_the_distance(kernel, dtype, d, metric):
    if "matrix" in metric and isinstance(kernel, L1Laplacian):
        pytest.skip("has no such metric")
    k = kernel.replace(metric=METRICS[metric](d), length_scale=2.0)
    X, Z = normal(d).astype(dtype), normal(d, 50, seed=1).astype(dtype)
    # Where M is singular, its rounding is a distance of 1e-8 between points that are equal for it.
    bound = 1e-10 if metric == "singular matrix" and dtype == np.float64 else BOUND[dtype]
    assert abs(k(X, Z) - naive.kernel_matrix(k, X, Z)).max() <= bound


@every_kernel
def test_negative_eigenvalues_of_rounding_count_as_zero(kernel):
    if isinstance(kernel, L1Laplacian):
        pytest.skip("has no such metric")
    rounded = kernel.replace(metric=singular_metric(6) - 1e-12 * np.eye(6))
    assert abs(rounded(normal(6)) - kernel.replace(metric=singular_metric(6))(normal(6))).max() < 1e-10


@every_kernel
@every_precision
def test_length_scale_may_be_one_number_for_each_column(kernel, dtype):
    scales = np.array([0.5, 2.0, 30.0])
    X = normal(3).astype(dtype)
    k = kernel.replace(length_scale=scales)
    assert abs(k(X) - naive.kernel_matrix(k, X)).max() <= BOUND[dtype]
    assert abs(k(X) - kernel.replace(length_scale=scales.tolist())(X)).max() == 0


def test_length_scales_and_metric_act_together():
    # |D (x - z)|_M with D the reciprocal length scales: M sees the scaled difference.
    k = Laplacian(length_scale=[1.0, 4.0], metric=[[2.0, 1.0], [1.0, 3.0]])
    difference = np.array([3.0, 4.0]) / [1.0, 4.0]
    expected = np.exp(-np.sqrt(difference @ k.metric @ difference))
    assert k([[0.0, 0.0]], [[3.0, 4.0]])[0, 0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", ["normal 1", "near duplicates 12", "duplicates 12", "far clusters 12", "pixels 64"])
@pytest.mark.parametrize(("kernel", "norm"), [(Laplacian("median"), "euclidean"), (L1Laplacian("median"), "cityblock")])
def test_median_is_that_of_the_positive_distances(kernel, norm, name):
    assert kernel.resolve(points(name)).length_scale == pytest.approx(median(name, norm), rel=1e-9)


def test_median_is_that_of_the_metric():
    metric = dense_metric(3)
    X = normal(3)
    exact = naive.median_distance(X @ np.linalg.cholesky(metric))
    assert Gaussian("median", metric).resolve(X).length_scale == pytest.approx(exact, rel=1e-9)


def test_median_of_many_rows_is_that_of_a_sample():
    X = normal(3, 3000)
    assert Gaussian("median").resolve(X).length_scale == pytest.approx(naive.median_distance(X), rel=0.03)


def test_median_ignores_an_outlier():
    X = normal(2)
    X[0] = 1e12
    assert Gaussian("median").resolve(X).length_scale == pytest.approx(naive.median_distance(X), rel=1e-6)


def test_median_is_resolved_on_the_second_set():
    X, Z = normal(3), 5 * normal(3, 40, seed=1)
    assert (Laplacian("median")(X, Z) == Laplacian(Laplacian("median").resolve(Z).length_scale)(X, Z)).all()


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("kernel", [Gaussian("median"), L1Laplacian("median")], ids=repr)
def test_equal_rows_have_no_median_which_warns(kernel, rows):
    with pytest.warns(UserWarning, match=rf"All rows are equal.*{type(kernel).__name__}\(length_scale='median'\)"):
        K = kernel(np.full((rows, 3), 0.1))
    assert (K == 1).all()


# --- relations -----------------------------------------------------------------------------------------------------


@every_precision
@pytest.mark.parametrize(
    ("kernel", "other"),
    [
        (Matern(nu=0.5), Laplacian()),
        (ExponentialPower(exponent=1.0), Laplacian()),
        (Matern(nu=np.inf), Gaussian()),
        (ExponentialPower(exponent=2.0), Gaussian(length_scale=0.5**0.5)),
        (Gaussian(metric=[4.0, 4.0, 4.0]), Gaussian(length_scale=0.5)),
        (Laplacian(metric=4.0 * np.eye(3)), Laplacian(length_scale=0.5)),
        (L1Laplacian(metric=[4.0, 4.0, 4.0]), L1Laplacian(length_scale=0.5)),
    ],
    ids=repr,
)
def test_two_names_of_the_same_kernel_agree(kernel, other, dtype):
    X = normal(3).astype(dtype)
    assert abs(kernel(X) - other(X)).max() <= {np.float64: 1e-14, np.float32: 1e-6}[dtype]


@pytest.mark.parametrize(
    "kernel", [RationalQuadratic(shape=1e6), RationalQuadratic(shape=1e12), Matern(nu=1e6)], ids=repr
)
def test_limit_is_the_gaussian(kernel):
    size = kernel.get_params().get("shape") or kernel.nu
    assert abs(kernel(normal(3)) - Gaussian()(normal(3))).max() < 1 / size


# --- operators -----------------------------------------------------------------------------------------------------


@every_kernel
@every_precision
@pytest.mark.parametrize("d", [3, 40])
def test_operator_multiplies_like_the_matrix(kernel, dtype, d):
    X, Z = normal(d, 300).astype(dtype), normal(d, 700, seed=1).astype(dtype)
    V, U = normal(4, 700, seed=2).astype(dtype), normal(4, 300, seed=3).astype(dtype)
    K, operator = naive.kernel_matrix(kernel, X, Z), kernel.operator(X, Z)
    tolerance = 1000 * BOUND[dtype]
    assert operator.shape == (300, 700)
    assert abs(operator @ V - K @ V).max() < tolerance
    assert abs(operator.T @ U - K.T @ U).max() < tolerance
    assert abs(operator.H @ U[:, 0] - K.T @ U[:, 0]).max() < tolerance
    assert (operator @ V).dtype == dtype


@every_kernel
def test_operator_of_a_set_with_itself_multiplies_like_the_matrix(kernel):
    X, V = normal(3, 600), normal(2, 600, seed=1)
    assert abs(kernel.operator(X) @ V - kernel(X) @ V).max() < 1e-11
    assert abs(kernel.operator(X).T @ V - kernel(X) @ V).max() < 1e-11


@every_kernel
@every_precision
@pytest.mark.parametrize("d", [3, 40])
def test_the_number_of_threads_changes_no_bit(kernel, dtype, d):
    X, V = normal(d, 1100).astype(dtype), normal(2, 1100, seed=1).astype(dtype)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append((kernel(X), kernel(X[:700], X), kernel.operator(X) @ V))
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)


def test_operator_keeps_the_better_precision():
    X = normal(40, 30).astype(np.float32)
    assert (Laplacian().operator(X) @ np.ones(30)).dtype == np.float64


@pytest.mark.parametrize("kernel", [Matern(nu=4.0), L1Laplacian()], ids=repr)
def test_operator_never_holds_the_matrix(kernel):
    X, V = normal(3, 4000), np.ones((4000, 2))
    kernel.operator(X[:300]) @ V[:300]  # what is compiled and imported is not the product's
    tracemalloc.start()
    kernel.operator(X) @ V
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes + 24 * 2**20 < 4000**2 * 8
