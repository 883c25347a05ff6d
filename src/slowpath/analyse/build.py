# SPDX-License-Identifier: Apache-2.0
"""Builds results.json (docs/results.md) from a run folder, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slowpath.analyse.contrasts import build_contrasts
from slowpath.analyse.estimates import estimate
from slowpath.analyse.load import LaunchRecord, first_good_launches, load_launches
from slowpath.analyse.metrics import METRICS, Absent, bandwidth_bytes_per_s, derive
from slowpath.analyse.outcomes import skipped_rows
from slowpath.analyse.reduce import Reduced, reduce
from slowpath.analyse.reproduce import command_line
from slowpath.analyse.verdict import judge
from slowpath.analyse.witness import allocations, validated, witnesses
from slowpath.plan.files import read_plan
from slowpath.plan.model import Cell, Plan
from slowpath.record.events import Note
from slowpath.record.folder import RunInfo, read_run
from slowpath.stats.first import first_slow

RESULTS_SCHEMA = 1


class Measurements:
    """Every launch of a run, reduced: by cell, metric and phase, then by round."""

    def __init__(self, plan: Plan, launches: Sequence[LaunchRecord]) -> None:
        self.by_series: dict[tuple[int, str, str], dict[int, tuple[int, Reduced]]] = {}
        self.absent: dict[tuple[int, str], str] = {}
        self.launches_of: dict[int, list[LaunchRecord]] = {}
        cells = {cell.cell: cell for cell in plan.cells}
        chosen = first_good_launches(launches)
        for launch in launches:
            numbers = [number for number in chosen[launch.info.launch] if number in cells]
            for number, blocks in launch.cell_blocks(numbers).items():
                self.launches_of.setdefault(number, []).append(launch)
                parameters = cells[number].parameters
                for metric, found in derive(parameters, blocks, launch.size, launch.one_clock).items():
                    if isinstance(found, Absent):
                        self.absent[number, metric] = found.reason
                        continue
                    for phase, series in found.items():
                        consecutive = phase == "steady" and parameters.get("pattern") in (
                            "ping_pong",
                            "windowed",
                        )
                        if reduced := reduce(series, consecutive):
                            rounds = self.by_series.setdefault((number, metric, phase), {})
                            rounds[launch.info.round] = (launch.info.launch, reduced)


def build_results(run: Path) -> dict[str, Any]:
    """Everything that can be concluded from a run folder.

    Raises: RecordError when run.json or plan.json is missing, damaged or from a newer version.
    """
    info, plan = read_run(run), read_plan(run / "plan.json")
    launches = load_launches(run)
    measurements = Measurements(plan, launches)
    suspects = _suspects(launches)
    contrasts = build_contrasts(plan, measurements.by_series, info.imported, suspects)
    cells = [_cell(cell, plan, measurements) for cell in plan.cells]
    _add_reproduction(contrasts, cells)
    unmeasured = sum(cell["status"] in ("skipped", "failed") for cell in cells)
    verdict = judge(contrasts, unmeasured)
    return {
        "schema": RESULTS_SCHEMA,
        "run": _run(info, plan, launches, run),
        "verdict": verdict,
        "cells": cells,
        "contrasts": contrasts,
        "findings": [],
        "skipped": skipped_rows(plan, launches, run),
        "notes": [*info.notes, *(note for launch in launches for note in launch.notes), *_said(launches, info.notes)],
    }


def _run(info: RunInfo, plan: Plan, launches: Sequence[LaunchRecord], run: Path) -> dict[str, Any]:
    failed = sum(launch.info.ended != "ok" for launch in launches)
    begin = next((launch.events.begin for launch in launches if launch.events.begin), None)
    library = {"library": begin.mpi_library, "standard": begin.mpi_standard} if begin else {}
    return {
        "id": info.id,
        "folder": str(run),
        "campaign": info.campaign,
        "title": info.title,
        "started": info.started,
        "finished": info.finished,
        "wall_s": info.wall_s,
        "seed": info.seed,
        "engine": info.engine,
        "slowpath": info.slowpath,
        "imported": info.imported,
        "mpi": {**library, **{k: v for k, v in info.mpi.items() if v is not None}},
        "machine": info.machine,
        "launches": {"planned": len(plan.launches), "done": len(launches) - failed, "failed": failed},
        "rounds": plan.rounds,
        "status": info.status,
        "command": info.command,
        "environments": [
            {"name": e.name, "setting": e.setting, "variables": e.variables, "unavailable": e.unavailable}
            for e in plan.environments
        ],
        "placements": [_placement(p.name, p.bind, launches) for p in plan.placements],
        "quantum_ns": max((q for launch in launches if (q := launch.quantum_ns) is not None), default=None),
    }


def _placement(name: str, bind: str, launches: Sequence[LaunchRecord]) -> dict[str, Any]:
    """A placement as asked for, and the binding that the ranks of its first launch observed."""
    here = next((launch for launch in launches if launch.info.placement == name and launch.ranks), None)
    ranks = here.ranks if here else ()
    return {
        "name": name,
        "bind": bind,
        "observed": [{"rank": r.rank, "host": r.host, "cpus_allowed": r.cpus_allowed, "cpu": r.cpu} for r in ranks],
    }


def _cell(cell: Cell, plan: Plan, measurements: Measurements) -> dict[str, Any]:
    launches = measurements.launches_of.get(cell.cell, [])
    checked, wrong = validated(launches, cell.cell)
    status, reason = _status(cell, plan, launches)
    first = launches[0].info if launches else None
    return {
        "cell": cell.cell,
        "key": cell.key,
        "label": cell.label,
        "group": cell.group,
        "experiment": cell.experiment,
        "parameters": cell.parameters,
        "environment": cell.environment,
        "placement": cell.placement,
        "copy": cell.copy,
        "status": status,
        "reason": reason,
        "metrics": _metrics(cell, measurements, launches),
        "absent": {metric: why for (number, metric), why in measurements.absent.items() if number == cell.cell},
        "allocations": allocations(launches, cell.cell),
        "witness": witnesses(launches, cell.cell),
        "validated_bytes": checked,
        "wrong_bytes": wrong,
        "reproduce": first and command_line(first.argv, first.variables, cell.experiment, cell.parameters),
    }


def _status(cell: Cell, plan: Plan, launches: Sequence[LaunchRecord]) -> tuple[str, str | None]:
    if cell.skip:
        return "skipped", cell.skip
    if not launches:
        return "failed", "no launch measured it; see the list of what was skipped"
    if len(launches) < plan.rounds:
        return "partial", f"measured in {len(launches)} of {plan.rounds} rounds"
    return "ok", None


def _metrics(cell: Cell, measurements: Measurements, launches: Sequence[LaunchRecord]) -> dict[str, Any]:
    quanta = [q for launch in launches if (q := launch.quantum_ns) is not None]
    result: dict[str, Any] = {}
    for (number, name, phase), rounds in measurements.by_series.items():
        if number != cell.cell:
            continue
        metric = METRICS[name]
        found = estimate([reduced for _, reduced in rounds.values()], max(quanta) if quanta else None)
        _add_rates(found, name, int(cell.parameters.get("message_bytes", "0")))
        entry = result.setdefault(name, {"unit": metric.unit, "better": metric.better, "phases": {}})
        entry["phases"][phase] = found
        entry["first_slow"] = _first_slow(measurements, number, name)
    return result


def _first_slow(measurements: Measurements, cell: int, metric: str) -> dict[str, Any] | None:
    """In how many launches the first message lies far outside the later ones; None when a phase is missing."""
    firsts = measurements.by_series.get((cell, metric, "first"), {})
    later = measurements.by_series.get((cell, metric, "steady"), {})
    rounds = sorted(firsts.keys() & later.keys())
    if not rounds:
        return None
    found = first_slow([firsts[r][1].median_s for r in rounds], [later[r][1].kept_s for r in rounds])
    return {"slow": found.slow, "launches_slow": found.launches_slow, "launches": found.launches}


def _add_rates(found: dict[str, Any], metric: str, message_bytes: int) -> None:
    """Bandwidth and message rate are the same measurement turned over; their intervals turn over with it."""
    if metric not in ("time_per_message_s", "half_round_trip_latency_s", "one_way_s"):
        return
    low, high = found["interval"] or (None, None)
    found["bandwidth_bytes_per_s"] = bandwidth_bytes_per_s(message_bytes, found["value"])
    found["bandwidth_interval"] = (
        [message_bytes / high, message_bytes / low] if message_bytes and low and high else None
    )
    if metric == "time_per_message_s":
        found["message_rate_per_s"] = 1.0 / found["value"]


def _suspects(launches: Sequence[LaunchRecord]) -> dict[int, list[str]]:
    """Cell -> notes on doubtful values, as the importer or the engine flagged them."""
    found: dict[int, list[str]] = {}
    for launch in launches:
        if launch.blocks is None:
            continue
        flagged = {int(cell) for cell in launch.blocks.headers["cell"][launch.blocks.flag("suspect")]}
        for note in launch.events.of(Note):
            if note.cell in flagged:
                found.setdefault(note.cell, []).append(note.text)
    return found


def _said(launches: Sequence[LaunchRecord], known: Sequence[str]) -> list[str]:
    """Notes that the engine wrote, each once; an importer's stand in run.json already."""
    texts = dict.fromkeys(note.text for launch in launches for note in launch.events.of(Note))
    return [text for text in texts if not any(text in other for other in known)]


def _add_reproduction(contrasts: Sequence[dict[str, Any]], cells: Sequence[Mapping[str, Any]]) -> None:
    commands = {cell["cell"]: cell["reproduce"] for cell in cells}
    for contrast in contrasts:
        contrast["reproduce"] = {side: commands[contrast[side]["cell"]] for side in ("a", "b")}
