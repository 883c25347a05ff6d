# SPDX-License-Identifier: Apache-2.0
"""Path: one launch, never timed, in which the library says what carries messages: module, transport and device."""

from __future__ import annotations

from collections.abc import Iterator

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.results import Results
from slowpath.diagnose.message_paths import paths_in
from slowpath.diagnose.own_settings.listing import OWN_WITNESSED
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import PathTask
from slowpath.mpi.launcher import INHERITED

WHY = "what carries the messages: module, transport, device"
MOST_S = 10.0  # of its launch, which takes less than one of the survey
# All ranks send to all, since a library may choose for each pair, and only at the first message.
_EFFORT: dict[str, Values] = {"time_limit_s": 0.01, "warmup_s": 0.001, "samples": 10}
_CELLS = (
    ("p2p", {**_EFFORT, "pattern": "ping_pong", "message_bytes": ["8", "1MiB"]}),
    ("coll", {**_EFFORT, "collective": "alltoall", "message_bytes": "8"}),
)


def propose(state: State) -> Iterator[Proposal]:
    """Once, where the engine's library that counts can be preloaded: its launches are those that are asked."""
    if state.is_witnessed and not state.tasks(PathTask):
        yield Proposal(PathTask(), path_campaign(state.job.timed_ranks), WHY)


def path_campaign(ranks: int) -> Campaign:
    """The campaign of one launch."""
    return Campaign(
        name="path",
        title="What carries the messages?",
        ranks=[ranks],
        rounds=1,
        environments=[EnvironmentTable(OWN_WITNESSED, {}, [], witness=True)],
        placements=[PlacementTable("as you start it", INHERITED)],
        cells=[
            CellsTable(experiment, experiment, parameters, [OWN_WITNESSED], ["as you start it"])
            for experiment, parameters in _CELLS
        ],
        contrasts=[],
        why="Written by slowpath diagnose.",
    )


def apply(before: StepConclusion, _: PathTask, __: Results, ___: StepHistory) -> StepConclusion:
    """It shows no slow path by itself."""
    return before


def summary(_: PathTask, __: StepConclusion, ___: StepConclusion) -> str:
    """Nothing of its own: `numbers` says it."""
    return ""


PATH = StepKind(
    PathTask,
    apply,
    summary,
    most_s=MOST_S,
    numbers=lambda results: (
        "; ".join(path.words for path in paths_in(results)) or "the launch that was asked said nothing"
    ),
)
