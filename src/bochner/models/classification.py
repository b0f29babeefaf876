"""From scores to labels and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin

Array = NDArray[Any]


class Classification(ClassifierMixin):
    """Predictions of a classifier that has scores: one column for each class, or one for two classes.

    A fitted classifier has ``classes_``, ``temperature_``, by which scores are divided, and knows whether they are
    logits or estimate probabilities themselves.
    """

    classes_: Array
    temperature_: float
    _by_softmax: bool
    _scores: Callable[[Any], Array]

    def decision_function(self, X: Any) -> Array:
        """Give the scores of the classes, (n, n_classes), or for two classes (n,) with positive ones for the second.

        Parameters
        ----------
        X : array of shape (n, d), or sparse matrix where fit takes it

        Returns
        -------
        scores : array
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """Predict labels.

        Parameters
        ----------
        X : array of shape (n, d), or sparse matrix where fit takes it

        Returns
        -------
        labels : array of shape (n,)
        """
        scores = self._scores(X)
        best = (scores[:, 0] > 0.0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes.

        For "squared_error" without temperature scaling the scores themselves estimate probabilities; they are clipped
        to [0, 1] and divided by their sum.

        Parameters
        ----------
        X : array of shape (n, d), or sparse matrix where fit takes it

        Returns
        -------
        probabilities : array of shape (n, n_classes)
        """
        scores = self._scores(X)
        if not self._by_softmax:
            return _clipped(scores)
        logits = scores / np.asarray(self.temperature_, dtype=scores.dtype)
        if logits.shape[1] == 1:
            return np.hstack([expit(-logits), expit(logits)])
        return softmax(logits, axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array of shape (n, d), or sparse matrix where fit takes it

        Returns
        -------
        logarithms : array of shape (n, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _clipped(scores: Array) -> Array:
    if scores.shape[1] == 1:
        second = np.clip((1.0 + scores) / 2.0, 0.0, 1.0)
        return np.hstack([1.0 - second, second])
    # Scores of two classes that are both above 1 stay in their order.
    first, second = np.partition(scores, -2, axis=1)[:, [-1, -2]].T
    scores = scores / np.where(second > 1.0, first, 1.0)[:, None]
    clipped = np.clip(scores, 0.0, 1.0) + np.finfo(scores.dtype).tiny
    return clipped / clipped.sum(axis=1, keepdims=True)
