# SPDX-License-Identifier: Apache-2.0
"""Two documents for the report's tests: a check-up of a small node, and an imported run of one launch."""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.results import (
    ContrastResult,
    LaunchCounts,
    Line,
    RankPlace,
    Results,
    RunResult,
    SkippedRow,
    Verdict,
)
from support import results as model
from support import scattered
from support.scattered import KIB, MIB


def curve_cells(rng: random.Random) -> list[CellResult]:
    """Latency and bandwidth over message size."""
    cells = []
    long = [KIB * 4**power for power in range(2, 8)]
    for size in (8, 64, 512, 4 * KIB, *long):
        seconds = 0.34e-6 + size / 9.1e9 + (1.1e-6 if size > 16 * KIB else 0)
        made = scattered.cell(
            len(cells), "latency", scattered.label_bytes(size), {"pattern": "ping_pong", "message_bytes": str(size)}
        )
        cells.append(scattered.measure(rng, made, "half_round_trip_latency_s", seconds, seconds * 9 + 4e-6))
    for pages in ("small", "huge"):
        for size in (KIB, *long):
            seconds = 0.21e-6 + size / (11.5e9 if pages == "huge" or size < MIB else 6.2e9)
            made = scattered.cell(len(cells), "bandwidth", f"{scattered.label_bytes(size)}, pages {pages}",
                        {"pattern": "windowed", "pages": pages, "message_bytes": str(size)})  # fmt: skip
            cells.append(scattered.measure(rng, made, "time_per_message_s", seconds))
    return cells


def fresh_cells(rng: random.Random, start: int) -> list[CellResult]:
    """Messages from fresh allocations: page kinds, single copy, network path."""
    cells: list[CellResult] = []
    steady = {("small", MIB): 171e-6, ("huge", MIB): 96e-6, ("default", MIB): 169e-6, ("shared", MIB): 158e-6,
              ("small", 16 * MIB): 3.11e-3, ("huge", 16 * MIB): 1.24e-3, ("default", 16 * MIB): 1.31e-3,
              ("shared", 16 * MIB): 2.9e-3}  # fmt: skip
    for environment in ("default", "no single copy"):
        for (pages, size), seconds in steady.items():
            slow = seconds if environment == "default" else 0.8 * size / 4.4e9 + 30e-6
            label = f"{scattered.label_bytes(size)}, pages {pages}" + (
                ", no single copy" if environment != "default" else ""
            )
            made = scattered.cell(start + len(cells), "fresh", label,
                        {"pattern": "one_way", "pages": pages, "message_bytes": str(size), "allocations": "4",
                         "messages": "8"}, environment)  # fmt: skip
            receive = model.a_witness(slow * 0.9, involuntary_switches=3)
            made = replace(made, witness=model.witnessed("steady", send=model.a_witness(1e-6), receive=receive))
            first_s = slow * (1.06 if pages == "huge" else 1.34)
            cells.append(scattered.measure(rng, made, "one_way_s", slow, first_s, 0.025))
    return cells


def device_cells(start: int) -> list[CellResult]:
    """What this machine cannot run, and what went wrong."""
    cells = []
    for index, (memory, status, reason) in enumerate((
        ("device", "skipped", "no GPU driver: libcuda.so.1 was not found"),
        ("pinned_host", "skipped", "no GPU driver: libcuda.so.1 was not found"),
    )):  # fmt: skip
        made = scattered.cell(start + index, "memory", f"1 MiB, memory {memory}",
                    {"pattern": "one_way", "memory": memory, "message_bytes": str(MIB)})  # fmt: skip
        cells.append(replace(made, status=status, reason=reason, reproduce=None, allocations=None))
    bad = scattered.cell(
        start + 2,
        "network path",
        "16 MiB, network path",
        {"pattern": "ping_pong", "message_bytes": "16777216"},
        "network path",
    )
    cells.append(replace(bad, status="failed", reason="3 launches ended without this cell: abort inside MPI_Recv"))
    return cells


