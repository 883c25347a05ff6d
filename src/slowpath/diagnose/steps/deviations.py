# SPDX-License-Identifier: Apache-2.0
"""What lies outside of healthy runs: found in the panel, measured again with lengths between, then said. Pure.

A cell that is slow once may have met a disturbance. Slow twice, in launches of its own, or with many others: a fault.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from slowpath.analyse.deviations import (
    BY_FAR,
    FEW,
    GRANULES,
    MOST_FINDINGS,
    Shared,
    calls_of,
    findings_outside,
    not_traits,
    shared,
)
from slowpath.analyse.reference import (
    MEDIAN,
    HealthyRuns,
    Item,
    Judged,
    Key,
    between,
    decided,
    defaults_of,
    items,
    judged,
    last_answer,
    stated,
)
from slowpath.core.campaign import Campaign, CellsTable, Scalar
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding
from slowpath.diagnose.sides import condition, environments_of, placements_of
from slowpath.diagnose.state import MeasuredStep, Proposal, State, survey_of
from slowpath.diagnose.steps.kind import StepConclusion, StepKind, unchanged
from slowpath.diagnose.tasks import OutsideTask, StateTask, SurveyTask
from slowpath.slowpaths.sp078_deviations import SLOW_PATH

ROUNDS = 5
MOST_STEPS = 2  # the second narrows a limit that the first bracketed
_MOST_AGAIN = 6  # cells of a group
_BETWEEN = 5  # lengths between the longest that is not slow and the shortest that is
_STEP = 8  # bytes: lengths are multiples of it
_AFAR, _LONG = 64, 8192  # times as short or long as an end of the lengths that is slow; bytes: far enough
_FAR = 2.0  # times its reference, that a cell takes with which others are compared that have none
_PART = 1 / 3  # of its cost, that one of them has to have
_USES, _SERIES_S = 200, 0.05
_PAUSES = 6
_WHAT = frozenset(("pattern", "call", "collective", "operation", "message_bytes"))  # a cell is about
_CLOSE = 1.03  # a limit is known where the two lie so close
_LATER = 1_000_000  # numbers of cells of later steps, apart from the survey's

Line = tuple[str, ...]
Change = tuple[int, tuple[tuple[str, Scalar], ...]]  # cell and parameters that are changed


def of_panel(measured: Sequence[MeasuredStep], healthy: HealthyRuns) -> list[Judged]:
    """Every time of the panel with its reference, as the last step measured it.

    What a later step measured again takes the place of what the panel showed; lengths between those of the panel are
    held against references between theirs. A group of which most of what was measured again is not slow any more is
    taken to have been a disturbance.
    """
    return _panel(healthy, *measured)


@last_answer
def _panel(healthy: HealthyRuns, *measured: MeasuredStep) -> list[Judged]:
    if not measured or not isinstance((survey := survey_of(measured)).step.task, SurveyTask):
        return []
    panel = judged(survey.results.run, survey.results.cells, healthy)
    later = [done for done in measured if isinstance(done.step.task, OutsideTask)]
    if not later:
        return panel
    known = {time.item.of_median: time for time in panel}
    lines, slow = _lines(panel), [time for time in panel if time.side == "slower"]
    anew: dict[Key, Judged] = {}
    for number, step in enumerate(later, start=1):
        for item in items(step.results.cells):
            before = known.get(item.of_median)
            if before is not None:
                launches = before.item.launches + item.launches  # both speak, however few are those of the second
                anew[item.key] = replace(before, item=replace(item, cell=before.item.cell, launches=launches))
            elif (like := _sibling(slow, item) or between(lines.get(_line(item), ()), item)) is not None:
                anew[item.key] = replace(like, item=replace(item, cell=number * _LATER + item.cell))
    gone = {time.item.key for group in shared(panel) if _is_refuted(group, anew) for time in group.slow}
    left = (time for time in panel if time.item.of_median not in anew and time.item.key not in gone)
    return decided([*left, *anew.values()])


def _is_refuted(group: Shared, anew: Mapping[Key, Judged]) -> bool:
    again = [time.item.key for time in group.slow if time.item.of_median in anew]
    return bool(again) and 2 * sum(key in anew and anew[key].side == "slower" for key in again) < len(again)


def _line(item: Item) -> Line:
    others = sorted(f"{k}={v}" for k, v in item.traits.items() if k != "message_bytes" and k not in not_traits())
    return (item.metric, *others)


def _lines(panel: Sequence[Judged]) -> dict[Line, list[Judged]]:
    """Cells that differ in their length alone, by length."""
    lines: dict[Line, list[Judged]] = defaultdict(list)
    for time in panel:
        if time.item.length:
            lines[_line(time.item)].append(time)
    return {line: sorted(cells, key=lambda time: time.item.length) for line, cells in lines.items()}


def _sibling(slow: Sequence[Judged], item: Item) -> Judged | None:
    """An item that differs in one trait from a slow cell, or in how it is timed, with that cell's reference.

    It may take somewhat longer itself: it is slow where it has a good part of what the cell costs.
    """
    alike = [
        time
        for time in slow
        if (time.item.metric, time.item.phase) == (item.metric, item.phase)
        and time.ratio > _FAR
        and time.item.length == item.length
        and len(changed := _differing(time.item.traits, item.traits)) <= 1
        and not changed & _WHAT  # another call has a cost of its own
        and calls_of(time.item) == calls_of(item)
    ]
    if not alike:
        return None
    like = max(alike, key=lambda time: time.ratio)
    return replace(like, item=item, limit=max(like.limit, like.reference.high + _PART * like.extra_s))


def _differing(first: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    return {name for name in (first.keys() | other.keys()) - not_traits() if first.get(name) != other.get(name)}


def outside(measured: Sequence[MeasuredStep], healthy: HealthyRuns) -> list[Finding]:
    """A finding for each group of times that lie outside, the one that explains most first."""
    panel = of_panel(measured, healthy)
    again = {
        item.key for done in measured if isinstance(done.step.task, OutsideTask) for item in items(done.results.cells)
    }
    loaded = any(isinstance(done.step.task, StateTask) and done.step.task.others is not None for done in measured)

    def is_sure(group: Shared) -> bool:
        # Other processes slow down some cells and not others: only what many cells agree on is more than that.
        if loaded or group.is_of_many or not group.is_law:
            return group.is_of_many
        by_far = group.low_ratio >= BY_FAR and all(time.item.kind == MEDIAN for time in group.slow)
        if by_far and FEW <= len(group.cells) == group.among:
            return True
        if not any(time.item.key in again for time in group.slow):
            return False  # there was no time to measure it again, or it came up behind what was a disturbance
        # One of 6,000 times lay outside in 3 of 9 healthy runs; a call's cost shows in more than one, or by far in all.
        known = {(time.item.cell, time.item.phase, time.item.traits.get("idle_s")) for time in group.slow}
        is_whole = all(part.relation == "calls" for part in group.conditions) and group.slow[0].item.phase == "steady"
        return len(known) > 1 or (is_whole and group.low_ratio >= BY_FAR and len(group.cells) == group.among)

    return findings_outside(survey_of(measured).results, panel, is_sure) if panel else []


# The step: the slow cells again, and lengths between.


def propose_outside(state: State) -> Iterator[Proposal]:
    """What lies outside and the cells that divide it, without these where time is short; then limits not known yet."""
    made = len(state.tasks(OutsideTask))
    if made >= MOST_STEPS:
        return
    panel = of_panel(state.measured, state.healthy)
    groups = shared(panel)[:MOST_FINDINGS]
    cells = {cell.cell: cell for cell in state.survey.cells}
    again: list[Change] = [] if made else [(number, ()) for group in groups for number in _chosen(group)]
    dividing = [change for group in groups for change in _lengths_to_divide(group, panel)]
    dividing += [] if made else [change for group in groups for change in _changes(group, cells)]
    for changes in ([*again, *dividing], again):
        if changes:
            why = "find the limit" if made else "measure deviations again"
            campaign = _campaign(state, [(cells[number], dict(changed)) for number, changed in dict.fromkeys(changes)])
            yield Proposal(OutsideTask(), campaign, why)


def _campaign(state: State, changes: Sequence[tuple[CellResult, Mapping[str, Scalar]]]) -> Campaign:
    """Each cell with what is changed."""
    under = [condition(cell, state.survey) for cell, _ in changes]
    return Campaign(
        name="outside",
        title="Deviations",
        ranks=[state.ranks],
        rounds=ROUNDS,
        environments=environments_of(under),
        placements=placements_of(under),
        cells=[
            CellsTable(f"outside {n}", c.experiment, {**stated(c), **changed}, [here.environment], [here.placement])
            for n, ((c, changed), here) in enumerate(zip(changes, under, strict=True), start=1)
        ],
    )


def _chosen(group: Shared) -> list[int]:
    """Cells of a group over its lengths, of each length the clearest."""
    by_ratio = sorted(group.slow, key=lambda time: time.ratio)
    lengths = {time.item.cell: time.item.length for time in by_ratio if time.item.cell < _LATER}
    ordered = sorted(lengths, key=lengths.__getitem__)
    return ordered[:: math.ceil(len(ordered) / _MOST_AGAIN)]


def _changes(group: Shared, cells: Mapping[int, CellResult]) -> Iterator[Change]:
    """The clearest cell with one parameter as by default, in a longer series, and after a call; or with pauses."""
    clearest = max(group.slow, key=lambda time: time.item.interval[0] / time.limit)
    number, cell = clearest.item.cell, cells[clearest.item.cell]
    if "idle_s" in clearest.item.traits and clearest.item.metric == "call_idle_s":
        yield number, (("pauses", _PAUSES),)
        yield number, (("idle_s", 2 * float(clearest.item.traits["idle_s"])), ("pauses", _PAUSES))
        return
    calls = [time for time in group.slow if cells[time.item.cell].parameters.get("pattern") == "call"]
    if calls:
        single = max(calls, key=lambda time: time.ratio).item
        yield single.cell, (("after_call", "on"),)  # others come after a pause, in which the ranks met without MPI
        uses = min(_USES, int(_SERIES_S / single.value))
        if uses >= 2 * int(cells[single.cell].parameters["uses"]):
            yield single.cell, (("uses", uses),)
    for name in stated(cell).keys() - not_traits() - _WHAT:
        yield number, ((name, defaults_of(cell.experiment)[name]),)


def _lengths_to_divide(group: Shared, panel: Sequence[Judged]) -> list[Change]:
    """Lengths on both sides of a limit, and beside one that is slow, of the line of cells that shows it best."""
    best: tuple[float, list[Change]] = (0.0, [])
    slow = {time.item.key for time in group.slow if time.side == "slower"}
    for line in _lines(panel).values():
        inside = [time for time in line if time.item.key in slow]
        number = next((time.item.cell for time in line if time.item.cell < _LATER), None)
        if not inside or number is None or inside[0].item.phase == "first" != group.slow[0].item.phase:
            continue
        # Of the others those that would show the cost, and do not; where its law is not known yet, all.
        is_open = inside[-1].item.length < 2 * inside[0].item.length
        telling = [time for time in line if time in inside or is_open or 2 * time.most_extra_s < group.cost.at(time)]
        clearest = max(inside, key=lambda time: time.ratio)
        beside = clearest.item.length + _STEP  # of no granule
        is_new = beside % GRANULES[0] == _STEP and all(time.item.length != beside for time in telling)
        lengths = [beside] if is_new else []
        if line[0] in inside and line[0].item.length > _STEP:
            lengths.append(max(_STEP, line[0].item.length // _AFAR // _STEP * _STEP))
        if line[-1] in inside and _STEP < line[-1].item.length < _LONG:  # 8 B are those of calls without a message
            lengths.append(line[-1].item.length * _AFAR)
        for low, high in itertools.pairwise(telling):
            if (low in inside) != (high in inside) and high.item.length > _CLOSE * low.item.length:
                lengths += _spread(low.item.length, high.item.length)
        if lengths and clearest.ratio > best[0]:
            best = clearest.ratio, [(number, (("message_bytes", str(length)),)) for length in lengths]
    return best[1]


def _spread(low: int, high: int) -> list[int]:
    step = (high / low) ** (1 / (_BETWEEN + 1))
    granules, lengths = [_STEP, *GRANULES], set[int]()
    for near in (low * step**n for n in range(_BETWEEN, 0, -1)):
        while len(granules) > 1 and 2 * granules[-1] > near * (step - 1):
            granules.pop()
        granule = granules.pop() if len(granules) > 1 else _STEP
        lengths.add((2 * int(near / granule / 2) + 1) * granule)
    return sorted(lengths - {low, high})


def _summary(_: OutsideTask, __: StepConclusion, after: StepConclusion) -> str:
    """The first of what stays."""
    texts = (finding.text for finding in after.findings if finding.rule == SLOW_PATH.code)
    return next(texts, "not slow when measured again")


OUTSIDE = StepKind(OutsideTask, unchanged, _summary)
