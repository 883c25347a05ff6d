# SPDX-License-Identifier: Apache-2.0
"""What a plant costs an operation of a cell follows from its clauses and the cell's parameters."""

from __future__ import annotations

import made_results
import pytest

from slowpath.studies.plants.expected import expected_s
from slowpath.studies.plants.grammar import Clause, PlantCondition
from slowpath.studies.plants.plant import Plant

CELL = {
    "pattern": "one_way",
    "message_bytes": "4096",
    "buffer_bytes": "2097152",
    "overalloc_bytes": "1",
    "live_buffers": "8",
    "messages": "8",
}


def paid_s(clause: Clause, metric: str = "one_way_s", phase: str = "steady", **parameters: str) -> float | None:
    return expected_s(Plant("x", (clause,)), made_results.cell(1, {**CELL, **parameters}), metric, phase)


@pytest.mark.parametrize(
    ("clause", "phase", "paid"),
    [
        (Clause(1.0, conditions=(PlantCondition("use", "=", 1),), per="page"), "first", 513.0),
        (Clause(1.0, conditions=(PlantCondition("use", "=", 1),)), "steady", 0.0),
        (Clause(1.0, conditions=(PlantCondition("others", ">", 6),)), "steady", 1.0),
        (Clause(1.0, conditions=(PlantCondition("others", ">", 7),)), "steady", 0.0),
        (Clause(1.0, conditions=(PlantCondition("others", ">", 7),)), "first", 1.0),
        (Clause(1.0, conditions=(PlantCondition("bytes", ">", 4095),)), "steady", 1.0),
        (Clause(1.0, "both", per="byte"), "steady", 4096.0),  # both sides pay at once
        (Clause(1.0, conditions=(PlantCondition("rank", "=", 0), PlantCondition("peer", "=", 1))), "steady", 1.0),
        (Clause(1.0, conditions=(PlantCondition("rank", "=", 1), PlantCondition("peer", "=", 0))), "steady", 0.0),
        (Clause(1.0, "put"), "steady", 0.0),
        (Clause(1.0, period_s=1e-3), "steady", None),
    ],
)
def test_of_a_cell(clause: Clause, phase: str, paid: float | None) -> None:
    assert paid_s(clause, phase=phase) == paid


def test_direction_and_idle_time_are_the_cells_own() -> None:
    back = Clause(1.0, conditions=(PlantCondition("rank", "=", 1), PlantCondition("peer", "=", 0)))
    assert paid_s(back, direction="reverse") == 1.0
    assert paid_s(back, "half_round_trip_latency_s", pattern="ping_pong") == 0.5
    idle = Clause(1.0, conditions=(PlantCondition("idle_s", ">", 1e-3),))
    assert (paid_s(idle), paid_s(idle, idle_s="0.01")) == (0.0, 1.0)


def test_a_metric_holds_what_its_calls_pay() -> None:
    send, receive = Clause(1.0), Clause(1.0, "receive")
    assert [paid_s(send, metric) for metric in ("send_s", "receive_s", "exposed_s")] == [1.0, 1.0, None]
    assert [paid_s(receive, metric) for metric in ("receive_s", "send_s")] == [1.0, None]
    assert paid_s(receive, "half_round_trip_latency_s", pattern="ping_pong") is None
    assert paid_s(Clause(1.0, "put"), "time_per_put_s") == 1.0
    assert paid_s(receive, "receive_s", posted="before") == 0.0
    assert paid_s(Clause(1.0, "receive", per="queue"), "receive_s", posted="before", queue="16") == 16.0


def test_what_the_program_packs_has_no_blocks() -> None:
    blocks = Clause(1.0, per="block")
    of = {"datatype": "vector", "blocks": "16", "block_bytes": "auto"}
    assert paid_s(blocks, **of) == 16.0
    assert paid_s(blocks, **of, pack="mpi_pack") == 0.0
