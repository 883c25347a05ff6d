# SPDX-License-Identifier: Apache-2.0
"""Path: one launch, never timed, in which the library says what carries messages: module, transport and device.

And which of the user's settings are for another layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.results import MOST_ACTIONS, Finding, MessagePath, Results, Verdict
from slowpath.diagnose.own_settings.listing import OWN_WITNESSED
from slowpath.diagnose.own_settings.named import responsible
from slowpath.diagnose.state import MeasuredStep, Proposal, State, settings_of
from slowpath.diagnose.steps.kind import StepConclusion, StepKind, unchanged
from slowpath.diagnose.tasks import PathTask, SurveyTask
from slowpath.mpi.launchers import INHERITED
from slowpath.mpi.own_settings import LAYER_TITLES, idle_settings, what_chooses

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


def summary(_: PathTask, __: StepConclusion, ___: StepConclusion) -> str:
    """Nothing of its own: `numbers` says it."""
    return ""


PATH = StepKind(
    PathTask,
    unchanged,
    summary,
    most_s=MOST_S,
    numbers=lambda results: (
        "; ".join(path.words for path in paths_in(results)) or "the launch that was asked said nothing"
    ),
)


def paths_in(results: Results) -> Sequence[MessagePath]:
    """What carries messages in the user's own environment, as a run recorded it."""
    return [path for path in results.run.mpi.paths or () if path.environment == OWN_WITNESSED]


def paths_of(measured: Sequence[MeasuredStep]) -> Sequence[MessagePath]:
    """The same of the step that asked; empty: no step did, or its launch failed."""
    return next((paths_in(one.results) for one in measured if isinstance(one.step.task, PathTask)), ())


def without_effect(measured: Sequence[MeasuredStep], findings: Sequence[Finding], library: str) -> list[str]:
    """One sentence for each layer that the user has settings of and that carries no message, with the evidence.

    Nothing where the path was asked for without a setting that was set aside: with it, it may be another one.

    Args: findings: a setting that one of them names as what makes something slower is left out.  library: the MPI.
    """
    tasks = (one.step.task for one in measured)
    if any(isinstance(task, SurveyTask) and task.aside for task in tasks):
        return []
    paths = paths_of(measured)
    blamed = {name for finding in findings for name in responsible(finding)}
    said = []
    for layer, settings in idle_settings(settings_of(measured), paths, blamed).items():
        words, title = " and ".join(setting.words for setting in settings), LAYER_TITLES[layer]
        verb, them = ("have", "them") if len(settings) > 1 else ("has", "it")
        ways = "; ".join(path.words for path in paths)
        chosen = what_chooses(library, layer)
        more = f", or have {title} carry messages ({chosen})" if chosen else ""
        said.append(
            f"{words} {verb} no effect on messages here, because {title} carries none: {ways}. Unset {them}{more}."
        )
    return said


def with_settings_without_effect(verdict: Verdict, said: Sequence[str]) -> Verdict:
    """The verdict that names them. They cost nothing, so what does comes first, but one of few lines is theirs."""
    if not said:
        return verdict
    return replace(verdict, actions=[*verdict.actions[: MOST_ACTIONS - 1], " ".join(said)])
