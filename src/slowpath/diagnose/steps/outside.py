# SPDX-License-Identifier: Apache-2.0
"""What lies outside of healthy runs: found in the panel, measured again with lengths between, then said. Pure.

A cell that is slow once may have met a disturbance. What is slow twice, in launches of their own, is called a fault.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from slowpath.analyse.deviations import MANY, MOST_FINDINGS, NOT_TRAITS, Shared, findings_outside, shared
from slowpath.analyse.reference import HealthyRuns, Item, Judged, Key, Reference, decided, items, judged, stated
from slowpath.core.campaign import Campaign, CellsTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding
from slowpath.core.units import whole_number
from slowpath.diagnose.sides import condition, environments_of, placements_of
from slowpath.diagnose.state import MeasuredStep, Proposal, State, survey_of
from slowpath.diagnose.steps.kind import StepConclusion, StepKind, unchanged
from slowpath.diagnose.tasks import OutsideTask, StateTask, SurveyTask
from slowpath.slowpaths.outside import OUTSIDE as SLOW_PATH

ROUNDS = 5
MOST_STEPS = 2  # the second narrows a limit that the first bracketed
_MOST_AGAIN = 6  # cells of a group
_BETWEEN = 5  # lengths between the longest that is not slow and the shortest that is
_CLEAR = 1.15  # times the limit: where one cell alone is slow
_PAGE = 4096
_CLOSE = 1.03  # a limit is known where the two lie so close
_LATER = 1_000_000  # numbers of cells of later steps, apart from the survey's

Line = tuple[str, ...]


def of_panel(measured: Sequence[MeasuredStep], healthy: HealthyRuns) -> list[Judged]:
    """Every time of the panel with its reference, as the last step measured it.

    What a later step measured again takes the place of what the panel showed; lengths between those of the panel are
    held against references between theirs. A group of which most of what was measured again is not slow any more is
    taken to have been a disturbance.
    """
    if not measured or not isinstance(survey_of(measured).step.task, SurveyTask):
        return []
    panel = judged(survey_of(measured).results, healthy)
    later = [one for one in measured if isinstance(one.step.task, OutsideTask)]
    if not later:
        return panel
    known = {one.item.of_median: one for one in panel}
    lines = _lines(panel)
    anew: dict[Key, Judged] = {}
    for number, step in enumerate(later, start=1):
        for item in items(step.results.cells):
            before = known.get(item.of_median)
            if before is not None:
                anew[item.key] = replace(before, item=replace(item, cell=before.item.cell))
            elif (between := _between(lines.get(_line(item), ()), item)) is not None:
                anew[item.key] = replace(between, item=replace(item, cell=number * _LATER + item.cell))
    gone = {one.item.key for group in shared(panel) if _is_refuted(group, anew) for one in group.slow}
    left = (one for one in panel if one.item.of_median not in anew and one.item.key not in gone)
    return decided([*left, *anew.values()])


def _is_refuted(group: Shared, anew: Mapping[Key, Judged]) -> bool:
    again = [one.item.key for one in group.slow if one.item.of_median in anew]
    return bool(again) and 2 * sum(key in anew and anew[key].side == "slower" for key in again) < len(again)


def _line(item: Item) -> Line:
    """What a cell is but for its length."""
    others = sorted(f"{k}={v}" for k, v in item.traits.items() if k != "message_bytes" and k not in NOT_TRAITS)
    return (item.metric, *others)


def _lines(panel: Sequence[Judged]) -> dict[Line, list[Judged]]:
    """Cells that differ in their length alone, by length."""
    lines: dict[Line, list[Judged]] = defaultdict(list)
    for one in panel:
        if whole_number(one.item.traits.get("message_bytes", "")):
            lines[_line(one.item)].append(one)
    return {line: sorted(cells, key=_bytes) for line, cells in lines.items()}


def _bytes(one: Judged) -> int:
    return whole_number(one.item.traits.get("message_bytes", "")) or 0


def _between(line: Sequence[Judged], item: Item) -> Judged | None:
    """An item between two lengths of the panel, with the reference between theirs."""
    length = whole_number(item.traits.get("message_bytes", "")) or 0
    below = max((one for one in line if _bytes(one) <= length), key=_bytes, default=None)
    above = min((one for one in line if _bytes(one) >= length), key=_bytes, default=None)
    if below is None or above is None:
        return None
    span = math.log(_bytes(above) / _bytes(below))
    share = math.log(length / _bytes(below)) / span if span else 0.0

    def mixed(low: float, high: float) -> float:
        return math.exp((1 - share) * math.log(low) + share * math.log(high))

    a, b = below.reference, above.reference
    reference = Reference(
        mixed(a.median, b.median), mixed(a.low, b.low), mixed(a.high, b.high), min(a.runs, b.runs), a.source
    )
    return Judged(item, reference, max(below.limit, above.limit))


def outside(measured: Sequence[MeasuredStep], healthy: HealthyRuns) -> list[Finding]:
    """A finding for each group of times that lie outside, the one that explains most first."""
    panel = of_panel(measured, healthy)
    again = {
        item.key for one in measured if isinstance(one.step.task, OutsideTask) for item in items(one.results.cells)
    }
    loaded = any(isinstance(one.step.task, StateTask) and one.step.task.others is not None for one in measured)

    def is_sure(group: Shared) -> bool:
        # Other processes slow down some cells and not others: only what many cells agree on is more than that.
        if not any(one.item.key in again for one in group.slow):
            return False  # it came up behind a group that was a disturbance, and was measured once
        if loaded:
            return len(group.cells) >= MANY
        return len(group.cells) > 1 or any(one.item.interval[0] > _CLEAR * one.limit for one in group.slow)

    return findings_outside(survey_of(measured).results, panel, is_sure) if panel else []


# The step: the slow cells again, and lengths between.


def propose_outside(state: State) -> Iterator[Proposal]:
    """Where the panel shows something outside that was not measured again, or a limit that is not known yet."""
    made = state.tasks(OutsideTask)
    if len(made) >= MOST_STEPS:
        return
    panel = of_panel(state.measured, state.healthy)
    groups = shared(panel)[:MOST_FINDINGS]
    survey = state.survey
    cells = {cell.cell: cell for cell in survey.cells}
    tables: list[CellsTable] = []
    under = []
    for number, group in enumerate(groups, start=1):
        again = [] if made else _chosen(group)
        for cell, lengths in _by_cell(again, _lengths_between(group, panel), cells).items():
            here = condition(cells[cell], survey)
            under.append(here)
            name = f"outside {number}, {len(tables) + 1}"
            tables.append(_table(name, cells[cell], lengths, here.environment, here.placement))
    if not tables:
        return
    why = "what lies outside of healthy runs, again" if not made else "where the limit lies"
    campaign = Campaign(
        name="outside",
        title="Outside of healthy runs",
        ranks=[state.ranks],
        rounds=ROUNDS,
        environments=environments_of(under),
        placements=placements_of(under),
        cells=tables,
        why=why,
    )
    yield Proposal(OutsideTask(subjects=[group.subject for group in groups]), campaign, why)


def _chosen(group: Shared) -> list[Judged]:
    """Cells of a group that differ most: the clearest, and others over its lengths."""
    by_cell = {one.item.cell: one for one in sorted(group.slow, key=lambda one: one.ratio) if one.item.cell < _LATER}
    ordered = sorted(by_cell.values(), key=_bytes)
    if len(ordered) <= _MOST_AGAIN:
        return ordered
    step = (len(ordered) - 1) / (_MOST_AGAIN - 1)
    return [ordered[round(step * n)] for n in range(_MOST_AGAIN)]


def _lengths_between(group: Shared, panel: Sequence[Judged]) -> dict[int, list[int]]:
    """Cell -> lengths between the longest that is not slow and the shortest that is, of the line that shows it best."""
    if not any(c.name == "message_bytes" and c.relation == "from" for c in group.conditions):
        return {}
    slow = {one.item.key for one in group.slow}
    best: tuple[float, int, list[int]] | None = None
    for line in _lines(panel).values():
        inside = [one for one in line if one.item.key in slow and one.side == "slower"]
        if not inside or inside[0].item.phase == "first":
            continue
        first = inside[0]
        below = [one for one in line if _bytes(one) < _bytes(first) and group.cost.at(one) > one.reference.low]
        if not below or any(one.side == "slower" for one in below):
            continue
        low, high = max(map(_bytes, below)), _bytes(first)
        number = next((one.item.cell for one in line if one.item.cell < _LATER), None)
        if high / low < _CLOSE or number is None:
            continue
        if best is None or first.ratio > best[0]:
            # Where only multiples of a page were measured, one that is none tells a limit from pages.
            beside = [high + 8] if high % _PAGE == 0 and _bytes(line[-1]) > high else []
            best = first.ratio, number, [*_spread(low, high), *beside]
    return {} if best is None else {best[1]: best[2]}


def _spread(low: int, high: int) -> list[int]:
    """Lengths between two, at equal ratios, multiples of eight."""
    step = (high / low) ** (1 / (_BETWEEN + 1))
    lengths = {round(low * step**n / 8) * 8 for n in range(1, _BETWEEN + 1)}
    return sorted(lengths - {low, high})


def _by_cell(
    again: Sequence[Judged], between: Mapping[int, Sequence[int]], cells: Mapping[int, CellResult]
) -> dict[int, list[int]]:
    """Cells to measure: each with its own length, or with others. []: it has none."""
    wanted: dict[int, list[int]] = {}
    for one in again:
        length = whole_number(cells[one.item.cell].parameters.get("message_bytes", ""))
        wanted.setdefault(one.item.cell, []).extend([] if length is None else [length])
    for cell, lengths in between.items():
        wanted.setdefault(cell, []).extend(lengths)
    return wanted


def _table(name: str, cell: CellResult, lengths: Sequence[int], environment: str, placement: str) -> CellsTable:
    parameters: dict[str, Values] = dict(stated(cell))
    if lengths:
        parameters["message_bytes"] = [str(length) for length in lengths]
    return CellsTable(name, cell.experiment, parameters, [environment], [placement])


def _summary(_: OutsideTask, __: StepConclusion, after: StepConclusion) -> str:
    """The first of what stays."""
    texts = [finding.text for finding in after.findings if finding.rule == SLOW_PATH.code]
    return texts[0] if texts else "not slow when measured again"


OUTSIDE = StepKind(OutsideTask, unchanged, _summary)