def contrasts(cells: list[CellResult]) -> list[ContrastResult]:
    """All contrasts of the check-up."""
    made: list[ContrastResult] = []
    fresh = [c for c in cells if c.group == "fresh"]

    def add(*given: Any, **more: Any) -> None:
        made.append(scattered.contrast(cells, len(made), *given, **more))

    for c in fresh[:8]:
        add("first message", "Is the first message of a fresh allocation slower than the later ones?", "phase",
            (c.cell, "steady", "steady"), (c.cell, "first", "first"), "one_way_s")  # fmt: skip
    huge = {c.parameters["message_bytes"]: c for c in fresh[:8] if c.parameters["pages"] == "huge"}
    for c in fresh[:8]:
        other = huge[c.parameters["message_bytes"]]
        if c is not other:
            pages = c.parameters["pages"]
            add("page kind", "Does the page kind of host memory change large messages?", "pages",
                (other.cell, "steady", "huge"), (c.cell, "steady", pages), "one_way_s",
                remedy="GLIBC_TUNABLES=glibc.malloc.hugetlb=1" if pages == "small" else None)  # fmt: skip
    for c, d in zip(fresh[:8], fresh[8:], strict=True):
        add("single copy", "Is the single copy through the kernel faster than two copies through shared memory?",
            "environment", (c.cell, "steady", "default"), (d.cell, "steady", "no single copy"), "one_way_s",
            remedy="export MPIR_CVAR_CH4_CMA_ENABLE=0")  # fmt: skip
    return made


def results() -> Results:
    """A complete check-up: 42 cells, of them two skipped, one failed and one copy for the A/A control."""
    rng = random.Random(20)
    cells = curve_cells(rng)
    cells += fresh_cells(rng, len(cells))
    control = scattered.cell(
        len(cells), "control", "1 KiB, copy 2", {"pattern": "windowed", "pages": "small", "message_bytes": "1024"}
    )
    cells.append(scattered.measure(rng, control, "time_per_message_s", 0.21e-6 + KIB / 11.5e9, spread=0.004))
    cells += device_cells(len(cells))
    made = contrasts(cells)
    made.append(
        scattered.contrast(
            cells,
            len(made),
            "control",
            "Does the tool see a difference where there is none?",
            "copy",
            (10, "steady", "1"),
            (control.cell, "steady", "2"),
            "time_per_message_s",
            control=True,
            suspect=["launch 5 ran while the load average was 3.1"],
            verdict="same",
            ratio=1.004,
            interval=(0.992, 1.013),
        )
    )
    made.append(
        model.a_contrast(
            "c99",
            None,
            group="network path",
            question="Is the network faster than shared memory inside a node?",
            axis="environment",
            a=model.a_side(9, "default", label="16 MiB"),
            b=model.a_side(cells[-1].cell, "network path", label="16 MiB, network path"),
            where="16 MiB",
            default_side=None,
        )
    )
    return model.results(
        cells,
        made,
        run=run(),
        verdict=verdict(made),
        skipped=skipped(cells),
        notes=["CPU frequency governor could not be read.", "2 launches overlapped a system load above 2."],
    )


def run() -> RunResult:
    """Where and with what the check-up ran."""
    mpi = model.an_mpi(
        None,
        name="MPICH 5.0.2",
        version=None,
        vendor="mpich",
        library="MPICH Version: 5.0.2",
        standard="5.0",
        mpiexec="/opt/mpich/bin/mpiexec",
        abi="mpich",
    )
    return model.a_run(
        id="20261120T091500Z-checkup",
        folder="slowpath-runs/20261120-checkup",
        campaign="checkup",
        title="Check-up of this machine",
        started="2026-11-20T09:15:00Z",
        finished="2026-11-20T09:15:43Z",
        wall_s=43.2,
        seed=20261120,
        mpi=mpi,
        mpis=[mpi],
        machine=MACHINE,
        launches=LaunchCounts(planned=32, done=31, failed=1),
        status="partial",
        command=["slowpath", "run", "checkup", "--ranks", "2", "--seed", "20261120"],
        environments=[
            model.an_environment(),
            model.an_environment("no single copy", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, setting="single_copy_off"),
            model.an_environment("network path", {"MPIR_CVAR_NO_LOCAL": "1"}, setting="network_path"),
        ],
        placements=[
            model.a_placement(
                observed=[RankPlace(rank=rank, host="node01", cpus_allowed=str(rank), cpu=rank) for rank in range(2)]
            )
        ],
    )


MACHINE = {
    "host": "node01",
    "cpu": "AMD EPYC 9755",
    "cores": 2,
    "sockets": 1,
    "numa_nodes": 1,
    "memory_bytes": 24_900_000_000,
    "kernel": "6.18.1",
    "os": "Debian GNU/Linux 12",
    "transparent_huge_pages": "madvise",
    "governor": None,
    "gpus": [],
    "clock": {"quantum_ns": 10, "overhead_ns": 21, "source": "tsc"},
    "variables": {"MPIR_CVAR_ENABLE_GPU": "0", "UCX_TLS": "self,sm"},
}


