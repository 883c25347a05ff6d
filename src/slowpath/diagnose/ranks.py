# SPDX-License-Identifier: Apache-2.0
"""A diagnosis of more than two ranks: its job, and the parts of its survey. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from slowpath.core.campaign import EVERY, Campaign, CellsTable, ContrastTable, EnvironmentTable, Values, scalars
from slowpath.core.errors import UsageError
from slowpath.core.result import MOST_RANKS
from slowpath.core.units import expand_values, plural
from slowpath.diagnose.sides import LaunchPlace
from slowpath.mpi.guidelines import COMPARED, GUIDELINES

# The ranks that a diagnosis is about, and where they can go: cores of a node, nodes of the allocation.

PAIR = 2


@dataclass(frozen=True)
class Job:
    """ranks: as asked for.  cores: of one node; None: not known, and nothing is called too many.  nodes: at hand.

    spreads: levels of a node with two groups of processors or more, the widest last: core_group, numa, socket.
    """

    ranks: int = PAIR
    cores: int | None = None
    nodes: int = 1
    spreads: tuple[str, ...] = ()

    @property
    def all_cores(self) -> int | None:
        """Of all nodes."""
        return None if self.cores is None else self.cores * self.nodes

    @property
    def is_crowded(self) -> bool:
        """Whether ranks share cores, so that their times are the scheduler's."""
        return self.all_cores is not None and self.ranks > self.all_cores

    @property
    def timed_ranks(self) -> int:
        """Ranks of cells whose times are used: all, or as many as there are cores."""
        if self.all_cores is None or not self.is_crowded:
            return self.ranks
        return max(PAIR, self.all_cores)

    @property
    def timed_places(self) -> Mapping[str, LaunchPlace]:
        """Where these go, by the name of the placement; the first is where a job of so many would run."""
        return _places(self.timed_ranks, self)


A_PAIR = Job()


