"""What the command shows in the terminal; the only module that imports rich."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

try:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Table
except ImportError as error:
    raise ImportError("The terminal display needs rich. Install it with: pip install 'bochner[cli]'") from error

if TYPE_CHECKING:
    from bochner.cli.demo import Comparison
    from bochner.experiments import Progressed


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """Draw a bar with the time left, and yield the function that advances it."""
    columns = (
        SpinnerColumn("line"),  # moves while nothing else does, and is plain ASCII
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(), transient=True) as bar:
        task = bar.add_task("Compiling, once", total=total)

        def advance(amount: int) -> None:
            bar.update(task, advance=amount, description="Measuring")

        yield advance


def experiments(found: Iterable[Progressed]) -> None:
    """Print the experiments and how much of them is done."""
    table = Table("experiment", "what", "of the paper")
    table.add_column("done", justify="right")
    for one in found:
        table.add_row(one.name, one.title, one.paper, f"{one.n_done} of {one.n_settings}")
    Console(highlight=False).print(table)


def show(comparison: Comparison) -> None:
    """Print the table of a comparison and what it says."""
    console = Console(highlight=False)
    console.print(_table(comparison))
    console.print(f"Compiling, or loading what was compiled before, took {comparison.compile_seconds:.1f} s.")
    console.print(_crossover(comparison))


def saved(path: Path, what: str = "Picture") -> None:
    """Say where something is."""
    # soft_wrap keeps a long path in one piece, to be copied or clicked.
    Console().print(f"{what}: {path.absolute()}", soft_wrap=True, highlight=False)


def _table(comparison: Comparison) -> Table:
    table = Table(
        title=f"Laplacian kernel on {comparison.n_rows} handwritten digits",
        caption="error: of the kernel matrix, relative, Frobenius; bold: least\n"
        "time: to make the features, or the kernel",
    )
    table.add_column("features", justify="right")
    table.add_column("scheme")
    for name in ("error", "time", "accuracy"):
        table.add_column(name, justify="right")
    for n_components, group in groupby(comparison.measurements, key=lambda m: m.n_components):
        rows = list(group)
        least = min(m.error for m in rows)
        for m in rows:
            cells = (f"{n_components}", m.scheme, f"{m.error:.4f}", _milliseconds(m.seconds), f"{m.accuracy:.1%}")
            table.add_row(*cells, style="bold" if m.error == least else None)
        table.add_section()
    exact = (_milliseconds(comparison.exact_seconds), f"{comparison.exact_accuracy:.1%}")
    table.add_row("", "exact kernel", "0", *exact, style="green")
    return table


def _crossover(comparison: Comparison) -> str:
    """The number of rows from which features are cheaper: their time grows with n, the kernel's with n squared."""
    width = max(m.n_components for m in comparison.measurements)
    seconds = min(m.seconds for m in comparison.measurements if m.n_components == width)
    n_rows = comparison.n_rows * seconds / comparison.exact_seconds
    return (
        "The time of features grows with the rows, that of the kernel with their square: "
        f"{width} features are quicker to make than the kernel from about {n_rows:,.0f} rows on."
    )


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
