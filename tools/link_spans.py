# SPDX-License-Identifier: Apache-2.0
"""Rounds of collectives by the clock, as slopes of T_span over the delay of links, and by counted messages. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slowpath.stats.estimate import estimate_over_launches

METRIC = "collective_span_s"
COLLECTIVES = ("barrier", "bcast", "allreduce", "scan")
# What sends the messages of each library over one interface.
INTERFACE = {
    "mpich": "FI_TCP_IFACE",
    "intelmpi": "FI_TCP_IFACE",
    "openmpi": "OMPI_MCA_btl_tcp_if_include",
}
CAMPAIGN = """[campaign]
name = "link-rounds"
title = "Rounds of collectives by the clock and by their messages"
ranks = {ranks}
rounds = {rounds}

{environments}
[[environment]]
name = "counted"
setting = "messages_by_sockets"
witness = true

[[placement]]
name = "a rank a node"
bind = "none"

[[cells]]
name = "timed"
experiment = "coll"
environment = {timed}
[cells.parameters]
collective = {collectives}
members = {members}
message_bytes = 8
samples = 24
time_limit_s = 0.4
warmup_s = 0

[[cells]]
name = "counted"
experiment = "coll"
environment = "counted"
[cells.parameters]
pattern = "messages"
collective = {collectives}
members = {members}
message_bytes = 8
"""
ENVIRONMENT = """[[environment]]
name = "{name}"
variables = {{ {variable} = "{name}" }}
"""


@dataclass(frozen=True)
class Row:
    """One collective on so many ranks. timed: slope of T_span over the delay, 95 %; counted: rounds; None: unknown."""

    collective: str
    members: int
    timed: float
    interval: tuple[float, float] | None
    counted: int | None

    @property
    def agrees(self) -> bool:
        """Whether the clock says the number that was counted, rounded."""
        return self.counted is not None and round(self.timed) == self.counted

    def line(self) -> str:
        """One row of the table."""
        span = f"[{self.interval[0]:.2f}, {self.interval[1]:.2f}]" if self.interval else "no interval"
        counted = "-" if self.counted is None else str(self.counted)
        return f"{self.collective:10} {self.members:5} {counted:>8} {self.timed:8.2f} {span}"


def wire_name(number: int) -> str:
    """Of the wire with the delay of that number."""
    return f"wire{number}"


def campaign(variable: str, ranks: int, members: Sequence[int], wires: Sequence[str], rounds: int) -> str:
    """Its text. Args: variable: that chooses the wire."""
    return CAMPAIGN.format(
        ranks=ranks,
        rounds=rounds,
        environments="\n".join(ENVIRONMENT.format(name=wire, variable=variable) for wire in wires),
        timed=json.dumps(list(wires)),
        collectives=json.dumps(COLLECTIVES),
        members=json.dumps(list(members)),
    )


def rows(results: Mapping[str, Any], delays_s: Mapping[str, float]) -> list[Row]:
    """One for each collective and number of ranks. Args: delays_s: by environment."""
    cells = {
        (cell["environment"], cell["parameters"]["collective"], int(cell["parameters"]["members"])): cell
        for cell in results["cells"]
    }
    found = []
    for collective, members in dict.fromkeys(key[1:] for key in cells):
        timed = {wire: _launch_values(cells.get((wire, collective, members))) for wire in delays_s}
        slopes = [_slope(list(delays_s.values()), list(spans_s)) for spans_s in zip(*timed.values(), strict=False)]
        if not slopes:
            continue
        over = estimate_over_launches(slopes) if min(slopes) > 0 else None
        messages = (cells.get(("counted", collective, members)) or {}).get("messages") or {}
        found.append(
            Row(
                collective,
                members,
                over.value if over else float(sum(slopes) / len(slopes)),
                over.interval if over and over.level else None,
                messages.get("rounds"),
            )
        )
    return found


def _launch_values(cell: Mapping[str, Any] | None) -> list[float]:
    metric = (cell or {}).get("metrics", {}).get(METRIC, {})
    phase = metric.get("phases", {}).get("steady")
    return list(phase["launch_values"]) if phase else []


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the straight line of least squares."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
