# SPDX-License-Identifier: Apache-2.0
"""Launches: where a few launches of the survey look like two kinds, more of them are started, a few cells each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Results
from slowpath.diagnose.sides import condition, environments_of, placements_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import LaunchesTask
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.stats.estimate import Floats
from slowpath.stats.shapes import suspected

ROUNDS = 24
METRIC = "one_way_s"
LENGTHS = ("8", "65536", "1048576")
MESSAGES = "100"  # a median of each cell; the time of a launch is its start
FEWEST = 4  # launches of the survey
ASKED = "whether launches are of two kinds takes more of them"
WHY = "some launches look slow from start to end: measure more of them"


def propose(state: State) -> Iterator[Proposal]:
    """Once, where cells of one kind of job agree on which launches are slow, or where such a rule was asked for: the
    rules need more launches than a survey of a few cells makes.
    """
    if state.tasks(LaunchesTask) or any(finding.rule in codes_refined_by("launches") for finding in state.findings):
        return
    for cells in _jobs(state.survey).values():
        is_asked = bool(state.asked.rules & codes_refined_by("launches"))
        if is_asked or suspected(_times(cells)):
            why = ASKED if is_asked else WHY
            yield Proposal(LaunchesTask(), launches_campaign(_long(cells), state.survey, state.ranks, why), why)
            return


def _jobs(results: Results) -> Mapping[tuple[object, ...], list[CellResult]]:
    """Cells of single messages in the library's own environment, by placement and number of launches."""
    plain = {
        environment.name
        for environment in results.run.environments
        if not (environment.variables or environment.unset or environment.setting)
    }
    found: dict[tuple[object, ...], list[CellResult]] = defaultdict(list)
    for cell in results.cells:
        estimate = cell.estimate(METRIC, "steady")
        if estimate is not None and cell.environment in plain and len(estimate.launch_values) >= FEWEST:
            found[cell.mpi, cell.placement, len(estimate.launch_values)].append(cell)
    return found


def _times(cells: Sequence[CellResult]) -> Floats:
    estimates = (cell.estimate(METRIC, "steady") for cell in cells)
    return np.array([estimate.launch_values for estimate in estimates if estimate is not None])


def _long(cells: Sequence[CellResult]) -> CellResult:
    """The cell whose parameters the new ones have, but for length and number: the one with the most messages."""
    return max(cells, key=lambda cell: int(cell.parameters.get("messages", "0")))


def launches_campaign(cell: CellResult, results: Results, ranks: int, why: str = WHY) -> Campaign:
    """24 launches of messages of three lengths."""
    under = condition(cell, results)
    parameters: dict[str, Values] = {
        "pattern": "one_way",
        "message_bytes": list(LENGTHS),
        "messages": MESSAGES,
    }
    group = CellsTable("launches", cell.experiment, parameters, [under.environment], [under.placement])
    return Campaign(
        name="launches",
        title="Launches of two kinds?",
        ranks=[ranks],
        rounds=ROUNDS,
        environments=environments_of([under]),
        placements=placements_of([under]),
        cells=[group],
        contrasts=[],
        minimum_effect=0.03,
        why=why,
    )


def apply(before: StepConclusion, _: LaunchesTask, results: Results, history: StepHistory) -> StepConclusion:
    """What so many launches show that the survey could not: two kinds of them."""
    found = [one for one in judged(results, history) if one.rule in codes_refined_by("launches")]
    return before.with_findings([replace(one, run=history.step.folder) for one in found])


def summary(_: LaunchesTask, before: StepConclusion, after: StepConclusion) -> str:
    """`launches of two kinds (SP029)`."""
    fresh = after.findings[len(before.findings) :]
    return (
        f"launches of two kinds ({', '.join(sorted(codes_refined_by('launches')))})"
        if fresh
        else "no slow launches, or only while the whole machine was slow"
    )


LAUNCHES = StepKind(LaunchesTask, apply, summary)
