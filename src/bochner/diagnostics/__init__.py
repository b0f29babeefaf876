"""How good a feature map and its models are: errors of the kernel matrix, calibration, and pictures of them."""

from .approximation import approximation_error
from .calibration import (
    IntervalCoverage,
    ReliabilityCurve,
    brier_score,
    expected_calibration_error,
    interval_coverage,
    negative_log_likelihood,
    reliability_curve,
)
from .reliability import ReliabilityDisplay

__all__ = [
    "IntervalCoverage",
    "ReliabilityCurve",
    "ReliabilityDisplay",
    "approximation_error",
    "brier_score",
    "expected_calibration_error",
    "interval_coverage",
    "negative_log_likelihood",
    "reliability_curve",
]
