# SPDX-License-Identifier: Apache-2.0
"""What a run folder holds, without its times: two runs of one campaign must agree in all of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from slowpath.analyse.build import beyond_notes, build_results
from slowpath.experiments.measured.load import load_launches
from slowpath.record.blocks import scan
from slowpath.record.events import read_events
from slowpath.record.folder import launch_folder, read_launches, read_run

KEY = ("cell", "rank", "phase", "allocation", "part", "seq0")
Signature = dict[str, Any]


def signature(run: Path) -> Signature:
    """By cell: status, and of each metric and phase the launches and the number of samples."""
    results = build_results(run)
    return {
        cell.key: {
            "label": cell.label,
            "status": cell.status,
            "wrong_bytes": cell.wrong_bytes,
            "allocations": cell.allocations.count if cell.allocations else None,
            "metrics": {
                name: {phase: (one.launches, one.samples) for phase, one in metric.phases.items()}
                for name, metric in cell.metrics.items()
            },
        }
        for cell in results.cells
    }


def unreadable(run: Path) -> str | None:
    """Why the folder of a run that was hit can't be read; None: it can."""
    try:
        read_run(run)
        build_results(run)
    except Exception as error:  # whatever it is, it is what a user would meet
        return f"{type(error).__name__}: {error}"
    return None


def doubled(run: Path) -> list[str]:
    """Samples that count twice: a cell brought to an end by two launches of a round, or a block that is there twice."""
    measured: Counter[tuple[int, int]] = Counter()
    found = []
    for info in read_launches(run):
        folder = launch_folder(run, info.launch)
        if not (folder / "samples.blk").exists():
            continue
        ends = read_events(folder / "events.jsonl").cell_ends
        measured.update((cell, info.round) for cell, end in ends.items() if end.status == "ok")
        blocks = Counter(tuple(int(head[name]) for name in KEY) for head in scan(folder / "samples.blk").headers)
        found += [f"launch {info.launch}: block {key} is there {n} times" for key, n in blocks.items() if n > 1]
    found += [f"cell {cell} in round {round_}: {n} launches" for (cell, round_), n in measured.items() if n > 1]
    return found


def at_once(run: Path) -> list[str]:
    """Notes on launches that two processes measured at the same time, or beyond the plan."""
    return beyond_notes(load_launches(run))


def differences(expected: Signature, got: Signature) -> list[str]:
    """In words, one line for each cell."""
    if set(expected) != set(got):
        return [f"{len(expected)} cells expected, {len(got)} there"]
    return [f"{cell['label']}: {got[key]} instead of {cell}" for key, cell in expected.items() if got[key] != cell]