def verdict(made: list[ContrastResult]) -> Verdict:
    """Headline and lines."""
    slow = next(c for c in made if c.group == "page kind" and c.b.label == "16 MiB, pages small")
    first = next(c for c in made if c.group == "first message" and c.verdict == "slower")
    control = next(c.id for c in made if c.control)
    small = "16 MiB from small pages: 3.1 ms, from huge pages 1.2 ms. Huge pages for large buffers remove it."
    fresh = "The first message of a fresh allocation takes about a third longer than the later ones, except from huge"
    aborted = "16 MiB, network path: 3 launches aborted inside MPI_Recv."
    return Verdict(
        headline="Messages of 16 MiB take 2.5 times as long from small pages as from huge pages.",
        lines=[
            Line(level="slow", contrast=slow.id, text=small),
            Line(level="slow", contrast=first.id, text=f"{fresh} pages."),
            Line(level="ok", contrast=control, text="The control saw no difference where there is none."),
            Line(level="warning", contrast=None, text=aborted),
            Line(level="info", contrast=None, text="2 cells need a GPU and were skipped."),
        ],
        state="clear",
        answer="Messages of 16 MiB take 2.5 times as long from small pages as from huge pages.",
    )


def skipped(cells: list[CellResult]) -> list[SkippedRow]:
    """The cells without a result, with what was captured."""
    rows = [
        model.a_skipped_row(cell=c.cell, label=c.label, status=c.status, reason=c.reason, launches=8, output="")
        for c in cells
        if c.status == "skipped"
    ]
    printed = (
        "Abort(15) on node 1 (rank 1 in comm 0): Fatal error in internal_Recv:\n"
        "internal_Recv(127): MPI_Recv(buf=0x7f1c, count=16777216, MPI_BYTE, 0, 3, MPI_COMM_WORLD, status=0x7ffd) "
        "failed\nMPIDI_OFI_handle_cq_error(788): <no provider> & none"
    )
    crashed = model.a_skipped_row(
        cell=cells[-1].cell,
        label=cells[-1].label,
        status="crashed",
        launches=3,
        reason="MPI_Recv aborted the job (return code 15)",
        log="launches/000017/stderr",
        output=printed,
    )
    return [*rows, crashed]


def imported() -> Results:
    """Two logs of one launch each, imported: no run-to-run spread."""
    rng = random.Random(5)
    cells = []
    for index, (name, first_s, later_s) in enumerate(
        (("with over-allocation of 1 byte", 0.456, 2.2e-5), ("without over-allocation", 0.0036, 2.0e-5))
    ):
        made = scattered.cell(
            index, "overalloc-1B", name, {"pattern": "one_way", "message_bytes": "1024", "memory": "device"}
        )
        made = scattered.measure(rng, made, "send_barrier_s", later_s, first_s, 0.001, launches=1)
        cells.append(replace(made, reproduce=None, allocations=None))
    question = "Does an over-allocation slow the first message?"
    first = scattered.contrast(
        cells, 0, "over-allocation", question, "overalloc_bytes", (1, "first", "0 B"), (0, "first", "1 B"),
        "send_barrier_s", interval=None, interval_kind="no interval: one launch, run-to-run spread unknown", level=None,
        interleaved=False, verdict="undecided", p=None,
    )  # fmt: skip
    later = scattered.contrast(
        cells, 1, "over-allocation", question, "overalloc_bytes", (1, "steady", "0 B"), (0, "steady", "1 B"),
        "send_barrier_s", interval=(0.93, 1.31), interval_kind="rank-sum 95 % within one launch", interleaved=False,
    )  # fmt: skip
    unknown = model.an_mpi(None, name=None, version=None, library=None, standard=None)
    about = replace(
        run(),
        imported=True,
        environments=[],
        placements=[],
        title="Imported logs",
        campaign="import",
        engine=None,
        command=None,
        launches=LaunchCounts(planned=1, done=1, failed=0),
        status="complete",
        machine={},
        seed=None,
        wall_s=None,
        mpi=unknown,
        mpis=[unknown],
    )
    headline = "The first message took 0.46 s with one byte more, 3.6 ms without it, in one launch."
    line = Line(level="slow", contrast="c00", text="One launch: run-to-run spread unknown.")
    return model.results(
        cells,
        [first, later],
        run=about,
        verdict=Verdict(headline=headline, lines=[line], state="clear", answer=headline),
        notes=["overalloc-1B.txt line 5: a value before the first allocation; kept, not used."],
    )
