"""Estimators: linear models on random features."""

from .random_feature import RandomFeatureClassifier, RandomFeatureRegressor

__all__ = ["RandomFeatureClassifier", "RandomFeatureRegressor"]
