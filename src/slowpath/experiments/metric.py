# SPDX-License-Identifier: Apache-2.0
"""A metric: what its numbers are, and the rates that follow from them. Definitions: docs/reference/metrics.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from slowpath.core.result import Interval


@dataclass(frozen=True)
class Metric:
    """What a metric's numbers are."""

    name: str
    unit: str
    better: Literal["lower", "higher"]
    meaning: str
    bandwidth: bool = False  # of one message in this time
    message_rate: bool = False  # one over this time


# What follows from a time and the payload; no block holds them.
BANDWIDTH = Metric("bandwidth_bytes_per_s", "B/s", "higher", "payload over time")
MESSAGE_RATE = Metric("message_rate_per_s", "1/s", "higher", "messages, or puts, over time")
RATES = (BANDWIDTH, MESSAGE_RATE)

# Of cannon, and of messages around a computation.
EXPOSED = Metric("exposed_s", "s", "lower", "what communication adds to the time of the computation around it")

# Designs of a put that move nothing: the price of the call itself, which has a rate and no bandwidth.
_NOTHING_MOVED = ("empty_call", "empty_call_5")


def rates(
    metric: Metric, parameters: Mapping[str, str], value_s: float, interval_s: Interval | None
) -> dict[str, float | Interval | None]:
    """The same measurement turned over; an interval turns over with it. Empty where the metric has no rates.

    Returns: bandwidth_bytes_per_s and its interval, message_rate_per_s and its interval; None for an empty message.
    """
    found: dict[str, float | Interval | None] = {}
    moved = parameters.get("design") not in _NOTHING_MOVED
    if metric.bandwidth:
        payload = int(parameters.get("message_bytes", "0")) * moved
        found["bandwidth_bytes_per_s"] = payload / value_s if payload else None
        found["bandwidth_interval"] = _turned(payload, interval_s) if payload else None
    if metric.message_rate:
        found["message_rate_per_s"] = 1.0 / value_s
        found["message_rate_interval"] = _turned(1, interval_s)
    return found


def _turned(amount: int, interval_s: Interval | None) -> Interval | None:
    return (amount / interval_s[1], amount / interval_s[0]) if interval_s else None
