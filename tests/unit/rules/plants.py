# SPDX-License-Identifier: Apache-2.0
"""One machine for each rule, planted (slow) and clean: what is asked, and what the slow path adds. By rule's code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import collective_plants
import first_use_plants
import slower_broadcast
from planted_results import GIB, KIB, MIB, Planted, granule_cost_s, placement, witness

from slowpath.findings.facts import INSTEAD, WITHOUT_USER

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


def live_buffers(run: Planted, slow: bool) -> None:
    for live in (1, 2, 4, 8, 16, 32, 64):
        steady = 2e-5 + (3e-5 if slow and live > 16 else 0.0)
        run.cell({ONE_WAY: {"steady": steady}}, pattern="one_way", message_bytes=MIB, live_buffers=live)


def repeat_gate(run: Planted, slow: bool) -> None:
    number = run.cell({ONE_WAY: {"steady": 2e-5}}, pattern="one_way", message_bytes=MIB)
    uses = [run.estimate(5e-5 if slow and use < 5 else 2e-5)["launch_values"] for use in range(1, 13)]
    uses_of = {"repetitions": list(range(1, 13)), "launches": list(range(8))}
    uses_of["launch_values"] = [list(row) for row in zip(*uses, strict=True)]
    run.cells[number]["metrics"][ONE_WAY]["by_repetition"] = uses_of


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


def library_default(run: Planted, slow: bool) -> None:
    """Slow as the library is; the twin's alternative is the slow side, which is no slow path."""
    instead = run.environment(f"{INSTEAD}CMA on", MPIR_CVAR_CH4_CMA_ENABLE="1")
    for length in SIZES:
        factors = (2.5, 1.0) if slow else (1.0, 2.5)
        a, b = (
            run.cell({ONE_WAY: {"steady": transfer_s(length) * factor}}, message_bytes=length, environment=name)
            for name, factor in zip(("default", instead), factors, strict=True)
        )
        run.contrast("environment", ONE_WAY, (b, instead), (a, "default"))


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


def inherited_mask(run: Planted, slow: bool) -> None:
    """Two ranks on one processor where they are started, and on two once the launcher may use all."""
    run.placements = [
        placement("started", "0", "0" if slow else "1") | {"bind": "inherited"},
        placement("everywhere", "0-1", "0-1") | {"bind": "widened"},
    ]
    a = run.cell({HALF: {"steady": 1e-6}}, message_bytes=8, also={"placement": "everywhere"})
    b = run.cell({HALF: {"steady": 4e-3 if slow else 1e-6}}, message_bytes=8, also={"placement": "started"})
    run.contrast("placement", HALF, (a, "everywhere"), (b, "started"))


def busy_cores(run: Planted, slow: bool) -> None:
    """Others keep one of two processors busy, and take it from a rank; else they ran on a third one."""
    processes = [{"name": "stress", "pid": 4711, "cores": 1.0}]
    run.machine = {"others": {"seconds": 0.3, "processors": 2 if slow else 3, "cores": 1.0, "processes": processes}}
    lost = witness("steady", 0.0)
    lost["steady"]["receive"]["involuntary_switches"] = 30
    run.cell({HALF: {"steady": 1e-6}}, message_bytes=8, also={"witness": lost})


def first_touch(run: Planted, slow: bool) -> None:
    for length in SIZES:
        a, b = (
            run.cell({ONE_WAY: {"first": transfer_s(length) + more, "steady": transfer_s(length) + more}},
                     message_bytes=length, touch=touch)
            for touch, more in (("write", 0.0), ("none", length // 4096 * 5e-7 if slow else 0.0))
        )  # fmt: skip
        run.contrast("touch", ONE_WAY, (a, "write"), (b, "none"), phase="first")


def switch(run: Planted, slow: bool) -> None:
    for power in range(3, 21):
        length = 2**power
        more = 4e-6 if slow and length > 16 * KIB else 0.0
        run.cell({HALF: {"steady": transfer_s(length) + more}}, pattern="ping_pong", message_bytes=length)


def datatype(run: Planted, slow: bool) -> None:
    for blocks in (16, 64, 256, 1024, 4096):
        block = MIB // blocks
        one = {"message_bytes": MIB, "pattern": "ping_pong", "block_bytes": block, "blocks": blocks}
        a = run.cell({HALF: {"steady": 1e-4}}, datatype="contiguous", **one)
        b = run.cell({HALF: {"steady": 1e-4 + (blocks * 5e-8 if slow else 0.0)}}, datatype="vector", **one)
        run.contrast("datatype", HALF, (a, "contiguous"), (b, "vector"))


def overlap(run: Planted, slow: bool) -> None:
    part = 0.9 if slow else 0.1
    times = {"communication_s": 1e-3, "compute_s": 1e-3, "overlapped_s": 1e-3 * (1 + part), "exposed_s": 1e-3 * part}
    more = {"pattern": "overlap", "message_bytes": MIB, "progress": "none"}
    number = run.cell({name: {"steady": value} for name, value in times.items()}, **more)
    ratio = {"unit": "1", "better": "lower", "phases": {"steady": run.estimate(part)}}
    run.cells[number]["metrics"]["exposed_communication_ratio"] = ratio


def windows(run: Planted, slow: bool) -> None:
    a, b = (
        run.cell({"time_per_put_s": {"steady": each}}, experiment="put", window_info=info, message_bytes=8)
        for info, each in (("latency", 3e-8), ("default", 2e-7 if slow else 3e-8))
    )
    run.contrast("window_info", "time_per_put_s", (a, "latency"), (b, "default"))


def unexpected(run: Planted, slow: bool) -> None:
    """MPI_Wait takes 5 us more than MPI_Probe and MPI_Recv, whatever the length."""
    for length in (8, *SIZES):
        early, late = transfer_s(length) + 5e-6, transfer_s(length) + (0.8e-10 * length if slow else 0.0)
        for posted, time_s in (("before", early), ("after", late)):
            more = {"message_bytes": length, "posted": posted}
            run.cell({"receive_s": {"steady": time_s}}, pattern="one_way", **more)


PLANTS: dict[str, Plant] = {
    "SP001": first_pages,
    "SP003": live_buffers,
    "SP004": repeat_gate,
    "SP007": two_sides("memory", "host", "pinned_host", 4.0),
    "SP008": pages,
    "SP009": environments("no single copy", "single_copy_off", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, 2.5),
    "SP010": environments("network path", "network_path", {"MPIR_CVAR_NO_LOCAL": "1"}, 2.5),
    "SP011": binding,
    "SP012": first_touch,
    "SP013": switch,
    "SP015": datatype,
    "SP017": overlap,
    "SP019": windows,
    "SP020": unexpected,
    "SP023": device_allocation,
    "SP035": own_settings,
    "SP070": library_default,
    "SP047": inherited_mask,
    "SP048": busy_cores,
    **slower_broadcast.PLANTS,
    **collective_plants.PLANTS,
    **first_use_plants.PLANTS,
}
