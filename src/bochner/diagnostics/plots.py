"""Pictures of how well features and models do; the only module that imports matplotlib.

The functions draw on axes that they are given, or return a figure, and none needs a display. Only `new_axes` touches
the state of ``matplotlib.pyplot``, so that ``plt.show()`` shows what it has made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

try:
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
except ImportError as error:
    raise ImportError("Plots need matplotlib. Install it with: pip install 'bochner[plots]'") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .reliability import ReliabilityCurve

__all__ = [
    "learned_metric_figure",
    "new_axes",
    "plot_errors",
    "plot_importances",
    "plot_metric",
    "plot_reliability",
    "plot_rounds",
    "plot_scores",
    "schemes_figure",
]

# Colours that colour-blind readers can tell apart (Okabe and Ito, 2008), and marks that survive a black print.
_COLOURS = ("#E69F00", "#56B4E9", "#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "D", "^", "v", "P")
_DASHES = ("-", "-", "-", (0, (4, 2)), (0, (4, 2)), (0, (4, 2)))  # so that curves that coincide are both seen
_INK = "#333333"
# Names beside a heat map.
_MOST_NAMES = 40
# The histogram of a reliability diagram is drawn under the curve, from here up to a little below 0.
_FLOOR, _CEILING = -0.2, -0.04
_CURVE: dict[str, Any] = {"linewidth": 1.8, "markeredgecolor": "white", "clip_on": False}


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


def new_axes() -> Axes:
    """Make a figure with one axes, as ``matplotlib.pyplot`` does, so that ``plt.show()`` shows it."""
    from matplotlib import pyplot as plt  # not above: it chooses a backend, which only this function needs

    return plt.subplots(figsize=(5.0, 5.6), layout="constrained")[1]


def plot_reliability(
    ax: Axes, curve: ReliabilityCurve, histogram: NDArray[Any], name: str | None = None, **kwargs: Any
) -> Line2D:
    """Draw a reliability curve, its gaps to the diagonal, and under it the histogram of the confidences.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes to draw on; those of another reliability curve get one more.
    curve : ReliabilityCurve
        The points of the curve.
    histogram : array of shape (n_bins,)
        The share of rows in each of n_bins equal parts of the interval from 0 to 1.
    name : str, default=None
        The name in the legend, in front of the expected calibration error.
    **kwargs
        Properties of the curve.

    Returns
    -------
    matplotlib.lines.Line2D
        The curve.
    """
    _diagonal(ax)
    k = len(ax.lines) % len(_COLOURS)
    error = f"ECE = {curve.expected_calibration_error:.3f}"
    label = error if name is None else f"{name} ({error})"
    style = {"color": _COLOURS[k], "marker": _MARKERS[k], "label": label, **_CURVE, **normalize_kwargs(kwargs, Line2D)}
    (line,) = ax.plot(curve.confidence, curve.accuracy, **style)
    widths = 1.0 + 7.0 * curve.weight / curve.weight.max()  # a gap counts as much as its bin holds
    ax.vlines(curve.confidence, curve.confidence, curve.accuracy, color=line.get_color(), alpha=0.3, linewidth=widths)
    _histogram(ax, histogram, line.get_color())
    ax.legend(loc="upper left", framealpha=0.8, edgecolor="none", labelcolor=_INK)
    return line


def plot_metric(ax: Axes, metric: Any, names: Sequence[str] | None = None) -> None:
    """Draw a metric M, or its diagonal, as a heat map: positive entries in one colour, negative ones in another.

    Of more inputs than have room for a name, those with the largest diagonal are drawn.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes to draw on.
    metric : array of shape (d, d) or (d,)
    names : sequence of str, optional
        Names of the inputs; by default their numbers.
    """
    metric = np.asarray(metric)
    d, diagonal = len(metric), metric if metric.ndim == 1 else np.diag(metric)
    shown = np.sort(np.argsort(-diagonal, kind="stable")[:_MOST_NAMES])
    matrix = np.diag(metric[shown]) if metric.ndim == 1 else metric[np.ix_(shown, shown)]
    reach = float(abs(matrix).max()) or 1.0
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-reach, vmax=reach, interpolation="nearest")
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.04)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelcolor=_INK)
    labels = [str(k) if names is None else str(names[k]) for k in shown]
    ax.set_xticks(range(len(shown)), labels, rotation=90)
    ax.set_yticks(range(len(shown)), labels)
    ax.tick_params(length=0, labelcolor=_INK)
    title = "Learned metric" if len(shown) == d else f"Learned metric, {len(shown)} of {d} inputs"
    ax.set_title(title, loc="left", color=_INK, fontsize="medium")
    ax.spines[:].set_visible(False)


def plot_importances(
    ax: Axes,
    importances: Any,
    names: Sequence[str] | None = None,
    *,
    most: int = 20,
    shape: tuple[int, ...] | None = None,
) -> None:
    """Draw the importances of the inputs: the largest as bars, or all of them as an image.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes to draw on.
    importances : array of shape (d,)
    names : sequence of str, optional
        Names of the inputs; by default their numbers.
    most : int, default=20
        Bars at most.
    shape : tuple of int, optional
        Of images whose pixels the inputs are: (height, width), or (height, width, channels), which are summed.
    """
    values = np.asarray(importances)
    ax.set_title("What the model looks at", loc="left", color=_INK, fontsize="medium")
    if shape is not None:
        picture = values.reshape(shape)
        ax.imshow(picture.sum(axis=2) if picture.ndim == 3 else picture, cmap="magma", interpolation="nearest")
        ax.set_axis_off()
        return
    order = np.argsort(values)[::-1][:most]
    labels = [str(k) if names is None else str(names[k]) for k in order]
    ax.barh(range(len(order)), values[order], color=_COLOURS[2])
    ax.set_yticks(range(len(order)), labels)
    ax.invert_yaxis()
    ax.set_xlabel("share of the metric's diagonal", color=_INK)
    _quiet(ax)


def plot_rounds(ax: Axes, history: Sequence[Mapping[str, Any]], best: int | None = None) -> None:
    """Draw the score of held-out rows over the rounds of a recursive feature machine.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes to draw on.
    history : sequence of mapping
        ``history_`` of the machine.
    best : int, optional
        The round that was kept, which is marked.
    """
    rounds, scores = [entry["round"] for entry in history], [entry["score"] for entry in history]
    ax.plot(rounds, scores, color=_COLOURS[2], marker="o", **_CURVE)
    if best is not None and best in rounds:
        ax.plot(best, scores[rounds.index(best)], marker="o", markersize=11, color=_COLOURS[3], fillstyle="none")
    ax.set_xticks(rounds)
    ax.set_xlabel("round", color=_INK)
    ax.set_title("Score of held-out rows", loc="left", color=_INK, fontsize="medium")
    _quiet(ax)


def learned_metric_figure(model: Any, shape: tuple[int, ...] | None = None) -> Figure:
    """Draw what a fitted recursive feature machine has learned: scores, importances, and the metric itself.

    Parameters
    ----------
    model : RecursiveFeatureMachine
        Fitted; names of columns are taken from it.
    shape : tuple of int, optional
        Of images whose pixels the inputs are.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = getattr(model, "feature_names_in_", None)
    figure = Figure(figsize=(12, 4.2), dpi=160, layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    plot_rounds(left, model.history_, model.best_round_)
    plot_importances(middle, model.feature_importances_, names, shape=shape)
    plot_metric(right, model.metric_, names)
    right.set_aspect("auto")  # a square that fills its place would push long names out of the figure
    return figure


def _diagonal(ax: Axes) -> None:
    """Draw what all curves on the same axes share, once."""
    label = "perfectly calibrated"
    if label in ax.get_legend_handles_labels()[1]:
        return
    ax.plot([0, 1], [0, 1], color=_INK, linestyle=":", linewidth=1.8, label=label)
    ax.axhline(0.0, color=_INK, linewidth=0.8)
    ax.set(xlim=(0, 1), ylim=(_FLOOR, 1), aspect="equal", yticks=np.linspace(0, 1, 6))
    ax.text(-0.02, (_FLOOR + _CEILING) / 2, "rows", ha="right", va="center", color=_INK)
    ax.set_xlabel("confidence", color=_INK)
    ax.set_ylabel("accuracy", color=_INK)
    _quiet(ax)


def _histogram(ax: Axes, shares: NDArray[Any], colour: Any) -> None:
    heights = _FLOOR + (_CEILING - _FLOOR) * shares / shares.max()
    edges = np.linspace(0.0, 1.0, len(shares) + 1)
    ax.stairs(heights, edges, baseline=_FLOOR, fill=True, color=colour, alpha=0.3, linewidth=0)
    ax.stairs(heights, edges, baseline=_FLOOR, color=colour)


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
    _quiet(ax)


def _quiet(ax: Axes) -> None:
    """Leave a light grid, and neither ticks nor a box."""
    ax.grid(color="#E5E5E5", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelcolor=_INK)
    ax.spines[["top", "right"]].set_visible(False)