def _places(ranks: int, job: Job) -> dict[str, LaunchPlace]:
    name = f"{ranks} ranks"
    if job.nodes > 1:
        fitting = [count for count in range(1, job.nodes + 1) if ranks % count == 0 and _holds(job, ranks // count)]
        over = {count: LaunchPlace("core", ranks, count, ranks // count) for count in (*fitting[-1:], *fitting[:1])}
        return {f"{name}, {plural(count, 'node')}": place for count, place in over.items()} or {
            name: LaunchPlace("core", ranks)
        }
    places = {name: LaunchPlace("core", ranks)}
    if job.spreads and ranks > PAIR and _holds(job, ranks + 1):
        widest = job.spreads[-1]
        places[f"{name}, over {widest.replace('_', ' ')}s"] = LaunchPlace("core", ranks, spread=widest)
    return places


def _holds(job: Job, each: int) -> bool:
    return job.cores is None or each <= job.cores


_RANKS = f"--ranks {{}}: a diagnosis can have {PAIR} to {MOST_RANKS} ranks; name a number between"


def require_possible(job: Job) -> None:
    """Raises: UsageError: no diagnosis of so many ranks can be made here."""
    if job.ranks < PAIR:
        raise UsageError(_RANKS.format(job.ranks))
    if job.ranks > MOST_RANKS:
        raise UsageError(_RANKS.format(job.ranks))


def crowded_lines(job: Job) -> list[str]:
    """What more ranks than cores mean for a diagnosis; []: there are not more."""
    if not job.is_crowded:
        return []
    return [
        f"{job.ranks} ranks on {_cores(job)}: collectives and first uses are measured with {job.timed_ranks} ranks",
    ]


def _cores(job: Job) -> str:
    here = f"{job.all_cores} core{'' if job.all_cores == 1 else 's'}"
    return f"{here} of {job.nodes} nodes" if job.nodes > 1 else here


# What a survey measures with all ranks, in the order of its worth: what comes last is left out first.
#
# Cells of the experiments coll and first_use, short ones. Which collective is held against which other calls says
# slowpath.mpi.guidelines.

WORK = "collective_work_s"
BRIEF = {"samples": "24", "time_limit_s": "0.004", "warmup_s": "0.001"}
LENGTHS = ("8", "8192", "262144")
_PER_RANK = frozenset({"gather", "scatter", "allgather", "alltoall", "allgatherv", "alltoallv", "gatherv", "scatterv"})


DEFAULT = ("default",)


@dataclass(frozen=True)
class Part:
    """A group of cells.

    ways: other calls that do the same as the collective.  environments: of the survey.
    own_environments: of this group alone, next to the others.
    """

    name: str
    parameters: Mapping[str, Values]
    ways: tuple[str, ...] = ()
    environments: tuple[str, ...] = DEFAULT
    experiment: str = "coll"
    own_environments: tuple[EnvironmentTable, ...] = ()
    effort: Mapping[str, str] = field(default_factory=lambda: BRIEF)

    @property
    def needs(self) -> str:
        """What the engine has to know: an experiment and a pattern of it."""
        return f"{self.experiment} {scalars(self.parameters.get('pattern', 'calls'))[0]}"

    @property
    def grows_with_ranks(self) -> bool:
        """Whether each rank has a block for each other one."""
        return bool(_PER_RANK & set(scalars(self.parameters.get("collective", ()))))


def held_against(collective: str) -> Part | None:
    """The collective against what the library's other calls make of it; None: nothing is known that makes it."""
    ways = list(dict.fromkeys(g.mockup for g in GUIDELINES if g.collective == collective))
    if not ways:
        return None
    lengths = {} if collective == "barrier" else {"message_bytes": list(LENGTHS)}
    parameters: dict[str, Values] = {"collective": collective, **lengths, "way": ["library", *ways]}
    return Part(f"{collective} by other calls", parameters, tuple(ways))


# What can happen only once in a process has one sample a launch.
WINDOWS = Part(
    "windows by length",
    {
        "pattern": ["window", "shared_window"],
        "window_bytes": ["512KiB", "1MiB", "2MiB", "4MiB", "8MiB"],
        "memory": ["library", "program"],
        "uses": "2",
    },
    experiment="first_use",
    effort={},
)


def parts(shipped: Sequence[Part] = ()) -> list[Part]:
    """All of them, the most valuable first.  Args: shipped: of campaigns/coll.toml."""
    held = [part for collective in COMPARED if (part := held_against(collective)) is not None]
    return [*held[:4], WINDOWS, *shipped, *held[4:]]


# Groups of campaigns/coll.toml as parts of a survey: the cells that rules were made for, in less time.

# Groups of the campaign, the most valuable first; slow paths name them among their probes.
GROUPS = (
    "barrier",
    "lengths between",
    "last root",
    "other starts",
    "in place",
    "own op",
    "other collectives",
    "thread level",
    "ops",
    "starts",
)


def shipped_parts(campaign: Campaign, known: Sequence[str]) -> list[Part]:
    """Parts of a campaign.

    Args: known: environments that the survey has already, by name.
    """
    groups = {group.name: group for group in campaign.cells}
    environments = {
        environment.name: environment for environment in campaign.environments if environment.name not in known
    }
    return [_part(groups[name], environments) for name in GROUPS if name in groups]


def _part(group: CellsTable, environments: Mapping[str, EnvironmentTable]) -> Part:
    names = scalars(group.environment or "default")
    brief = BRIEF
    return Part(
        f"collectives: {group.name}",
        {name: _words(value) for name, value in group.parameters.items() if name not in brief},
        environments=tuple(name for name in names if name not in environments),
        own_environments=tuple(environments[name] for name in names if name in environments),
        experiment=group.experiment,
        effort=brief,
    )


def _words(value: Values) -> str | list[str]:
    words = scalars(value)
    return words[0] if isinstance(value, str | int | float) else words


# The survey's part with all ranks: as a campaign, and as much of it as the budget holds.

MOST_BYTES = 32 * 2**20  # that all ranks together get in a call; longer messages are left out
# Of a diagnosis' budget: with more ranks than two they are what was asked about.
SHARE_OF_A_PAIR, SHARE_OF_MORE = 0.5, 0.75
BOUND = "bound"  # the survey's own placement of a pair

Estimate = Callable[[Campaign], float]  # seconds that it takes


@dataclass(frozen=True)
class Kept:
    """campaign: the whole survey.  left_out: names of groups that the budget does not hold, the most valuable first."""

    campaign: Campaign
    left_out: tuple[str, ...] = ()


def survey_s(budget_s: float, ranks: int) -> float:
    """That a survey may take of a diagnosis' budget, seconds."""
    return budget_s * (SHARE_OF_A_PAIR if ranks == PAIR else SHARE_OF_MORE)


def within(
    pairs: Campaign,
    job: Job,
    known: Collection[str],
    estimate: Estimate | None,
    budget_s: float,
    shipped: Campaign | None = None,
    wanted: Collection[str] | None = None,
) -> Kept:
    """The survey of pairs and behind it the part with all ranks, thinned from its end.

    Args: pairs: the survey of two ranks.  known: experiments of the engine with each of their patterns.
          estimate: None: nothing is left out.  budget_s: of the whole survey; that of pairs is kept whatever it takes.
          shipped: campaigns/coll.toml.  wanted: groups with all ranks that may be of use; None: all.
    """
    # Of a pair the panel measures them call by call.
    wider = shipped if job.timed_ranks > PAIR else None
    more = shipped_parts(wider, [environment.name for environment in pairs.environments]) if wider else []
    every = [part for part in parts(more) if part.needs in known and (wanted is None or part.name in wanted)]
    if estimate is None:
        return Kept(with_ranks(pairs, job, every))
    low, high = 0, len(every)  # groups from the begin that fit
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(with_ranks(pairs, job, every[:middle])) <= budget_s:
            low = middle
        else:
            high = middle - 1
    chosen = every[:low]
    for group in every[low + 1 :]:  # a dear group does not keep cheap ones out
        if estimate(with_ranks(pairs, job, [*chosen, group])) <= budget_s:
            chosen.append(group)
    return Kept(with_ranks(pairs, job, chosen), tuple(group.name for group in every if group not in chosen))


def with_ranks(pairs: Campaign, job: Job, chosen: Sequence[Part]) -> Campaign:
    """The whole survey with these groups."""
    if not chosen:
        return pairs
    of_pairs = [environment.name for environment in pairs.environments]
    used = _survey_places(job)
    own_environments: dict[str, EnvironmentTable] = {}
    for part in chosen:
        for environment in part.own_environments:
            own_environments.setdefault(environment.name, environment)
    return msgspec.structs.replace(
        pairs,
        environments=[*pairs.environments, *own_environments.values()],
        placements=[*pairs.placements, *(place.named(name) for name, place in used.items() if name != BOUND)],
        cells=[*_named(pairs), *(_cells(part, job, of_pairs) for part in chosen)],
        contrasts=[*pairs.contrasts, *(contrast for part in chosen for contrast in _contrasts(part))],
    )


def _cells(part: Part, job: Job, of_pairs: Sequence[str]) -> CellsTable:
    places = _survey_places(job)
    own = shortened(part, next(iter(places.values())).ranks or PAIR)
    environments = list(part.environments)
    environments += [environment.name for environment in part.own_environments]
    return CellsTable(part.name, part.experiment, {**part.effort, **own.parameters}, environments, list(places))


def _survey_places(job: Job) -> Mapping[str, LaunchPlace]:
    timed = {BOUND: LaunchPlace("core", PAIR)} if job.timed_ranks == PAIR else dict(job.timed_places)
    return dict(list(timed.items())[:1])


def _named(pairs: Campaign) -> list[CellsTable]:
    environments = [environment.name for environment in pairs.environments]
    placements = [placement.name for placement in pairs.placements]
    return [
        msgspec.structs.replace(
            cells,
            environment=environments if cells.environment == EVERY else cells.environment,
            placement=placements if cells.placement == EVERY else cells.placement,
        )
        for cells in pairs.cells
    ]


def _contrasts(part: Part) -> list[ContrastTable]:
    collective = str(part.parameters.get("collective"))
    return [
        ContrastTable(
            f"{collective} <= {way.replace('+', ' and ')}",
            f"Is {collective} slower than {way}?",
            part.name,
            "way",
            way,
            "library",
            WORK,
        )
        for way in part.ways
    ]


def shortened(part: Part, ranks: int) -> Part:
    """Without messages that are too long for so many ranks; at least the shortest remains."""
    given = part.parameters.get("message_bytes")
    if given is None:
        return part
    lengths = [length for written in scalars(given) for length in expand_values(written)]
    most = MOST_BYTES // (ranks**2 if part.grows_with_ranks else ranks)
    kept = [length for length in lengths if length <= most] or [min(lengths)]
    if len(kept) == len(lengths):
        return part
    return replace(part, parameters={**part.parameters, "message_bytes": [str(length) for length in kept]})
