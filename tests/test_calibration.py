"""Calibration against ten-line loops, closed forms and scikit-learn; coverage of intervals; the reliability diagram."""

import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import softmax
from sklearn.calibration import calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import brier_score_loss, log_loss

import bochner
from bochner.diagnostics import (
    ReliabilityDisplay,
    brier_score,
    expected_calibration_error,
    interval_coverage,
    negative_log_likelihood,
    reliability_curve,
)

MEASURES = [expected_calibration_error, brier_score, negative_log_likelihood, reliability_curve]


def predictions(n=500, n_classes=4, seed=0, temperature=1.0):
    """Classes drawn from probabilities, and these probabilities; with a temperature, distorted ones."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=1.5, size=(n, n_classes))
    below = softmax(logits, axis=1).cumsum(axis=1)[:, :-1] < rng.uniform(size=(n, 1))
    return below.sum(axis=1), softmax(logits / temperature, axis=1)


def value(measure, *args, **parameters):
    result = measure(*args, **parameters)
    return [result.confidence, result.accuracy, result.weight] if measure is reliability_curve else [result]


def same(first, second):
    pairs = list(zip(first, second, strict=True))
    return all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in pairs)


# --- references, row by row ------------------------------------------------------------------------------------------


def naive_error(scores, hits, n_bins):
    """Bins of equal width, (low, high], with 0 in the first."""
    total = 0.0
    edges = np.linspace(0, 1, n_bins + 1)
    for m in range(n_bins):
        rows = [i for i, s in enumerate(scores) if edges[m] < s <= edges[m + 1] or (m == 0 and s == 0)]
        if rows:
            gap = np.mean([hits[i] for i in rows]) - np.mean([scores[i] for i in rows])
            total += len(rows) / len(scores) * abs(gap)
    return total


def naive_equal_mass_error(scores, hits, n_bins):
    """Bins of equally many rows; no ties, and n_bins divides their number."""
    parts = np.split(np.argsort(scores), n_bins)
    return np.mean([abs(np.mean([hits[i] - scores[i] for i in part])) for part in parts])


def naive_brier(y, proba):
    return np.mean(
        [sum((p - (k == label)) ** 2 for k, p in enumerate(row)) for label, row in zip(y, proba, strict=True)]
    )


NAIVE = {"uniform": naive_error, "quantile": naive_equal_mass_error}


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n_bins", [1, 10, 25])
@pytest.mark.parametrize("strategy", NAIVE)
def test_the_error_is_that_of_a_loop(strategy, n_bins, n_classes, temperature):
    y, proba = predictions(500, n_classes, temperature=temperature)
    top = NAIVE[strategy](proba.max(axis=1), proba.argmax(axis=1) == y, n_bins)
    each = [NAIVE[strategy](proba[:, k], y == k, n_bins) for k in range(n_classes)]
    assert expected_calibration_error(y, proba, n_bins, strategy=strategy) == pytest.approx(top, abs=1e-12)
    classwise = expected_calibration_error(y, proba, n_bins, strategy=strategy, kind="classwise")
    assert classwise == pytest.approx(np.mean(each), abs=1e-12)


def test_the_default_is_fifteen_bins_of_equal_width_for_the_top_label():
    y, proba = predictions(temperature=0.5)
    expected = naive_error(proba.max(axis=1), proba.argmax(axis=1) == y, 15)
    assert bochner.diagnostics.expected_calibration_error(y, proba) == pytest.approx(expected, abs=1e-12)


def test_a_probability_on_an_edge_belongs_to_the_lower_bin():
    """As in Guo et al.: with ten bins, 0.6 is in (0.5, 0.6], and 0 and 1 have a place."""
    curve = reliability_curve([1, 1, 1, 1, 0], [0.6, 0.61, 1.0, 0.51, 0.0], 10, pos_label=1)
    np.testing.assert_allclose(curve.confidence, [0.0, 0.555, 0.61, 1.0])
    np.testing.assert_allclose(curve.weight, [0.2, 0.4, 0.2, 0.2])


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_brier_score_is_that_of_a_loop(n_classes):
    y, proba = predictions(n_classes=n_classes)
    assert brier_score(y, proba) == pytest.approx(naive_brier(y, proba), rel=1e-12)


# --- against scikit-learn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_agree_with_scikit_learn(weighted):
    y, proba = predictions(n_classes=2)
    weight = np.random.default_rng(1).uniform(size=len(y)) if weighted else None
    half = brier_score_loss(y, proba[:, 1], sample_weight=weight)
    assert brier_score(y, proba, sample_weight=weight) == pytest.approx(2 * half, rel=1e-12)
    y, proba = predictions(n_classes=5)
    expected = log_loss(y, proba, sample_weight=weight)
    assert negative_log_likelihood(y, proba, sample_weight=weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_curve_of_a_class_agrees_with_scikit_learn(strategy):
    y, proba = predictions(600, 2)
    frequency, mean = calibration_curve(y, proba[:, 1], n_bins=12, strategy=strategy)
    curve = reliability_curve(y, proba, 12, strategy=strategy, pos_label=1)
    np.testing.assert_allclose(curve.accuracy, frequency)
    np.testing.assert_allclose(curve.confidence, mean)


# --- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("confidence", [0.6, 0.9, 1.0])
def test_a_constant_overconfident_classifier_is_off_by_the_difference(confidence, strategy):
    """Right in 45 of 100 rows. One class is off by the difference, and so is the other."""
    y, proba = [1] * 45 + [0] * 55, np.full(100, confidence)
    for kind in ("top_label", "classwise"):
        error = expected_calibration_error(y, proba, strategy=strategy, kind=kind)
        assert error == pytest.approx(confidence - 0.45, abs=1e-12)


def test_classwise_sees_what_the_top_label_does_not():
    """Sure of class 0 with 0.6 and right, but the rest is class 1 only where 0.2 and 0.2 were said."""
    y = [0, 0, 0, 1, 1]
    proba = np.tile([0.6, 0.2, 0.2], (5, 1))
    labels = [0, 1, 2]
    assert expected_calibration_error(y, proba, labels=labels) == pytest.approx(0.0, abs=1e-12)
    classwise = expected_calibration_error(y, proba, labels=labels, kind="classwise")
    assert classwise == pytest.approx((0.0 + 0.2 + 0.2) / 3, abs=1e-12)


@pytest.mark.parametrize("kind", ["top_label", "classwise"])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibrated_probabilities_have_only_the_error_of_noise(strategy, kind):
    """The mean is at most 0.4 sqrt(15 / 20000) = 0.011; twice that is allowed, and a distortion is far beyond."""
    n, n_bins = 20_000, 15
    bound = 0.8 * np.sqrt(n_bins / n)
    y, proba = predictions(n)
    assert 0.0 < expected_calibration_error(y, proba, n_bins, strategy=strategy, kind=kind) < bound
    _, distorted = predictions(n, temperature=0.5)
    assert expected_calibration_error(y, distorted, n_bins, strategy=strategy, kind=kind) > 2 * bound


def test_the_stated_mean_of_the_noise_is_a_bound_and_near():
    """Fair coins: 0.4 sqrt(n_bins / n) is the mean itself up to 2%, since the variance is the largest possible."""
    rng = np.random.default_rng(0)
    n, n_bins = 4000, 10
    proba = 0.5 + 1e-6 * np.linspace(-1, 1, n)  # no ties, so that the bins are filled
    parameters = {"strategy": "quantile", "pos_label": 1}
    errors = [
        reliability_curve(rng.integers(0, 2, n), proba, n_bins, **parameters).expected_calibration_error
        for _ in range(300)
    ]
    assert np.mean(errors) == pytest.approx(0.4 * np.sqrt(n_bins / n), rel=0.05)


def test_a_perfect_and_a_worst_classifier():
    y, sure = np.array([0, 1, 2, 1]), np.eye(3)[[0, 1, 2, 1]]
    wrong = np.roll(sure, 1, axis=1)
    assert (expected_calibration_error(y, sure), brier_score(y, sure), negative_log_likelihood(y, sure)) == (0, 0, 0)
    assert (expected_calibration_error(y, wrong), brier_score(y, wrong)) == (1, 2)
    assert negative_log_likelihood(y, wrong) == np.inf


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_uniform_guess(n_classes):
    y, proba = np.arange(n_classes), np.full((n_classes, n_classes), 1 / n_classes)
    assert brier_score(y, proba) == pytest.approx(1 - 1 / n_classes)
    assert negative_log_likelihood(y, proba) == pytest.approx(np.log(n_classes))
    assert expected_calibration_error(y, proba) == pytest.approx(0.0, abs=1e-12)


def test_a_tiny_probability_of_the_truth_is_not_clipped():
    assert negative_log_likelihood([1], [1e-200]) == pytest.approx(200 * np.log(10))
    assert negative_log_likelihood([1, 0], [0.0, 0.3], sample_weight=[0, 1]) == pytest.approx(-np.log(0.7))


# --- bins of equal mass, ties and weights ----------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "n_bins"), [(600, 15), (601, 15), (100, 7), (5, 5)])
def test_bins_of_equal_mass_hold_equally_many_rows(n, n_bins):
    y, proba = predictions(n)
    curve = reliability_curve(y, proba, n_bins, strategy="quantile")
    counts = curve.weight * n
    assert len(counts) == n_bins
    assert counts.max() - counts.min() < (1e-9 if n % n_bins == 0 else 1 + 1e-9)


def test_bins_of_equal_mass_follow_the_weights():
    """No bin is off by more than the heaviest row."""
    y, proba = predictions(1000)
    weight = np.random.default_rng(2).exponential(size=1000)
    curve = reliability_curve(y, proba, 10, strategy="quantile", sample_weight=weight)
    assert len(curve.weight) == 10
    assert np.abs(curve.weight - 0.1).max() <= weight.max() / weight.sum()


def test_equal_probabilities_are_never_separated():
    """Half of the rows say 0.7: one bin; the others are shared out among the other bins."""
    scores = np.concatenate([np.full(50, 0.7), np.linspace(0.5, 0.69, 25), np.linspace(0.71, 0.9, 25)])
    y = np.random.default_rng(0).integers(0, 2, 100)
    curve = reliability_curve(y, scores, 4, strategy="quantile", labels=[0, 1])
    np.testing.assert_allclose(curve.weight, [0.25, 0.5, 0.25])
    np.testing.assert_allclose(curve.confidence, [0.595, 0.7, 0.805])
    assert curve.accuracy[1] == pytest.approx(y[:50].mean())


def test_a_score_goes_where_the_middle_of_its_mass_is():
    """Nine of ten rows say 0.7: their mass begins in the first half and has its middle in the second."""
    curve = reliability_curve([0] + [1] * 9, [0.6] + [0.7] * 9, 2, strategy="quantile")
    np.testing.assert_allclose(curve.weight, [0.1, 0.9])


def test_a_single_value_is_a_single_bin():
    curve = reliability_curve([0, 1, 1], [0.8, 0.8, 0.8], 10, strategy="quantile")
    assert (curve.confidence.tolist(), curve.weight.tolist()) == ([pytest.approx(0.8)], [1.0])


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_order_of_the_rows_does_not_matter(strategy):
    y, proba = predictions(400)
    rng = np.random.default_rng(3)
    proba, order = rng.multinomial(8, proba) / 8, rng.permutation(400)  # eighths, so that there are many ties
    first = value(reliability_curve, y, proba, strategy=strategy)
    assert same(first, value(reliability_curve, y[order], proba[order], strategy=strategy))


@pytest.mark.parametrize(
    ("measure", "parameters"),
    [(brier_score, {}), (negative_log_likelihood, {})]
    + [(reliability_curve, {"strategy": s}) for s in ("uniform", "quantile")]
    + [
        (expected_calibration_error, {"strategy": s, "kind": k})
        for s in ("uniform", "quantile")
        for k in ("top_label", "classwise")
    ],
)
def test_a_weight_is_a_repetition(measure, parameters):
    y, proba = predictions(300)
    times = np.random.default_rng(4).integers(0, 5, 300)
    repeated = value(measure, np.repeat(y, times), np.repeat(proba, times, axis=0), **parameters)
    weighted = value(measure, y, proba, sample_weight=times, **parameters)
    assert same(weighted, repeated)
    assert same(weighted, value(measure, y, proba, sample_weight=times / 8, **parameters))
    assert not same(weighted, value(measure, y, proba, **parameters))


# --- labels and shapes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_one_column_is_the_probability_of_the_second_class(measure):
    y, proba = predictions(n_classes=2)
    assert same(value(measure, y, proba[:, 1]), value(measure, y, np.column_stack([1 - proba[:, 1], proba[:, 1]])))
    assert not same(value(measure, y, proba[:, 1]), value(measure, y, proba[:, 0]))


@pytest.mark.parametrize("measure", MEASURES)
def test_strings_are_classes_and_labels_give_their_order(measure):
    y, proba = predictions(n_classes=3)
    names = np.array(["ant", "bee", "cat"])
    expected = value(measure, y, proba)
    assert same(value(measure, names[y], proba), expected)
    assert same(value(measure, names[y].tolist(), proba.tolist()), expected)
    assert same(value(measure, names[y].astype(object), proba), expected)
    order = [2, 0, 1]
    assert same(value(measure, names[y], proba[:, order], labels=names[order]), expected)
    assert not same(value(measure, names[y], proba[:, order]), expected)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64])
def test_integers_are_the_columns_where_a_class_is_missing(dtype):
    y, proba = predictions(n_classes=4)
    rows = y != 1
    y, proba = y[rows].astype(dtype), proba[rows]
    assert brier_score(y, proba) == pytest.approx(naive_brier(y, proba), rel=1e-12)
    assert brier_score(y, proba) == brier_score(y, proba, labels=[0, 1, 2, 3])


def test_as_many_classes_as_columns_are_the_columns():
    y, proba = predictions(n_classes=3)
    assert brier_score(10 * y - 7, proba) == brier_score(y, proba)


def test_truth_values_are_classes():
    y, proba = predictions(n_classes=2)
    assert brier_score(y == 1, proba) == brier_score(y, proba)
    assert brier_score([True, True], [0.7, 0.9]) == pytest.approx(2 * (0.09 + 0.01) / 2)


@pytest.mark.parametrize("measure", MEASURES)
def test_single_precision_is_near_double(measure):
    y, proba = predictions(n_classes=3, temperature=0.2)
    for single, double in zip(value(measure, y, proba.astype(np.float32)), value(measure, y, proba), strict=True):
        np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-6)


def test_data_frames_are_read():
    pandas = pytest.importorskip("pandas")
    y, proba = predictions(n_classes=3)
    labels = pandas.Series(np.array(["a", "b", "c"])[y], index=np.arange(len(y))[::-1])
    assert brier_score(labels, pandas.DataFrame(proba)) == brier_score(y, proba)
    assert brier_score(y % 2, pandas.Series(proba[:, 0])) == brier_score(y % 2, proba[:, 0])


def test_the_arguments_are_left_as_they_were():
    y, proba = predictions()
    before = y.copy(), proba.copy()
    for measure in MEASURES:
        measure(y, proba, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(proba, before[1])


def test_the_curve_gives_the_error_and_is_frozen():
    y, proba = predictions(temperature=0.5)
    curve = reliability_curve(y, proba, 8, strategy="quantile")
    gaps = curve.weight * np.abs(curve.accuracy - curve.confidence)
    assert curve.weight.sum() == pytest.approx(1.0)
    assert np.all(np.diff(curve.confidence) > 0)
    assert curve.expected_calibration_error == pytest.approx(gaps.sum())
    assert curve.expected_calibration_error == expected_calibration_error(y, proba, 8, strategy="quantile")
    with pytest.raises(FrozenInstanceError):
        curve.weight = curve.accuracy


# --- refusals --------------------------------------------------------------------------------------------------------

Y, PROBA = predictions(6, 3)
BAD_PREDICTIONS = {
    "negative": (Y, PROBA - [0.9, 0.0, -0.9], {}, r"'proba' argument of {} must be between 0 and 1. It goes from -"),
    "above 1": ([0, 1], [0.2, 1.2], {}, r"'proba' argument of {} must be between 0 and 1. It goes from 0.2 to 1.2"),
    "sums": (
        Y,
        PROBA * np.repeat([1, 0.9], [5, 1])[:, None],
        {},
        r"'proba' argument of {} must have rows that sum to 1. Row 5 sums ",
    ),
    "nan": (Y, np.where(PROBA > 0.6, np.nan, PROBA), {}, r"'proba' argument of {} must be finite"),
    "nan in 1-D": ([0, 1], [0.2, np.nan], {}, r"'proba' argument of {} must be finite"),
    "one column": ([0, 1], [[1.0], [1.0]], {}, r"'proba' argument of {} must have a column for each"),
    "3-D": (Y, PROBA[None], {}, r"'proba' argument of {} must be a 2-D array .* shape \(1, 6, 3\)"),
    "a number": ([1], 0.5, {}, r"'proba' argument of {} must be a 2-D array .* shape \(\)"),
    "no rows": ([], [], {}, r"'proba' argument of {} must be a 1-D array with at least one entry. Got shape \(0,\)"),
    "words": ([0, 1], ["low", "high"], {}, r"'proba' argument of {} must hold numbers"),
    "sparse": (Y, sparse.csr_matrix(PROBA), {}, r"'proba' argument of {} must be a dense array"),
    "short y": (Y[:5], PROBA, {}, r"'y' argument of {} must have shape \(6,\), .* Got shape \(5,\)"),
    "2-D y": (Y[:, None], PROBA, {}, r"'y' argument of {} must have shape \(6,\), .* Got shape \(6, 1\)"),
    "nan in y": ([0, 1, np.nan], PROBA[:3], {}, r"'y' argument of {} must hold classes of one type, without missing"),
    "None in y": (["a", "b", None], PROBA[:3], {}, r"'y' argument of {} must hold classes of one type, without miss"),
    "few strings": (list("aabbab"), PROBA, {}, r"'y' argument of {} has 2 classes and 'proba' has 3 columns. Say with"),
    "many classes": (range(6), PROBA, {}, r"'y' argument of {} has 6 classes and 'proba' has 3 columns. Say with"),
    "beyond": ([1, 3] * 3, PROBA, {}, r"'y' argument of {} has 2 classes and 'proba' has 3 columns. Say with"),
    "few labels": (Y, PROBA, {"labels": [0, 1]}, r"'labels' parameter of {} must be the 3 distinct .* Got \[0, 1\] in"),
    "same labels": (Y, PROBA, {"labels": [0, 1, 1]}, r"'labels' parameter of {} must be the 3 distinct classes"),
    "other labels": ([0, 1, 9] * 2, PROBA, {"labels": [0, 1, 2]}, r"'y' argument of {} must hold the .* Got \[9\] too"),
    "other type": (
        Y,
        PROBA,
        {"labels": ["a", "b", "c"]},
        r"'y' argument of {} must hold the classes \['a', 'b', 'c'\]",
    ),
    "negative weight": (
        Y,
        PROBA,
        {"sample_weight": [1] * 5 + [-1]},
        r"'sample_weight' argument of {} must be at least 0, .* from -1 to 1",
    ),
    "no weight": (
        Y,
        PROBA,
        {"sample_weight": [0] * 6},
        r"'sample_weight' argument of {} must be at least 0, .* from 0 to 0",
    ),
    "nan weight": (Y, PROBA, {"sample_weight": [1] * 5 + [np.nan]}, r"'sample_weight' argument of {} must be finite"),
    "few weights": (Y, PROBA, {"sample_weight": [1] * 5}, r"'sample_weight' argument of {} must have 6 entries, .* 5"),
}


@pytest.mark.parametrize("measure", [*MEASURES, ReliabilityDisplay.from_predictions])
@pytest.mark.parametrize("case", BAD_PREDICTIONS)
def test_wrong_predictions_are_refused_by_every_measure(case, measure):
    y, proba, parameters, message = BAD_PREDICTIONS[case]
    owner = "ReliabilityDisplay" if measure not in MEASURES else measure.__name__
    with pytest.raises((ValueError, TypeError), match=message.format(owner)):
        measure(y, proba, **parameters)


def test_rows_may_miss_1_by_a_thousandth():
    y, proba = predictions()
    for factor in (0.9995, 1.0005):
        assert brier_score(y, factor * proba) == pytest.approx(brier_score(y, proba), abs=2e-3)
    for factor in (0.998, 1.002):
        with pytest.raises(ValueError, match="sum to 1"):
            brier_score(y, factor * proba)


@pytest.mark.parametrize(
    ("parameter", "wrong", "allowed"),
    [("n_bins", v, "an integer of at least 1") for v in (0, -3, 2.5, True, "ten", None)]
    + [("strategy", v, "one of 'uniform', 'quantile'") for v in ("equal", None, 3)]
    + [("kind", v, "one of 'top_label', 'classwise'") for v in ("top", None, 3)],
)
def test_wrong_parameters_are_refused(parameter, wrong, allowed):
    measures = [expected_calibration_error] if parameter == "kind" else [expected_calibration_error, reliability_curve]
    for measure in measures:
        message = f"^The '{parameter}' parameter of {measure.__name__} must be {allowed}. Got {wrong!r} instead."
        with pytest.raises(ValueError, match=message):
            measure(Y, PROBA, **{parameter: wrong})


def test_the_curve_of_an_unknown_class_is_refused():
    with pytest.raises(ValueError, match=r"'pos_label' parameter of reliability_curve must be None or one of the cla"):
        reliability_curve(Y, PROBA, pos_label="b")


# --- coverage of intervals -------------------------------------------------------------------------------------------


def regression(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), rng.uniform(0.1, 3.0, size=n)
    return mean + std * rng.normal(size=n), mean, std


def test_the_coverage_and_its_interval_are_those_of_scipy():
    y, mean, std = regression()
    result = interval_coverage(y, mean, 0.8 * std, confidence=0.9)
    assert result.levels.tolist() == [0.5, 0.8, 0.9, 0.95]
    assert result.confidence == 0.9
    for level, coverage, low, high in zip(result.levels, result.coverage, result.low, result.high, strict=True):
        ends = stats.norm.interval(level, mean, 0.8 * std)
        count = sum(a <= value <= b for value, a, b in zip(y, *ends, strict=True))
        expected = stats.binomtest(count, len(y)).proportion_ci(0.9, method="wilson")
        assert coverage == count / len(y)
        assert (low, high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_right_deviations_are_covered_as_stated_and_wrong_ones_are_not():
    """The ends of four confidence levels of 99.9%, so that a right one fails in less than one of 250 seeds."""
    y, mean, std = regression(20_000)
    right = interval_coverage(y, mean, std, confidence=0.999)
    assert np.all((right.low < right.levels) & (right.levels < right.high))
    small, large = (interval_coverage(y, mean, factor * std, confidence=0.999) for factor in (0.8, 1.25))
    assert np.all(small.high < small.levels)
    assert np.all(large.low > large.levels)


def test_the_confidence_interval_holds_the_coverage_in_about_the_stated_share():
    """Over 1000 data sets of 60 rows the share has a standard deviation of 0.01; 0.04 is allowed."""
    covered = []
    for seed in range(1000):
        y = np.random.default_rng(seed).normal(size=60)
        result = interval_coverage(y, np.zeros(60), np.ones(60), [0.7], confidence=0.9)
        covered.append(result.low[0] <= 0.7 <= result.high[0])
    assert np.mean(covered) == pytest.approx(0.9, abs=0.04)


@pytest.mark.parametrize(("offset", "coverage"), [(0.0, 1.0), (100.0, 0.0)])
def test_the_interval_of_all_or_nothing_stays_between_0_and_1(offset, coverage):
    result = interval_coverage(np.full(20, offset), np.zeros(20), np.ones(20), 0.9)
    expected = stats.binomtest(int(20 * coverage), 20).proportion_ci(method="wilson")
    assert result.coverage.tolist() == [coverage]
    assert (result.low[0], result.high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0.0 <= result.low[0] < result.high[0] <= 1.0


def test_the_ends_belong_to_the_interval():
    z = stats.norm.ppf(0.75)
    assert interval_coverage([z * (1 - 1e-12), z * (1 + 1e-9)], [0, 0], [1, 1], [0.5]).coverage.tolist() == [0.5]


def test_the_coverage_is_frozen():
    with pytest.raises(FrozenInstanceError):
        interval_coverage(*regression(10)).low = None


@pytest.mark.parametrize(
    ("y", "mean", "std", "message"),
    [
        ([0, 1], [0, 1], [1, 0], "'std' argument of interval_coverage must be greater than 0. Its smallest is 0"),
        ([0, 1], [0, 1], [-2, 1], "'std' argument of interval_coverage must be greater than 0. Its smallest is -2"),
        ([0, 1], [0, 1], [1, np.inf], "'std' argument of interval_coverage must be finite"),
        ([0, 1], [0, np.nan], [1, 1], "'mean' argument of interval_coverage must be finite"),
        ([np.nan, 1], [0, 0], [1, 1], "'y' argument of interval_coverage must be finite"),
        ([0, 1], [0], [1, 1], "'mean' argument of interval_coverage must have 2 entries, one for each row. Got 1"),
        ([0, 1], [0, 1], [1, 1, 1], "'std' argument of interval_coverage must have 2 entries, one for each row. Got 3"),
        ([0, 1], [0, 1], 1.0, r"'std' argument of interval_coverage must be a 1-D array .* Got shape \(\)"),
        ([[0], [1]], [0, 1], [1, 1], r"'y' argument of interval_coverage must be a 1-D array .* Got shape \(2, 1\)"),
        ([], [], [], r"'y' argument of interval_coverage must be a 1-D array with at least one entry"),
        (["a"], [0], [1], "'y' argument of interval_coverage must hold numbers"),
    ],
)
def test_wrong_intervals_are_refused(y, mean, std, message):
    with pytest.raises(ValueError, match=message):
        interval_coverage(y, mean, std)


@pytest.mark.parametrize("levels", [[0.0], [0.5, 1.0], [np.nan], 95, "0.9", [True], None, []])
def test_wrong_levels_are_refused(levels):
    with pytest.raises(ValueError, match=r"^The 'levels' parameter of interval_coverage must be .* Got .* instead"):
        interval_coverage([0.0], [0.0], [1.0], levels)


@pytest.mark.parametrize("confidence", [0, 1, 95, np.nan, None])
def test_a_wrong_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match=r"^The 'confidence' parameter of interval_coverage must be a number g"):
        interval_coverage([0.0], [0.0], [1.0], confidence=confidence)


# --- the diagram -----------------------------------------------------------------------------------------------------


@pytest.fixture
def plt():
    """Pyplot without a window; what a test draws is closed after it."""
    matplotlib = pytest.importorskip("matplotlib")
    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")
    matplotlib.use(before)


def classifier():
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = np.array(["no", "perhaps", "yes"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.5, 1.5])]
    return LogisticRegression().fit(X, y), X, y


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_line_is_the_reliability_curve(plt, strategy):
    y, proba = predictions(temperature=0.5)
    weight = np.random.default_rng(1).uniform(size=len(y))
    parameters = {"n_bins": 8, "strategy": strategy, "sample_weight": weight}
    display = ReliabilityDisplay.from_predictions(y, proba, name="sharp", **parameters)
    curve = reliability_curve(y, proba, **parameters)
    np.testing.assert_array_equal(display.line_.get_xdata(), curve.confidence)
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.accuracy)
    assert display.line_.get_label() == f"sharp (ECE = {curve.expected_calibration_error:.3f})"
    assert display.line_ in display.ax_.lines
    assert display.figure_ is display.ax_.figure is plt.gcf()


def test_an_estimator_gives_its_classes_and_its_name(plt):
    model, X, y = classifier()
    display = ReliabilityDisplay.from_estimator(model, X, y)
    error = expected_calibration_error(y, model.predict_proba(X))
    assert display.line_.get_label() == f"LogisticRegression (ECE = {error:.3f})"
    assert ReliabilityDisplay.from_estimator(model, X, y, name="model").name == "model"
    two = y != "perhaps"  # the columns are still three
    expected = reliability_curve(y[two], model.predict_proba(X[two]), labels=model.classes_)
    display = ReliabilityDisplay.from_estimator(model, X[two], y[two])
    np.testing.assert_array_equal(display.curve.accuracy, expected.accuracy)


def test_the_histogram_has_the_shares_of_the_confidences(plt):
    y, proba = [0, 1, 1, 0], [0.9, 0.6, 0.2, 0.5]
    display = ReliabilityDisplay.from_predictions(y, proba, n_bins=10, strategy="quantile", sample_weight=[1, 1, 1, 2])
    # The larger probabilities are 0.9, 0.6, 0.8 and, twice, 0.5; an edge belongs to the bin below.
    np.testing.assert_allclose(display.histogram, np.array([0, 0, 0, 0, 2, 1, 0, 1, 1, 0]) / 5)
    stairs = display.ax_.patches[-1].get_data()
    heights = stairs.values - stairs.baseline
    np.testing.assert_allclose(heights / heights.sum(), display.histogram)
    assert stairs.values.max() < 0.0  # under the curve


def test_curves_share_axes_and_the_diagonal(plt):
    _, ax = plt.subplots()
    y, proba = predictions()
    first = ReliabilityDisplay.from_predictions(y, proba, ax=ax, name="a")
    second = ReliabilityDisplay.from_predictions(y, predictions(temperature=0.3)[1], ax=first.ax_, name="b")
    assert first.ax_ is second.ax_ is ax
    assert first.line_.get_color() != second.line_.get_color()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.split(" (")[0] for text in texts] == ["perfectly calibrated", "a", "b"]
    diagonals = [line for line in ax.lines if list(line.get_xdata()) == list(line.get_ydata()) == [0, 1]]
    assert len(diagonals) == 1


def test_a_display_can_be_drawn_again_with_another_name_and_style(plt):
    y, proba = predictions()
    display = ReliabilityDisplay.from_predictions(y, proba)
    assert display.line_.get_label().startswith("ECE = ")
    first = display.ax_
    assert display.plot(name="again", c="red", lw=5) is display
    assert display.ax_ is not first
    assert display.line_.get_label().startswith("again (ECE = ")
    assert (display.line_.get_color(), display.line_.get_linewidth()) == ("red", 5)


def test_the_diagram_can_be_drawn_on_a_figure_without_pyplot(plt, tmp_path):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ReliabilityDisplay.from_predictions(*predictions(), ax=ax).figure_.savefig(tmp_path / "diagram.png")
    assert (tmp_path / "diagram.png").stat().st_size > 5000
    assert plt.get_fignums() == []


def test_an_estimator_must_be_fitted_and_have_probabilities(plt):
    _, X, y = classifier()
    with pytest.raises(NotFittedError):
        ReliabilityDisplay.from_estimator(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match=r"needs a classifier with predict_proba. Got RidgeClassifier\(\) instead"):
        ReliabilityDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("parameter", "wrong"), [("n_bins", 0), ("strategy", "equal")])
def test_wrong_parameters_of_the_diagram_are_refused(parameter, wrong):
    with pytest.raises(ValueError, match=f"^The '{parameter}' parameter of ReliabilityDisplay must be"):
        ReliabilityDisplay.from_predictions(Y, PROBA, **{parameter: wrong})


def test_matplotlib_is_asked_for_only_to_draw():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from bochner.diagnostics import ReliabilityDisplay, expected_calibration_error\n"
        "print(expected_calibration_error([0, 1], [0.5, 0.5]))\n"
        "try:\n    ReliabilityDisplay.from_predictions([0, 1], [0.5, 0.5])\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0.0\nPlots need matplotlib. Install it with: pip install 'bochner[plots]'\n"
