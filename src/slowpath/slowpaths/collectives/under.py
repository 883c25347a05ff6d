# SPDX-License-Identifier: Apache-2.0
"""Both sides of a difference between collectives, in the other environments of the run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.units import share_words
from slowpath.findings.facts import Facts, Slowdown, once, ratio_of, ratio_words, sizes, slowdown_words, times_words
from slowpath.findings.slow_path import Observation, Stayed, Tried, observed
from slowpath.slowpaths.remedies import THREAD_LEVEL_FUNNELED
from slowpath.stats.contrast import held, removed
from slowpath.stats.contrast import toggled as taken_away
from slowpath.stats.estimate import Floats


def stayed(environment: str, words: str, own_s: Floats, changed_s: Floats, factor: float) -> Stayed:
    """It stayed where it is within 10 %, and its interval leaves open less than half of the effect (its root).

    Args: own_s, changed_s: of the same launches, shape (launches,).  factor: the effect, above 1.
    """
    found = ratio_of(changed_s, own_s, 0.0)
    low, high = found.interval or (found.value, found.value)
    return Stayed(environment, words, found.value, (low, high), held(found.value, (low, high), factor))


CLOSED = "collectives_never_open"  # of mpi.settings: the library's fast path for collectives stays closed

Share = tuple[float, float, float]  # value and interval


@dataclass(frozen=True)
class Under:
    """Both sides of a decided contrast in another environment of the run, which sets one state of the library.

    lost: share of the excess that the fast side takes on in that state; None: not measured.  length: of the messages,
    in words.
    """

    contrast: str
    setting: str | None
    variables: Mapping[str, str]
    lost: Share | None
    length: str = ""


@dataclass(frozen=True)
class Toggled:
    """A decided contrast of collectives, as a remedy that leads from its slow to its fast side, in the same rounds.

    removed: share of the excess that is gone with it.  stayed: of collectives that were chosen beforehand, since they
    have no fast path to lose: the same change of the same length, and the path kept closed; (): not measured.
    """

    contrast: str
    removed: Share
    launches: int
    stayed: tuple[Stayed, ...]


EXPERIMENT = "coll"


# Axis -> collectives that no library is known to have a fast path for, so that none can be closed to them.
# A scan keeps the order of the ranks with any op; its calls pay for the op itself, as a reduction's do.
PATHLESS: Mapping[str, Sequence[str]] = {"op": ("scan",), "start": ("alltoall",), "environment": ("alltoall",)}


@once
def unders(facts: Facts) -> list[Under]:
    """Of each decided contrast of collectives, in each environment that is on neither of its sides."""
    cells = facts.cells_of(EXPERIMENT)
    return [under for slowdown in decided(facts, PATHLESS) for under in _of(facts, cells, slowdown)]


def decided(facts: Facts, axes: Iterable[str]) -> list[Slowdown]:
    """Contrasts of collectives on these axes, later calls."""
    return [slowdown for slowdown in facts.slowdowns(*axes, phase="steady") if slowdown.slow.experiment == EXPERIMENT]


def _of(facts: Facts, cells: Sequence[CellResult], one: Slowdown) -> Iterator[Under]:
    mine = {one.slow.environment, one.fast.environment}
    others = dict.fromkeys(cell.environment for cell in cells if _same_place(cell, one.slow))
    for environment in (name for name in others if name not in mine):
        there = twin(cells, one.fast, environment)
        if there is None:
            continue
        slow, fast, changed = (times_s(side, one.metric) for side in (one.slow, one.fast, there))
        yield Under(
            contrast=one.contrast,
            setting=facts.setting(there),
            variables=facts.variables(there),
            lost=share(slow, slow, fast, changed),
            length=sizes([one.slow]),
        )


def _same_place(one: CellResult, other: CellResult) -> bool:
    return (one.mpi, one.placement) == (other.mpi, other.placement)


def twin(cells: Sequence[CellResult], cell: CellResult, environment: str) -> CellResult | None:
    """The same measurement in another environment."""
    return next(
        (
            one
            for one in cells
            if one.environment == environment and one.parameters == cell.parameters and _same_place(one, cell)
        ),
        None,
    )


def times_s(cell: CellResult, metric: str) -> Floats | None:
    """Of each launch, later calls; None: not measured."""
    found = cell.estimate(metric, "steady")
    return np.array(found.launch_values, dtype=np.float64) if found else None


def share(slow: Floats | None, changed: Floats | None, fast: Floats | None, there: Floats | None) -> Share | None:
    """As `removed`; None where a side was not measured in as many launches."""
    if slow is None or changed is None or fast is None or there is None:
        return None
    if len({one.size for one in (slow, changed, fast, there)}) > 1:
        return None
    found = removed(slow, changed, fast, there)
    return None if found is None else (found.value, *found.interval)


@once
def toggled(facts: Facts) -> list[Toggled]:
    """Of each decided contrast of these axes."""
    cells = facts.cells_of(EXPERIMENT)
    return [found for slowdown in decided(facts, PATHLESS) for found in _toggled(facts, cells, slowdown)]


def _toggled(facts: Facts, cells: Sequence[CellResult], one: Slowdown) -> Iterator[Toggled]:
    after = _after(facts, cells, one) if one.axis == "environment" else one.fast
    slow_s, fast_s = (times_s(cell, one.metric) for cell in (one.slow, one.fast))
    if after is None or slow_s is None or fast_s is None or slow_s.size != fast_s.size:
        return
    removed: Share | None
    if after is one.fast:
        found = taken_away(slow_s, fast_s)
        removed = None if found is None else (found.value, *found.interval)
    else:
        removed = share(slow_s, times_s(after, one.metric), fast_s, fast_s)
    if removed is not None:
        controls = tuple(_stayed(facts, cells, one, after))
        yield Toggled(one.contrast, removed, int(slow_s.size), controls)


def _after(facts: Facts, cells: Sequence[CellResult], one: Slowdown) -> CellResult | None:
    """The slow side where the variables that make it slow are set to what a remedy of the table sets."""
    mine = facts.variables(one.slow)
    for environment in dict.fromkeys(cell.environment for cell in cells):
        there = twin(cells, one.slow, environment)
        if there is None or there is one.slow:
            continue
        variables = dict(facts.variables(there))
        if variables == THREAD_LEVEL_FUNNELED.variables and variables.keys() == mine.keys():
            return there
    return None


def _stayed(facts: Facts, cells: Sequence[CellResult], one: Slowdown, after: CellResult) -> Iterator[Stayed]:
    for name in PATHLESS[one.axis]:
        if name == one.slow.parameters.get("collective"):
            continue
        before, changed = (_as(cells, cell, name) for cell in (one.slow, after))
        words = " of ".join(filter(None, (name, sizes([one.slow]))))
        yield from _pair(one, before, changed, f"{words}, which has no such path")
        open_one = _as(cells, one.fast, name)
        for closed in _closed(facts, cells, open_one):
            yield from _pair(one, open_one, closed, f"{words}, under the variable that closes the path")


def _as(cells: Sequence[CellResult], cell: CellResult, collective: str) -> CellResult | None:
    """The same cell of its group with another collective."""
    asked = {**cell.parameters, "collective": collective}
    place = (cell.group, cell.mpi, cell.environment, cell.placement, cell.copy)
    return next(
        (
            other
            for other in cells
            if (other.group, other.mpi, other.environment, other.placement, other.copy) == place
            and other.parameters == asked
        ),
        None,
    )


def _closed(facts: Facts, cells: Sequence[CellResult], cell: CellResult | None) -> Iterator[CellResult]:
    for environment in dict.fromkeys(cell.environment for cell in cells):
        there = twin(cells, cell, environment) if cell else None
        if there is not None and facts.setting(there) == CLOSED:
            yield there


def _pair(one: Slowdown, own: CellResult | None, changed: CellResult | None, words: str) -> Iterator[Stayed]:
    own_s, changed_s = (None if cell is None else times_s(cell, one.metric) for cell in (own, changed))
    if own is not None and own_s is not None and changed_s is not None and own_s.size == changed_s.size:
        yield stayed(own.environment, words, own_s, changed_s, one.ratio.value)


MOST_EVIDENCE = 6


def of_collectives(facts: Facts, axis: str) -> list[Slowdown]:
    """Decided contrasts of collectives on one axis, later calls, in the user's own environment or against it."""
    found = [slowdown for slowdown in facts.slowdowns(axis, phase="steady") if slowdown.slow.experiment == EXPERIMENT]
    return [one for one in found if axis == "environment" or facts.is_default(one.slow)]


