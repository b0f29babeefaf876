"""Tables as Markdown and as HTML, with cells that may be better or worse than the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.stats import t as student

_MARKS = {"better": "▲", "worse": "▼", "": ""}


@dataclass(frozen=True)
class Cell:
    """A text, and whether it stands for something better or worse than the paper's figure."""

    text: str
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.text} {_MARKS[self.mark]}".rstrip()


@dataclass(frozen=True)
class Table:
    """Rows of texts, numbers and cells; below them a note, each line a paragraph."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def markdown(self) -> str:
        """Write as Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        body = "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
        return f"### {self.title}\n\n{body}\n" + "".join(f"\n{line}\n" for line in self.note.splitlines())

    def html(self) -> str:
        """Write as HTML, in a box that scrolls where the table is wider than the screen."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "\n".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in self.rows)
        note = "".join(f"<p>{escape(line)}</p>" for line in self.note.splitlines())
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<h3>{escape(self.title)}</h3><div class="wide">{table}</div>{note}'


def _cell(cell: Any) -> str:
    css = f' class="{cell.mark}"' if isinstance(cell, Cell) and cell.mark else ""
    return f"<td{css}>{escape(str(cell))}</td>"


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """Give the mean and half the width of its 95 % interval by Student's t; nan for a single value."""
    n = len(values)
    if n < 2:
        return float(np.mean(values)), float("nan")
    return float(np.mean(values)), half_width(float(np.std(values, ddof=1)), n)


def half_width(deviation: float, n: int) -> float:
    """Give half the width of the 95 % interval of a mean of n values by Student's t."""
    return float(student.ppf(0.975, n - 1) * deviation / np.sqrt(n))


def number_with_interval(values: Sequence[float], digits: int) -> str:
    """Write a mean with its interval, if there are several values."""
    mean, half_width = mean_and_half_width(values)
    return f"{mean:.{digits}f}" + ("" if np.isnan(half_width) else f" ± {half_width:.{digits}f}")


def compared(values: Sequence[float], paper: float | None, digits: int, tolerance: float, higher: bool = True) -> Cell:
    """Mark a mean as better or worse than the paper's figure if it differs by more than a tolerance."""
    text = number_with_interval(values, digits)
    if paper is None:
        return Cell(text)
    gain = (np.mean(values) - paper) * (1.0 if higher else -1.0)
    return Cell(text, "better" if gain > tolerance else "worse" if gain < -tolerance else "")
