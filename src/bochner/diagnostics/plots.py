"""Pictures of how well features do; the only module that imports matplotlib.

The functions draw on axes that they are given, or return a figure; none touches the state of
``matplotlib.pyplot``, and none needs a display.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

try:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
except ImportError as error:
    raise ImportError("Plots need matplotlib. Install it with: pip install 'bochner[plots]'") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_errors", "plot_scores", "schemes_figure"]

# Colours that colour-blind readers can tell apart (Okabe and Ito, 2008), and marks that survive a black print.
_COLOURS = ("#E69F00", "#56B4E9", "#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "D", "^", "v", "P")
_DASHES = ("-", "-", "-", (0, (4, 2)), (0, (4, 2)), (0, (4, 2)))  # so that curves that coincide are both seen
_INK = "#333333"


def plot_errors(ax: Axes, n_components: Sequence[int], errors: Mapping[str, Sequence[float]]) -> None:
    """Draw the error of the kernel against the number of features, both in logarithms.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes to draw on.
    n_components : sequence of int
        The numbers of features.
    errors : mapping of str to sequence of float
        For each scheme, its errors at these numbers of features.
    """
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    _lines(ax, n_components, errors)
    _label(ax, n_components, "Relative error of the kernel matrix")


def plot_scores(
    ax: Axes, n_components: Sequence[int], scores: Mapping[str, Sequence[float]], exact_score: float
) -> None:
    """Draw the accuracy of a model on the features against their number, and that of the exact machine.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes to draw on.
    n_components : sequence of int
        The numbers of features.
    scores : mapping of str to sequence of float
        For each scheme, its accuracies, between 0 and 1.
    exact_score : float
        The accuracy of the exact kernel machine, drawn as a horizontal line.
    """
    ax.axhline(exact_score, color=_INK, linestyle=":", linewidth=1.8, label="exact kernel")
    _lines(ax, n_components, scores)
    _label(ax, n_components, "Accuracy of a linear model on test data")


def schemes_figure(
    n_components: Sequence[int],
    *,
    errors: Mapping[str, Sequence[float]],
    scores: Mapping[str, Sequence[float]],
    exact_score: float,
    title: str = "",
) -> Figure:
    """Draw errors and accuracies of several schemes side by side.

    Parameters
    ----------
    n_components, errors, scores, exact_score
        As in `plot_errors` and `plot_scores`.
    title : str
        The title of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        A figure to save or to show.

    Examples
    --------
    >>> from bochner.diagnostics.plots import schemes_figure
    >>> figure = schemes_figure(
    ...     [64, 256], errors={"ORF": [0.08, 0.04]}, scores={"ORF": [0.93, 0.97]}, exact_score=0.98
    ... )
    >>> [ax.get_title("left") for ax in figure.axes]
    ['Relative error of the kernel matrix', 'Accuracy of a linear model on test data']
    """
    figure = Figure(figsize=(10, 4.6), dpi=160, layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_errors(left, n_components, errors)
    plot_scores(right, n_components, scores, exact_score)
    figure.suptitle(title, color=_INK)
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _lines(ax: Axes, n_components: Sequence[int], curves: Mapping[str, Sequence[float]]) -> None:
    for i, (label, values) in enumerate(curves.items()):
        k = i % len(_COLOURS)
        (line,) = ax.plot(n_components, values, color=_COLOURS[k], linestyle=_DASHES[k], linewidth=1.8, label=label)
        line.set(marker=_MARKERS[k], markeredgecolor="white")


def _label(ax: Axes, n_components: Sequence[int], title: str) -> None:
    """Mark the numbers of features that were measured, and leave out what carries no information."""
    ax.set_xscale("log", base=2)
    ax.set_xticks(n_components, [f"{n}" for n in n_components])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("number of features", color=_INK)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
    ax.set_title(title, loc="left", color=_INK, fontsize="medium")
    ax.grid(color="#E5E5E5", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelcolor=_INK)
    ax.spines[["top", "right"]].set_visible(False)
