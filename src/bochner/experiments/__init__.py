"""The paper's tables and figures, measured anew: plans in TOML, results in JSON lines, one page that shows them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bochner import datasets
from bochner.progress import progress_bar

from . import page, plan, records
from .lookup import paper

__all__ = ["Progressed", "names", "paper", "progress", "reproduce"]

Told = Callable[[plan.Setting, int, int], None]
names = plan.names
#: Of the files in a folder of results.
_SUFFIXES = (".jsonl", ".html", ".md")


def reproduce(
    experiments: Sequence[str] = (),
    *,
    folder: str | Path,
    data: str | Path | None = None,
    quick: bool = False,
    wanted: Mapping[str, list[str]] | None = None,
    verbose: bool = False,
    tell: Told = lambda setting, done, total: None,
) -> Path:
    """Measure what is not measured yet, and write the page with all that is.

    Parameters
    ----------
    experiments : sequence of str
        Names of experiments; all by default.
    folder : path
        Of the results: a file of JSON lines for each experiment, ``index.html`` and ``tables.md``. A setting that has
        its line is not measured again.
    data : path, optional
        Folder of data sets, see `bochner.datasets.load`.
    quick : bool, default=False
        The small version, on data that come with scikit-learn.
    wanted : mapping of str to list, optional
        Values that settings must have: ``{"dataset": ["letter"]}``. Settings that choose for these are measured too.
    verbose : bool, default=False
        Show a progress bar with what is being measured, and those of fits that take longer than a second.
    tell : callable, optional
        Told each setting before it is measured, how many are done, and how many there are.

    Returns
    -------
    page : Path
    """
    folder = _checked(Path(folder))
    settings = plan.with_choosers(plan.chosen(_planned(experiments, quick), wanted or {}))
    # Of all experiments, since the page shows them all: a broken line is told before any work.
    done = [record for name in plan.names() for record in records.read(folder, name)]
    _refuse_others(folder, done, quick)
    _check_writable(folder)
    todo = sorted(records.missing(settings, done), key=_order)
    # Data that are not to be had are told before anything is written.
    loaded = datasets.load(todo[0].values["dataset"], data) if todo else None
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with progress_bar(verbose) as bar:
            for number, setting in enumerate(todo):
                n_done = len(settings) - len(todo) + number
                tell(setting, n_done, len(settings))
                bar(f"Measuring, {n_done} of {len(settings)}: {setting}", number / len(todo))
                if loaded is None or loaded.name != setting.values["dataset"]:
                    loaded = None  # before the next one is there
                    loaded = datasets.load(setting.values["dataset"], data)
                done.append(records.measured(setting, loaded, records.choices(setting, done), verbose))
                records.append(folder, setting.experiment, done[-1])
    finally:  # a run that is ended early has its page too
        written = page.write(folder, _planned((), quick))
    return written


@dataclass(frozen=True)
class Progressed:
    """An experiment, and how many of its settings, or of those that are wanted, are measured."""

    name: str
    title: str
    paper: str
    n_done: int
    n_settings: int


def progress(
    experiments: Sequence[str] = (),
    *,
    folder: str | Path,
    quick: bool = False,
    wanted: Mapping[str, list[str]] | None = None,
) -> list[Progressed]:
    """Say how much of each experiment is measured in a folder of results; all is as for `reproduce`.

    Experiments that have no setting with the wanted values are left out.
    """
    folder, planned, found = _checked(Path(folder)), _planned(experiments, quick), []
    chosen = plan.chosen(planned, wanted or {})
    for experiment in planned:
        settings = [setting for setting in chosen if setting.experiment == experiment.name]
        left = records.missing(settings, records.read(folder, experiment.name))
        total = len(settings)
        if total:
            found.append(Progressed(experiment.name, experiment.title, experiment.paper, total - len(left), total))
    return found


def _order(setting: plan.Setting) -> tuple[bool, int, int]:
    """One seed of everything first, so that a run that is ended early has a bit of all; what chooses before that."""
    return setting.chooser is not None, setting.values["seed"], datasets.names().index(setting.values["dataset"])


def _checked(folder: Path) -> Path:
    """Refuse a folder of results that cannot be one."""
    there = _nearest(folder)
    if not there.is_dir():
        raise FileExistsError(
            f"Results go to a folder, and {str(there)!r} is a file. Give another one: --output FOLDER on the command "
            "line."
        )
    return folder


def _nearest(folder: Path) -> Path:
    """Give the folder, or what there is of its parents."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def _check_writable(folder: Path) -> None:
    """Refuse a folder that results cannot be written to before they are measured."""
    written = [_nearest(folder), *(path for path in folder.glob("*") if path.suffix in _SUFFIXES)]
    closed = next((path for path in written if not os.access(path, os.W_OK)), None)
    if closed is not None:
        raise PermissionError(
            f"Results cannot be written: {str(closed)!r} is read-only for this user. Give another folder: --output "
            "FOLDER on the command line."
        )


def _refuse_others(folder: Path, done: Sequence[records.Record], quick: bool) -> None:
    """Refuse to mix small and full experiments in one folder: the page would show the ones, and lose the others."""
    planned = {setting.values["dataset"] for other in _planned((), not quick) for setting in other.settings}
    others = sorted({record["setting"].get("dataset", "") for record in done} & planned)
    if others:
        kinds = ("the small version (--quick)", "the full experiments")
        raise ValueError(
            f"The folder {str(folder)!r} has results of {kinds[quick]}, on {others[0]}, and a page of them. Give "
            f"{kinds[not quick]} another one: --output FOLDER on the command line."
        )


def _planned(experiments: Sequence[str], quick: bool) -> list[plan.Experiment]:
    """Read the plans, of a name that is given twice once."""
    return [plan.read(name, quick) for name in dict.fromkeys(experiments or plan.names())]
