# SPDX-License-Identifier: Apache-2.0
"""A run of the experiment cannon whose truth is known: times, exposed shares, disturbed repetitions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slowpath.core.plan import Cell, Contrast, Environment, Launch, Placement, Plan, Side
from slowpath.record.blocks import Block, write_blocks
from slowpath.record.folder import LaunchInfo, RunInfo, launch_folder, write_launch, write_run
from slowpath.record.plan_files import write_plan

ROUNDS, REPETITIONS, RANKS = 6, 8, 2
SIZES = (128, 256, 512)
COMPUTE_NS = {128: 1_000_000, 256: 8_000_000, 512: 64_000_000}  # of one rank, in two steps
LATE_NS = 10_000  # rank 1 starts and ends later by this
# Exposed over computed time; blocking falls as 1/n, so that its share is 2/3, 1/2 and 1/3 at these n.
EXPOSED = {
    "compute_only": dict.fromkeys(SIZES, 1e-4),
    "sendrecv_replace": {128: 2.0, 256: 1.0, 512: 0.5},
    "put_flag": {128: 0.1, 256: 0.1, 512: 0.02},
    "shared_direct": {128: 0.3, 256: 0.01, 512: 0.02},
}
VARIANTS = (*EXPOSED, "pscw")  # the last one is skipped by the engine
ALONE = ("dgemm_alone", 512)  # rank 0 multiplies, this much faster than with the other rank
ALONE_RATIO = 0.9
MOVED = ("sendrecv_replace", 512)  # with source=root as well: this much longer, twice, than its computed time
MOVED_RATIO = 0.25
INTERVAL_NS = 40.5  # what one interval costs
GENERATE_NS = 5_000
TOTAL, DGEMM, WAIT, DISTRIBUTE, GATHER, GENERATE = 0, 1, 4, 8, 9, 10
SWITCHED, LOADED, SLOWDOWN = (1, 4), 6, 3  # repetitions, and by how much they are longer
POOR_LAUNCH, POOR_CELL = 2, 1  # where all repetitions but two are disturbed


@dataclass(frozen=True)
class Machine:
    """What is not the same in every planted run."""

    hosts: Sequence[str] = ("n1", "n1")
    processors: Sequence[str] = ("0", "1")
    load_told: bool = True
    setup_told: bool = True
    rounds: int = ROUNDS


def parameters(variant: str, n: int, **changed: str) -> dict[str, str]:
    common = {"pattern": "multiply", "source": "in_place", "window": "allocate", "repetitions": str(10000 // n)}
    return {"variant": variant, "n": str(n), **common, **changed}


def plan(rounds: int = ROUNDS) -> Plan:
    """Cells by n, then by variant; the engine skips the last variant."""
    cells = []
    for n in SIZES:
        for variant in VARIANTS:
            number = len(cells)
            label = f"{variant}, n {n}"
            cells.append(
                Cell(number, f"key{number}", "variants", label, "cannon", parameters(variant, n), "default", "bound")
            )
    extras = [parameters(*ALONE), parameters(*MOVED, source="root"), parameters(*MOVED)]
    for copy, extra in zip((1, 1, 2), extras, strict=True):
        number = len(cells)
        label = f"extra {number}"
        cells.append(Cell(number, f"key{number}", "extras", label, "cannon", extra, "default", "bound", copy))
    a, b = Side(1, "steady", "sendrecv_replace"), Side(2, "steady", "put_flag")
    contrasts = [Contrast("variant", "styles", "which?", "variant", "multiply_s", a, b)]
    launches = [Launch(r, r, "default", "bound", [c.cell for c in cells], 1) for r in range(rounds)]
    return Plan(
        1, "cannon", "Cannon", RANKS, rounds, 1, 0.03, [Environment("default")], [Placement("bound")], cells, contrasts,
        launches,
    )  # fmt: skip


def disturbed(launch: int, cell: Cell) -> set[int]:
    """Repetitions with an involuntary switch, of a cell whose repetitions are short enough for that to count."""
    if cell.parameters["n"] == "512":
        return set()
    return set(range(2, REPETITIONS)) if (launch, cell.cell) == (POOR_LAUNCH, POOR_CELL) else set(SWITCHED)


def blocks(rng: np.random.Generator, launch: int, cell: Cell, drift: float) -> list[Block]:
    """All parts of a cell on both ranks; disturbed repetitions are longer by a factor of SLOWDOWN."""
    n, variant = int(cell.parameters["n"]), cell.parameters["variant"]
    noise = np.exp(rng.normal(0, 0.002, REPETITIONS)) * drift
    noise[[*disturbed(launch, cell), LOADED]] *= SLOWDOWN
    step_ns = np.rint(COMPUTE_NS[n] / 2 * noise).astype(np.int64)
    if variant == ALONE[0]:
        step_ns = np.rint(step_ns * ALONE_RATIO).astype(np.int64)
    wait_ns = np.rint(COMPUTE_NS[n] * EXPOSED.get(variant, {}).get(n, 0) * noise).astype(np.int64)
    moved = cell.parameters["source"] == "root"
    moved_ns = np.rint(COMPUTE_NS[n] * MOVED_RATIO * noise).astype(np.int64) * moved
    written = []
    for rank in range(RANKS):
        begin = np.arange(REPETITIONS) * 10**9 + rank * LATE_NS
        t0 = 10**12

        def block(
            part: int, durations: Sequence[np.ndarray], begins: Sequence[np.ndarray], rank: int = rank, t0: int = t0
        ) -> Block:
            columns = [np.stack(values, axis=1).reshape(-1) for values in (durations, begins)]
            return Block(cell.cell, launch, "steady", columns[0], columns[1], rank=rank, t0_ns=t0, part=part)

        made = np.full(REPETITIONS, GENERATE_NS)
        if variant == ALONE[0] and rank > 0:
            written += [block(TOTAL, [made * 0 + 1], [begin]), block(GENERATE, [made], [begin - 2 * GENERATE_NS])]
            continue
        written += [
            block(TOTAL, [2 * step_ns + wait_ns + 2 * moved_ns], [begin]),
            block(DGEMM, [step_ns, step_ns], [begin, begin + step_ns + wait_ns]),
            block(GENERATE, [made], [begin - 2 * GENERATE_NS]),
        ]
        if moved:
            written += [block(part, [moved_ns], [begin]) for part in (DISTRIBUTE, GATHER)]
        if variant not in ("compute_only", ALONE[0]):
            written.append(block(WAIT, [wait_ns], [begin + step_ns]))
    return written


def said(launch: int, cells: Sequence[Cell], machine: Machine) -> str:
    """events.jsonl of a launch."""
    ranks = [
        {"rank": r, "host": host, "cpus_allowed": allowed, "clock": {"quantum_ns": 10}}
        for r, (host, allowed) in enumerate(zip(machine.hosts, machine.processors, strict=True))
    ]
    lines: list[dict[str, object]] = [{"event": "launch_begin", "launch": launch, "size": RANKS, "ranks": ranks}]
    for cell in cells:
        variant = cell.parameters["variant"]
        skipped = variant == VARIANTS[-1]
        lines.append({"event": "cell_begin", "cell": cell.cell})
        if not skipped:
            lines += _about(launch, cell, machine)
        status = {"status": "skipped", "reason": "no MPI_Psend_init here"} if skipped else {"status": "ok"}
        lines.append({"event": "cell_end", "cell": cell.cell, **status})
    return "".join(json.dumps({"t_ns": 1, **line}) + "\n" for line in lines)


def _about(launch: int, cell: Cell, machine: Machine) -> list[dict[str, object]]:
    number, variant = cell.cell, cell.parameters["variant"]
    steps = {TOTAL: [0], DGEMM: [0, 1], GENERATE: [0]} | ({WAIT: [0]} if variant != "compute_only" else {})
    switches = [int(i in disturbed(launch, cell)) for i in range(REPETITIONS)]
    if cell.parameters["n"] == "512":
        switches = [2] * REPETITIONS
    other_s = [1.0 if i == LOADED else 0.02 for i in range(REPETITIONS)]
    events: list[dict[str, object]] = []
    for rank in range(RANKS):
        about = {"cell": number, "rank": rank}
        events += [{"event": "intervals", **about, "part": part, "steps": s} for part, s in steps.items()]
        # One rank alone is enough to disturb all.
        mine = switches if rank else [0] * REPETITIONS
        others_s = other_s if machine.load_told else [None] * REPETITIONS
        events.append({"event": "repetitions", **about, "involuntary_switches": mine, "other_cpu_s": others_s})
    if machine.setup_told:
        blas = {"name": "Planted BLAS", "core": "Quick", "threads": 1, "file": "b.so", "compiled_for": "-O3"}
        grid = {"rows": 1, "columns": 2, "steps": 2}
        events.append({"event": "note", "cell": number, "text": "Planted BLAS", "blas": blas, "grid": grid,
                      "interval_ns": INTERVAL_NS})  # fmt: skip
    return events


def make_run(folder: Path, machine: Machine | None = None) -> Path:
    """The whole run, with a drift of up to 30 % from launch to launch that all variants of a launch share."""
    machine = machine or Machine()
    rng = np.random.default_rng(7)
    folder.mkdir(parents=True)
    whole = plan(machine.rounds)
    write_plan(folder / "plan.json", whole)
    write_run(folder, RunInfo(1, "id", "cannon", "Cannon", "0.1.0", status="complete"))
    for launch in range(machine.rounds):
        drift = float(np.exp(rng.normal(0, 0.1)))
        measured = [cell for cell in whole.cells if cell.parameters["variant"] != VARIANTS[-1]]
        place = launch_folder(folder, launch)
        place.mkdir(parents=True)
        write_blocks(place / "samples.blk", [b for cell in measured for b in blocks(rng, launch, cell, drift)])
        (place / "events.jsonl").write_text(said(launch, whole.cells, machine))
        argv = ["mpiexec", "-n", str(RANKS), "/x/slowpath-engine", "--plan", "plan.txt"]
        write_launch(folder, LaunchInfo(launch, launch, "default", "bound", argv))
    return folder
