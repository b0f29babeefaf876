"""The estimators keep scikit-learn's contract."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import KernelClassifier, KernelRegressor, Laplacian, RandomFeatureClassifier, RandomFeatureRegressor

ESTIMATORS = [
    RandomFeatureRegressor(n_components=64),
    RandomFeatureRegressor(n_components=64, solver="conjugate_gradient"),
    RandomFeatureClassifier(n_components=64),
    RandomFeatureClassifier(n_components=64, loss="squared_error"),
    KernelRegressor(),
    KernelClassifier(),
    KernelClassifier(Laplacian("median"), loss="log_loss"),  # the search for a length scale is that of the others
]


# scikit-learn's checks fit single rows and constant data, where the median distance has its say.
# One of them weighs two classes 10^7 to 1, for which the log loss is told not to have converged (1.1e-4 for 1e-4).
@pytest.mark.filterwarnings("ignore:All rows are equal")
@pytest.mark.filterwarnings("ignore:RandomFeatureClassifier has not converged")
@parametrize_with_checks(ESTIMATORS)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def test_the_defaults_converge_on_few_sparse_rows():
    rng = np.random.RandomState(0)  # the data of check_estimator_sparse_array
    X = rng.uniform(size=(40, 3))
    X[X < 0.6] = 0.0
    y = (4 * rng.uniform(size=40)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RandomFeatureClassifier(n_components=64, random_state=10).fit(sparse.csr_array(X), y)
    assert model.solution_.residual <= model.tol
