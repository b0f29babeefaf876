"""A progress bar of one line of text: what is being done, how much of it, and the time left."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TextIO

#: Seconds before a bar appears, and between two drawings of it.
_PATIENCE, _INTERVAL = 1.0, 0.1
_WIDTH = 30


def ignore_progress(what: str, done: float) -> None:
    """Tell nobody."""


class ProgressBar:
    """Draw what is told about the progress of a fit; use as a context, which clears the line at the end.

    It is called with what is being done and the share of it that is done, from 0 to 1, and shows itself only if that
    takes longer than a second. What comes after a comma, as an error that falls, tells more of the same thing.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._what, self._begun = "", time.monotonic()
        self._first, self._drawn, self._length = self._begun, 0.0, 0

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._length:
            self._stream.write("\r" + " " * self._length + "\r")
            self._stream.flush()

    def __call__(self, what: str, done: float) -> None:
        """Tell what is being done, and the share of it that is done."""
        now = time.monotonic()
        thing = what.partition(",")[0]
        if thing != self._what:
            self._what, self._begun = thing, now
        if now - self._first < _PATIENCE or now - self._drawn < _INTERVAL:
            return
        self._drawn = now
        filled = int(_WIDTH * done)
        text = f"{what:<24} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done:4.0%} {self._left(now, done)}"
        self._stream.write("\r" + text.ljust(self._length))
        self._stream.flush()
        self._length = max(self._length, len(text))

    def _left(self, now: float, done: float) -> str:
        elapsed = now - self._begun
        if done <= 0.0 or elapsed < _INTERVAL:
            return ""
        return f"{elapsed * (1.0 - done) / done:.0f} s left"


def progress_bar(shown: bool) -> AbstractContextManager[Any]:
    """Give a progress bar, or what is called like one and tells nobody."""
    return ProgressBar() if shown else nullcontext(ignore_progress)
