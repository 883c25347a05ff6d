# SPDX-License-Identifier: Apache-2.0
"""Where ranks of a step's launches go, and where in a sweep its cells lie. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.campaign import PlacementTable
from slowpath.core.engine_description import CheckCells
from slowpath.core.plan import Cell


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


_LENGTHS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")


def placed(parameters: Mapping[str, str], place: Mapping[str, float]) -> dict[str, str] | None:
    """A cell's parameters moved to a place of a sweep; None: no parameter sets what the place asks for."""
    found = dict(parameters)
    base = place.get("buffer_bytes")
    if base is not None and parameters.get("buffer_bytes", "message").isdecimal():
        found["buffer_bytes"] = str(round(base))
    for name, value in place.items():
        if name in _LENGTHS:
            length = found.get("buffer_bytes", "message")
            asked = int(found["message_bytes"]) if length == "message" else int(length)
            if round(value) < asked:
                found["buffer_bytes"], asked = str(round(value)), round(value)
            if asked < int(found["message_bytes"]):
                return None
            found["overalloc_bytes"] = str(round(value) - asked)
        elif name in parameters and name != "buffer_bytes":
            found[name] = str(round(value))
        elif name != "buffer_bytes":
            return None
    length, message = found.get("buffer_bytes", "message"), found.get("message_bytes", "")
    if length.isdecimal() and message.isdecimal() and int(message) > int(length):
        return None  # a longer buffer is another sweep: what a message costs may follow the buffer
    return found


def unplanned(experiment: str, every: Iterable[Mapping[str, str]]) -> list[Cell]:
    """Cells with these parameters that no plan has, to ask the engine about."""
    return [
        Cell(number, "", "", "", experiment, dict(parameters), environment="", placement="")
        for number, parameters in enumerate(every)
    ]


def possible(
    experiment: str, every: Sequence[Mapping[str, str]], ranks: int, check: CheckCells
) -> list[Mapping[str, str]]:
    """Those parameters that the engine can measure: one cell that it refuses would refuse a whole campaign."""
    cells = unplanned(experiment, every)
    verdicts = check(cells, ranks) if cells else {}
    return [one for number, one in enumerate(every) if number not in verdicts or verdicts[number].reason is None]
