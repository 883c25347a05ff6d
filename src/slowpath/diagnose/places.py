# SPDX-License-Identifier: Apache-2.0
"""Where ranks of a step's launches go: how they are bound, how many there are, over which nodes. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A [[placement]] without its name. ranks: None: as many as the campaign has.  nodes, ranks_per_node, spread: None:
    as the launcher has it.
    """

    bind: str = "core"
    ranks: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None
    spread: str | None = None

    @property
    def lines(self) -> list[str]:
        """Its keys, as TOML."""
        numbers = {"ranks": self.ranks, "nodes": self.nodes, "ranks_per_node": self.ranks_per_node}
        return [
            f'bind = "{self.bind}"',
            *(f"{key} = {value}" for key, value in numbers.items() if value is not None),
            *([f'spread = "{self.spread}"'] if self.spread is not None else []),
        ]


ANYWHERE = Place()  # each rank bound to a core, as the launcher has them
