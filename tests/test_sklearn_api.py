"""RandomFeatures keeps scikit-learn's contract, and tells in one sentence what is wrong with a parameter or data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import (
    ExponentialPower,
    Gaussian,
    L1Laplacian,
    Laplacian,
    Matern,
    RandomFeatures,
    RationalQuadratic,
)

KERNELS = [Gaussian(), Laplacian(), Matern(0.8), Matern(np.inf), ExponentialPower(0.5), RationalQuadratic()]
NAMES = ["gaussian", "laplacian", "matern", "exponential_power", "rational_quadratic", "l1_laplacian"]
ESTIMATORS = [
    *(RandomFeatures(k, 8, directions=d) for k in KERNELS for d in ("auto", "gaussian", "orthogonal", "hadamard")),
    *(RandomFeatures(L1Laplacian(), 8, directions=d) for d in ("auto", "gaussian")),
    *(RandomFeatures(name, 8) for name in NAMES),
    *(RandomFeatures("laplacian", 8, sampling=s) for s in ("random", "sobol")),
]

X = np.random.default_rng(0).normal(size=(20, 3))


# scikit-learn's checks fit single rows and constant data, where the median distance has its say.
@pytest.mark.filterwarnings("ignore:All rows are equal")
@parametrize_with_checks(ESTIMATORS)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


NUMBER = "must be an even integer of at least 2"
WRONG_PARAMETERS = {
    "n_components": [(value, NUMBER) for value in (3, 0, -2, 8.0, True, "8", None, np.float64(8), np.array([8]))],
    "directions": [
        (value, "must be one of 'auto', 'gaussian', 'orthogonal', 'hadamard'")
        for value in ("haar", None, 1, ["gaussian"])
    ],
    "sampling": [(value, "must be one of 'random', 'stratified', 'sobol'") for value in ("halton", None, 0)],
    "kernel": [
        *(
            (value, "must be a kernel of bochner or one of 'gaussian', 'laplacian'")
            for value in ("rbf", None, 1.0, int)
        ),
        (Laplacian, "Write Laplacian()"),
    ],
    "random_state": [
        (value, "must be None, a non-negative integer, a Generator or a RandomState") for value in (-1, "a", 0.5)
    ],
}


@pytest.mark.parametrize(
    ("parameter", "value", "allowed"), [(name, *wrong) for name, cases in WRONG_PARAMETERS.items() for wrong in cases]
)
def test_a_wrong_parameter_is_told_in_one_sentence(parameter, value, allowed):
    estimator = RandomFeatures(**{parameter: value})  # the constructor only stores
    with pytest.raises(
        ValueError, match=rf"^The '{parameter}' parameter of RandomFeatures must be .*Got .* instead\."
    ) as caught:
        estimator.fit(X)
    assert allowed in str(caught.value)
    assert set(vars(estimator)) == set(estimator.get_params(deep=False))


@pytest.mark.parametrize("n_components", [2, np.int64(8), np.uint8(8)])
def test_any_even_integer_is_a_width(n_components):
    assert RandomFeatures(n_components=n_components).fit(X).transform(X).shape == (20, n_components)


@pytest.mark.parametrize("directions", ["orthogonal", "hadamard"])
def test_a_separable_kernel_has_independent_directions_only(directions):
    message = (
        rf"^The 'directions' parameter of RandomFeatures must be 'auto' or 'gaussian' .* Got '{directions}' instead"
    )
    with pytest.raises(ValueError, match=message):
        RandomFeatures("l1_laplacian", directions=directions).fit(X)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Matern(nu=-1), r"^The 'nu' parameter of Matern must be a number greater than 0.* Got -1 instead\."),
        (Matern(nu="a"), r"^The 'nu' parameter of Matern must be a number greater than 0.* Got 'a' instead\."),
        (
            ExponentialPower(2.1),
            r"^The 'exponent' parameter of ExponentialPower must be .* at most 2\. Got 2\.1 instead\.",
        ),
        (Laplacian(0.0), r"^The 'length_scale' parameter of Laplacian must be .* Got 0\.0 instead\."),
        (
            Laplacian("mean"),
            r"^The 'length_scale' parameter of Laplacian must be .*, or in a model 'auto'\. Got 'mean' instead\.",
        ),
        (Laplacian([1.0, 2.0]), r"^The 'length_scale' parameter of Laplacian .*2 entries.* 3 columns"),
        (Laplacian(metric=np.eye(2)), r"^The 'metric' parameter of Laplacian .*2 .* 3 columns"),
        (
            Laplacian(metric=np.diag([1.0, 1.0, -1.0])),
            r"^The 'metric' parameter of Laplacian must be positive semidefinite",
        ),
        (L1Laplacian(metric=np.eye(3)), r"^The 'metric' parameter of L1Laplacian must be None or a vector"),
    ],
)
def test_a_wrong_parameter_of_the_kernel_is_told_by_fit(kernel, message):
    with pytest.raises(ValueError, match=message):
        RandomFeatures(kernel).fit(X)


def test_an_unknown_parameter_of_the_kernel_is_told():
    with pytest.raises(
        ValueError, match=r"Laplacian has no parameter 'nu'. Its parameters are: length_scale, metric\."
    ):
        RandomFeatures(Laplacian()).set_params(kernel__nu=1.0)


WRONG_DATA = {
    "nan": (np.where(X > 1, np.nan, X), "contains NaN"),
    "infinity": (np.where(X > 1, np.inf, X), "contains infinity"),
    "sparse nan": (sparse.csr_matrix(np.where(X > 1, np.nan, X)), "contains NaN"),
    "strings": (np.array([["a", "b", "c"]]), "could not convert string to float|dtype='numeric'"),
    "no rows": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((3, 0)), "0 feature"),
    "one dimension": (np.ones(3), "Expected 2D array"),
    "three dimensions": (np.ones((3, 3, 3)), "dim 3"),
    "complex": (np.ones((3, 3), dtype=complex), "Complex data not supported"),
}


@pytest.mark.parametrize(("data", "message"), WRONG_DATA.values(), ids=WRONG_DATA)
@pytest.mark.parametrize("method", ["fit", "transform", "iter_blocks", "error_estimate"])
def test_wrong_data_are_refused(method, data, message):
    estimator = RandomFeatures(n_components=8)
    if method != "fit":
        estimator.fit(X)
    with pytest.raises(ValueError, match=message):
        getattr(estimator, method)(data)


@pytest.mark.parametrize("method", ["transform", "iter_blocks", "error_estimate"])
def test_the_wrong_number_of_columns_is_refused(method):
    estimator = RandomFeatures(n_components=8).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but RandomFeatures is expecting 3 features"):
        getattr(estimator, method)(X[:, :2])
