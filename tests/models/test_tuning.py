"""What the choice of penalties and length scales stands on: hashes, splits, searches and trials."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from bochner import Laplacian, RandomFeatureRegressor, RandomFeatures
from bochner.models import linear, tuning
from bochner.models.held_out import Judging
from bochner.models.linear import Effort, Sample, ridge_by_iteration
from bochner.models.trials import Narrow, RidgeTrial, WideTrial, trial_of_targets
from bochner.progress import ignore_progress
from bochner.solvers import Design

# --- hashes ----------------------------------------------------------------------------------------------------------


def test_equal_rows_have_equal_hashes_and_others_have_not():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    hashes = tuning.hashes_of_rows(np.vstack([X, X[::-1]]), 0)
    assert np.array_equal(hashes[:2000], hashes[2000:][::-1])
    assert len(np.unique(hashes)) >= 1998  # of 2000 numbers below 2^32, two are alike once in two thousand times


def test_hashes_know_content_only():
    X = np.random.default_rng(0).integers(-3, 4, size=(500, 6)).astype(np.float64)
    X[:, 2] = 0.0
    hashes = tuning.hashes_of_rows(X, 0)
    negative_zeros = np.where(X == 0.0, -0.0, X)
    stored_zeros = sparse.csr_array(X + 7.0)
    stored_zeros.data -= 7.0
    for same in (X.astype(np.float32), X.astype(int), negative_zeros, sparse.csr_array(X), stored_zeros):
        assert np.array_equal(tuning.hashes_of_rows(same, 0), hashes)
    assert (tuning.hashes_of_rows(X, 1) != hashes).mean() > 0.9
    assert (tuning.hashes_of_rows(X[:, ::-1], 0) != hashes).mean() > 0.9


@pytest.mark.parametrize(
    "column",
    [np.arange(20_000.0), np.arange(20_000.0) / 7.0, 2.0 ** (np.arange(20_000) / 100.0 - 100.0)],
    ids=["integers", "fractions", "powers"],
)
def test_parts_are_equally_large(column):
    hashes = tuning.hashes_of_rows(np.stack([column, np.ones_like(column)], axis=1), 0)
    for n_parts in (5, 10):
        assert chisquare(np.bincount(hashes % n_parts, minlength=n_parts)).pvalue > 1e-4


# --- sizes and searches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [1, 2, 500, 1024, 4096, 22_528, 100_000])
def test_the_shape_of_a_trial_is_allowed_and_bounded(n_components):
    for n_rows in (100, 3000, 16_000, 49_990, 10**7):
        n_trial, width = tuning.trial_shape(n_rows, n_components, 8000, 2048)
        assert width == 1 or width % 2 == 0
        assert min(n_components, 1024) <= width <= min(n_components, 2048)
        assert min(n_rows, 2000) <= n_trial <= min(n_rows, 8000)


def test_a_trial_has_as_many_features_per_row_as_the_model():
    for n_rows, n_components in ((16_000, 2048), (60_000, 8192), (16_000, 16_384)):
        n_trial, width = tuning.trial_shape(n_rows, n_components, 32_768, 2048)
        assert width / n_trial == pytest.approx(n_components / n_rows, rel=0.03)


@pytest.mark.parametrize("best", [0.05, 0.8, 3.0, 20.0])
def test_the_length_scale_of_the_least_score_is_found(best):
    tried = []

    def score(kernel):
        tried.append(kernel.length_scale)
        return 1.0 + np.log2(kernel.length_scale / best) ** 2

    found = tuning.search_length_scale(Laplacian(1.0), score).length_scale
    assert abs(np.log2(found / best)) <= 0.3
    assert len(tried) == len(set(tried)) <= 12


def test_a_longer_scale_must_be_worth_it():
    assert tuning.search_length_scale(Laplacian(1.0), lambda kernel: 1.0).length_scale == 1.0
    falling = tuning.search_length_scale(Laplacian(1.0), lambda kernel: kernel.length_scale**-0.005)
    assert falling.length_scale == 1.0
    steeper = tuning.search_length_scale(Laplacian(1.0), lambda kernel: kernel.length_scale**-0.1)
    assert steeper.length_scale > 8.0


@pytest.mark.parametrize(("depth", "found"), [(0.5, 2.0**4.5), (0.95, 1.0)])
def test_of_two_basins_the_second_must_be_clearly_deeper(depth, found):
    def score(kernel):
        exponent = np.log2(kernel.length_scale)
        return min(1.0 + 0.1 * exponent**2, depth + 0.1 * (exponent - 4.5) ** 2)

    assert tuning.search_length_scale(Laplacian(1.0), score).length_scale == 1.0
    assert tuning.search_length_scale(Laplacian(1.0), score, (1.0, 16.0)).length_scale == pytest.approx(found)


# --- penalties -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [0.01, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iterations_take_the_penalty_that_is_best_on_held_out_rows(noise, weighted, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3)).astype(dtype)
    matrix = RandomFeatures(Laplacian(3.0), 200, random_state=0).fit(X).transform(X)
    targets = np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1) + noise * rng.normal(size=(1500, 2))
    weights = rng.uniform(0.5, 2.0, size=1500) if weighted else None
    hashes, alphas = tuning.hashes_of_rows(X, 0), [1e-3, 1e-1, 1e1, 1e3]
    design = Design.of(matrix)
    effort = Effort(1e-6, 200, ignore_progress)
    some = Sample(design, weights, True)
    model = ridge_by_iteration(design, some, targets, weights, alphas, Judging(hashes), effort)
    held = hashes % 10 == 0

    def error(alpha):
        ridge = Ridge(alpha=alpha).fit(matrix[~held], targets[~held], None if weights is None else weights[~held])
        squares = np.square(ridge.predict(matrix[held]) - targets[held])
        return np.average(squares, axis=0, weights=None if weights is None else weights[held]).sum()

    assert model.alpha == min(alphas, key=error)
    expected = Ridge(alpha=model.alpha).fit(matrix.astype(float), targets, weights).predict(matrix)
    assert abs(model.values(matrix) - expected).max() < 1e-4 * abs(expected).max()


def test_penalties_are_not_below_what_float32_holds():
    assert tuning.penalties_about(1.0, 100.0) == pytest.approx([10**-1.5, 0.1, 10**-0.5, 1.0, 10**0.5])
    assert tuning.penalties_about(1e-12, 1e5) == pytest.approx([3e-4, 3e-4 * 10**0.5])


def test_more_features_than_rows_are_tried_with_nearly_no_penalty():
    window = [10**-1.5, 0.1, 10**-0.5, 1.0, 10**0.5]
    assert tuning.penalties_far_below(window, 100.0) == pytest.approx([3e-7, np.sqrt(3e-7 * 10**-1.5)])
    near_the_smallest = tuning.penalties_about(1e-3, 1e5)
    assert near_the_smallest == pytest.approx([3e-4, 1e-3 * 10**-0.5, 1e-3, 1e-3 * 10**0.5])
    assert tuning.penalties_far_below(near_the_smallest, 1e5) == []


def test_a_penalty_far_below_must_be_clearly_better():
    assert linear._clearly_best([0.95, 1.2, 1.0, 1.1], 1) == 2
    assert linear._clearly_best([0.90, 1.2, 1.0, 1.1], 1) == 0
    assert linear._clearly_best([0.95, 0.92, 1.0, 1.1], 2) == 1
    assert linear._clearly_best([1.1, 1.0], 0) == 1


@pytest.mark.parametrize(("n_components", "interpolating"), [(200, False), (400, True)])
def test_a_machine_wider_than_its_rows_looks_beyond_what_a_narrow_trial_wants(n_components, interpolating, monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 2))
    monkeypatch.setattr(RidgeTrial, "penalty", lambda trial, kernel: 30.0)
    monkeypatch.setattr(WideTrial, "penalty", lambda trial, kernel: 30.0)
    model = RandomFeatureRegressor(Laplacian(3.0), n_components, solver="conjugate_gradient", random_state=0)
    model.fit(X, np.sin(X[:, 0]))  # without noise the least penalty is best
    assert (model.alpha_ < 1e-3) == interpolating


@pytest.mark.parametrize("noise", [0.01, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_wide_trial_takes_the_penalty_of_ridge_regression_on_all_its_features(noise, weighted):
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(300, 3)), rng.uniform(0.5, 2.0, size=300) if weighted else None
    y = np.sin(X[:, :1]) + noise * rng.normal(size=(300, 1))
    made = []

    def make(kernel, width, seed):
        made.append(RandomFeatures(kernel, width, random_state=seed))
        return made[-1]

    trial = trial_of_targets(Narrow(make, 900), X, y, w, rng)
    assert isinstance(trial, WideTrial)
    weight, alpha = 300.0 if w is None else w.sum(), trial.penalty(Laplacian(2.0))
    matrix, folds = made[0].transform(X), trial.hashes % 5
    assert matrix.shape == (300, 900)

    def error(exponent):
        predicted = np.empty(300)
        for fold in range(5):
            kept = folds != fold
            ridge = Ridge(alpha=weight * 10.0**exponent).fit(matrix[kept], y[kept, 0], None if w is None else w[kept])
            predicted[~kept] = ridge.predict(matrix[~kept])
        return np.average(np.square(predicted - y[:, 0]), weights=w)

    assert alpha / weight == pytest.approx(10.0 ** min(range(-8, 3), key=error))


@pytest.mark.parametrize(
    ("n_rows", "n_components", "kind"), [(2000, 2048, WideTrial), (2000, 2000, RidgeTrial), (2001, 4096, RidgeTrial)]
)
def test_only_few_rows_are_tried_by_their_products(n_rows, n_components, kind):
    X = np.zeros((n_rows, 2))
    trial = trial_of_targets(Narrow(RandomFeatures, n_components), X, X, None, np.random.default_rng(0))
    assert type(trial) is kind


def test_a_chosen_length_scale_is_a_plain_number():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = RandomFeatureRegressor("laplacian", 128, random_state=0).fit(X, X[:, 0])
    assert "np." not in repr(model.kernel_)
    assert type(model.kernel_.length_scale) is float


def test_a_weight_of_two_is_a_repetition_where_features_are_more_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=300)
    for n_components in (500, 2048):  # between 300 and 600 rows, where the solvers differ, and above both
        model = RandomFeatureRegressor("laplacian", n_components, random_state=0)
        weighted = clone(model).fit(X, y, np.full(300, 2.0))
        repeated = clone(model).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
        assert weighted.kernel_.length_scale == pytest.approx(repeated.kernel_.length_scale)
    assert weighted.predict(X) == pytest.approx(repeated.predict(X), abs=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_path_finds_the_penalty_of_the_least_log_loss(n_classes):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(2000, 20))
    codes = (matrix[:, :n_classes] + 2.0 * rng.gumbel(size=(2000, n_classes))).argmax(axis=1)
    hashes = tuning.hashes_of_rows(matrix, 0)
    path = tuning.LogLossPath(matrix, codes, n_classes, None, hashes)
    path.refine(path.walk(1.0))
    alpha, loss = path.best()
    held = hashes < 2**30

    def expected(penalty):
        model = LogisticRegression(C=1.0 / penalty, max_iter=1000).fit(matrix[~held], codes[~held])
        return -np.log(model.predict_proba(matrix[held]))[np.arange(held.sum()), codes[held]].mean()

    assert loss == pytest.approx(expected(alpha), rel=1e-2)
    assert loss <= min(expected(10.0**e) for e in range(-4, 4)) * 1.01


@pytest.mark.parametrize(("gain", "chosen"), [(0.002, 1.0), (0.05, -4.0)])
def test_a_smaller_penalty_must_be_worth_it(gain, chosen):
    """Losses that fall by a little with every power of ten, or by enough, and rise again above ten."""

    class Path(tuning.LogLossPath):
        def _loss(self, exponent):
            return self._losses.setdefault(exponent, (1.0 - gain) ** -exponent + max(exponent - 1.0, 0.0))

    rng = np.random.default_rng(0)
    path = Path(rng.normal(size=(40, 3)), np.arange(40) % 2, 2, None, rng.integers(2**32, size=40, dtype=np.uint32))
    assert path.walk(3.0) == chosen
    assert path.best()[0] == pytest.approx(10.0**chosen)


def test_roots_stand_for_features():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[50:] = X[:10]  # copies have nothing of their own
    K = Laplacian(2.0)(X)
    roots = tuning.roots_of(K)
    assert roots.shape == (60, 50)
    np.testing.assert_allclose(roots @ roots.T, K, atol=1e-5)


def test_more_features_than_rows_are_tried_as_many():
    for n_rows, n_components, expected in [
        (500, 2048, (500, 2048)),
        (6000, 20_000, (2000, 6666)),
        (6000, 90_000, (2000, 8000)),
        (20_000, 24_576, (4000, 4914)),
        (50_000, 55_296, (4096, 4528)),
        (60_000, 4096, (8192, 1024)),
    ]:
        assert tuning.trial_shape(n_rows, n_components, 8192, 8192, by_products=True) == expected
