"""Data sets: found, split and prepared."""

from urllib.error import URLError

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import Bunch

from bochner import datasets


@pytest.fixture
def folder(tmp_path):
    """A folder with one small file in the place of letter."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 16, size=(120, 5)).astype(np.int16)
    X[:, 3] = 7
    y = rng.integers(0, 3, size=120)
    np.savez(tmp_path / "letter.npz", X_train=X[:100], y_train=y[:100], X_test=X[100:], y_test=y[100:])
    np.savez(tmp_path / "household_power.npz", X_train=X[:100], y_train=y[:100], X_test=X[100:], y_test=y[100:])
    return tmp_path


def test_the_papers_eleven_and_three_small_ones_are_known():
    assert len(datasets.names()) == 14
    assert datasets.names()[0] == "letter"


@pytest.mark.parametrize(("name", "task"), [("digits", "classification"), ("diabetes", "regression")])
def test_small_ones_come_with_scikit_learn(name, task):
    data = datasets.load(name)
    assert data.task == task
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert len(data.X_test) == round(0.2 * (len(data.X_train) + len(data.X_test)))
    assert np.linalg.norm(data.X_train, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_a_file_is_centred_by_its_training_part_and_rows_get_norm_one(folder):
    data = datasets.load("letter", folder)
    with np.load(folder / "letter.npz") as arrays:
        for part in ("train", "test"):
            expected = arrays[f"X_{part}"] - arrays["X_train"].mean(axis=0)
            expected /= np.linalg.norm(expected, axis=1)[:, None]
            assert getattr(data, f"X_{part}") == pytest.approx(expected, abs=1e-6)
            assert np.array_equal(getattr(data, f"y_{part}"), arrays[f"y_{part}"])


def test_standardising_leaves_a_constant_column_at_zero(folder):
    data = datasets.load("household_power", folder)
    assert not data.X_train[:, 3].any()
    assert np.isfinite(data.X_train).all()


def test_the_folder_can_be_a_variable_of_the_environment(folder, monkeypatch):
    monkeypatch.setenv("BOCHNER_DATA", str(folder))
    assert datasets.load("letter").X_train.shape == (100, 5)


def test_a_variable_that_names_no_folder_is_told(monkeypatch):
    monkeypatch.setenv("BOCHNER_DATA", "/nowhere")
    with pytest.raises(FileNotFoundError, match=r"'/nowhere', which the variable BOCHNER_DATA names, does not exist"):
        datasets.load("letter")
    with pytest.raises(FileNotFoundError, match=r"'/nowhere/else' does not exist"):
        datasets.load("letter", "/nowhere/else")


MUST_HOLD = r"Such a file must hold the arrays X_train, y_train, X_test, y_test, as numpy\.savez writes them\.$"


def test_a_file_without_its_arrays_is_told(folder):
    path = folder / "letter.npz"
    np.savez(path, X_train=np.ones((3, 2)), y_test=np.ones(3))
    with pytest.raises(ValueError, match=rf"letter\.npz' has no y_train, X_test\. {MUST_HOLD}") as told:
        datasets.load("letter", folder)
    assert str(path) in str(told.value)


def test_a_file_that_is_no_archive_is_told(folder):
    path = folder / "letter.npz"
    whole = path.read_bytes()
    np.save(folder / "one.npy", np.ones(3))
    for content in (b"", b"not an archive", whole[:-40], (folder / "one.npy").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"letter\.npz' is no archive of arrays.*\. {MUST_HOLD}"):
            datasets.load("letter", folder)


def test_a_file_whose_arrays_cannot_be_read_is_told(folder):
    path = folder / "letter.npz"
    content = bytearray(path.read_bytes())
    content[300] ^= 255  # within the first array
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"letter\.npz' cannot be read \(.*CRC.*\)\. {MUST_HOLD}"):
        datasets.load("letter", folder)
    X, y = np.ones((3, 2)), np.array(["a", 1, None], dtype=object)
    np.savez(path, X_train=X, y_train=y, X_test=X, y_test=y)
    with pytest.raises(ValueError, match=rf"letter\.npz' cannot be read \(Object arrays.*\)\. {MUST_HOLD}"):
        datasets.load("letter", folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"X_train": np.full((100, 5), np.nan)}, "X_train has values that are NaN or infinite"),
        ({"X_train": np.full((100, 5), "a")}, r"X_train must be a table of numbers, and is <U1 of shape \(100, 5\)"),
        ({"X_train": np.ones((0, 5)), "y_train": np.ones(0)}, r"X_train must be .* of shape \(0, 5\)"),
        ({"X_test": np.ones(5)}, r"X_test must be .* of shape \(5,\)"),
        ({"X_test": np.ones((20, 4))}, "X_train has 5 columns, and X_test 4"),
        ({"y_train": np.ones(99)}, r"one number for each of the 100 rows of X_train, and has the shape \(99,\)"),
        ({"y_test": np.ones((20, 2))}, r"one number for each of the 20 rows of X_test, and has the shape \(20, 2\)"),
        ({"y_test": np.full(20, np.inf)}, "y_test has values that are NaN or infinite"),
    ],
)
def test_a_file_whose_arrays_do_not_fit_is_told_with_its_name(change, said, folder):
    path = folder / "letter.npz"
    with np.load(path) as arrays:
        np.savez(path, **{**arrays, **change})
    with pytest.raises(ValueError, match=rf"letter\.npz' cannot be used: .*{said}"):
        datasets.load("letter", folder)


def test_a_name_that_is_no_text_is_told():
    with pytest.raises(ValueError, match="There is no data set"):
        datasets.load(["digits"])


def test_what_cannot_be_found_is_told_with_what_to_do(folder, monkeypatch):
    monkeypatch.delenv("BOCHNER_DATA", raising=False)
    with pytest.raises(ValueError, match=r"no data set 'leter'\. Known are letter, ijcnn1"):
        datasets.load("leter")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        datasets.load("letter", folder / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"not at OpenML.*--data FOLDER"):
        datasets.load("sgemm", folder)

    def offline(**_):
        raise URLError("no network")

    monkeypatch.setattr(datasets.small, "fetch_openml", offline)
    with pytest.raises(FileNotFoundError, match=r"OpenML cannot be reached .*no network.*BOCHNER_DATA"):
        datasets.load("skin", folder)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_openml_is_asked_for_what_no_folder_has(as_sparse, monkeypatch):
    monkeypatch.delenv("BOCHNER_DATA", raising=False)
    asked = {}

    def fetch(**given):
        asked.update(given)
        X = np.arange(60_010.0 * 2).reshape(-1, 2)
        return Bunch(data=sparse.csr_matrix(X) if as_sparse else X, target=np.arange(60_010).astype(str))

    monkeypatch.setattr(datasets.small, "fetch_openml", fetch)
    data = datasets.load("fashion_mnist")
    assert asked["data_id"] == 40996
    assert data.X_train.shape == (60_000, 2)
    assert data.y_test[0] == "60000"


def test_rows_that_openml_has_twice_are_on_one_side(monkeypatch):
    monkeypatch.delenv("BOCHNER_DATA", raising=False)
    angles = np.linspace(0.1, 1.4, 100)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    twice = Bunch(data=np.vstack([X, X[:60]]), target=np.arange(160) % 100)
    monkeypatch.setattr(datasets.small, "fetch_openml", lambda **given: twice)
    data = datasets.load("ijcnn1")
    assert sorted([*data.y_train, *data.y_test]) == list(range(100))
    np.testing.assert_allclose(data.X_train, X[data.y_train], rtol=1e-6)
