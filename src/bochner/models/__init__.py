"""Estimators: linear models on random features."""

from .random_feature_classifier import RandomFeatureClassifier
from .random_feature_regressor import RandomFeatureRegressor

__all__ = ["RandomFeatureClassifier", "RandomFeatureRegressor"]
