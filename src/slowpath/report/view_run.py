# SPDX-License-Identifier: Apache-2.0
"""The run as the page shows it: the line under the headline, the environment, the commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from slowpath.core.results import (
    EnvironmentResult,
    MpiResult,
    PlacementResult,
    Results,
    RunResult,
    SkippedRow,
    Verdict,
)
from slowpath.report import format as fmt
from slowpath.report.view_witness import calls_words

Facts = list[tuple[str, str]]
Number = tuple[str, str]  # as it is shown, and of what
_NOT_RECORDED = f"{fmt.MISSING} not recorded"
LABELS_SHOWN = 4  # of the cells that share one reason


def summary(results: Results) -> list[str]:
    """Return what was measured, for how long, and where unless the verdict states that."""
    run, cells = results.run, results.cells
    done = sum(cell.status in ("ok", "partial") for cell in cells)
    planned, ran = run.launches.planned, run.launches.done
    parts = [f"{done} of {fmt.plural(len(cells), 'cell')} measured"]
    parts.append(f"{ran} of {planned} launches" if planned != ran else fmt.plural(ran, "launch"))
    if run.wall_s is not None:
        parts.append(fmt.duration(run.wall_s))
    if results.verdict.place is not None:
        return parts
    parts += [str(found) for found in (mpi_names(run), run.machine.get("host"), run.started) if found]
    return parts


def place(results: Results) -> list[str]:
    """Return host, library and start of the run."""
    run = results.run
    found = (run.machine.get("host"), mpi_names(run), date(run.started))
    return [str(word) for word in found if word]


def mpi_names(run: RunResult) -> str:
    """Return the MPIs that were available, such as `mpich 5.0.2, openmpi 5.0.11`."""
    used = [mpi for mpi in run.mpis or [run.mpi] if not mpi.unavailable]
    return ", ".join(filter(None, (" ".join(filter(None, (mpi.name, mpi.version))) for mpi in used)))


def date(moment: str | None) -> str | None:
    """Return date and time of an ISO 8601 moment, such as `2026-11-22 09:59`."""
    return moment[:16].replace("T", " ") if moment else None


def numbers(results: Results) -> list[Number]:
    """Return the few numbers under the headline."""
    run, cells = results.run, results.cells
    done = sum(cell.status in ("ok", "partial") for cell in cells)
    planned, ran = run.launches.planned, run.launches.done
    found = counted(results.verdict)
    found.append((str(done) if done == len(cells) else f"{done} of {len(cells)}", "cells measured"))
    found.append((str(ran) if planned == ran else f"{ran} of {planned}", "launches"))
    return [*found, *([(fmt.duration(run.wall_s), "measured for")] if run.wall_s is not None else [])]


def counted(verdict: Verdict) -> list[Number]:
    """Return the numbers of faults, proven opportunities and open questions."""
    found = [(str(verdict.faults), "faults" if verdict.faults != 1 else "fault")]
    found.append(
        (str(verdict.opportunities), "proven opportunities" if verdict.opportunities != 1 else "proven opportunity")
    )
    if verdict.properties:
        found.append((str(verdict.properties), "properties of the library"))
    if verdict.off_default:
        found.append((str(verdict.off_default), "under settings that are not yours"))
    return [
        *found,
        *([(f"{verdict.undecided} of {verdict.questions}", "questions undecided")] if verdict.undecided else []),
    ]


def spread_note(results: Results) -> str | None:
    """Return a warning if no cell was measured in several launches, so that intervals lack the run-to-run spread."""
    counts = [
        estimate.launches
        for cell in results.cells
        for metric in cell.metrics.values()
        for estimate in metric.phases.values()
    ]
    return "Each cell in one launch: run-to-run spread unknown." if counts and max(counts) == 1 else None


def status_note(run: RunResult) -> str | None:
    """Return a warning if the run is not complete."""
    if run.status == "complete":
        return None
    launches = run.launches
    lost = f"; {fmt.plural(launches.failed, 'launch')} failed" if launches.failed else ""
    return f"{_STATUS[run.status]}: {launches.done} of {fmt.plural(launches.planned, 'launch')} ended{lost}."


def ignored_note(mpi: MpiResult) -> str | None:
    """Return a note about variables of the user that UCX did not recognise."""
    unused = mpi.unused_variables
    if not unused:
        return None
    reported = (f"{name} (nearest: {near})" if near else name for name, near in unused.items())
    return f"Ignored: nothing in UCX reads {', '.join(reported)}."


def missing_note(results: Results) -> str | None:
    """Return how many cells were not measured and the reason of most of them, where they are many."""
    known = {cell.cell for cell in results.cells}
    rows = [row for row in results.skipped if row.cell in known]
    missing = {row.cell for row in rows}
    if len(missing) <= MANY_MISSING * len(known):
        return None
    by_reason: dict[str, set[int | None]] = {}
    for row in rows:
        by_reason.setdefault(_OWN_PARAMETER.sub("", row.reason), set()).add(row.cell)
    reason, cells = max(by_reason.items(), key=lambda one: len(one[1]))
    which = "" if len(cells) == len(missing) else f", {len(cells)} of them"
    return f"Not measured: {len(missing)} of {len(known)} cells{which}: {reason}."


MANY_MISSING = 0.25  # of a run's cells
_STATUS = {
    "running": "The run has not ended",
    "interrupted": "The run was interrupted",
    "partial": "The run is partial",
}


def environment(run: RunResult) -> list[tuple[str, Facts]]:
    """Return all recorded facts about the MPI, the machine, the run and its binding, as titled lists."""
    parts = {key: value for key, value in run.machine.items() if isinstance(value, dict)}
    machine = {key: value for key, value in run.machine.items() if key not in parts}
    own = {key: value for key, value in msgspec.to_builtins(run).items() if key not in _ELSEWHERE}
    lists = [(f"MPI {mpi.mpi}" if len(run.mpis) > 1 else "MPI", _mpi(mpi)) for mpi in run.mpis or [run.mpi]]
    lists += [("Machine", machine), ("Run", own), *((_words(key), found) for key, found in parts.items())]
    shown = [(title, list(_flat(found))) for title, found in lists if found]
    shown.append(("Environments", [(e.name, _settings(e)) for e in run.environments]))
    shown.append(("Placements", [(p.name, _binding(p)) for p in run.placements]))
    return [(title, _gathered(facts)) for title, facts in shown if facts]


def _gathered(facts: Facts) -> Facts:
    """Move facts that were not recorded into one line at the end."""
    missing = [name for name, value in facts if value == _NOT_RECORDED]
    kept = [(name, value) for name, value in facts if value != _NOT_RECORDED]
    return [*kept, (_NOT_RECORDED, ", ".join(missing))] if missing else kept


_ELSEWHERE = ("mpi", "mpis", "machine", "launches", "command", "environments", "placements")
_VARIABLES = ("control_variables", "performance_variables", "protocols")


def _mpi(mpi: MpiResult) -> dict[str, Any]:
    """Return the facts about an MPI. Of variables and protocols, which would fill pages, only the number is shown."""
    found: dict[str, Any] = msgspec.to_builtins(mpi)
    if mpi.paths:
        found["paths"] = "; ".join(path.words for path in mpi.paths)
    facts = {key: value for key, value in found.items() if key != "mpi" and (key, value) != ("unavailable", None)}
    return {key: f"{len(value)} in results.json" if value and key in _VARIABLES else value
            for key, value in facts.items()}  # fmt: skip


def _settings(environment: EnvironmentResult) -> str:
    """Return the variables of an environment, or why this MPI can't provide it."""
    if environment.unavailable:
        return f"{fmt.MISSING} {environment.unavailable}"
    return ", ".join(f"{name}={value}" for name, value in environment.variables.items()) or "as found"


