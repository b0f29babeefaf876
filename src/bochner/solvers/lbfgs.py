"""Minimising a smooth convex function by its gradients alone: preconditioned L-BFGS.

The two-loop recursion of Nocedal and Wright, Numerical Optimization, algorithm 7.4, whose first matrix is a multiple of
the preconditioner: ``s^T y / y^T P y`` for the last step s and the change y of the gradient along it, so that a
preconditioner of the wrong size does no harm. Steps are judged by slopes: rounding hides the fall of the function's
values long before that of its gradient.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Map = Callable[[Floats], Floats]

#: Steps that are remembered, at least and at most, and the numbers that they may take.
_LEAST_MEMORY, _MOST_MEMORY, _NUMBERS_OF_MEMORY = 20, 100, 1 << 24
#: The slope after a step, in units of that before it: not much steeper downhill than this, nor uphill than that.
_DOWNHILL, _UPHILL = 0.9, 0.5
#: Evaluations of one step, and those without a smaller gradient, after which rounding is what is wrong.
_MOST_TRIES, _PATIENCE = 12, 50


class Minimum(NamedTuple):
    """The point with the least gradient, the norm of that, and the iterations in all."""

    point: Floats
    norm: float
    n_iter: int


class _Pair(NamedTuple):
    """A step and the change of the gradient along it."""

    step: Floats
    change: Floats
    product: float


class _Taken(NamedTuple):
    """A step, the gradient after it, and the evaluations that it took."""

    step: Floats
    slope: Floats
    n_tries: int


def steps_memory(size: int) -> float:
    """Bytes of the steps that are remembered for a point of so many numbers."""
    return 8.0 * 2 * size * _steps(size)


def _steps(size: int) -> int:
    return max(_LEAST_MEMORY, min(_MOST_MEMORY, _NUMBERS_OF_MEMORY // (2 * size)))


def minimise_by_gradients(
    gradient: Map,
    point: Floats,
    slope: Floats,
    precondition: Map,
    *,
    goal: float,
    max_iter: int,
    tell: Callable[[float], Any],
) -> Minimum:
    """Walk from a point with the gradient ``slope`` until its norm is below the goal, or as far as rounding allows.

    ``precondition`` multiplies by an approximate inverse of the Hessian; ``tell`` gets the norms.
    """
    norm, n_iter, stale = float(np.linalg.norm(slope)), 0, 0
    memory = deque[_Pair](maxlen=_steps(point.size))
    best = point, norm
    while norm > goal and n_iter < max_iter and stale < _PATIENCE:
        direction = _direction(slope, memory, precondition)
        taken = _step(gradient, point, direction, float(np.vdot(slope, direction)))
        if taken is None:
            break
        change = taken.slope - slope
        product = float(np.vdot(taken.step, change))
        if product > 0.0:
            memory.append(_Pair(taken.step, change, product))
        point, slope, n_iter, stale = point + taken.step, taken.slope, n_iter + 1, stale + taken.n_tries
        norm = float(np.linalg.norm(slope))
        if norm < best[1]:
            best, stale = (point, norm), 0
        tell(norm)
    return Minimum(*best, n_iter)


def _direction(slope: Floats, memory: deque[_Pair], precondition: Map) -> Floats:
    """Give the direction downhill by what the last steps have told about the curvature."""
    rest, parts = slope.copy(), list[float]()
    for pair in reversed(memory):
        parts.append(float(np.vdot(pair.step, rest)) / pair.product)
        rest -= parts[-1] * pair.change
    if not memory:
        return -precondition(rest)
    last, k = memory[-1], slope.shape[1]
    # Both at once, which takes hardly longer than one.
    both = precondition(np.hstack([rest, last.change]))
    curved = float(np.vdot(last.change, both[:, k:]))
    found = (last.product / curved if curved > 0.0 else 1.0) * both[:, :k]
    for pair, part in zip(memory, reversed(parts), strict=True):
        found += pair.step * (part - float(np.vdot(pair.change, found)) / pair.product)
    return -found


def _step(gradient: Map, point: Floats, direction: Floats, first: float) -> _Taken | None:
    """Find a step in a direction, and the gradient after it; none if rounding makes it look uphill or endless.

    The slope of a convex function rises along a line, so that a minimum lies between a point with a negative and one
    with a positive slope.
    """
    length, low, high = 1.0, 0.0, np.inf
    for n_tries in range(1, _MOST_TRIES + 1 if first < 0.0 else 1):
        step = length * direction
        slope = gradient(point + step)
        along = float(np.vdot(slope, direction))
        if _DOWNHILL * first <= along <= -_UPHILL * first:
            return _Taken(step, slope, n_tries)
        if not np.isfinite(along):
            high, length = length, 0.5 * (low + length)
            continue
        # Where a straight line through the slopes would be zero, if that is neither too near nor too far.
        zero = -first / max(along - first, np.finfo(float).tiny)
        if along < 0.0:
            low = length
            length = length * min(max(zero, 2.0), 100.0) if np.isinf(high) else 0.5 * (low + high)
        else:
            high = length
            length = max(length * min(zero, 0.95), 0.95 * low + 0.05 * high)
    return None
