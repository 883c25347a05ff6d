# SPDX-License-Identifier: Apache-2.0
"""A run of the experiment put under two MPIs whose truth is known: times, and counts of instructions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from planted import events

from slowpath.core.plan import Cell, Contrast, Environment, Launch, Placement, Plan, PlannedMpi, Side
from slowpath.record.blocks import Block, Witness, write_blocks
from slowpath.record.folder import LaunchInfo, RunInfo, launch_folder, write_launch, write_run
from slowpath.record.plan_files import write_plan

ROUNDS, PUTS, BATCH, SAMPLES = 6, 100, 8, 400
MPIS = ("alpha", "beta")
PUT_NS = {"alpha": 40.0, "beta": 10.0}  # of a put with its share of the synchronisation
FLUSH_NS, FIRST_NS = 500, 90_000
MPI_CELL, EMPTY_CELL = 0, 1  # of alpha; beta's are 2 and 3
EMPTY_NS = 1.0
COUNTED = 16
# A library that allocates now and then: 588 instructions, each 8th time 949.
SPLIT = Witness(3, 0, 0, 0, 0, 5)  # of the split bursts, in the blocks of both of their parts
STEPPED = [949 if i % 8 == 7 else 588 for i in range(COUNTED)]
SITE = 19


def _cell(number: int, mpi: str, design: str) -> Cell:
    parameters = {"pattern": "burst", "design": design, "message_bytes": "8", "puts": str(PUTS), "instructions": "16"}
    return Cell(number, f"key{number}", "designs", f"{design}, {mpi}", "put", parameters, "default", "bound", mpi=mpi)


def plan() -> Plan:
    """Two MPIs, each with a put of its own and the empty call."""
    cells = [_cell(2 * i + j, mpi, ("mpi", "empty_call")[j]) for i, mpi in enumerate(MPIS) for j in range(2)]
    contrasts = [
        Contrast("mpi", "mpi", "mpi?", "mpi", "time_per_put_s", Side(2, "steady", "beta"), Side(0, "steady", "alpha"))
    ]
    launches = [Launch(2 * r + i, r, "default", "bound", [2 * i, 2 * i + 1], 1, mpi)
                for r in range(ROUNDS) for i, mpi in enumerate(MPIS)]  # fmt: skip
    return Plan(
        1, "put", "Put", 2, ROUNDS, 1, 0.03, [Environment("default")], [Placement("bound")], cells, contrasts, launches,
        [*(PlannedMpi(mpi, mpi) for mpi in MPIS), PlannedMpi("gamma", "gamma", "no gamma here")],
    )  # fmt: skip


def bursts(rng: np.random.Generator, launch: int, cell: int, put_ns: float, flush_ns: int = FLUSH_NS) -> list[Block]:
    """Whole bursts; six in ten are disturbed, so that the median is wrong by a factor and the lower quartile is not."""
    noise = np.exp(rng.normal(0, 0.01, SAMPLES)) * np.where(rng.random(SAMPLES) < 0.6, rng.uniform(2, 3, SAMPLES), 1.0)
    quiet = np.exp(rng.normal(0, 0.01, SAMPLES))

    def ns(length: float, factor: np.ndarray) -> np.ndarray:
        return np.maximum(1, np.rint(length * factor)).astype(np.int64)

    puts_ns = put_ns * PUTS - (FLUSH_NS if put_ns > EMPTY_NS else 0)
    return [
        Block(cell, launch, "first", [FIRST_NS]),
        Block(cell, launch, "steady", ns(put_ns * PUTS * BATCH, noise), batch=BATCH, seq0=1),
        Block(cell, launch, "steady", ns(puts_ns, quiet), allocation=1, witness=SPLIT),
        Block(cell, launch, "steady", np.rint(flush_ns * quiet).astype(np.int64), allocation=2, witness=SPLIT),
    ]


def counted(cell: int, counts: Sequence[int], **changed: object) -> str:
    """The event on the puts of a cell: a libmpi that does all but 14 instructions a call, which are a copy's."""
    total = sum(counts)
    copied = 14 * len(counts)
    return json.dumps(
        {
            "event": "instructions", "t_ns": 3, "cell": cell, "rank": 0, "region": "put", "calls": len(counts),
            "method": "trap flag", "stepped": list(counts), "retired": [n - 36 for n in counts],
            "region_instructions": total + SITE * len(counts),
            "shares": [{"library": "libmpi.so", "function": "MPI_Put", "instructions": total - copied},
                       {"library": "libc.so", "function": "memcpy", "instructions": copied}],
            "reason": None,
        }
        | changed
    ) + "\n"  # fmt: skip


def flushed(cell: int) -> str:
    """The event on one synchronisation of two calls."""
    return counted(cell, [40, 5], region="synchronisation", calls=2, shares=[], retired=[40, 5])


def refused(cell: int, region: str) -> str:
    """The event where nothing could be counted."""
    nothing = {"calls": None, "method": None, "stepped": [], "retired": [], "region_instructions": None, "shares": []}
    return counted(cell, STEPPED, **nothing, region=region, reason="single-stepping is not allowed here")


def said_by(launch: int, mpi: str, cells: Sequence[int]) -> str:
    """events.jsonl: alpha counts and repeats, beta differs in one call of launch 1 and can't count its flush."""
    own, empty = cells
    if mpi == "alpha":
        counts = counted(own, STEPPED) + flushed(own)
    else:
        counts = counted(own, [251] * 15 + [251 + (launch == 1)]) + refused(own, "synchronisation")
    silent = refused(empty, "put") + refused(empty, "synchronisation")
    return events(list(cells)).replace("Planted MPI", f"Library {mpi}") + counts + silent


def make_run(folder: Path, empty_flush_ns: int = FLUSH_NS) -> Path:
    """The whole run, the two MPIs in launches of their own."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(3)
    write_run(folder, RunInfo(1, "id", "put", "Put", "0.1.0", status="complete", mpi={"name": "alpha"}))
    run = json.loads((folder / "run.json").read_text())
    rows = [{"short_name": mpi, "name": f"lib{mpi}", "version": "1.0"} for mpi in reversed(MPIS)]
    (folder / "run.json").write_text(json.dumps({**run, "mpis": rows}))
    write_plan(folder / "plan.json", plan())
    for launch in plan().launches:
        assert launch.mpi is not None
        own, empty = launch.cells
        blocks = bursts(rng, launch.launch, own, PUT_NS[launch.mpi])
        blocks += bursts(rng, launch.launch, empty, EMPTY_NS, empty_flush_ns)
        place = launch_folder(folder, launch.launch)
        place.mkdir(parents=True)
        write_blocks(place / "samples.blk", blocks)
        (place / "events.jsonl").write_text(said_by(launch.launch, launch.mpi, launch.cells))
        argv = [f"/{launch.mpi}/mpiexec", "-n", "2", "/x/slowpath-engine", "--plan", "plan.txt"]
        write_launch(folder, LaunchInfo(launch.launch, launch.round, "default", "bound", argv))
    return folder
