# SPDX-License-Identifier: Apache-2.0
"""A run of 4096 ranks, simulated: written, analysed, and measured against the budgets of docs/internals/record.md.

    python benchmarks/scale.py [--ranks 4096] [--launches 8] [--cells 44]

Two records: `pairs`, as every campaign but cannon makes it, where two ranks store samples and each launch names all
ranks; and `all ranks`, where every rank stores samples of one cell, as `windowed` with half of the ranks as senders
does when it is asked for. Writing and analysing run in processes of their own, so that each has its own peak of
memory. Prints a Markdown table; exits 1 when a budget is exceeded. Times depend on the machine, so this is no test.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from slowpath.core.plan import Cell, Contrast, Environment, Launch, Placement, Plan, Side
from slowpath.record.blocks import Block, write_blocks
from slowpath.record.folder import LaunchInfo, RunInfo, launch_folder, write_launch, write_run
from slowpath.record.plan_files import write_plan

RANKS_A_NODE = 64
SAMPLES = 200
# docs/internals/record.md. Of one record: seconds and bytes.
BUDGETS = {
    "pairs": {"write_s": 10.0, "analyse_s": 30.0, "memory_bytes": 256 << 20, "record_bytes": 32 << 20},
    "all ranks": {"write_s": 60.0, "analyse_s": 90.0, "memory_bytes": 256 << 20, "record_bytes": 256 << 20},
}


def plan_of(cells: int, launches: int, everyone: int) -> Plan:
    """Ping-pong cells, the last one with `everyone` senders where that is above 0; each against the next one."""
    made = []
    for i in range(cells):
        parameters = {"pattern": "ping_pong", "message_bytes": str(8 * (i + 1)), "samples": str(SAMPLES)}
        if everyone and i == cells - 1:
            parameters = {"pattern": "windowed", "message_bytes": "8", "pairs": str(everyone), "in_flight": "64"}
        made.append(Cell(i, f"key{i}", "scale", f"cell {i}", "p2p", parameters, "default", "bound"))
    metric = "half_round_trip_latency_s"
    sides = [Side(i, "steady", str(i)) for i in range(cells - 1)]
    contrasts = [
        Contrast(f"c{i}", "scale", "?", "message_bytes", metric, a, b)
        for i, (a, b) in enumerate(zip(sides[::2], sides[1::2], strict=False))
    ]
    order = [Launch(i, i, "default", "bound", [cell.cell for cell in made], 1) for i in range(launches)]
    environments, placements = [Environment("default")], [Placement("bound")]
    return Plan(1, "scale", "Scale", 2, launches, 1, 0.03, environments, placements, made, contrasts, order)


def node(first: int, ranks: int) -> dict[str, object]:
    """A node's entry in launch_begin: its ranks bound to a processor each, and no two clocks interrupted alike."""
    each = range(ranks)
    clock = {
        "quantum_ns": 10, "overhead_ns": 20, "max_gap_ns": [900 + (first + i) * 977 % 20_000 for i in each],
        "getres_ns": 1, "wtick_s": 1e-9, "source": "tsc",
    }  # fmt: skip
    return {
        "host": f"node{first // RANKS_A_NODE:04d}", "ranks": f"{first}-{first + ranks - 1}",
        "pid": [100_000 + first + i for i in each], "cpus_allowed": [str(i) for i in each], "cpu": list(each),
        "numa_node": [i // 16 for i in each], "clock": clock,
    }  # fmt: skip


def events(launch: int, ranks: int, cells: int) -> str:
    """events.jsonl as the engine writes it: a line that names every rank, and three for each cell."""
    nodes = [node(first, min(RANKS_A_NODE, ranks - first)) for first in range(0, ranks, RANKS_A_NODE)]
    lines: list[dict[str, object]] = [{"event": "launch_begin", "launch": launch, "size": ranks, "nodes": nodes}]
    for cell in range(cells):
        lines.append({"event": "cell_begin", "cell": cell})
        lines.append({"event": "cell_end", "cell": cell, "status": "ok", "batch": 4, "steady_samples": SAMPLES})
    lines.append({"event": "launch_end", "cells_ok": cells, "cells_skipped": 0, "cells_failed": 0})
    return "".join(json.dumps({"t_ns": 1, **line}) + "\n" for line in lines)


def blocks(rng: np.random.Generator, launch: int, cells: int, everyone: int) -> list[Block]:
    """A first message and a block of later ones for each cell on rank 0; on all senders in the last one if asked."""
    found = []
    for cell in range(cells):
        senders = everyone if everyone and cell == cells - 1 else 1
        for rank in range(senders):
            times = np.rint(40_000 * np.exp(rng.normal(0, 0.02, SAMPLES))).astype(np.int64)
            found.append(Block(cell, launch, "first", [90_000], rank=rank))
            found.append(Block(cell, launch, "steady", times, batch=4, seq0=1, rank=rank))
    return found


def write(folder: Path, ranks: int, launches: int, cells: int, everyone: int) -> None:
    """The whole run folder."""
    rng = np.random.default_rng(1)
    plan = plan_of(cells, launches, everyone)
    folder.mkdir()
    write_plan(folder / "plan.json", plan)
    write_run(folder, RunInfo(1, "scale", "scale", "Scale", "0" * 64, "0.1.0", status="complete", ranks=ranks))
    for launch in range(launches):
        place = launch_folder(folder, launch)
        place.mkdir(parents=True)
        write_blocks(place / "samples.blk", blocks(rng, launch, cells, everyone))
        (place / "events.jsonl").write_text(events(launch, ranks, cells))
        write_launch(folder, LaunchInfo(launch, launch, "default", "bound", ["mpiexec", "-n", str(ranks)]))


def analyse(folder: Path) -> None:
    """The derived files, as `slowpath report` makes them."""
    from slowpath.analyse.build import build_results
    from slowpath.report.run_page import render_html

    results = build_results(folder)
    assert all(cell.status == "ok" for cell in results.cells), "the simulated record is damaged"
    render_html(results)


def timed(words: list[str]) -> tuple[float, int]:
    """Seconds and peak memory in bytes of this script in a process of its own."""
    begin = time.monotonic()
    argv = [sys.executable, __file__, *words]
    script = "import resource, subprocess, sys; c = subprocess.run(sys.argv[1:]).returncode; "
    script += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(c)"
    done = subprocess.run([sys.executable, "-c", script, *argv], check=True, capture_output=True, text=True)
    return time.monotonic() - begin, int(done.stdout.split()[-1]) * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--launches", type=int, default=8)
    parser.add_argument("--cells", type=int, default=44)
    parser.add_argument("--do", nargs=3, metavar=("WHAT", "FOLDER", "EVERYONE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.do:
        what, folder, everyone = asked.do[0], Path(asked.do[1]), int(asked.do[2])
        if what == "write":
            write(folder, asked.ranks, asked.launches, asked.cells, everyone)
        else:
            analyse(folder)
        return 0
    return table(asked.ranks, asked.launches, asked.cells)


def table(ranks: int, launches: int, cells: int) -> int:
    """Prints a row for each record."""
    shape = ["--ranks", str(ranks), "--launches", str(launches), "--cells", str(cells)]
    print(f"{ranks} ranks on {ranks // RANKS_A_NODE} nodes, {launches} launches of {cells} cells\n")
    print("| record | bytes | written | analysed and rendered | peak memory | kept |\n|---|---|---|---|---|---|")
    kept = []
    for name, everyone in (("pairs", 0), ("all ranks", ranks // 2)):
        budget = BUDGETS[name]
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "run"
            written = timed([*shape, "--do", "write", str(folder), str(everyone)])
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            read = timed([*shape, "--do", "analyse", str(folder), str(everyone)])
        within = (
            written[0] <= budget["write_s"] and read[0] <= budget["analyse_s"]
            and read[1] <= budget["memory_bytes"] and size <= budget["record_bytes"]
        )  # fmt: skip
        kept.append(within)
        print(
            f"| {name} | {size / 2**20:.1f} MiB | {written[0]:.1f} s | {read[0]:.1f} s | {read[1] / 2**20:.0f} MiB | "
            f"{'yes' if within else '**no**'} |"
        )
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
