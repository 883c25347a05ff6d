# SPDX-License-Identifier: Apache-2.0
"""Collectives that open a path at the n-th call of a communicator, or lose it at the n-th communicator. Pure.

What a variable of the library predicts is compared with what was seen under it: the same cells in another environment
of the run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.findings.facts import Difference, Facts, once, ratio_of, variable_words
from slowpath.findings.slow_path import Stayed, Support, Tried, stayed_words
from slowpath.findings.witness import library
from slowpath.mpi.settings import TUNINGS, PathVariable, path_variable
from slowpath.slowpaths.collectives.under import stayed
from slowpath.stats.contrast import removed
from slowpath.stats.estimate import Floats

# Where a sequence changes: a set-up and a lower level behind it, or a higher level from some number on. Pure.

STEP_RATIO = 1.25  # of the two levels: less is no path of its own

PEAK_RATIO = 3.0  # of a set-up over the calls around it

FLAT_RATIO = 1.6  # of the calls of one level: largest over least, the first one left out

NEAR_RATIO = 1.25  # of the later level, within which a call has settled

RUN = 3  # calls in a row that tell a level

FEWEST_BEHIND = 8

FEWEST_SLOW = 3  # calls in front where nothing is set up: two are soon slow by chance

AGREES = 0.6  # share of the launches that must have the same number


@dataclass(frozen=True)
class Change:
    """number: from 1, of the first one behind the change.  settled: the first one of the later level.

    before, after: levels of each launch, seconds, shape (launches,); in front of number 1 it is number 1 itself.
    agree: launches with exactly this number.
    span: numbers over launches that show one.
    """

    number: int
    settled: int
    before: Floats
    after: Floats
    agree: int
    span: tuple[int, int]


def opening(times_s: Floats) -> Change | None:
    """A lower level from some number on, with or without a set-up at its begin.

    Args: times_s: shape (launches, numbers).
    """
    centre = np.median(times_s, axis=0)
    found = _change_points_opening(centre)
    if found is None:
        return None
    number, settled = found
    each = [one[0] for row in times_s if (one := _change_points_opening(row, settled)) is not None]
    return _change(times_s, number, settled, each)


def closing(times_s: Floats) -> Change | None:
    """A higher level from some number on. Args: as of `opening`."""
    found = _split(np.median(times_s, axis=0))
    if found is None:
        return None
    each = [one for row in times_s if (one := _split(row)) is not None]
    return _change(times_s, found, found, each)


def _change(times_s: Floats, number: int, settled: int, each: list[int]) -> Change | None:
    agree = Counter(each)[number]
    if agree < AGREES * len(times_s):
        return None
    before = np.median(times_s[:, : max(1, number - 1)], axis=1)
    after = np.median(times_s[:, settled - 1 :], axis=1)
    return Change(number, settled, before, after, agree, (min(each), max(each)))


def _change_points_opening(centre: Floats, known: int | None = None) -> tuple[int, int] | None:
    """(number, settled); number 1: what is paid at the first call alone.

    Args: known: `settled`, where the medians over launches have settled it.
    """
    half = len(centre) // 2
    if half < FEWEST_BEHIND:
        return None
    after = float(np.median(centre[half:]))
    settled = known or _settled(centre[:half], after)
    if settled is None or settled < 2:
        return None
    front = centre[: settled - 1]
    peak = int(np.argmax(front[1:])) + 1 if front.size > 1 else 0
    if peak > 1 and front[peak] >= PEAK_RATIO * np.median(front[1:peak]):
        return (peak + 1, settled) if _is_level(front[:peak], after) else None
    if front.size > 1 and front[0] >= PEAK_RATIO * np.median(front[1:]):
        return 1, settled
    return (settled, settled) if front.size >= FEWEST_SLOW and _is_level(front, after) else None


def _settled(centre: Floats, after: float) -> int | None:
    """The first number, from 1, from which on several in a row are on the later level."""
    is_near = centre <= NEAR_RATIO * after
    runs = np.lib.stride_tricks.sliding_window_view(is_near, RUN).all(axis=1)
    return int(np.argmax(runs)) + 1 if runs.any() else None


def _is_level(before: Floats, after: float) -> bool:
    """Whether the calls in front are one level above the later one. The first call may pay for more, so that one alone
    says nothing: it is a first use.
    """
    if before.size < 2:
        return False
    rest = before[1:]
    return bool(rest.min() > STEP_RATIO * after and rest.max() <= FLAT_RATIO * rest.min())


def _split(row: Floats) -> int | None:
    """The first number of the higher level: where two levels of logarithms fit best, by least absolute deviation."""
    if len(row) < 2 * FEWEST_BEHIND:
        return None
    logs = np.log(row)
    low, high = np.median(logs[:FEWEST_BEHIND]), np.median(logs[-FEWEST_BEHIND:])
    if high - low < np.log(STEP_RATIO):
        return None
    # The cost of each split between the two levels: those in front should be low, those behind high.
    is_low, is_high = np.abs(logs - low), np.abs(logs - high)
    cost = np.concatenate([[0.0], np.cumsum(is_low)]) + np.concatenate([np.cumsum(is_high[::-1])[::-1], [0.0]])
    split = int(np.argmin(cost))
    return split + 1 if FEWEST_BEHIND <= split <= len(row) - FEWEST_BEHIND else None


# Sentences about paths that open or close at a number, and the remedies that a run toggled. Pure.


def collectives(seen: Iterable[Seen]) -> str:
    """`allreduce, bcast`."""
    return ", ".join(dict.fromkeys(one.cell.parameters.get("collective", "") for one in seen))


def seen_words(one: Seen, what: str) -> str:
    """`allreduce, 8 B: call 5 in 5 of 5 launches, in all 5`."""
    low, high = one.span
    span = f"{low}" if low == high else f"{low} to {high}"
    return f"{one.cell.label}: {what} {one.number} in {one.agree} of {one.launches} launches, in all {span}"


def moved_words(one: MovedChange, what: str) -> str:
    """`under MPIR_CVAR_X=9: predicted call 9, seen 9`."""
    seen = "none" if one.seen is None else f"{one.seen}"
    beyond = ", which was not measured" if one.seen is None and one.within else ""
    return f"under {variable_words(one.variables)}: predicted {what} {one.predicted}{beyond}, seen {seen}"


def by_moves(moved: Sequence[MovedChange], what: str) -> Support:
    """A variable of the library that predicted another number, which then was seen."""
    lines = tuple(moved_words(change, what) for change in moved)
    if not moved:
        return Support("missing", "No variable of the library was varied; slowpath run coll varies those it knows.")
    if any(change.within is False for change in moved):
        return Support("refuted", "the library's variable did not move it as predicted", lines)
    if not any(change.seen is not None and change.within for change in moved):
        return Support("missing", "a variable was varied, but the predicted change did not appear", lines)
    return Support("shown", f"a variable of the library moves the {what} as predicted", lines)


def tried(moved: Sequence[MovedChange], stayed: Sequence[Stayed], what: str) -> tuple[Tried, ...]:
    """Moves that are remedies of the table, with what they must leave as it is."""
    found = []
    for change in moved:
        controls = [other for other in stayed if other.environment == change.environment]
        if change.tuning is None or change.gone is None:
            continue
        found.append(
            Tried(
                remedy=change.tuning,
                removed=change.gone,
                control="; ".join(stayed_words(other) for other in controls) or None,
                held=all(other.held for other in controls),
                launches=change.launches,
                evidence=(moved_words(change, what),),
            )
        )
    return tuple(found)


CALL = "call"

COMMUNICATOR = "communicator"


@dataclass(frozen=True)
class Seen:
    """Where one cell changes. number: from 1; in most of its launches.  agree: launches with exactly this number.

    span: numbers over all launches that show a change.  before_s: all calls in front of it, in sum.
    """

    cell: CellResult
    number: int
    agree: int
    launches: int
    span: tuple[int, int]
    before_s: float


@dataclass(frozen=True)
class MovedChange:
    """The same cells under a variable of the library, which predicted the number.

    environment: its name.  variables: that it sets.  tuning: that sets the same, as mpi.tunings names it; None: none.
    seen: None: it does not change there.  within: whether the two numbers agree, to one for communicators;
    None: nothing was seen where it was predicted.  gone:
    share of the excess that is gone at the numbers where it was, with its interval; None: not known, or not asked.
    launches: of each side.
    """

    environment: str
    variables: Mapping[str, str]
    tuning: str | None
    launches: int
    predicted: int
    seen: int | None
    within: bool | None
    gone: tuple[float, float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Opening(Difference):
    """A path that opens at the n-th call of a communicator. slow_s: of a call from there until it settles, or, where
    nothing is set up, of a call before it.  fast_s: of a later one.

    opens: n.  settled: the first call that takes as long as all later ones.  before_s: of a call before n.  setup_s:
    what the calls from n until it settles take more than later ones, in sum.  pays_from: calls of a communicator from
    which on this has paid; None: never.  seen: each cell that shows it, of several collectives, lengths, arrivals.
    flat: cells of collectives that show no change.  other: number -> collectives that open there.
    """

    opens: int
    settled: int
    before_s: float
    setup_s: float
    pays_from: int | None
    seen: Sequence[Seen]
    flat: tuple[CellResult, ...]
    other: Mapping[int, tuple[str, ...]]
    moved: tuple[MovedChange, ...]
    stayed: tuple[Stayed, ...]


@dataclass(frozen=True, kw_only=True)
class Closing(Difference):
    """A path that is closed from the n-th live communicator on. slow_s: of its calls from there on.  fast_s: before.

    closes: n.  communicators: that were made.
    """

    closes: int
    communicators: int
    seen: Sequence[Seen]
    flat: tuple[CellResult, ...]
    moved: tuple[MovedChange, ...]
    stayed: tuple[Stayed, ...]


EXPERIMENT = "coll"

SPAN = "collective_span_s"

METRICS = ("collective_work_s", "collective_own_s")  # the first that a cell has speaks

FEWEST_CELLS = 2  # that must agree: one may be chance

FIRST_OPENING = 3  # opening at the second call is a first use

Find = Callable[[Floats], Change | None]


@dataclass(frozen=True)
class _Series:
    """Of one cell: times_s has shape (launches, numbers)."""

    cell: CellResult
    metric: str
    times_s: Floats
    change: Change | None

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """What it measures, wherever."""
        return tuple(sorted(self.cell.parameters.items()))

    @property
    def collective(self) -> str:
        return self.cell.parameters.get("collective", "")


@once
def openings(facts: Facts) -> list[Opening]:
    """One for each library and placement, under what users have who change nothing."""
    found = []
    for mine, others in _places(facts, "counted", opening):
        numbers = Counter(
            series.change.number for series in mine if series.change and series.change.number >= FIRST_OPENING
        )
        if numbers and (most := numbers.most_common(1)[0])[1] >= FEWEST_CELLS:
            found.append(_opening(facts, mine, others, most[0]))
    return found


@once
def closings(facts: Facts) -> list[Closing]:
    """As `openings`."""
    found = []
    for mine, others in _places(facts, "communicators", closing):
        numbers = Counter(series.change.number for series in mine if series.change)
        if numbers:
            found.append(_closing(facts, mine, others, numbers.most_common(1)[0][0]))
    return found


def _places(facts: Facts, pattern: str, find: Find) -> Iterable[tuple[list[_Series], list[_Series]]]:
    """Of each library and placement: series of the user's own environment, and those of all others."""
    places: dict[tuple[str | None, str], tuple[list[_Series], list[_Series]]] = defaultdict(lambda: ([], []))
    for cell in facts.cells_of(EXPERIMENT):
        if cell.parameters.get("pattern") == pattern and (one := _series(cell, find)) is not None:
            own, others = places[cell.mpi, cell.placement]
            (own if facts.is_default(cell) else others).append(one)
    return [(own, others) for own, others in places.values() if own]


