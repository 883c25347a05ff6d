# SPDX-License-Identifier: Apache-2.0
"""The survey's part with all ranks: as a campaign, and as much of it as the budget holds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from slowpath.core.campaign import EVERY, Campaign, CellsTable, ContrastTable, EnvironmentTable, scalars
from slowpath.core.units import expand_values
from slowpath.diagnose.places import LaunchPlace
from slowpath.diagnose.ranks.job import PAIR, Job
from slowpath.diagnose.ranks.parts import EVERY_ENVIRONMENT, Part, parts
from slowpath.diagnose.ranks.shipped import shipped_parts

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
    ranks = job.timed_ranks
    more = shipped_parts(shipped, [environment.name for environment in pairs.environments]) if shipped else []
    table = parts(ranks, job.counted_ranks, more)
    every = [one for one in table if one.needs in known and _fits(one, job) and (wanted is None or one.name in wanted)]
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
    for one in every[low + 1 :]:  # a dear group does not keep cheap ones out
        if estimate(with_ranks(pairs, job, [*chosen, one])) <= budget_s:
            chosen.append(one)
    return Kept(with_ranks(pairs, job, chosen), tuple(one.name for one in every if one not in chosen))


def _fits(part: Part, job: Job) -> bool:
    if part.crowded:
        return job.is_crowded
    return job.timed_ranks <= (part.most_ranks or job.timed_ranks)


def with_ranks(pairs: Campaign, job: Job, chosen: Sequence[Part]) -> Campaign:
    """The whole survey with these groups."""
    if not chosen:
        return pairs
    of_pairs = [environment.name for environment in pairs.environments]
    used = {name: place for part in chosen for name, place in _places(part, job).items()}
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
    places = _places(part, job)
    own = shortened(part, next(iter(places.values())).ranks or PAIR)
    environments = list(of_pairs if part.environments == EVERY_ENVIRONMENT else part.environments)
    environments += [environment.name for environment in part.own_environments]
    return CellsTable(part.name, part.experiment, {**part.effort, **own.parameters}, environments, list(places))


def _places(part: Part, job: Job) -> Mapping[str, LaunchPlace]:
    """Where it is measured: counts and shared cores need none for each rank, times do."""
    if part.counted or part.crowded:
        return dict([job.counted_place if part.counted else job.crowded_place])
    timed = {BOUND: LaunchPlace("core", PAIR)} if job.timed_ranks == PAIR else dict(job.timed_places)
    return timed if part.everywhere else dict(list(timed.items())[:1])


def _named(pairs: Campaign) -> list[CellsTable]:
    """The cells of pairs with their own environments and placements in place of all that there are."""
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
    return [
        ContrastTable(
            f"{pair.name}: {b}" if len(pair.b) > 1 else pair.name,
            pair.question,
            part.name,
            pair.axis,
            pair.a,
            b,
            pair.metric,
            pair.phase,
            explains=pair.explains,
        )
        for pair in part.pairs
        for b in pair.b
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
    return replace(part, parameters={**part.parameters, "message_bytes": [str(one) for one in kept]})
