# SPDX-License-Identifier: Apache-2.0
"""State: three short cells as the user has them against a clean state, before any survey. Some seconds.

The user's settings, and the processors that a launcher inherits, are taken away one at a time, in interleaved launches
that ask the launcher for nothing. A launch that takes many times as long as a clean one is ended: that it does is the
evidence, and no bad luck.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.results import ContrastResult, Finding, Results
from slowpath.diagnose.own_settings.named import named_if_only
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import StateTask
from slowpath.diagnose.user_states import findings_under
from slowpath.findings.conclude import kinds_words
from slowpath.findings.facts import CLEAR_RATIO, DECIDED, WITHOUT_USER
from slowpath.findings.observed import CAMPAIGN, GIVEN_UP_RATIO
from slowpath.mpi.launchers import INHERITED, WIDENED
from slowpath.mpi.own_settings import OwnSetting, removable, without
from slowpath.run.schedule import Against
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.stats.contrast import rank_sum_p as p_value
from slowpath.stats.contrast import rank_sum_shift as shift

AS_IT_IS = "default"
STARTED, EVERYWHERE = "as you start it", "all processors"
ROUNDS, ROUNDS_OF_MANY = 5, 4  # of two states, and of more
FEWEST_RANKED, LEVEL = 4, 0.95  # pairs, so that launches that lie apart are an interval at this level
MOST_S = 16.0  # of the whole step, where launches take many times as long as clean ones
LEAST_S, UNKNOWN_S = 2.0, 4.0  # of a launch, where no clean one has ended yet

_EFFORT: dict[str, Values] = {"time_limit_s": 0.02, "warmup_s": 0.002}
_CELLS = (
    CellsTable("short messages", "p2p", {**_EFFORT, "pattern": "ping_pong", "message_bytes": "8", "samples": 60}),
    CellsTable("long messages", "p2p", {**_EFFORT, "pattern": "ping_pong", "message_bytes": "1MiB", "samples": 20}),
    CellsTable("barrier", "coll", {**_EFFORT, "collective": "barrier", "message_bytes": "0", "samples": 40}),
)
_METRICS = {"p2p": "half_round_trip_latency_s", "coll": "collective_work_s"}


def propose(state: State) -> Iterator[Proposal]:
    """Where nothing was measured yet and there is something to take away, or others take the cores of the ranks."""
    settings, processors = removable(state.settings), state.processors
    is_masked = processors is not None and processors.is_narrowed
    if state.measured or state.asked or not (settings or is_masked or state.is_loaded):
        return
    task = StateTask(
        settings=list(state.settings),
        ranks=state.job.ranks,
        inherited=processors.inherited if processors and is_masked else None,
        granted=processors.granted if processors and is_masked else None,
        others=state.others if state.is_loaded else None,
    )
    yield Proposal(task, state_campaign(settings, is_masked, state.job.timed_ranks, state.gpus > 0), _why(task))


def _why(task: StateTask) -> str:
    count = len(removable(task.settings))
    found = [f"{count} setting{'s' * (count > 1)} of yours"] if count else []
    found += [f"processors {task.inherited} of {task.granted}"] if task.inherited else []
    if not found:
        return "do other processes take the ranks' cores?"
    return f"is it slower with {' and '.join(found)} than in a clean state?"


def state_campaign(settings: Sequence[OwnSetting], is_masked: bool, ranks: int, with_gpus: bool = False) -> Campaign:
    """The campaign. Each contrast differs in one thing, with all else as in the clean state.

    Args: with_gpus: launches of an MPI that takes GPU memory start slowly, and time is to be left for a trial.
    """
    environments, placements = [EnvironmentTable(AS_IT_IS)], [PlacementTable(STARTED, INHERITED)]
    if settings:
        bare = without(settings, settings)
        environments.append(EnvironmentTable(WITHOUT_USER, bare.variables, bare.unset))
    if is_masked:
        placements.append(PlacementTable(EVERYWHERE, WIDENED))
    return Campaign(
        name=CAMPAIGN,
        title="Is it slower with your settings than in a clean state?",
        ranks=[ranks],
        rounds=ROUNDS if len(environments) + len(placements) < 4 and not with_gpus else ROUNDS_OF_MANY,
        environments=environments,
        placements=placements,
        cells=[
            replace(one, environment=[e.name for e in environments], placement=[p.name for p in placements])
            for one in _CELLS
        ],
        contrasts=list(_contrasts(len(settings), environments[-1].name, placements[-1].name)),
        why="Written by slowpath diagnose.",
    )


def _contrasts(settings: int, clean: str, everywhere: str) -> Iterator[ContrastTable]:
    """Args: clean, everywhere: environment and placement of the clean state."""
    for name, metric in ((cells.name, _METRICS[cells.experiment]) for cells in _CELLS):
        if clean != AS_IT_IS:
            what = f"your {settings} settings" if settings > 1 else "your setting"
            yield ContrastTable(
                f"{name}, settings",
                f"Is it slower than without {what}?",
                name,
                "environment",
                clean,
                AS_IT_IS,
                metric,
                where={"placement": everywhere},
            )
        if everywhere != STARTED:
            yield ContrastTable(
                f"{name}, processors",
                "Is it slower than on all processors?",
                name,
                "placement",
                everywhere,
                STARTED,
                metric,
                where={"environment": clean},
            )


def against(task: StateTask) -> Against | None:
    """What launches are held against; None: there is no clean state."""
    if not removable(task.settings) and task.inherited is None:
        return None
    clean = WITHOUT_USER if removable(task.settings) else AS_IT_IS
    everywhere = EVERYWHERE if task.inherited is not None else STARTED
    return Against(clean, everywhere, GIVEN_UP_RATIO, LEAST_S, UNKNOWN_S)


def apply(before: StepConclusion, task: StateTask, results: Results, history: StepHistory) -> StepConclusion:
    """What is slower by a clear margin; the only setting is the responsible one."""
    settings, codes = removable(task.settings), codes_refined_by("state")
    contrasts = [only_clear(by_ranks(one)) for one in results.contrasts]
    decided = contrasts != list(results.contrasts)
    every = (
        findings_under(replace(results, contrasts=contrasts), history.forced) if decided else judged(results, history)
    )
    found = [one for one in every if one.rule in codes and _is_clear(one)]
    if settings:
        found = [named_if_only(one, settings) for one in found]
    return before.with_findings([replace(one, run=history.step.folder) for one in found])


def by_ranks(contrast: ContrastResult) -> ContrastResult:
    """A contrast that its pairs leave open, decided by ranks where its sides lie apart; else as it is.

    On a busy machine some clean launches take a thousand times as long as others, and an interval that takes logarithms
    for normal reaches from here to nowhere. That all of one side lie beyond all of the other is no chance even so.
    """
    if contrast.verdict in DECIDED or len(contrast.pairs) < FEWEST_RANKED:
        return contrast
    logs = np.log(np.array(contrast.pairs, dtype=np.float64))
    found = shift(logs[:, 0], logs[:, 1], LEVEL)
    interval = found.interval.exp() if found.interval else None
    if interval is None or interval.low < CLEAR_RATIO:
        return contrast
    return replace(
        contrast,
        ratio=float(np.exp(found.value)),
        interval=(interval.low, interval.high),
        interval_kind="rank-sum 95 %, launches not paired",
        level=interval.level,
        verdict="slower",
        reason="the interval lies above 1 and the minimum effect",
        p=p_value(logs[:, 0], logs[:, 1]),
    )


def only_clear(contrast: ContrastResult) -> ContrastResult:
    """A contrast that is slower without a margin is left open: where several are one finding, that of the largest
    excess speaks, and a long message that is 1.1 times slower would hide a barrier that takes 14 times as long.
    """
    if contrast.verdict != "slower" or contrast.interval is None or contrast.interval[0] >= CLEAR_RATIO:
        return contrast
    return replace(contrast, verdict="undecided", reason="the interval leaves no clear margin")


def _is_clear(finding: Finding) -> bool:
    """Whether its interval leaves a margin; what has no ratio at all was counted, or ended."""
    return finding.ratio is None or (finding.interval is not None and finding.interval[0] >= CLEAR_RATIO)


def summary(task: StateTask, _: StepConclusion, after: StepConclusion) -> str:
    """`2 faults (SP048, SP035)`, whose sentences stand before it, or that nothing differs."""
    if after.findings:
        return kinds_words(after.findings)
    if task.others is not None and against(task) is None:
        return f"others keep {task.others.cores:.1f} cores busy, but the ranks kept theirs"
    return f"nothing takes {CLEAR_RATIO:g} times as long as in a clean state"


STATE = StepKind(StateTask, apply, summary, most_s=MOST_S, against=against)