def _series(cell: CellResult, find: Find) -> _Series | None:
    for metric in METRICS:
        entry = cell.metrics.get(metric)
        if entry and entry.by_repetition:
            times_s: Floats = np.array(entry.by_repetition.launch_values, dtype=np.float64)
            return _Series(cell, metric, times_s, find(times_s))
    return None


def _opening(facts: Facts, mine: Sequence[_Series], others: Sequence[_Series], number: int) -> Opening:
    alike = [series for series in mine if series.change and series.change.number == number]
    top = max(alike, key=lambda one: _excess(one.change))
    change = _known(top.change)
    before, after = float(np.median(change.before)), float(np.median(change.after))
    setting_up = top.times_s[:, number - 1 : change.settled - 1]
    setup_s = float(np.median((setting_up - change.after[:, None]).sum(axis=1)))
    slow = setting_up.mean(axis=1) if setting_up.size else change.before
    return Opening(
        slow=top.cell,
        fast=top.cell,
        metric=top.metric,
        slow_s=float(np.median(slow)),
        fast_s=after,
        ratio=ratio_of(slow, change.after, facts.minimum_effect),
        opens=number,
        settled=change.settled,
        before_s=before,
        setup_s=setup_s,
        pays_from=_pays_from(before, after, setup_s, number),
        seen=[_seen(series) for series in alike],
        flat=tuple(series.cell for series in _flat(mine)),
        other=_others(mine, number),
        moved=tuple(_moved(facts, alike, others, "opens", number)),
        stayed=tuple(_stayed(facts, mine, others, "opens")),
    )


