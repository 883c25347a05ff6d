# SPDX-License-Identifier: Apache-2.0
"""Groups of campaigns/coll.toml as parts of a survey: the cells that rules were made for, in less time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, Values, scalars
from slowpath.diagnose.ranks.parts import BRIEF, Part, RankPair, parts

# Groups of the campaign, the most valuable first; slow paths name them among their probes.
SERIES = "long series"  # of which each call counts
EARLY = (
    "roots",
    "reductions in place",
    SERIES,
    "numbered calls",
    "numbered barriers",
    "numbered communicators",
    "waits",
)
GROUPS = (
    *EARLY,
    "thread level",
    "ops",
    "starts",
    "counts",
    "lengths",
    "arrivals",
    "counts of what is not reduced",
    "lengths of reductions in order",
)
MANY_RANKS = 64  # with so many no group is left out
EVERYWHERE = "lengths"  # also asks what a place costs
MOST_RANKS_OF_MANY = 16  # communicators one after the other take too long with more
CROWDED = "waits"  # asks what a shared core costs: of all ranks, where they share cores, and of none where not


def group_names() -> frozenset[str]:
    """Return the names of all groups of cells that a survey measures with all ranks, however many there are."""
    return frozenset([*(part.name for part in parts(MANY_RANKS)), *(_name(group) for group in GROUPS)])


def _name(group: str) -> str:
    return f"collectives: {group}"


def shipped_parts(campaign: Campaign, known: Sequence[str]) -> list[Part]:
    """Parts of a campaign.

    Args: known: environments that the survey has already, by name.
    """
    groups = {group.name: group for group in campaign.cells}
    environments = {
        environment.name: environment for environment in campaign.environments if environment.name not in known
    }
    contrasts = campaign.contrasts
    return [_part(groups[name], contrasts, environments) for name in GROUPS if name in groups]


def _part(
    group: CellsTable,
    contrasts: Sequence[ContrastTable],
    environments: Mapping[str, EnvironmentTable],
) -> Part:
    names = scalars(group.environment or "default")
    pattern = group.parameters.get("pattern", "calls")
    brief = BRIEF if pattern == "calls" and group.name != SERIES else {}  # of the others each number counts
    return Part(
        _name(group.name),
        {name: _words(value) for name, value in group.parameters.items() if name not in brief},
        tuple(_pair(contrast) for contrast in contrasts if contrast.cells == group.name),
        environments=tuple(name for name in names if name not in environments),
        own_environments=tuple(environments[name] for name in names if name in environments),
        experiment=group.experiment,
        effort=brief,
        most_ranks=MOST_RANKS_OF_MANY if pattern == "communicators" else None,
        is_early=group.name in EARLY,
        crowded=group.name == CROWDED,
        everywhere=group.name == EVERYWHERE,
    )


def _pair(contrast: ContrastTable) -> RankPair:
    return RankPair(
        f"collectives: {contrast.name}",
        contrast.question,
        contrast.axis,
        scalars(contrast.a)[0],
        tuple(scalars(contrast.b)),
        metric=contrast.metric,
        explains=contrast.explains,
    )


def _words(value: Values) -> str | list[str]:
    words = scalars(value)
    return words[0] if isinstance(value, str | int | float) else words