def _binding(placement: PlacementResult) -> str:
    """Return the requested placement and the processors on which the ranks ran."""
    place = [
        ("spread", placement.spread),
        ("nodes", placement.nodes),
        ("ranks per node", placement.ranks_per_node),
        ("hosts", placement.hosts),
    ]
    asked = ", ".join([placement.bind, *(f"{name} {_value('', value)}" for name, value in place if value)])
    observed = placement.observed
    several = len({rank.host for rank in observed}) > 1
    ranks = [f"rank {rank.rank} on {rank.host + ' ' if several else ''}{rank.cpus_allowed}" for rank in observed]
    found = ", ".join(ranks) if ranks else f"{fmt.MISSING} no launch reported it"
    return f"asked: {asked}; observed: {found}{''.join(f'; warning: {text}' for text in placement.differs)}"


def _flat(found: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        name = f"{above} {_words(key)}".strip() if _is_ours(key) else f"{above} {key}".strip()
        if isinstance(value, dict) and value:
            yield from _flat(value, name)
        else:
            yield name, _value(key, value)


def _is_ours(key: str) -> bool:
    """Return whether a key is Slowpath's own. Names of environment variables stay unchanged."""
    return key.islower()


def _words(key: str) -> str:
    for suffix in ("_bytes", "_ns", "_s"):
        key = key.removesuffix(suffix)
    words = key.replace("_", " ")
    return {
        "mpi": "MPI",
        "cpu": "CPU",
        "gpus": "GPUs",
        "gpu driver": "GPU driver",
        "os": "operating system",
        "abi": "ABI",
        "id": "identity",
    }.get(words, words)


def _value(key: str, value: Any) -> str:
    if value is None or value == "":
        return _NOT_RECORDED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, dict)):
        return ", ".join(_value("", item) for item in value) if value else "none"
    if isinstance(value, (int, float)):
        if key.endswith("_bytes"):
            return f"{value:,} B".replace(",", " ")
        if key.endswith("_ns"):
            return f"{value:g} ns"
        if key.endswith("_s"):
            return fmt.duration(float(value))
    return str(value)