def _closing(facts: Facts, mine: Sequence[_Series], others: Sequence[_Series], number: int) -> Closing:
    alike = [series for series in mine if series.change and series.change.number == number]
    top = max(alike, key=lambda one: _excess(one.change))
    change = _known(top.change)
    return Closing(
        slow=top.cell,
        fast=top.cell,
        metric=top.metric,
        slow_s=float(np.median(change.after)),
        fast_s=float(np.median(change.before)),
        ratio=ratio_of(change.after, change.before, facts.minimum_effect),
        closes=number,
        communicators=top.times_s.shape[1],
        seen=[_seen(series) for series in alike],
        flat=tuple(series.cell for series in _flat(mine)),
        moved=tuple(_moved(facts, alike, others, "closes", number)),
        stayed=(*_stayed(facts, mine, others, "closes"), *_in_front(facts, alike, others, number)),
    )


def _known(change: Change | None) -> Change:
    if change is None:
        raise ValueError("only series with a change are asked")
    return change


def _excess(change: Change | None) -> float:
    """As a factor, whichever level is the higher one."""
    found = _known(change)
    return abs(float(np.log(np.median(found.before) / np.median(found.after))))


def _pays_from(before_s: float, after_s: float, setup_s: float, opens: int) -> int | None:
    """Calls on a communicator from which on the set-up is paid by what later calls save."""
    saved_s = before_s - after_s
    return opens - 1 + int(np.ceil(setup_s / saved_s)) if saved_s > 0 else None


