# SPDX-License-Identifier: Apache-2.0
"""The run as the page shows it: the line under the headline, the environment, the commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from slowpath.report import format as fmt
from slowpath.report.view_witness import calls_words

Json = Any
Facts = list[tuple[str, str]]
LABELS_SHOWN = 4  # of the cells that share one reason


def summary(results: Json) -> list[str]:
    """What was measured, where and for how long."""
    run, cells = results["run"], results["cells"]
    done = sum(cell["status"] in ("ok", "partial") for cell in cells)
    launches = run.get("launches") or {}
    planned, ran = launches.get("planned"), launches.get("done")
    parts = [f"{done} of {fmt.plural(len(cells), 'cell')} measured"]
    if ran is not None:
        some = f"{ran} of {planned} launches" if planned not in (None, ran) else fmt.plural(ran, "launch")
        parts.append(some)
    if run.get("wall_s") is not None:
        parts.append(fmt.duration(run["wall_s"]))
    machine = run.get("machine") or {}
    used = [mpi for mpi in run.get("mpis") or [run.get("mpi") or {}] if not mpi.get("unavailable")]
    names = ", ".join(" ".join(filter(None, (mpi.get("name"), mpi.get("version")))) for mpi in used)
    parts += [str(found) for found in (names, machine.get("host"), run.get("started")) if found]
    return parts


def spread_note(results: Json) -> str | None:
    """A warning when no cell was measured in more than one launch: then no interval knows the run-to-run spread."""
    counts = [
        estimate.get("launches") or 0
        for cell in results["cells"]
        for metric in (cell.get("metrics") or {}).values()
        for estimate in metric["phases"].values()
    ]
    return "Each cell in one launch: run-to-run spread unknown." if counts and max(counts) == 1 else None


def status_note(run: Json) -> str | None:
    """A warning when the run did not come to its end."""
    if run.get("status") in (None, "complete"):
        return None
    launches = run.get("launches") or {}
    what = {"interrupted": "The run was interrupted", "partial": "The run is partial"}.get(run["status"], run["status"])
    done, planned, failed = (launches.get(name) for name in ("done", "planned", "failed"))
    if done is None or planned is None:
        return f"{what}."
    lost = f"; {fmt.plural(failed, 'launch')} failed" if failed else ""
    return f"{what}: {done} of {fmt.plural(planned, 'launch')} ended{lost}."


def environment(run: Json) -> list[tuple[str, Facts]]:
    """Everything recorded about the MPI, the machine, the run and how it was bound, as titled lists."""
    machine = dict(run.get("machine") or {})
    own = {key: value for key, value in run.items() if key not in _ELSEWHERE}
    lists = [("MPI", run.get("mpi") or {}), ("Machine", machine), ("Run", own)]
    lists += [(_words(key), machine.pop(key)) for key in list(machine) if isinstance(machine[key], dict)]
    shown = [(title, list(_flat(found))) for title, found in lists if found]
    shown.append(("Environments", [(e["name"], _settings(e)) for e in run.get("environments") or ()]))
    shown.append(("Placements", [(p["name"], _binding(p)) for p in run.get("placements") or ()]))
    return [(title, facts) for title, facts in shown if facts]


_PLACE = ("spread", "nodes", "ranks_per_node", "hosts")
_ELSEWHERE = ("mpi", "machine", "launches", "command", "environments", "placements", "notes")


def _settings(environment: Json) -> str:
    """The variables of an environment, or why this MPI cannot be put into it."""
    if environment.get("unavailable"):
        return f"{fmt.MISSING} {environment['unavailable']}"
    variables = environment.get("variables") or {}
    return ", ".join(f"{name}={value}" for name, value in variables.items()) or "as found"


def _binding(placement: Json) -> str:
    """What was asked of the launcher, and the processors that the ranks found themselves on."""
    place = [f"{key.replace('_', ' ')} {_value(key, placement[key])}" for key in _PLACE if placement.get(key)]
    asked = f"asked: {', '.join([placement.get('bind') or fmt.MISSING + ' not recorded', *place])}"
    observed = placement.get("observed") or ()
    several = len({one["host"] for one in observed}) > 1
    ranks = [f"rank {one['rank']} on {one['host'] + ' ' if several else ''}{one['cpus_allowed']}" for one in observed]
    differs = "".join(f"; warning: {text}" for text in placement.get("differs") or ())
    return f"{asked}; observed: {', '.join(ranks) if ranks else fmt.MISSING + ' no launch told'}{differs}"


def _flat(found: Json, above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        name = f"{above} {_words(key)}".strip() if _is_ours(key) else f"{above} {key}".strip()
        if isinstance(value, dict) and value:
            yield from _flat(value, name)
        else:
            yield name, _value(key, value)


def _is_ours(key: str) -> bool:
    """Names of environment variables stay as they are; our own keys become words."""
    return key.islower()


def _words(key: str) -> str:
    for suffix in ("_bytes", "_ns", "_s"):
        key = key.removesuffix(suffix)
    words = key.replace("_", " ")
    return {"mpi": "MPI", "cpu": "CPU", "gpus": "GPUs", "os": "operating system", "abi": "ABI", "id": "identity"}.get(
        words, words
    )


def _value(key: str, value: Any) -> str:
    if value is None or value == "":
        return f"{fmt.MISSING} not recorded"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, dict)):
        return ", ".join(_value("", one) for one in value) if value else "none"
    if isinstance(value, (int, float)):
        if key.endswith("_bytes"):
            return f"{value:,} B".replace(",", " ")
        if key.endswith("_ns"):
            return f"{value:g} ns"
        if key.endswith("_s"):
            return fmt.duration(float(value))
    return str(value)


def run_command(run: Json) -> str | None:
    """How to run it again, as one line for a shell."""
    command = run.get("command")
    return shlex.join(command) if isinstance(command, list) else command


def commands(results: Json) -> list[tuple[int, str, str, str]]:
    """Cell, its label, its group and the command that measures it alone; cells without a command say why."""
    why = (
        "imported: the log does not state its command" if results["run"].get("imported") else "no command was recorded"
    )
    return [
        (
            cell["cell"],
            cell["label"],
            cell["group"],
            cell.get("reproduce") or f"{fmt.MISSING} {cell.get('reason') or why}",
        )
        for cell in results["cells"]
    ]


def witnesses(results: Json) -> tuple[list[str], list[list[str]]]:
    """What was counted beside the times: one row for each cell, phase and role that has a witness."""
    names = ("minor_faults_per_op", "major_faults_per_op", "system_time_s_per_op", "involuntary_switches")
    rows = []
    for cell in results["cells"]:
        for phase, roles in (cell.get("witness") or {}).items():
            for role, one in (roles or {}).items():
                if isinstance(one, dict):
                    counts = [_count(name, one.get(name)) for name in names]
                    rows.append([cell["label"], phase, role, *counts, calls_words(cell, one)])
    head = ["Cell", "Phase", "Role", "Minor faults / operation", "Major faults / operation", "System time / operation"]
    return [*head, "Involuntary switches", "Calls of the C library / operation"], rows


def _count(name: str, value: float | None) -> str:
    if value is None:
        return f"{fmt.MISSING} not counted"
    return fmt.time(value) if "_s_" in name else f"{value:.3g}"


def skipped_groups(results: Json) -> list[Json]:
    """What was not measured, one entry for each status and reason; the cells that share it are named together."""
    groups: dict[tuple[str, str], list[Json]] = {}
    for row in results.get("skipped") or []:
        groups.setdefault((row["status"], row.get("reason") or "no reason was recorded"), []).append(row)
    return [_skipped_group(status, reason, rows) for (status, reason), rows in groups.items()]


def _skipped_group(status: str, reason: str, rows: list[Json]) -> Json:
    labels = [row["label"] for row in rows]
    label = ", ".join(labels) if len(labels) == 1 else f"{len(labels)} cells: {'; '.join(labels[:LABELS_SHOWN])}"
    more = len(labels) - LABELS_SHOWN
    told = next((row for row in rows if row.get("output")), rows[0])
    return {
        "status": status,
        "reason": reason,
        "label": label + (f"; and {more} more" if len(labels) > 1 and more > 0 else ""),
        "launches": max(row.get("launches") or 0 for row in rows),
        "log": told.get("log"),
        "output": told.get("output"),
    }
