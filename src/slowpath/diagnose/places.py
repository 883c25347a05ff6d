# SPDX-License-Identifier: Apache-2.0
"""Where ranks of a step's launches go: how they are bound, how many there are, over which nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.campaign import PlacementTable


@dataclass(frozen=True)
class LaunchPlace:
    """A placement without its name. ranks: None: as many as the campaign has.  nodes, ranks_per_node, spread: None:
    as the launcher has it.
    """

    bind: str = "core"
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    spread: str | None = None

    def named(self, name: str) -> PlacementTable:
        """Return it as a placement of a campaign."""
        return PlacementTable(name, self.bind, self.spread, self.nodes, self.ranks_per_node, ranks=self.ranks)


ANYWHERE = LaunchPlace()  # each rank bound to a core, as the launcher has them


def named_places(places: Mapping[str, LaunchPlace]) -> list[PlacementTable]:
    """Return the placements of a campaign, by their names."""
    return [place.named(name) for name, place in places.items()]
