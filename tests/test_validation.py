"""Bad input of kernels: an error that says whose parameter, what is allowed and what came; before any work."""

import re

import numpy as np
import pytest
from scipy import sparse

from bochner import ExponentialPower, Gaussian, L1Laplacian, Laplacian, Matern, RationalQuadratic
from bochner._validation import Range, as_generator, check_choice, check_integer, check_number

KERNELS = [Gaussian(), Laplacian(), Matern(), ExponentialPower(), RationalQuadratic(), L1Laplacian()]
X = np.random.default_rng(0).normal(size=(5, 3))

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def sentence(owner, parameter, allowed, value):
    return re.escape(f"The '{parameter}' parameter of {owner} must be {allowed}. Got {value!r} instead.")


# --- parameters ----------------------------------------------------------------------------------------------------

NUMBERS = [
    (Matern, "nu", "a number greater than 0, infinity included", [0, -1, -np.inf, np.nan, "1", None, True, [1.5], 1j]),
    (
        ExponentialPower,
        "exponent",
        "a number greater than 0 and at most 2",
        [0, -1, 2.001, 3, np.inf, np.nan, "1", True],
    ),
    (RationalQuadratic, "shape", "a number greater than 0", [0, -1, np.inf, np.nan, "1", None, True]),
    (Gaussian, "length_scale", "a number greater than 0", [0, -1, np.inf, np.nan, 0.0]),
]


@pytest.mark.parametrize(
    ("kernel", "parameter", "allowed", "value"),
    [(kernel, parameter, allowed, value) for kernel, parameter, allowed, values in NUMBERS for value in values],
)
def test_numbers_out_of_range_are_named(kernel, parameter, allowed, value):
    with pytest.raises(ValueError, match=sentence(kernel.__name__, parameter, allowed, value)):
        kernel(**{parameter: value})(X)


@pytest.mark.parametrize("value", [1, 2.0, np.float32(1.5), np.int64(1), 2.0**-1000])
def test_all_kinds_of_numbers_are_allowed(value):
    assert ExponentialPower(exponent=value)(X).shape == (5, 5)


@pytest.mark.parametrize(
    "value",
    [
        *(True, None, "mean", 1j, np.array(2.0), [[1, 1, 1]]),
        *([1, -1, 1], [1, 0, 1], [1, np.nan, 1], [1, np.inf, 1]),
        *(["1", "1", "1"], [1, "a", 1], [1, None, 1], np.array([1, 1j, 1])),
    ],
    ids=repr,
)
@every_kernel
def test_length_scales_that_are_no_positive_numbers_are_named(kernel, value):
    allowed = "a positive number, a vector of them, 'median', or in a model 'auto'"
    with pytest.raises(ValueError, match=sentence(type(kernel).__name__, "length_scale", allowed, value)):
        kernel.replace(length_scale=value)(X)


@pytest.mark.parametrize("parameter", ["length_scale", "metric"])
@every_kernel
def test_vectors_of_the_wrong_length_are_named(kernel, parameter):
    name = type(kernel).__name__
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of {name} has 2 entries, but X has 3 columns"):
        kernel.replace(**{parameter: [1.0, 1.0]})(X)


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ([1, 1, -1], "without negative entries if it is a vector"),
        ([0, 0, 0], "different from zero"),
        (np.zeros((3, 3)), "different from zero"),
        (np.triu(np.ones((3, 3))), "symmetric"),
        (np.diag([1.0, 1.0, -1.0]), "positive semidefinite (its eigenvalue -1 is not)"),
        (np.diag([1.0, 1.0, -1e-3]), "positive semidefinite (its eigenvalue -0.001 is not)"),
        (np.ones((3, 2)), "None, a vector"),
        (np.ones((3, 3, 3)), "None, a vector"),
        (2.0, "None, a vector"),
        ("identity", "None, a vector"),
        ([1, np.nan, 1], "None, a vector"),
        (np.diag([1.0, np.inf, 1.0]), "None, a vector"),
        (["1", "1", "1"], "None, a vector"),
        (1j * np.eye(3), "None, a vector"),
    ],
    ids=repr,
)
def test_metrics_that_are_none_are_named(value, allowed):
    with pytest.raises(ValueError, match=re.escape(f"The 'metric' parameter of Laplacian must be {allowed}")):
        Laplacian(metric=value)(X)


@pytest.mark.parametrize("value", [np.eye(2), np.ones((4, 4))], ids=["2", "4"])
def test_metrics_of_the_wrong_size_are_named(value):
    with pytest.raises(ValueError, match=f"'metric' parameter of Matern has {len(value)} entries, but X has 3 columns"):
        Matern(metric=value)(X)


def test_a_matrix_is_no_metric_of_a_separable_kernel():
    with pytest.raises(ValueError, match=r"'metric' parameter of L1Laplacian must be None or a vector .*product over"):
        L1Laplacian(metric=np.eye(3))(X)


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(ValueError, match="must be symmetric") as error:
        Gaussian(metric=np.triu(np.ones((30, 30))))(np.ones((2, 30)))
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("call", ["__call__", "operator", "resolve"])
def test_every_way_in_validates(call):
    with pytest.raises(ValueError, match="The 'nu' parameter of Matern"):
        getattr(Matern(nu=-1), call)(X)
    with pytest.raises(ValueError, match="The 'X' argument of Matern must be finite"):
        getattr(Matern(), call)(np.full((2, 2), np.nan))


def test_errors_are_both_value_and_type_errors():
    for kind in (ValueError, TypeError):
        with pytest.raises(kind, match="nu"):
            Matern(nu="one")(X)


