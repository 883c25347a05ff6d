# SPDX-License-Identifier: Apache-2.0
"""Cells with floors, for the rule that needs no second side."""

from __future__ import annotations

from typing import Any

from planted_results import KIB, Planted

HALF, PUT = "half_round_trip_latency_s", "time_per_put_s"


def a_floor(seconds: float, name: str = "copy_across") -> dict[str, Any]:
    """One way of the cell."""
    interval = [seconds * 0.99, seconds * 1.01]
    return {
        "name": name,
        "text": "one copy out of shared memory",
        "time_s": seconds,
        "interval": interval,
        "launches": 8,
        "reason": None,
    }


def above_floor(run: Planted, length: int, floor_s: float, factor: float, **more: Any) -> int:
    """A ping-pong that takes `factor` times its floor."""
    over = {"floor": "copy_across", "floor_s": floor_s, "metric": HALF, "ratio": factor, "launches": 8, "level": 0.95}
    over |= {"interval": [factor * 0.95, factor * 1.05]}
    over |= {
        "fastest_ratio": factor * 0.9,
        "fastest_interval": [factor * 0.85, factor * 0.95],
        "calm_launches": 8,
    } | more.pop("over", {})
    also = {"floors": [a_floor(floor_s)], "over_floor": over}
    times = {HALF: {"steady": floor_s * factor}}
    return run.cell(times, pattern="ping_pong", message_bytes=length, also=also, **more)


def puts_above_floor(run: Planted, floor_s: float, factor: float, **more: Any) -> int:
    """Bursts of puts of 8 B that take `factor` times their floor; in the call of the put, unless `call` says less."""
    over = {"floor": "copy_across", "floor_s": floor_s, "metric": PUT, "ratio": factor, "launches": 8, "level": 0.95}
    over |= {"interval": [factor * 0.95, factor * 1.05], "calm_launches": 8, "fastest_ratio": factor * 0.9}
    over |= {"fastest_interval": [factor * 0.85, factor * 0.95]} | more.pop("over", {})
    also = {"floors": [a_floor(floor_s)], "over_floor": over}
    whole_s, call = floor_s * factor, more.pop("call", 0.95)
    times = {PUT: {"steady": whole_s}, "put_call_s": {"steady": whole_s * call}}
    fixed = {"experiment": "put", "design": "mpi", "puts": 200, "message_bytes": 8}
    return run.cell(times, **(fixed | more), also=also)


def slow_puts(run: Planted, slow: bool) -> None:
    """Every put takes 17 us more, into each kind of window; messages are as ever."""
    floor_s, more_s = 1e-7, 1.7e-5 if slow else 0.0
    above_floor(run, 8, floor_s, 10.0)
    for window, usual_s in (("allocate", 4e-8), ("create", 6e-7)):
        for synchronise in ("flush_all", "fence"):
            puts_above_floor(run, floor_s, (usual_s + more_s) / floor_s, window=window, synchronise=synchronise)


def far_above_floor(run: Planted, slow: bool) -> None:
    """Every message takes 200 us more, of lengths whose floors differ by a hundred times."""
    for length, floor_s in ((8, 2.5e-7), (4 * KIB, 3e-7), (64 * KIB, 8e-7), (256 * KIB, 2.3e-6)):
        usual_s = 4 * floor_s
        above_floor(run, length, floor_s, (usual_s + (2e-4 if slow else 0.0)) / floor_s)
