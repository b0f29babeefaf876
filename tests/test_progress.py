"""The progress bar: patient, brief, and gone at the end."""

import io

import numpy as np
import pytest

from bochner import Laplacian, RandomFeatureClassifier, RandomFeatureRegressor, RecursiveFeatureMachine, progress
from bochner.progress import ProgressBar


class Clock:
    """A time that stands still until it is told to go on."""

    def __init__(self, now=1000.0):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock)
    return clock


def shown(stream):
    """What a terminal shows in the line now."""
    line = ""
    for text in stream.getvalue().split("\r"):
        line = text + line[len(text) :]
    return line


def test_nothing_is_shown_within_the_first_second(clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        for step in range(10):
            bar("Gram matrix", step / 10)
            clock.now += 0.099
    assert stream.getvalue() == ""


def test_what_is_done_how_much_and_the_time_left_are_shown(clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        bar("Gram matrix", 0.0)
        clock.now += 2.0
        bar("Gram matrix", 0.25)
        assert "Gram matrix" in shown(stream)
        assert " 25%" in shown(stream)
        assert "6 s left" in shown(stream)
        assert shown(stream).count("#") == 7
        assert shown(stream).count("#") + shown(stream).count(".") == 30


def test_the_line_is_cleared_at_the_end(clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        clock.now += 2.0
        bar("Gram matrix", 0.5)
        assert shown(stream).strip()
    assert not shown(stream).strip()
    assert stream.getvalue().endswith("\r")
    assert "\n" not in stream.getvalue()


def test_the_line_is_cleared_after_an_error(clock):
    stream = io.StringIO()

    def fit():
        with ProgressBar(stream) as bar:
            clock.now += 2.0
            bar("Gram matrix", 0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit()
    assert not shown(stream).strip()


def test_a_shorter_line_leaves_nothing_of_a_longer_one(clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        clock.now += 2.0
        bar("Something with a name longer than the column", 0.0)
        clock.now += 2.0
        bar("Short", 0.5)
        assert "Short" in shown(stream)
        assert "name" not in shown(stream)
        assert "column" not in shown(stream)


def test_drawings_are_a_tenth_of_a_second_apart(clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        clock.now += 2.0
        for step in range(100):
            bar("Gram matrix", step / 100)
            clock.now += 0.01
        assert 5 <= stream.getvalue().count("\r") <= 11


def test_an_error_that_falls_does_not_begin_anew(clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        bar("Conjugate gradients, residual 1", 0.0)
        clock.now += 2.0
        bar("Conjugate gradients, residual 0.1", 0.25)
        clock.now += 2.0
        bar("Conjugate gradients, residual 0.01", 0.5)
        assert "residual 0.01" in shown(stream)
        assert " 4 s left" in shown(stream)


def test_the_time_left_is_that_of_what_is_being_done(clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        bar("Preconditioner", 0.0)
        clock.now += 100.0
        bar("Softmax", 0.0)
        assert "left" not in shown(stream)  # nothing is known yet
        clock.now += 2.0
        bar("Softmax", 0.5)
        assert "2 s left" in shown(stream)


@pytest.mark.parametrize("done", [0.0, 1.0])
def test_both_ends_can_be_shown(done, clock):
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        clock.now += 2.0
        bar("Gram matrix", done)
        assert f"{done:.0%}" in shown(stream)


def test_the_standard_error_is_where_it_goes(clock, capsys):
    with ProgressBar() as bar:
        clock.now += 2.0
        bar("Gram matrix", 0.5)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Gram matrix" in err


MODELS = {
    "gram": (RandomFeatureRegressor(Laplacian(), 32, alpha=1.0, solver="gram"), "Gram matrix"),
    "iterations": (
        RandomFeatureRegressor(Laplacian(), 32, alpha=1.0, solver="conjugate_gradient"),
        "Conjugate gradients",
    ),
    "softmax": (RandomFeatureClassifier(Laplacian(), 32, alpha=1.0), "Softmax"),
    "rounds": (
        RecursiveFeatureMachine(RandomFeatureRegressor(Laplacian(), 32, alpha=1.0), 1, metric="diagonal"),
        "Rounds, 0 of 1",
    ),
}


@pytest.mark.parametrize(("model", "what"), MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("verbose", [False, True])
def test_a_long_fit_tells_what_it_does_only_if_asked(model, what, verbose, monkeypatch, capsys):
    times = iter(np.arange(0.0, 1e6, 2.0))  # every look at the clock is two seconds later
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    X = np.random.default_rng(0).normal(size=(200, 2))
    model.set_params(verbose=verbose).fit(X, X[:, 0] > 0)
    out, err = capsys.readouterr()
    assert out == ""
    assert (what in err) == verbose


@pytest.mark.parametrize(("model", "what"), MODELS.values(), ids=MODELS)
def test_a_short_fit_shows_nothing(model, what, capsys):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model.set_params(verbose=True).fit(X, X[:, 0] > 0)
    assert capsys.readouterr() == ("", "")