# --- points --------------------------------------------------------------------------------------------------------

POINTS = [
    ("one dimension", np.arange(3.0), "be a 2-D array with at least one row and one column. Got shape (3,)"),
    ("a number", 3.0, "be a 2-D array with at least one row and one column. Got shape ()"),
    ("three dimensions", np.ones((2, 2, 2)), "be a 2-D array"),
    ("no rows", np.ones((0, 3)), "be a 2-D array with at least one row and one column. Got shape (0, 3)"),
    ("no columns", np.ones((3, 0)), "be a 2-D array with at least one row and one column. Got shape (3, 0)"),
    ("NaN", np.array([[1.0, np.nan]]), "be finite"),
    ("infinity", np.array([[1.0, np.inf]]), "be finite"),
    ("both infinities", np.array([[-np.inf, np.inf]]), "be finite"),
    ("NaN in float32", np.array([[1.0, np.nan]], dtype=np.float32), "be finite"),
    ("NaN among objects", np.array([[1.0, np.nan]], dtype=object), "be finite"),
    ("strings", np.array([["a", "b"]]), "hold numbers"),
    ("strings of digits", np.array([["1", "2"]]), "hold numbers"),
    ("objects", np.array([[1, {}]], dtype=object), "hold numbers"),
    ("complex numbers", np.array([[1j, 2.0]]), "hold numbers"),
    ("dates", np.array([["2026-01-01", "2026-01-02"]], dtype="datetime64[D]"), "hold numbers"),
    ("sparse", sparse.csr_array(np.eye(3)), "be a dense array. Got a sparse matrix instead. Use {}.toarray()"),
]


@pytest.mark.parametrize(("points", "allowed"), [row[1:] for row in POINTS], ids=[row[0] for row in POINTS])
@pytest.mark.parametrize("name", ["X", "Z"])
def test_points_that_are_none_are_named(points, allowed, name):
    message = re.escape(f"The '{name}' argument of Matern must {allowed.format(name)}")
    with pytest.raises((ValueError, TypeError), match=message):
        Matern()(*((points,) if name == "X" else (X[:, :2], points)))


@every_kernel
def test_sets_with_different_numbers_of_columns_are_refused(kernel):
    with pytest.raises(ValueError, match=f"The 'Z' argument of {type(kernel).__name__} must have 3 columns. Got 2."):
        kernel(X, X[:, :2])


def test_pairs_need_equally_many_rows():
    with pytest.raises(ValueError, match=r"X and Z of Gaussian\.paired must have equally many rows"):
        Gaussian().paired(X, X[:2])


@every_kernel
@pytest.mark.parametrize("points", [X[:1], X[:, :1], np.ones((4, 2)), X.tolist(), np.array([[1, 2.5]], dtype=object)])
def test_small_and_odd_sets_of_points_work(kernel, points):
    K = kernel(points)
    assert K.shape == (len(points), len(points))
    assert (np.diag(K) == 1).all()


# --- the checks themselves -----------------------------------------------------------------------------------------


def test_a_range_says_what_it_holds():
    assert str(Range(0.0)) == "a number greater than 0"
    assert str(Range(0.0, 1.0, includes_low=True)) == "a number at least 0 and less than 1"
    assert str(Range(0.0, 2.0, includes_high=True)) == "a number greater than 0 and at most 2"
    assert str(Range(0.0, includes_high=True)) == "a number greater than 0, infinity included"


def test_a_range_holds_what_it_says():
    assert 0.0 not in Range(0.0)
    assert 0.0 in Range(0.0, includes_low=True)
    assert 2.0 not in Range(0.0, 2.0)
    assert 2.0 in Range(0.0, 2.0, includes_high=True)
    assert np.inf not in Range(0.0)
    assert np.inf in Range(0.0, includes_high=True)
    assert np.nan not in Range(-np.inf, includes_high=True)


def test_numbers_come_back_as_floats():
    assert type(check_number("Owner", "name", np.float32(0.5), Range(0.0))) is float


@pytest.mark.parametrize("value", [0, -2, 1, 2.0, "2", True, None])
def test_integers_are_checked(value):
    with pytest.raises(ValueError, match=sentence("Owner", "width", "an integer of at least 2", value)):
        check_integer("Owner", "width", value, 2)
    assert check_integer("Owner", "width", np.int32(4), 2) == 4


@pytest.mark.parametrize("value", ["c", "", None, 1, ["a"]])
def test_choices_are_checked(value):
    with pytest.raises(ValueError, match=sentence("Owner", "letter", "one of 'a', 'b'", value)):
        check_choice("Owner", "letter", value, ("a", "b"))
    assert check_choice("Owner", "letter", "b", ("a", "b")) == "b"


@pytest.mark.parametrize("value", [-1, 1.5, "0", [1]])
def test_random_states_are_checked(value):
    allowed = "None, a non-negative integer, a Generator or a RandomState"
    with pytest.raises(ValueError, match=sentence("Owner", "random_state", allowed, value)):
        as_generator("Owner", value)


def test_random_states_give_one_stream():
    assert as_generator("Owner", 7).random() == as_generator("Owner", np.int64(7)).random()
    generator = np.random.default_rng(0)
    assert as_generator("Owner", generator) is generator
    legacy = [as_generator("Owner", np.random.RandomState(3)).random() for _ in range(2)]
    assert legacy[0] == legacy[1]
    assert as_generator("Owner", None).random() != as_generator("Owner", None).random()
