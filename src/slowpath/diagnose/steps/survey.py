# SPDX-License-Identifier: Apache-2.0
"""The survey, and what of it needs GPU memory. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, Values
from slowpath.core.plan import Pace
from slowpath.core.results import Results
from slowpath.diagnose.own_settings import folded, set_aside
from slowpath.diagnose.ranks import PAIR, Estimate, Kept, survey_s, within
from slowpath.diagnose.state import EACH_S, Proposal, State, with_groups_alone
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind, judged
from slowpath.diagnose.tasks import SurveyTask
from slowpath.diagnose.trials import ROUNDS
from slowpath.findings.conclude import kinds_words
from slowpath.run.prepare import campaign_named
from slowpath.slowpaths.registry import REMEDIES

# The survey where ranks have GPU memory: what it asks there, and how much of it leaves time for the first trial.
#
# A launch takes over a second to start there, so that sides which need launches of their own go first. Pure.

# Of a survey with the memory of one GPU, and of two, so that a default diagnosis tries remedies there: 45 and 60 s at
# most. With one GPU surveys that were planned for 44.9 s took 48.4 and 48.8 s (docs/results/diagnose.md).
GPU_SURVEY_S, GPUS_SURVEY_S = 41.0, 60.0
# Of launches under an MPI that takes GPU memory, before any is over: cells of surveys with two H200s took 1.5 and 1.6
# times what was estimated, which is a machine without GPUs; their starts are timed (docs/results/diagnose.md).
GPU_PACE = Pace(1.0, 1.6)
_BETWEEN_S = 4.0  # from the survey's conclusion to the first launch of the trial: its cells are judged by an engine
# Where time is short. What two or three launches show is measured again: of 41 planted costs 38 and 39 had the same
# names. Whether there are two kinds of launches needs four, which a survey with GPU memory keeps to.
_FEWEST_ROUNDS, _FEWEST_OF_GPUS = 3, 4
LAST_ROUND = "the last rounds"
SIDES = ("network path", "unbound", "no single copy")  # of the survey, what costs least to miss first
# Groups of cells, what costs least to miss first, where no side is left to leave out.
GROUPS = (
    "files",
    "files by length",
    "local calls",
    "sessions",
    "long windows",
    "windows made and freed",
    "packing",
    "packing by length",
    "requests of collectives by length",
    "nonblocking collectives by length",
    "collectives of duplicates",
    "collectives in place",
    "collectives with an own operation",
    "collectives from the last root",
    "blocks of collectives",
    "collectives by length",
    "calls of collectives",
    "requests",
    "requests by length",
    "one-sided calls by window",
    "one-sided calls by length",
    "one-sided calls",
    "duplicates",
    "communicators",
    "completions of messages by length",
    "messages by length",
    "window info",
    "datatype of puts",
    "one-sided operations",
    "windows",
    "two threads",
    "completions",
    "offsets",
    "orders",
    "other lengths between",
    "pauses",
    "untouched",
    "live buffers",
)


CONTRASTS = (
    ContrastTable(
        "pinned host memory",
        "Is pinned host memory slower?",
        "memory kinds",
        "memory",
        "host",
        "pinned_host",
        "one_way_s",
    ),
)


def of_devices(gpus: int) -> tuple[CellsTable, ...]:
    """Cells of a survey with GPUs. Args: gpus: devices that both ranks can take."""
    one_way: dict[str, Values] = {"pattern": "one_way", "memory": "device", "device": ["0", "0:1"] if gpus > 1 else "0"}
    return (
        CellsTable(
            "device allocations",
            "p2p",
            {
                **one_way,
                "buffer_bytes": ["4MiB", "32MiB", "128MiB", "256MiB", "512MiB", "1GiB", "4GiB"],
                "overalloc_bytes": ["0", "1", "64KiB", "1MiB"],
                "message_bytes": ["8", "1MiB"],
                "allocations": 3,
                "messages": 6,
            },
        ),
        CellsTable(
            "memory kinds",
            "p2p",
            {
                "pattern": "one_way",
                "memory": ["host", "pinned_host", "device"],
                "message_bytes": ["64KiB", "4MiB"],
                "allocations": 2,
                "messages": 6,
            },
        ),
    )


@dataclass(frozen=True)
class Thinned:
    """A survey of pairs that fits its share. left_out: names of what it had to lose.  most_s: the share, seconds.

    takes: seconds that a campaign takes of it, see `_takes`.
    """

    pairs: Campaign
    left_out: tuple[str, ...]
    most_s: float
    takes: Estimate

    @property
    def fits(self) -> bool:
        """Whether it does."""
        return self.takes(self.pairs) <= self.most_s


def within_share(pairs: Campaign, state: State, estimate: Estimate) -> Thinned:
    """Return the survey as it leaves time for the first trial; where it can't, as it fits its usual share.

    Args: pairs: the whole of it.  estimate: of the state.
    """
    most_s = min(survey_s(state.budget_s, state.job.ranks), GPU_SURVEY_S if state.gpus == 1 else GPUS_SURVEY_S)
    thinned = _thinned(pairs, _takes(state, estimate, most_s), most_s)
    return thinned if thinned.fits else _thinned(pairs, estimate, most_s)


def _takes(state: State, estimate: Estimate, most_s: float) -> Estimate:
    """Return the seconds that a campaign takes of the survey's share `most_s`, with those of the conclusion from its
    cells that what is left behind share and first trial does not hold.
    """
    size = state.size
    if size is None:
        return estimate
    behind_s = state.left_s - most_s - estimate(first_trial(state.gpus)) - _BETWEEN_S

    def takes_s(campaign: Campaign) -> float:
        wall_s, cells = size(campaign)
        return wall_s + max(0.0, EACH_S * cells - behind_s)

    return takes_s


def _thinned(pairs: Campaign, takes: Estimate, most_s: float) -> Thinned:
    """Leave out what costs least to miss until it fits."""
    left_out: list[str] = []

    def shorten(name: str, shorter: Callable[[Campaign], Campaign]) -> None:
        nonlocal pairs
        if takes(pairs) > most_s and (less := shorter(pairs)) != pairs:
            pairs = less
            left_out.append(name)

    for side in SIDES:
        shorten(side, partial(_without_side, side=side))
    shorten(LAST_ROUND, lambda contrast: replace(contrast, rounds=min(contrast.rounds, _FEWEST_OF_GPUS)))
    for group in GROUPS:
        shorten(group, partial(with_groups_alone, kept={table.name for table in pairs.cells} - {group}))
    return Thinned(pairs, tuple(left_out), most_s, takes)


def first_trial(gpus: int) -> Campaign:
    """Return what the first trial of a rule about GPU memory measures, to know its cost: padding of the longest buffer.

    Args: gpus: devices that both ranks can take.
    """
    allocations = of_devices(gpus)[0]
    parameters: dict[str, Values] = {
        **allocations.parameters,
        "device": "0",
        "buffer_bytes": "4GiB",
        "overalloc_bytes": ["0", "1"],
        "message_bytes": "1MiB",
    }
    twice = replace(allocations, name="first trial", copies=2, parameters=parameters)
    return Campaign(name="trial", title="First trial", ranks=[PAIR], rounds=ROUNDS, cells=[twice])


def _without_side(pairs: Campaign, side: str) -> Campaign:
    contrasts = []
    for contrast in pairs.contrasts:
        several = contrast.b if isinstance(contrast.b, list) else [contrast.b]
        kept = [value for value in several if value != side]
        if contrast.a != side and kept:
            contrasts.append(contrast if kept == several else replace(contrast, b=kept))
    return replace(
        pairs,
        environments=[environment for environment in pairs.environments if environment.name != side],
        placements=[placement for placement in pairs.placements if placement.name != side],
        cells=[
            replace(table, environment=[name for name in table.environment if name != side])
            if isinstance(table.environment, list)
            else table
            for table in pairs.cells
        ],
        contrasts=contrasts,
    )


# Survey: campaigns/panel.toml, and what the user's variables and the GPUs of this machine add. The first step.


def propose_survey(state: State) -> Iterator[Proposal]:
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
        yield Proposal(task, kept.campaign, f"survey{less}")


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
    elif takes is not None and takes(pairs) > most_s:
        pairs, left_out = replace(pairs, rounds=_FEWEST_ROUNDS), (LAST_ROUND,)
    kept = within(pairs, state.job, state.experiments, takes, most_s, campaign_named("coll"), wanted)
    return Kept(kept.campaign, (*left_out, *kept.left_out))


def _pairs(state: State) -> Campaign:
    return survey_campaign(campaign_named("panel"), state.gpus)


def apply_survey(before: StepConclusion, _: SurveyTask, results: Results, history: StepHistory) -> StepConclusion:
    """What the rules see in it, behind what the user's own state showed."""
    return StepConclusion(folded(before.findings, judged(results, history)))


def summary_survey(_: SurveyTask, __: StepConclusion, after: StepConclusion) -> str:
    """`1 fault (SP035), 2 properties (SP008, SP013)`: the counts of headline, tile and page."""
    return kinds_words(after.findings) or "no named slow path"


SURVEY = StepKind(SurveyTask, apply_survey, summary_survey, required=True)


# A question of the survey stays where the slow path is taken out that has its remedy.
_REMEDIES = frozenset({None, *(remedy.name for remedy in REMEDIES)})


def survey_campaign(shipped: Campaign, gpus: int) -> Campaign:
    """The campaign of two ranks.

    Args: shipped: campaigns/panel.toml.  gpus: devices that both ranks can take.
    """
    cells = list(shipped.cells)
    contrasts = [
        contrast if contrast.remedy in _REMEDIES else replace(contrast, remedy=None) for contrast in shipped.contrasts
    ]
    if gpus:
        cells += of_devices(gpus)
        contrasts += CONTRASTS
    return replace(
        shipped,
        cells=cells,
        contrasts=contrasts,
        why="Written by slowpath diagnose.",
        text=None,
    )
