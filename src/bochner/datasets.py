"""Data sets by name, split and prepared as in the paper.

The paper's eleven come from a folder of ``.npz`` files (arrays ``X_train``, ``y_train``, ``X_test``, ``y_test``) or, if
it is not there, from OpenML by scikit-learn, which keeps what it has loaded and compares its check sum. Three small
ones come with scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any
from zipfile import BadZipFile, is_zipfile
from zlib import error as ZlibError

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as small
from sklearn.preprocessing import normalize

from .progress import ProgressBar

__all__ = ["Dataset", "load", "names"]

Array = NDArray[Any]
Parts = tuple[Array, Array, Array, Array]
#: Where the folder of files is, if it is not given.
VARIABLE = "BOCHNER_DATA"
#: What a file holds.
_ARRAYS = ("X_train", "y_train", "X_test", "y_test")


@dataclass(frozen=True)
class Dataset:
    """A data set in two parts, prepared: inputs in single precision, targets as they are."""

    name: str
    task: str
    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True)
class _Source:
    """What is to be known of a data set: task, preparation, and its number at OpenML or its loader in scikit-learn."""

    task: str
    steps: tuple[str, ...] = ("unit",)
    openml: int | None = None
    loader: Callable[..., Any] | None = None
    first_train: int | None = None  # rows that are for training by custom; else a fifth, drawn, is for testing
    distinct: bool = False  # rows are there more than once, and must not be on both sides


_CLASSES, _NUMBERS = "classification", "regression"
#: The paper's Table 4, in its order, and the small ones.
_SOURCES = {
    "letter": _Source(_CLASSES, ("centre", "unit"), openml=6),
    "ijcnn1": _Source(_CLASSES, openml=1575, distinct=True),  # LIBSVM's parts, of which one contains two others
    "fashion_mnist": _Source(_CLASSES, openml=40996, first_train=60_000),
    "mnist": _Source(_CLASSES, openml=554, first_train=60_000),
    "kmnist": _Source(_CLASSES, openml=41982, first_train=60_000),
    "svhn": _Source(_CLASSES, openml=41081, first_train=73_257),
    "sgemm": _Source(_NUMBERS),
    "skin": _Source(_CLASSES, ("centre", "unit"), openml=1502),
    "aqi": _Source(_NUMBERS),
    "covtype": _Source(_CLASSES, openml=1596),
    "household_power": _Source(_NUMBERS, ("standard", "unit")),
    "digits": _Source(_CLASSES, loader=small.load_digits),
    "breast_cancer": _Source(_CLASSES, ("standard", "unit"), loader=small.load_breast_cancer),
    "diabetes": _Source(_NUMBERS, ("standard", "unit"), loader=small.load_diabetes),
}


def names() -> list[str]:
    """Give the names of all data sets."""
    return list(_SOURCES)


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """Load a data set and prepare it as the paper does, by the training part's statistics.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path, optional
        Of ``.npz`` files; by default that of the environment variable ``BOCHNER_DATA``. What is not there comes from
        OpenML.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> from bochner.datasets import load
    >>> load("digits").X_train.shape
    (1438, 64)
    """
    if not isinstance(name, str) or name not in _SOURCES:
        raise ValueError(f"There is no data set {name!r}. Known are {', '.join(_SOURCES)}.")
    source = _SOURCES[name]
    X, y, X_test, y_test = _parts(name, source, folder)
    return Dataset(name, source.task, *_prepared(X, X_test, source.steps, y, y_test))


def _parts(name: str, source: _Source, folder: str | Path | None) -> Parts:
    if source.loader is not None:
        X, y = source.loader(return_X_y=True)
        return _split(X, y, source)
    given = _folder(folder)
    if given is not None and (path := given / f"{name}.npz").is_file():
        return _from_file(path)
    return _from_openml(name, source)


def _folder(folder: str | Path | None) -> Path | None:
    """Give the folder of files, if there is to be one."""
    given = folder if folder is not None else os.environ.get(VARIABLE)
    if given is None:
        return None
    if not Path(given).is_dir():
        whence = f", which the variable {VARIABLE} names," if folder is None else ""
        raise FileNotFoundError(f"The folder of data sets {str(given)!r}{whence} does not exist.")
    return Path(given)


def _from_file(path: Path) -> Parts:
    """Read the four arrays of a file, or say what is wrong with it."""
    must = f"Such a file must hold the arrays {', '.join(_ARRAYS)}, as numpy.savez writes them."
    with path.open("rb") as file:  # an error of reading is another one than that of the content
        if not is_zipfile(file):
            raise ValueError(f"The file {str(path)!r} is no archive of arrays, or not a whole one. {must}")
    with np.load(path) as arrays:
        missing = [name for name in _ARRAYS if name not in arrays]
        if missing:
            raise ValueError(f"The file {str(path)!r} has no {', '.join(missing)}. {must}")
        try:
            X, y, X_test, y_test = (arrays[name] for name in _ARRAYS)
        except (ValueError, BadZipFile, ZlibError) as error:  # objects of Python, or bytes that are not those written
            raise ValueError(f"The file {str(path)!r} cannot be read ({error}). {must}") from error
    if wrong := _wrong(X, y, "train") or _wrong(X_test, y_test, "test") or _wrong_columns(X, X_test):
        raise ValueError(f"The file {str(path)!r} cannot be used: {wrong}.")
    return X, y, X_test, y_test


def _wrong(X: Array, y: Array, part: str) -> str | None:
    """Say what is wrong with the inputs and targets of a part, if anything is."""
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
        return f"X_{part} must be a table of numbers, and is {X.dtype} of shape {X.shape}"
    if y.shape != X.shape[:1]:
        return f"y_{part} must have one number for each of the {len(X)} rows of X_{part}, and has the shape {y.shape}"
    unknown = [name for name, array in (("X", X), ("y", y)) if array.dtype.kind == "f" and not np.isfinite(array).all()]
    return f"{unknown[0]}_{part} has values that are NaN or infinite" if unknown else None


def _wrong_columns(X: Array, X_test: Array) -> str | None:
    if X.shape[1] == X_test.shape[1]:
        return None
    return f"X_train has {X.shape[1]} columns, and X_test {X_test.shape[1]}"


def _from_openml(name: str, source: _Source) -> Parts:
    """Let scikit-learn fetch, compare and keep it."""
    where = f"Give a folder with {name}.npz: --data FOLDER on the command line, or the variable {VARIABLE}."
    if source.openml is None:
        raise FileNotFoundError(f"The data set {name!r} is not at OpenML in this form. {where}")
    try:
        with _Working(f"Loading {name}"):
            found = small.fetch_openml(data_id=source.openml, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise FileNotFoundError(
            f"The data set {name!r} is in no folder and not kept from before, and OpenML cannot be reached ({error}). "
            f"{where}"
        ) from error
    data = found.data.toarray() if hasattr(found.data, "toarray") else found.data
    return _split(data, found.target, source)


class _Working:
    """Show that something of unknown length goes on."""

    def __init__(self, what: str) -> None:
        self._what, self._ended = what, Event()

    def __enter__(self) -> None:
        self._thread = Thread(target=self._show, daemon=True)
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _show(self) -> None:
        with ProgressBar() as bar:
            while not self._ended.wait(0.2):
                bar(self._what, 0.0)


def _split(X: Array, y: Array, source: _Source) -> Parts:
    """Cut by custom, or draw a fifth for testing."""
    if source.distinct:
        _, first = np.unique(X, axis=0, return_index=True)
        X, y = X[np.sort(first)], y[np.sort(first)]
    if source.first_train is not None:
        train, test = np.arange(source.first_train), np.arange(source.first_train, len(X))
    else:
        order = np.random.default_rng(0).permutation(len(X))
        test, train = np.split(order, [round(0.2 * len(X))])
    return X[train], y[train], X[test], y[test]


def _prepared(X: Array, X_test: Array, steps: tuple[str, ...], y: Array, y_test: Array) -> Parts:
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    for step in steps:
        if step == "unit":
            X, X_test = normalize(X), normalize(X_test)
            continue
        mean = X.mean(axis=0, dtype=np.float64)
        scale = X.std(axis=0, dtype=np.float64) if step == "standard" else np.ones(X.shape[1])
        scale[scale == 0.0] = 1.0  # a constant column says nothing
        X, X_test = (((part - mean) / scale).astype(np.float32) for part in (X, X_test))
    return X, y, X_test, y_test
