"""Estimators: linear models on random features, and the exact kernel machines that they approximate."""

from .exact_classifier import KernelClassifier
from .exact_regressor import KernelRegressor
from .feature_machine import RecursiveFeatureMachine
from .random_feature_classifier import RandomFeatureClassifier
from .random_feature_regressor import RandomFeatureRegressor

__all__ = [
    "KernelClassifier",
    "KernelRegressor",
    "RandomFeatureClassifier",
    "RandomFeatureRegressor",
    "RecursiveFeatureMachine",
]