def collective(one: Slowdown) -> str:
    """`allreduce`."""
    return one.slow.parameters.get("collective", "")


def groups(found: Iterable[Slowdown], *more: str) -> list[list[Slowdown]]:
    """Contrasts of the same two values in one place, and of the same further parameters."""
    made: dict[tuple[object, ...], list[Slowdown]] = {}
    for slowdown in found:
        place = (slowdown.slow.mpi, slowdown.slow.placement, slowdown.slow_value, slowdown.fast_value)
        made.setdefault((*place, *(slowdown.slow.parameters.get(name) for name in more)), []).append(slowdown)
    return list(made.values())


def contrast_observed(
    facts: Facts, group: Sequence[Slowdown], about: str, words: tuple[str, str], tried: tuple[Tried, ...] = ()
) -> Observation:
    """The one with the largest ratio speaks. words: after the collective, and after "slower than"."""
    top = max(group, key=lambda one: one.ratio.least)
    names = ", ".join(dict.fromkeys(collective(slowdown) for slowdown in group))
    span = sizes(slowdown.slow for slowdown in group)
    also = f"; {len(group)} contrasts agree ({names}; {span})" if len(group) > 1 else ""
    size = sizes([top.slow])
    length = f" of {size}" if size and collective(top) != "barrier" else ""
    defaults = {slowdown.affects_default for slowdown in group}
    return observed(
        top,
        about=about,
        place=facts.place([slowdown.slow for slowdown in group], [names]),
        text=f"{collective(top).capitalize()}{length} {words[0]} is {ratio_words(top.ratio)} slower than {words[1]}: "
        f"{times_words(top)}{also}.",
        affects_default=defaults.pop() if len(defaults) == 1 else None,
        cells=tuple(dict.fromkeys(cell.cell for slowdown in group for cell in (slowdown.slow, slowdown.fast))),
        contrasts=tuple(dict.fromkeys(slowdown.contrast for slowdown in [top, *group])),
        axis=top.axis,
        evidence=tuple(
            slowdown_words(slowdown)
            for slowdown in sorted(group, key=lambda one: one.ratio.value, reverse=True)[:MOST_EVIDENCE]
        ),
        slow_cells=tuple(dict.fromkeys(slowdown.slow.cell for slowdown in [top, *group])),
        fast_cells=tuple(dict.fromkeys(slowdown.fast.cell for slowdown in [top, *group])),
        tried=tried,
    )


def unders_of(facts: Facts, contrasts: Iterable[str]) -> list[Under]:
    """Of these contrasts."""
    wanted = set(contrasts)
    return [under for under in unders(facts) if under.contrast in wanted]


def excess_words(share: tuple[float, float, float]) -> str:
    """`92 % [88, 95]`.  Args: share: value and interval."""
    return share_words(share[0], share[1:])
