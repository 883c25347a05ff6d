# SPDX-License-Identifier: Apache-2.0
"""One machine for each rule, planted (slow) and clean: what is asked, and what the slow path adds. By rule's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import slower_broadcast
from planted_results import GIB, KIB, MIB, Planted, granule_cost_s, placement, witness

from slowpath.findings.facts import WITHOUT_USER

ONE_WAY, HALF = "one_way_s", "half_round_trip_latency_s"
BASES = (64 * MIB, 256 * MIB, GIB)
RESTS = (0, 1, 4 * KIB, 64 * KIB, MIB)
SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB)
COSTS = ((2 * MIB, 5.9e-7), (64 * KIB, 1.1e-7), (4 * KIB, 2e-8))
Plant = Callable[[Planted, bool], None]


def transfer_s(length: int) -> float:
    """1 us and 10 GB/s."""
    return 1e-6 + length * 1e-10


def allocations(run: Planted, first_s: Callable[[int], float], **parameters: Any) -> None:
    """One message length from allocations of three lengths and five remainders."""
    for base in BASES:
        for rest in RESTS:
            more = {"message_bytes": 4 * KIB, "buffer_bytes": base, "overalloc_bytes": rest, **parameters}
            run.cell({ONE_WAY: {"first": 2e-5 + first_s(base + rest), "steady": 2e-5}}, pattern="one_way", **more)


def first_pages(run: Planted, slow: bool) -> None:
    allocations(run, lambda length: granule_cost_s(length, COSTS) if slow else 0.0)


def device_allocation(run: Planted, slow: bool) -> None:
    allocations(run, lambda length: 1e-12 * length if slow else 0.0, memory="device")


def two_sides(axis: str, fast: str, slow_value: str, factor: float, **parameters: Any) -> Plant:
    """Messages of several lengths, one parameter apart."""

    def plant(run: Planted, slow: bool) -> None:
        for length in SIZES:
            values = ((fast, 1.0), (slow_value, factor if slow else 1.0))
            a, b = (
                run.cell({ONE_WAY: {"steady": transfer_s(length) * f}}, message_bytes=length, **{axis: v}, **parameters)
                for v, f in values
            )
            run.contrast(axis, ONE_WAY, (a, fast), (b, slow_value))

    return plant


def environments(name: str, setting: str | None, variables: dict[str, str], factor: float) -> Plant:
    def plant(run: Planted, slow: bool) -> None:
        other = run.environment(name, setting, **variables)
        for length in SIZES:
            a = run.cell({ONE_WAY: {"steady": transfer_s(length)}}, message_bytes=length)
            times = {"steady": transfer_s(length) * (factor if slow else 1.0)}
            b = run.cell({ONE_WAY: times}, message_bytes=length, environment=other)
            run.contrast("environment", ONE_WAY, (a, "default"), (b, name), usual="a")

    return plant


def own_settings(run: Planted, slow: bool) -> None:
    """Slow as the environment is found; the twin helps, which is no slow path."""
    without = run.environment(WITHOUT_USER)
    run.environments[-1]["unset"] = ["UCX_TLS", "UCX_LOG_LEVEL"]
    for length in SIZES:
        factors = (2.5, 1.0) if slow else (1.0, 2.5)
        a, b = (
            run.cell({ONE_WAY: {"steady": transfer_s(length) * factor}}, message_bytes=length, environment=name)
            for name, factor in zip(("default", without), factors, strict=True)
        )
        run.contrast("environment", ONE_WAY, (b, without), (a, "default"))


def pages(run: Planted, slow: bool) -> None:
    for length in (MIB, 4 * MIB, 16 * MIB, 64 * MIB):
        seconds = {"huge": transfer_s(length), "small": transfer_s(length) + (length // 4096 * 4e-7 if slow else 0.0)}
        sides = []
        for kind, steady in seconds.items():
            also = {"allocations": {"pages_observed": {kind: 8}}}
            sides.append((run.cell({ONE_WAY: {"steady": steady}}, message_bytes=length, pages=kind, also=also), kind))
        run.contrast("pages", ONE_WAY, *sides)


def binding(run: Planted, slow: bool) -> None:
    run.placements.append(placement("one core", "0", "0"))
    a = run.cell({HALF: {"steady": 1e-6}}, message_bytes=8)
    b = run.cell({HALF: {"steady": 5e-5 if slow else 1e-6}}, message_bytes=8, also={"placement": "one core"})
    run.contrast("placement", HALF, (a, "bound"), (b, "one core"))


def busy_cores(run: Planted, slow: bool) -> None:
    """Others keep one of two processors busy, and take it from a rank; else they ran on a third one."""
    processes = [{"name": "stress", "pid": 4711, "cores": 1.0}]
    run.machine = {"others": {"seconds": 0.3, "processors": 2 if slow else 3, "cores": 1.0, "processes": processes}}
    lost = witness("steady", 0.0)
    lost["steady"]["receive"]["involuntary_switches"] = 30
    run.cell({HALF: {"steady": 1e-6}}, message_bytes=8, also={"witness": lost})


def switch(run: Planted, slow: bool) -> None:
    for power in range(3, 21):
        length = 2**power
        more = 4e-6 if slow and length > 16 * KIB else 0.0
        run.cell({HALF: {"steady": transfer_s(length) + more}}, pattern="ping_pong", message_bytes=length)


def windows(run: Planted, slow: bool) -> None:
    a, b = (
        run.cell({"time_per_put_s": {"steady": each}}, experiment="put", window_info=info, message_bytes=8)
        for info, each in (("latency", 3e-8), ("default", 2e-7 if slow else 3e-8))
    )
    run.contrast("window_info", "time_per_put_s", (a, "latency"), (b, "default"))


PLANTS: dict[str, Plant] = {
    "SP001": first_pages,
    "SP007": two_sides("memory", "host", "pinned_host", 4.0),
    "SP008": pages,
    "SP009": environments("no single copy", "single_copy_off", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, 2.5),
    "SP011": binding,
    "SP013": switch,
    "SP019": windows,
    "SP035": own_settings,
    "SP048": busy_cores,
    **slower_broadcast.PLANTS,
}