def run_command(run: RunResult) -> str | None:
    """Return the shell command that repeats the run."""
    return shlex.join(run.command) if run.command else None


def command_line(words: Sequence[str]) -> str | None:
    """Return a command as one line for a shell, or None if it was not recorded."""
    return shlex.join(words) or None


def commands(results: Results) -> list[tuple[int, str, str, str]]:
    """Return cell, label, group and the command that measures each cell separately, or why there is none."""
    why = "imported: the log does not state its command" if results.run.imported else "no command was recorded"
    return [
        (
            cell.cell,
            cell.label,
            cell.group,
            cell.reproduce or f"{fmt.MISSING} {cell.reason or why}",
        )
        for cell in results.cells
    ]


def witnesses(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return a row of counts for each cell, phase and role that has a witness."""
    rows = []
    for cell in results.cells:
        for phase, roles in (cell.witness or {}).items():
            for role, role_witness in roles.items():
                if role_witness is not None:
                    counts = [_count(role_witness.minor_faults_per_op), _count(role_witness.major_faults_per_op)]
                    counts += [
                        _count(role_witness.system_time_s_per_op, fmt.time),
                        _count(role_witness.involuntary_switches),
                    ]
                    rows.append([cell.label, phase, role, *counts, calls_words(cell, role_witness)])
    head = ["Cell", "Phase", "Role", "Minor faults / operation", "Major faults / operation", "System time / operation"]
    return [*head, "Involuntary switches", "Calls of the C library / operation"], rows


def _count(value: float | None, shown: Callable[[float], str] = "{:.3g}".format) -> str:
    return f"{fmt.MISSING} not counted" if value is None else shown(value)


@dataclass(frozen=True, slots=True)
class SkippedGroup:
    """Cells that share a status and a reason. `label` names some of them; `log` and `output` belong to one of them."""

    status: str
    reason: str
    label: str
    launches: int
    log: str | None
    output: str | None


def skipped_groups(results: Results) -> list[SkippedGroup]:
    """Return the cells that were not measured, grouped by status and reason.

    A reason that begins with the cell's own parameter, as `design=openshmem_p: `, is the same as that of a cell with
    another value of it.
    """
    groups: dict[tuple[str, str], list[SkippedRow]] = {}
    for row in results.skipped:
        reason = row.reason or "no reason was recorded"
        groups.setdefault((row.status, _OWN_PARAMETER.sub("", reason)), []).append(row)
    return [
        _skipped_group(status, rows[0].reason if len(rows) == 1 and rows[0].reason else reason, rows)
        for (status, reason), rows in groups.items()
    ]


_OWN_PARAMETER = re.compile(r"^[a-z_]+=[\w.-]+: ")


def _skipped_group(status: str, reason: str, rows: Sequence[SkippedRow]) -> SkippedGroup:
    labels = [row.label for row in rows]
    label = ", ".join(labels) if len(labels) == 1 else f"{len(labels)} cells: {'; '.join(labels[:LABELS_SHOWN])}"
    more = len(labels) - LABELS_SHOWN
    printed = next((row for row in rows if row.output), rows[0])
    return SkippedGroup(
        status,
        reason,
        label + (f"; and {more} more" if len(labels) > 1 and more > 0 else ""),
        max(row.launches for row in rows),
        printed.log,
        printed.output,
    )
