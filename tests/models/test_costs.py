"""The choice of the solver, by a written model of cost and memory."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn import config_context

from bochner import Laplacian, RandomFeatureClassifier, RandomFeatureRegressor, RandomFeatures, memory
from bochner.models import costs, linear

PLENTY = 2.0**40


def problem(n_rows, n_features, n_outputs=1, item_size=4, memory=PLENTY):
    return costs.Problem(n_rows, n_features, n_outputs, item_size, memory)


@pytest.mark.parametrize(
    "sizes", [(1000, 64), (100_000, 256), (1_000_000, 512), (10_000_000, 100), (50_000, 1024, 10), (60_000, 512, 100)]
)
@pytest.mark.parametrize("item_size", [4, 8])
def test_narrow_problems_go_by_the_gram_matrix(sizes, item_size):
    assert costs.choose_ridge_solver(problem(*sizes, item_size=item_size)) == "gram"


@pytest.mark.parametrize("n_rows", [1000, 60_000, 1_000_000])
@pytest.mark.parametrize("n_outputs", [1, 10])
def test_wide_problems_go_by_conjugate_gradients(n_rows, n_outputs):
    assert costs.choose_ridge_solver(problem(n_rows, 50_176, n_outputs)) == "conjugate_gradient"


@pytest.mark.parametrize("n_features", [64, 512, 1024])
def test_a_gram_matrix_that_does_not_fit_is_not_chosen(n_features):
    needed = problem(100_000, n_features).gram_memory
    assert needed >= 2 * 8 * n_features**2  # the matrix and its factor
    assert costs.choose_ridge_solver(problem(100_000, n_features, memory=needed)) == "gram"
    assert costs.choose_ridge_solver(problem(100_000, n_features, memory=needed - 1)) == "conjugate_gradient"


def test_the_choice_changes_once_as_the_width_grows():
    choices = [costs.choose_ridge_solver(problem(60_000, p)) for p in 2 ** np.arange(4, 18)]
    assert choices[0] == "gram"
    assert choices[-1] == "conjugate_gradient"
    assert sum(one != other for one, other in pairwise(choices)) == 1


def test_costs_and_memory_grow_with_every_size():
    small = problem(1000, 100)
    for larger in (problem(2000, 100), problem(1000, 200), problem(1000, 100, item_size=8)):
        assert larger.gram_cost > small.gram_cost
        assert larger.iteration_cost > small.iteration_cost
        assert larger.blocks_memory >= small.blocks_memory
    assert problem(1000, 100, 10).iteration_cost > small.iteration_cost
    assert problem(10, 100).rows_for_preconditioner == 10
    assert problem(10**6, 10**6).rows_for_preconditioner <= 10 * costs.WIDEST_GRAM


def test_softmax_needs_few_rows_of_wide_features():
    assert problem(10**5, 512).rows_for_softmax == problem(10**5, 512).rows_for_preconditioner > 512
    assert problem(10**5, 4096).rows_for_softmax == 1024
    assert problem(100, 4096).rows_for_softmax == 100


# --- in the estimators -----------------------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(3000, 3))
Y = np.sin(X[:, 0])


def test_a_small_fit_takes_the_gram_matrix():
    assert RandomFeatureRegressor(Laplacian(), 64, alpha=1.0).fit(X, Y).solver_ == "gram"


def test_the_working_memory_of_scikit_learn_is_the_limit():
    model = RandomFeatureRegressor(Laplacian(), 256, alpha=1.0, random_state=0)
    expected = model.fit(X, Y).predict(X)
    assert model.solver_ == "gram"
    with config_context(working_memory=1):  # MiB, and a Gram matrix of 256 with its factor takes 1.5
        model.fit(X, Y)
    assert model.solver_ == "conjugate_gradient"
    assert abs(model.predict(X) - expected).max() < 1e-3


@pytest.mark.parametrize(("n_columns", "widest"), [(3, costs.WIDEST_GRAM), (70, costs.WIDEST_GRAM), (70, 128)])
def test_features_that_are_costly_are_kept_for_all_passes_if_there_is_room(n_columns, widest, monkeypatch):
    monkeypatch.setattr(linear, "WIDEST_GRAM", widest)
    n_rows, write = [], RandomFeatures._write_rows

    def counted(self, plan, X, rows, out):
        n_rows.append(len(out))
        write(self, plan, X, rows, out)

    monkeypatch.setattr(RandomFeatures, "_write_rows", counted)
    X, found = np.random.default_rng(0).normal(size=(1000, n_columns)), []
    model = RandomFeatureRegressor(Laplacian(), 256, alpha=0.1, solver="conjugate_gradient", random_state=0)
    for n_megabytes in (64, 1):
        n_rows.clear()
        with config_context(working_memory=n_megabytes):
            model.fit(X, X[:, 0])
        found.append((sum(n_rows), model.predict(X)))
    (much, expected), (little, predicted) = found
    assert much < little if n_columns == 70 else much == little
    np.testing.assert_allclose(predicted, expected, atol=1e-5)


@pytest.mark.parametrize("solver", ["gram", "conjugate_gradient"])
def test_a_solver_that_is_asked_for_is_taken(solver):
    for estimator in (RandomFeatureRegressor, RandomFeatureClassifier):
        loss = {"loss": "squared_error"} if estimator is RandomFeatureClassifier else {}
        model = estimator(Laplacian(), 16, alpha=1.0, solver=solver, **loss).fit(X[:100], Y[:100] > 0)
        assert model.solver_ == solver


ESTIMATORS = {
    "regressor": RandomFeatureRegressor(Laplacian(), 1024, alpha=1.0),
    "iterations": RandomFeatureRegressor(Laplacian(), 1024, alpha=1.0, solver="conjugate_gradient"),
    "log loss": RandomFeatureClassifier(Laplacian(), 1024, alpha=1.0),
    "squared error": RandomFeatureClassifier(Laplacian(), 1024, alpha=1.0, loss="squared_error"),
}
TOO_LARGE = r"^RandomFeature\w+ with n_components=1024 needs about .* GiB .* are there\. Use fewer components"


@pytest.mark.parametrize("model", ESTIMATORS.values(), ids=ESTIMATORS)
def test_a_width_beyond_the_memory_is_told_before_it_is_tried(model, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1e6)
    with pytest.raises(MemoryError, match=TOO_LARGE):
        model.fit(X[:100], Y[:100] > 0)
    assert not hasattr(model, "features_")


@pytest.mark.parametrize("model", ESTIMATORS.values(), ids=ESTIMATORS)
def test_a_width_beyond_the_memory_is_told_before_features_are_drawn(model, monkeypatch):
    """The frequencies of an absurd width are themselves more than there is."""
    monkeypatch.setattr(memory, "available", lambda: 1e6)
    monkeypatch.setattr(RandomFeatures, "fit", lambda *_: pytest.fail("the features were drawn"))
    with pytest.raises(MemoryError, match=TOO_LARGE):
        model.fit(X[:100], Y[:100] > 0)


def test_the_steps_that_the_softmax_remembers_count(monkeypatch):
    needed = problem(100, 1024, n_outputs=50, item_size=8)
    assert needed.softmax_memory > 90e6 > needed.blocks_memory
    monkeypatch.setattr(memory, "available", lambda: 90e6)
    with pytest.raises(MemoryError, match=r"solver 'softmax'"):
        RandomFeatureClassifier(Laplacian(), 1024, alpha=1.0).fit(X[:100], np.arange(100) // 2)


def test_a_gram_matrix_beyond_the_memory_is_told_too(monkeypatch):
    """Blocks would do, but the Gram matrix that was asked for does not fit."""
    monkeypatch.setattr(memory, "available", lambda: 24e6)
    model = RandomFeatureRegressor(Laplacian(), 1024, alpha=1.0, solver="gram")
    assert problem(100, 1024, item_size=8).gram_memory > 24e6 > problem(100, 1024, item_size=8).blocks_memory
    with pytest.raises(MemoryError, match=r"n_components=1024"):
        model.fit(X[:100], Y[:100])


@pytest.mark.parametrize("name", ["regressor", "log loss", "squared error"])
def test_a_stream_beyond_the_memory_is_told_too(name, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1e6)
    model, classes = ESTIMATORS[name], {} if name == "regressor" else {"classes": [False, True]}
    with pytest.raises(MemoryError, match=r"n_components=1024"):
        model.partial_fit(X[:100], Y[:100] > 0, **classes)
