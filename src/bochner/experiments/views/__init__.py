"""From records to the tables and plots of an experiment, beside the paper's own figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import copies
from ..growth import GROWTHS
from ..lookup import View
from ..records import Record
from .calibration import calibration, penalties
from .choices import choices, epochs, smoothness
from .matrices import approximation, speed
from .prediction import prediction

__all__ = ["KINDS"]

KINDS: dict[str, Callable[[Sequence[Record]], View]] = {
    "approximation": approximation,
    "speed": speed,
    "prediction": prediction,
    **GROWTHS,
    "copy": copies.view,
    "calibration": calibration,
    "penalties": penalties,
    "choices": choices,
    "smoothness": smoothness,
    "epochs": epochs,
}
