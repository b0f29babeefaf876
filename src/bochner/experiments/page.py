"""One page with everything that was measured: HTML that needs nothing else, and its tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from . import reached
from . import records as stored
from .growth import GROWTHS
from .lookup import View
from .plan import Experiment
from .views import KINDS

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: auto; padding: 1rem; color: #1a1a1a; }
h1 { font-size: 1.5rem } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: 13px; white-space: nowrap }
td, th { padding: 2px 8px; border-bottom: 1px solid #e4e4e4; text-align: right }
td:first-child, td:nth-child(2), th:first-child, th:nth-child(2) { text-align: left }
.better { color: #00684a; font-weight: 600 } .worse { color: #a33b00; font-weight: 600 }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1rem }
figure { margin: 0 } svg { width: 100% } svg.key { width: 28px; height: 8px; margin-right: 6px }
.grid { stroke: #e4e4e4 } .tick { font-size: 10px; fill: #555 } .axis { font-size: 11px; fill: #333 }
.title { font-size: 12px; font-weight: 600 } .legend { list-style: none; padding: 0; margin: 0; font-size: 12px }
.legend li { display: inline-block; margin-right: 1em } nav a { margin-right: 1em; white-space: nowrap }
"""


def write(folder: Path, experiments: Sequence[Experiment]) -> Path:
    """Write ``index.html`` and ``tables.md`` from the records in a folder that are planned; give the page's path."""
    planned = {e.name: stored.planned(e.settings, stored.read(folder, e.name)) for e in experiments}
    found = [(experiment, _with_continuing(experiment, planned)) for experiment in experiments]
    shown = [(experiment, KINDS[experiment.kind](records)) for experiment, records in found if records]
    if overview := reached.view(found):
        shown.insert(0, (reached.ABOUT, overview))
    page = folder / "index.html"
    page.write_text(_page(shown), encoding="utf-8")
    (folder / "tables.md").write_text(_markdown(shown), encoding="utf-8")
    return page


def _with_continuing(experiment: Experiment, planned: Mapping[str, list[stored.Record]]) -> list[stored.Record]:
    """Give the records of an experiment, and those of others that continue its lines."""
    found = planned[experiment.name]
    if experiment.kind in GROWTHS:
        beside = [record for name in experiment.beside for record in planned[name]]
        found = found + GROWTHS[experiment.kind].continuing(found, beside)
    return found


def _page(shown: Iterable[tuple[Experiment, View]]) -> str:
    shown = list(shown)
    links = " ".join(f'<a href="#{e.name}">{escape(e.title)}</a>' for e, _ in shown)
    body = "\n".join(_section(experiment, view) for experiment, view in shown)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,"><title>bochner: the paper anew</title><style>{_STYLE}</style></head>\n'
        "<body><h1>Feature maps for the Laplacian kernel and its generalizations: measured anew by bochner</h1>\n"
        f"<nav>{links}</nav>\n{body}\n</body></html>\n"
    )


def _section(experiment: Experiment, view: View) -> str:
    tables, plots = view
    figures = "".join(f"<figure>{plot.svg()}{plot.legend()}</figure>" for plot in plots)
    return (
        f'<section id="{experiment.name}"><h2>{escape(experiment.title)}</h2>'
        f"<p>{escape(experiment.paper)}. {escape(experiment.about)}</p>"
        + "".join(table.html() for table in tables)
        + (f'<div class="plots">{figures}</div>' if figures else "")
        + "</section>"
    )


def _markdown(shown: Iterable[tuple[Experiment, View]]) -> str:
    parts = ["# The paper measured anew\n"]
    for experiment, (tables, _) in shown:
        parts.append(f"## {experiment.title}\n\n{experiment.paper}. {experiment.about}\n")
        parts += [table.markdown() for table in tables]
    return "\n".join(parts)
