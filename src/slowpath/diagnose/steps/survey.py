# SPDX-License-Identifier: Apache-2.0
"""Survey: campaigns/survey.toml, and what the user's variables and the GPUs of this machine add. The first step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from slowpath.core.campaign import EVERY, Campaign, CellsTable, ContrastTable, EnvironmentTable
from slowpath.core.results import Results
from slowpath.core.units import format_time
from slowpath.diagnose.asked import with_groups_alone
from slowpath.diagnose.gpu_survey import CONTRASTS, OWN, OWN_ON_GPUS, of_devices, own_of_devices, within_share
from slowpath.diagnose.own_settings.listing import unread
from slowpath.diagnose.own_settings.named import suspected, unconfirmed, without_twins, without_unread
from slowpath.diagnose.own_state import folded, set_aside
from slowpath.diagnose.ranks.survey import Kept, survey_s, within
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import SurveyTask
from slowpath.findings.conclude import kinds_words
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import OwnSetting, removable, without
from slowpath.run.prepare import campaign_named
from slowpath.slowpaths.advice import ADVICE

# What a user's settings change, as they are and without all of them, in the launches of the paths.
_OWN = CellsTable(
    OWN,
    "p2p",
    {
        "pattern": "ping_pong",
        "message_bytes": ["8", "1KiB", "8KiB", "64KiB", "512KiB", "4MiB"],
        "samples": 40,
        "time_limit_s": 0.008,
        "warmup_s": 0.002,
    },
    EVERY,
)
_FIRST_USE = "first_use"
_START = "start"  # the group of campaigns/survey.toml
_ONCE = {
    "init": ("init_s", "MPI_Init"),
    "communicator": ("communicator_s", "the first communicator"),
    "collective": ("collective_first_s", "the first allreduce"),
}


def propose(state: State) -> Iterator[Proposal]:
    """Where it was not made yet."""
    if not state.is_surveyed:
        aside = set_aside(state.findings, state.measured)
        state = state.less(aside)
        kept = Kept(state.asked.narrowed(whole_survey(state))) if state.asked else within_budget(state)
        task = SurveyTask(
            only=state.asked.words,
            settings=list(state.settings),
            ranks=state.job.ranks,
            left_out=list(kept.left_out),
            aside=list(aside),
        )
        less = f", from here on without {', '.join(aside)}" if aside else ""
        yield Proposal(task, kept.campaign, f"look for slow paths{less}")


def whole_survey(state: State) -> Campaign:
    """The survey of this machine, whatever was asked for and however much the budget holds."""
    return within(_pairs(state), state.job, state.experiments, None, math.inf, campaign_named("coll")).campaign


def within_budget(state: State) -> Kept:
    """As much of the survey as its share of the budget holds."""
    pairs, left_out = _pairs(state), tuple[str, ...]()
    most_s, takes = survey_s(state.budget_s, state.job.ranks), state.estimate
    wanted = None
    if state.program is not None:
        wanted = set(state.program.groups)
        pairs = with_groups_alone(pairs, wanted)
    if state.gpus and state.estimate is not None:
        thinned = within_share(pairs, state, state.estimate)
        pairs, left_out, most_s, takes = thinned.pairs, thinned.left_out, thinned.most_s, thinned.takes
    kept = within(pairs, state.job, state.experiments, takes, most_s, campaign_named("coll"), wanted)
    return Kept(kept.campaign, (*left_out, *kept.left_out))


def _pairs(state: State) -> Campaign:
    return survey_campaign(campaign_named("survey"), removable(state.settings), state.gpus)


def apply(before: StepConclusion, task: SurveyTask, results: Results, history: StepHistory) -> StepConclusion:
    """What the rules see in it, behind what the user's own state showed; what it says of settings is a suspicion."""
    settings = removable(task.settings)
    found = judged(results, history)
    if settings:
        found = [unconfirmed(suspected(one, settings)) for one in found]
    found = without_twins(without_unread(found, unread(history.measured), settings), history.forced)
    return StepConclusion(folded(before.findings, found, history.forced))


def summary(_: SurveyTask, __: StepConclusion, after: StepConclusion) -> str:
    """`1 fault (SP035), 2 properties (SP005, SP008)`: the counts of headline, tile and page."""
    return kinds_words(after.findings) or "no slow path by name"


def start_words(results: Results) -> str | None:
    """`MPI_Init 61.0 ms, the first communicator 82.0 us (later ones 21.0 us), the first allreduce ...`."""
    words = []
    for cell in results.cells:
        pattern = cell.parameters.get("pattern", "")
        if cell.experiment != _FIRST_USE or cell.group != _START or pattern not in _ONCE:
            continue
        metric, what = _ONCE[pattern]
        first, later = (cell.estimate(metric, phase) for phase in ("first", "steady"))
        if first is not None:
            after = f" (later ones {format_time(later.value)})" if later is not None else ""
            words.append(f"{what} {format_time(first.value)}{after}")
    return ", ".join(words) or None


SURVEY = StepKind(SurveyTask, apply, summary, required=True, numbers=start_words)


# A question of the survey stays where the slow path is taken out that has its remedy.
_REMEDIES = frozenset({None, *(one.name for one in ADVICE)})


def survey_campaign(shipped: Campaign, own: Sequence[OwnSetting], gpus: int) -> Campaign:
    """The campaign of two ranks.

    Args: shipped: campaigns/survey.toml.  own: settings of the user's that can be taken away.  gpus: devices that both
          ranks can take.
    """
    environments, cells = list(shipped.environments), list(shipped.cells)
    contrasts = [one if one.remedy in _REMEDIES else replace(one, remedy=None) for one in shipped.contrasts]
    if gpus:
        cells += of_devices(gpus)
        contrasts += CONTRASTS
    if own:
        bare = without(own, own)
        environments.append(EnvironmentTable(WITHOUT_USER, bare.variables, bare.unset))
        cells += [_OWN, own_of_devices(gpus)] if gpus else [_OWN]
        contrasts += _against_own(len(own), gpus > 0)
    return replace(
        shipped,
        environments=environments,
        cells=cells,
        contrasts=contrasts,
        why="Written by slowpath diagnose.",
        text=None,
    )


def _against_own(count: int, with_gpu: bool) -> list[ContrastTable]:
    what = "setting" if count == 1 else f"{count} settings"
    question = f"Is it slower than without your {what}?"
    rows = [
        ("your settings", "paths", "one_way_s", "steady"),
        ("your settings, short messages", "short messages", "half_round_trip_latency_s", "steady"),
        ("your settings, lengths", OWN, "half_round_trip_latency_s", "steady"),
    ]
    if with_gpu:
        rows += [
            (f"your settings, GPU memory{more}", OWN_ON_GPUS, "one_way_s", phase)
            for more, phase in (("", "steady"), (", first message", "first"))
        ]
    return [
        ContrastTable(name, question, cells, "environment", WITHOUT_USER, "default", metric, phase)
        for name, cells, metric, phase in rows
    ]
