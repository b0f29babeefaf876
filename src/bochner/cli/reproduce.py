"""The command that measures the paper's tables and figures anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bochner import experiments


@dataclass(frozen=True)
class Request:
    """What is to be measured, from which data, and where results go."""

    names: tuple[str, ...]
    output: Path
    data: Path | None = None
    quick: bool = False
    wanted: Mapping[str, list[str]] = field(default_factory=dict)


def run(request: Request) -> None:
    """Measure what is not measured yet; say where the page is."""
    console = _console()
    page = experiments.reproduce(
        request.names,
        folder=request.output,
        data=request.data,
        quick=request.quick,
        wanted=request.wanted,
        verbose=True,
    )
    console.saved(page, "Page")


def show_list(request: Request) -> None:
    """Say which experiments there are, and how much of them, or of what is wanted of them, is done."""
    found = experiments.progress(request.names, folder=request.output, quick=request.quick, wanted=request.wanted)
    _console().experiments(found)


def _console() -> Any:
    """Give the display, or name the extra that brings all that this command needs."""
    try:
        from bochner.cli import console
    except ImportError as error:
        raise ImportError(
            "The command 'reproduce' needs rich. Install all it needs with: pip install 'bochner[experiments]'"
        ) from error
    return console
