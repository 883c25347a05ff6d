# SPDX-License-Identifier: Apache-2.0
"""Separate: where two laws fit a finding as well, the points that distinguish them are measured."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, Values
from slowpath.core.results import Finding, Results
from slowpath.diagnose.places import placed
from slowpath.diagnose.sides import condition, environments_of, placements_of, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import SeparateTask

ROUNDS = 6
MOST_CELLS = 120  # of the grid that the points lie on


def propose(finding: Finding, state: State) -> Iterator[Proposal]:
    """Once for a finding whose law is not decided."""
    law = finding.law
    if law is None or not law.separating or law.name is not None or sides_of(finding, state.seen_in(finding)) is None:
        return
    if any(task.finding == finding.id for task in state.tasks(SeparateTask)):
        return
    why = f"two laws fit {finding.rule} equally well: {law.refused}"
    campaign = separate_campaign(finding, state.seen_in(finding), state.ranks, why)
    if campaign is not None:
        yield Proposal(SeparateTask(finding=finding.id), campaign, why)


def apply(before: StepConclusion, task: SeparateTask, results: Results, history: StepHistory) -> StepConclusion:
    """A finding whose law the new points decide takes that law, and what the law says of its cause."""
    fresh = {(one.rule, one.mpi, one.about): one for one in judged(results, history)}

    def decided(finding: Finding) -> Finding:
        other = fresh.get((finding.rule, finding.mpi, finding.about))
        if other is None or other.law is None or other.law.name is None:
            return finding
        return replace(
            finding,
            law=other.law,
            legs=other.legs,
            status=other.status,
            missing=other.missing,
            cause=other.cause,
            hypotheses=other.hypotheses,
            rivals=other.rivals,
            text=other.text,
            ratio=other.ratio,
            interval=other.interval,
            excess_s=other.excess_s,
        )

    return before.changed(task.finding, decided)


def summary(task: SeparateTask, _: StepConclusion, after: StepConclusion) -> str:
    """`law granules`."""
    finding = after.finding(task.finding)
    law = finding.law if finding else None
    if law is not None and law.name is not None:
        return f"law {law.name}"
    return f"still open: {law.refused if law and law.refused else 'no law'}"


SEPARATE = StepKind(SeparateTask, apply, summary)


def separate_campaign(finding: Finding, results: Results, ranks: int, why: str) -> Campaign | None:
    """The cells of the finding's sweep and the points that would tell its laws apart.

    Returns: None where a point asks for something that no parameter sets, or the grid gets too large.
    """
    cells = {cell.cell: cell for cell in results.cells}
    swept = [cells[n] for n in finding.cells if n in cells]
    if not swept or finding.law is None:
        return None
    slow = swept[0]
    points = [dict(cell.parameters) for cell in swept]
    for place in finding.law.separating:
        point = placed(slow.parameters, place)
        if point is None:
            return None
        points.append(point)
    under = condition(slow, results)
    values = {name: list(dict.fromkeys(point[name] for point in points)) for name in points[0]}
    if prod(len(some) for some in values.values()) > MOST_CELLS:
        return None
    # One group: only cells of one group make one sweep.
    grid: dict[str, Values] = {name: some if len(some) > 1 else some[0] for name, some in values.items()}
    groups = [CellsTable(slow.group, slow.experiment, grid, [under.environment], [under.placement])]
    return Campaign(
        name="separate",
        title="Points that tell two laws apart",
        ranks=[ranks],
        rounds=ROUNDS,
        environments=environments_of([under]),
        placements=placements_of([under]),
        cells=groups,
        contrasts=[],
        why=why,
    )
