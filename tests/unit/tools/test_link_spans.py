# SPDX-License-Identifier: Apache-2.0
"""Rounds by the clock: slopes over the delays of links; which end of a wire a packet is for."""

from __future__ import annotations

from typing import Any

from link_spans import METRIC, rows
from link_wire import receiver

DELAYS_S = {"wire0": 0.001, "wire1": 0.003}


def cell(environment: str, spans_s: list[float] | None = None, **more: Any) -> dict[str, Any]:
    phases = {"steady": {"launch_values": spans_s}} if spans_s else {}
    metrics = {METRIC: {"phases": phases}} if spans_s else {}
    return {
        "environment": environment,
        "parameters": {"collective": "scan", "members": "8"},
        "metrics": metrics,
        **more,
    }


def test_what_a_call_costs_besides_its_rounds_is_not_in_the_slope() -> None:
    cells = [
        cell("wire0", [0.0031, 0.0042, 0.0033]),
        cell("wire1", [0.0091, 0.0102, 0.0093]),
        cell("counted", messages={"rounds": 3}),
    ]
    (row,) = rows({"cells": cells}, DELAYS_S)
    assert round(row.timed, 6) == 3
    assert row.agrees
    (other,) = rows({"cells": [*cells[:2], cell("counted", messages={"rounds": 4})]}, DELAYS_S)
    assert not other.agrees


def test_without_counts_or_times_nothing_agrees() -> None:
    timed = [cell(wire, [0.003]) for wire in DELAYS_S]
    (row,) = rows({"cells": timed}, DELAYS_S)
    assert (row.counted, row.interval, row.agrees) == (None, None, False)
    assert rows({"cells": [cell("counted", messages={"rounds": 3})]}, DELAYS_S) == []


def test_a_packet_goes_to_the_end_with_its_address() -> None:
    ends = (30, 31, 32)
    packet = bytes([0x45]) + bytes(15) + bytes([10, 78, 0, 4])
    assert receiver(packet, ends) == 32
    assert receiver(packet[:-1] + bytes([9]), ends) is None
    assert receiver(bytes([0x60]) + packet[1:], ends) is None, "no IPv4"
    assert receiver(b"", ends) is None
