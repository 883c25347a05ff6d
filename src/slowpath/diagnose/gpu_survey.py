# SPDX-License-Identifier: Apache-2.0
"""The survey where ranks have GPU memory: what it asks there, and how much of it leaves time for the first trial.

A launch takes over a second to start there, so that sides which need launches of their own go first. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from slowpath.core.campaign import EVERY, Campaign, CellsTable, ContrastTable, Values
from slowpath.core.plan import Pace
from slowpath.diagnose.clock import EACH_S
from slowpath.diagnose.ranks.job import PAIR
from slowpath.diagnose.ranks.survey import Estimate, survey_s
from slowpath.diagnose.state import State
from slowpath.diagnose.trials.design import ROUNDS
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import may_concern_gpus, removable

# Of a survey with the memory of one GPU, and of two, so that a default diagnosis tries remedies there: 45 and 60 s at
# most. With one GPU surveys that were planned for 44.9 s took 48.4 and 48.8 s (docs/results/diagnose.md).
GPU_SURVEY_S, GPUS_SURVEY_S = 41.0, 60.0
# Of launches under an MPI that takes GPU memory, before any is over: cells of surveys with two H200s took 1.5 and 1.6
# times what was estimated, which is a machine without GPUs; their starts are timed (docs/results/diagnose.md).
GPU_PACE = Pace(1.0, 1.6)
_BETWEEN_S = 4.0  # from the survey's conclusion to the first launch of the trial: its cells are judged by an engine
_FEWEST_ROUNDS = 4  # where nothing else is left to leave out: two kinds of launches need as many
LAST_ROUND = "a fifth round"
OWN = "your settings"  # groups of cells with and without the user's settings, and the side, in words
OWN_ON_GPUS = "your settings, GPU memory"
SIDES = ("threads", "network path", "unbound", "no single copy")  # of the survey, what costs least to miss first
# Groups of cells, what costs least to miss first, where no side is left to leave out.
GROUPS = (
    "window info",
    "datatype of puts",
    "windows",
    "screening of short messages",
    "screening",
    "untouched",
    "screening of long messages",
    "live buffers",
)


CONTRASTS = (
    ContrastTable(
        "pinned host memory",
        "Is pinned host memory slower inside a node than pageable memory?",
        "memory kinds",
        "memory",
        "host",
        "pinned_host",
        "one_way_s",
    ),
    ContrastTable(
        "pool of GPU memory",
        "Is memory from a pool slower than from cuMemAlloc?",
        "memory kinds",
        "memory",
        "device",
        "device_pool",
        "one_way_s",
    ),
)


def of_devices(gpus: int) -> tuple[CellsTable, ...]:
    """Cells of a survey with GPUs. Args: gpus: devices that both ranks can take."""
    one_way: dict[str, Values] = {"pattern": "one_way", "memory": "device", "device": _devices(gpus)}
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
            "live device buffers",
            "p2p",
            {
                **one_way,
                "live_buffers": [1, 2, 4, 8, 12, 16, 32, 64],
                "buffer_bytes": "4MiB",
                "message_bytes": "1MiB",
                "messages": 6,
            },
        ),
        CellsTable(
            "memory kinds",
            "p2p",
            {
                "pattern": "one_way",
                "memory": ["host", "pinned_host", "device", "device_pool"],
                "message_bytes": ["64KiB", "4MiB"],
                "allocations": 2,
                "messages": 6,
            },
        ),
    )


def own_of_devices(gpus: int) -> CellsTable:
    """The user's settings with GPU memory."""
    parameters: dict[str, Values] = {
        "pattern": "one_way",
        "memory": "device",
        "device": _devices(gpus),
        "message_bytes": ["8", "16KiB", "1MiB", "16MiB"],
        "allocations": 2,
        "messages": 8,
    }
    return CellsTable(OWN_ON_GPUS, "p2p", parameters, EVERY)


def _devices(gpus: int) -> Values:
    return ["0", "0:1"] if gpus > 1 else "0"


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
    found = _thinned(pairs, state, _takes(state, estimate, most_s), most_s)
    return found if found.fits else _thinned(pairs, state, estimate, most_s)


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


def _thinned(pairs: Campaign, state: State, takes: Estimate, most_s: float) -> Thinned:
    """Leave out what costs least to miss until it fits.

    The user's settings have been compared with none by the step before: they are compared again with GPU memory where
    one of them may concern it.
    """
    left_out: list[str] = []

    def shorten(name: str, shorter: Callable[[Campaign], Campaign]) -> None:
        nonlocal pairs
        if takes(pairs) > most_s and (less := shorter(pairs)) != pairs:
            pairs = less
            left_out.append(name)

    own_concerns = any(may_concern_gpus(one) for one in removable(state.settings))
    if not own_concerns:
        shorten(OWN, _without_own)
    for side in SIDES:
        shorten(side, partial(_without_side, side=side))
    shorten(LAST_ROUND, lambda one: replace(one, rounds=min(one.rounds, _FEWEST_ROUNDS)))
    for group in GROUPS:
        shorten(group, partial(_without_groups, names=(group,)))
    if own_concerns:
        shorten(OWN, _without_own)
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
    """The campaign without an environment or a placement, and without what compares it."""
    contrasts = []
    for one in pairs.contrasts:
        several = one.b if isinstance(one.b, list) else [one.b]
        kept = [value for value in several if value != side]
        if one.a != side and kept:
            contrasts.append(one if kept == several else replace(one, b=kept))
    return replace(
        pairs,
        environments=[one for one in pairs.environments if one.name != side],
        placements=[one for one in pairs.placements if one.name != side],
        contrasts=contrasts,
    )


def _without_own(pairs: Campaign) -> Campaign:
    """The campaign without launches that take the user's settings away."""
    if WITHOUT_USER not in {one.name for one in pairs.environments}:
        return pairs
    return _without_groups(_without_side(pairs, WITHOUT_USER), (OWN, OWN_ON_GPUS))


def _without_groups(pairs: Campaign, names: Sequence[str]) -> Campaign:
    """The campaign without these groups of cells, and without what compares them."""
    return replace(
        pairs,
        cells=[one for one in pairs.cells if one.name not in names],
        contrasts=[one for one in pairs.contrasts if one.cells not in names],
    )