def _seen(one: _Series) -> Seen:
    change = _known(one.change)
    entry = one.cell.metrics.get(SPAN)
    uses = entry.by_repetition if entry else None
    spans_s = np.array(uses.launch_values, dtype=np.float64) if uses else one.times_s
    before_s = float(np.median(spans_s[:, : change.number - 1].sum(axis=1)))
    return Seen(one.cell, change.number, change.agree, len(one.times_s), change.span, before_s)


def _others(mine: Sequence[_Series], number: int) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, list[str]] = defaultdict(list)
    for series in mine:
        if series.change and series.change.number >= FIRST_OPENING and series.change.number != number:
            found[series.change.number].append(series.collective)
    return {key: tuple(dict.fromkeys(names)) for key, names in found.items()}


def _variable(facts: Facts, cell: CellResult, kind: str) -> tuple[PathVariable, int] | None:
    """What alone its environment sets, and to which value; None: something else."""
    variables = facts.variables(cell)
    about = library(facts.run, cell.mpi)
    if len(variables) != 1 or about is None:
        return None
    name, value = next(iter(variables.items()))
    known = path_variable(name, about.name or "", about.version)
    return (known, int(value)) if known and known.kind == kind and value.isdecimal() else None


def _by_environment(others: Sequence[_Series]) -> dict[str, list[_Series]]:
    found: dict[str, list[_Series]] = defaultdict(list)
    for other in others:
        found[other.cell.environment].append(other)
    return found


