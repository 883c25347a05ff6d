# SPDX-License-Identifier: Apache-2.0
"""Machines with one slow path that a screening design shows, and such where one factor was varied alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planted_results import KIB, MIB, Planted

from slowpath.plan.expand import screened

AXES = {
    "offset_bytes": ["0", "1:0", "0:1", "1"],
    "order": ["forward", "shuffled"],
    "other_bytes": ["none", "8"],
    "idle_s": ["0", "0.001"],
    "direction": ["forward", "reverse"],
}
# What the survey varies with these at one length or another.
CALLS = {
    "completion": ["blocking", "wait"],
    "source": ["named", "any"],
    "open_receive": ["off", "on"],
    "memory": ["host", "mpi"],
}
BASE_S = 2e-5
Cost = Callable[[Mapping[str, str]], float]  # parameters -> how many times as long
LENGTHS = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)


def screening(run: Planted, cost: Cost, **more: list[str]) -> None:
    """The survey's group, of which each run takes `cost` times as long.  more: further axes."""
    axes = {**AXES, **more}
    for point in screened(axes, axes).points():
        times = {"one_way_s": {"steady": BASE_S * cost(point)}}
        also = {"also": {"group": "screening"}, "pattern": "one_way", "message_bytes": 64 * KIB}
        run.cell(times, **also, **point)


def slow_where(wanted: Callable[[Mapping[str, str]], bool], ratio: float = 2.0) -> Callable[[Planted, bool], None]:
    """A screening in which the runs that `wanted` picks are slower."""

    def make(run: Planted, slow: bool) -> None:
        screening(run, lambda point: ratio if slow and wanted(point) else 1.0)

    return make


def slow_call(name: str, ratio: float = 2.0) -> Callable[[Planted, bool], None]:
    """A screening in which one of CALLS is slower at its unusual level, and one more is varied with it."""

    def make(run: Planted, slow: bool) -> None:
        _, unusual = CALLS[name]
        other = "source" if name != "source" else "completion"
        axes = {one: CALLS[one] for one in (name, other)}
        screening(run, lambda point: ratio if slow and point[name] == unusual else 1.0, **axes)

    return make


def start_alone(run: Planted, each_s: float) -> None:
    """The sender's start by itself: off a page it costs so much a byte."""
    for length in LENGTHS:
        fast_s = 1e-6 + 1e-10 * length
        cells = {
            offset: run.cell(
                {"one_way_s": {"steady": fast_s + (0.0 if offset in ("0", "4096:0") else each_s * length)}},
                pattern="one_way",
                message_bytes=length,
                offset_bytes=offset,
            )
            for offset in ("0", "1:0", "64:0", "2048:0", "4096:0")
        }
        for offset, cell in cells.items():
            if offset != "0":
                run.contrast("offset_bytes", "one_way_s", (cells["0"], "0 B"), (cell, "in words"))


PLANTS = {
    "SP031": slow_where(lambda point: point["offset_bytes"].split(":")[0] == "1"),
    "SP032": slow_where(lambda point: point["idle_s"] != "0"),
    "SP033": slow_where(lambda point: point["order"] != "forward"),
    "SP034": slow_where(lambda point: point["direction"] == "reverse"),
    "SP064": slow_call("completion"),
    "SP065": slow_call("source"),
    "SP066": slow_call("open_receive"),
    "SP067": slow_call("memory"),
}
