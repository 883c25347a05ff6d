# SPDX-License-Identifier: Apache-2.0
"""The sentence of a protocol switch: where it lies, and what the times on both sides are. Pure."""

from __future__ import annotations

from slowpath.core.units import format_bytes, format_time

_METRICS = {
    "half_round_trip_latency_s": "latency",
    "one_way_s": "the one-way time",
    "send_barrier_s": "the time of a send and a barrier",
    "time_per_message_s": "the time per message",
}


def between_words(above: float, up_to: float) -> str:
    """`8112 B protocol switch` where it is known to the byte, `protocol switch between 6 KiB and 8 KiB` where not."""
    low, high = format_bytes(int(above)), format_bytes(int(up_to))
    return f"{low} protocol switch" if up_to - above <= 1 else f"protocol switch between {low} and {high}"


def switch_words(where: str, metric: str, ratio: str, before_s: float, after_s: float) -> str:
    """`At the 8112 B protocol switch latency jumps 1.71x [1.65, 1.77]: 1.90 us below, 3.25 us above`

    Args: where: as `between_words`.  ratio: of the slow side over the fast one, in words.
    """
    change = "jumps" if after_s > before_s else "falls"
    return (
        f"At the {where} {_METRICS.get(metric, metric)} {change} {ratio}: "
        f"{format_time(before_s)} below, {format_time(after_s)} above"
    )
