# SPDX-License-Identifier: Apache-2.0
"""What a plant costs an operation of a cell, on average: from its clauses and the cell's parameters. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.core.cell_results import CellResult
from slowpath.core.units import side_values
from slowpath.experiments.p2p.layout import allocation_bytes, blocks_of, is_in_blocks
from slowpath.studies.plants.grammar import COLLECTIVES, COMPLETIONS, Clause, Place, Side
from slowpath.studies.plants.plant import Plant

PUT = "time_per_put_s"
# Covariate of a law -> the quantity of a clause, and what is added to it.
QUANTITY_OF: Mapping[str, tuple[str, float]] = {
    "message_bytes": ("bytes", 0.0),
    "allocation_bytes": ("allocation", 0.0),
    "sender_allocation_bytes": ("allocation", 0.0),
    "receiver_allocation_bytes": ("allocation", 0.0),
    "offset_bytes": ("start", 0.0),
    "live_buffers": ("others", -1.0),
    "repetition": ("use", 0.0),
    "idle_s": ("idle_s", 0.0),
    "queue": ("queue", 0.0),
    "blocks": ("block", 0.0),
}
ANY = 1e300  # other mappings since the last use of one that was never used
_SIDES: tuple[Side, Side] = ("send", "receive")
# The sides whose delays a metric holds, the longer one where it holds both. A receiver waits for what the sender does.
_HOLDS: Mapping[str, frozenset[Side]] = {
    "one_way_s": frozenset(_SIDES),
    "send_s": frozenset({"send"}),
    "receive_s": frozenset(_SIDES),
    "half_round_trip_latency_s": frozenset({"send"}),
    PUT: frozenset({"send"}),
}
# Metrics in which a receive's delay may hide behind the message's way, or make the sender wait: no clause says.
_UNSAID = frozenset({"send_s", "half_round_trip_latency_s"})


def places(cell: CellResult, phase: str) -> dict[Side, Place]:
    """The calls of one operation; what the parameters do not say is left out."""
    parameters = cell.parameters
    if "message_bytes" not in parameters:
        return {}
    message = float(parameters["message_bytes"])
    is_packed = parameters.get("pack", "none") != "none"  # the program copies, and MPI gets one piece
    found: dict[Side, Place] = {}
    for number, side in enumerate(_SIDES):
        live = float(parameters.get("live_buffers", "1"))
        uses = max(2.0, float(parameters.get("messages", "8")) / 2)
        place = {
            "bytes": message,
            "start": float(side_values(parameters.get("offset_bytes", "0"))[number]),
            "use": 1.0 if phase == "first" else uses,
            "others": ANY if phase == "first" else live - 1,
            "block": float(blocks_of(parameters)) if not is_packed and is_in_blocks(parameters, number) else 0.0,
            "queue": float(parameters.get("queue", "0")),
        }
        if parameters.get("pattern") == "one_way":
            place["wildcard"] = float(side == "receive" and parameters.get("source", "named") == "any")
            place["open"] = float(side == "send" and parameters.get("open_receive", "off") == "on")
            place["alloc_mem"] = float(side_values(parameters.get("memory", "host"))[number] == "mpi")
        if {"buffer_bytes", "overalloc_bytes", "pattern"} <= set(parameters):
            place["allocation"] = float(allocation_bytes(parameters, number))
        if parameters.get("pattern") == "one_way":
            rank = number if parameters.get("direction", "forward") == "forward" else 1 - number
            place |= {"rank": float(rank), "peer": float(1 - rank), "idle_s": float(parameters.get("idle_s", "0"))}
        found[side] = place
    return found


def expected_s(
    plant: Plant, cell: CellResult, metric: str, phase: str, at: Mapping[str, float] | None = None
) -> float | None:
    """Seconds that the plant adds to a metric.

    Args:    at: covariate -> its value, in place of the cell's.
    Returns: None where the clauses or the metric do not say.
    """
    if metric not in _HOLDS:
        return None
    if metric in _UNSAID and any("receive" in clause.sides for clause in plant.clauses):
        return None
    moved = {
        QUANTITY_OF[name][0]: value + QUANTITY_OF[name][1] for name, value in (at or {}).items() if name in QUANTITY_OF
    }
    calls = {side: {**place, **moved} for side, place in places(cell, phase).items() if side in _HOLDS[metric]}
    own = [clause for clause in plant.clauses if _is_timed(clause, metric, cell)]
    return Plant(plant.kind, tuple(own)).expected_s(calls) if calls else None


def _is_timed(clause: Clause, metric: str, cell: CellResult) -> bool:
    """A receive that is posted before the message pays before anything is timed, but for what its queue costs; calls
    that complete messages pay where a cell makes them.
    """
    if clause.call in COLLECTIVES:
        return False
    if clause.call in COMPLETIONS:
        return metric != PUT and clause.call == cell.parameters.get("completion", "blocking")
    if clause.call == "receive" and clause.per != "queue" and cell.parameters.get("posted") == "before":
        return False
    return (clause.call == "put") == (metric == PUT) and clause.call != "get"