def _moved(
    facts: Facts, alike: Sequence[_Series], others: Sequence[_Series], kind: str, number: int
) -> Iterable[MovedChange]:
    for environment, there in _by_environment(others).items():
        asked = _variable(facts, there[0].cell, kind)
        pairs = _pairs(alike, there)
        if asked is None or not pairs:
            continue
        known, value = asked
        predicted = value if kind == "opens" else round((number - 1) * value / known.default) + 1
        least = min(FIRST_OPENING, predicted) if kind == "opens" else 1  # a first use is no opening
        seen = _most([new.change.number for _, new in pairs if new.change and new.change.number >= least])
        width = min(one.times_s.shape[1] for _, one in pairs)
        off_by = 1 if kind == "closes" else 0
        within = (None if predicted <= width else True) if seen is None else abs(seen - predicted) <= off_by
        variables = dict(facts.variables(there[0].cell))
        yield MovedChange(
            environment,
            variables,
            next((tuning.name for tuning in TUNINGS if dict(tuning.variables) == variables), None),
            len(pairs[0][0].times_s),
            predicted,
            seen,
            within,
            _gone(*pairs[0]) if predicted > number else None,
        )


def _most(numbers: Sequence[int]) -> int | None:
    """That of most cells; None: no cell changes, so that nothing was seen."""
    return Counter(numbers).most_common(1)[0][0] if numbers else None


def _flat(mine: Sequence[_Series]) -> list[_Series]:
    """Of collectives of which no cell changes: where others of it do, noise hid the change."""
    changing = {series.collective for series in mine if series.change}
    return [series for series in mine if series.collective not in changing]


def _pairs(mine: Iterable[_Series], others: Iterable[_Series]) -> list[tuple[_Series, _Series]]:
    """The same measurement in two environments, those with the same launches."""
    there = {other.key: other for other in others}
    found = [(series, there[series.key]) for series in mine if series.key in there]
    return [pair for pair in found if len(pair[0].times_s) == len(pair[1].times_s)]


def _gone(own: _Series, changed: _Series) -> tuple[float, float, float] | None:
    """Share of the excess that is gone at the numbers that are dear without the variable."""
    change = _known(own.change)
    if change.settled > change.number:
        dear, cheap = slice(change.number - 1, change.settled - 1), slice(change.settled - 1, None)
    else:
        dear, cheap = slice(change.number - 1, None), slice(0, change.number - 1)
    slow, left = (series.times_s[:, dear].mean(axis=1) for series in (own, changed))
    fast = np.median(own.times_s[:, cheap], axis=1)
    found = removed(slow, left, fast, fast)
    return None if found is None else (found.value, *found.interval)


def _stayed(facts: Facts, mine: Sequence[_Series], others: Sequence[_Series], kind: str) -> Iterable[Stayed]:
    """Collectives that show no such path: a variable of the path must leave them as they are."""
    flat = _flat(mine)
    for environment, there in _by_environment(others).items():
        if _variable(facts, there[0].cell, kind) is None:
            continue
        for own, changed in _pairs(flat, there):
            words = f"{own.collective}, which has no such path"
            yield stayed(environment, words, _level(own.times_s), _level(changed.times_s), _factor(mine))


def _in_front(facts: Facts, alike: Sequence[_Series], others: Sequence[_Series], number: int) -> Iterable[Stayed]:
    """Communicators that have the path with and without the variable."""
    for environment, there in _by_environment(others).items():
        if _variable(facts, there[0].cell, "closes") is None:
            continue
        for own, changed in _pairs(alike, there):
            end = min(number, changed.change.number if changed.change else number) - 1
            levels = [_level(series.times_s[:, :end]) for series in (own, changed)]
            words = f"communicators 1 to {end}, which have the path"
            yield stayed(environment, words, levels[0], levels[1], _factor(alike))


def _level(times_s: Floats) -> Floats:
    """Of each launch the lower quartile: what disturbs a call only ever makes it longer."""
    level: Floats = np.quantile(times_s, 0.25, axis=1)
    return level


def _factor(series: Sequence[_Series]) -> float:
    """The largest effect, as a factor above 1."""
    return float(np.exp(max(_excess(one.change) for one in series if one.change and one.change.number > 1)))
