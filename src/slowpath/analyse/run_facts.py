# SPDX-License-Identifier: Apache-2.0
"""What a headline needs to know of its run, what is noted of MPIs that are not there, and what was not measured.

What was not measured has one row for each cell and way of failing, with the reason and the job's last words.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.files import open_regular
from slowpath.core.guard import clean_text
from slowpath.core.place import PlaceFacts, PlaceFault
from slowpath.core.plan import Plan
from slowpath.core.results import Results, RunResult, SkippedRow, nothing_measured
from slowpath.experiments.measured import LaunchRecord
from slowpath.findings.tally import RunFacts
from slowpath.mpi.place import PlaceJob, faults

CHECKS = frozenset({"checkup", "survey"})  # campaigns that ask whether a machine is healthy


def run_facts(results: Results) -> RunFacts:
    """Of results whose cells are concluded."""
    run = results.run
    measured = run.wall_s is not None and run.rounds > 0 and not run.imported
    return RunFacts(
        place=place_of(run),
        rounds=0 if run.imported else run.rounds,
        round_s=run.wall_s / run.rounds if measured and run.wall_s else None,
        failed=sum(cell.status == "failed" for cell in results.cells),
        skipped=sum(cell.status == "skipped" for cell in results.cells),
        cells=len(results.cells),
        measured=sum(cell.is_measured for cell in results.cells),
        nothing=nothing_measured(results),
        is_check=run.campaign in CHECKS,
        wrong_place=tuple(wrong_place(run)),
    )


def wrong_place(run: RunResult, ranks: int | None = None) -> list[PlaceFault]:
    """What is wrong with the place where it was measured; nothing where that was not recorded.

    Args: ranks: of the jobs that it is about, on all nodes; None: of its largest.
    """
    place = msgspec.convert(run.machine.get("place") or {}, PlaceFacts)
    allocation = run.machine.get("allocation")
    nodes = allocation.get("nodes") if isinstance(allocation, dict) else None
    count = (place.ranks or 0) if ranks is None else ranks
    on_one = -(-count // (nodes if isinstance(nodes, int) and nodes > 0 else 1))
    return faults(place, PlaceJob(on_one, run.mpi.name, run.machine.get("variables") or {}))


def place_of(run: RunResult) -> str | None:
    """`n1, mpich 5.0.2, 2026-01-31`; None: nothing of it is known, as in logs."""
    used = [mpi for mpi in run.mpis or [run.mpi] if not mpi.unavailable]
    names = ", ".join(" ".join(filter(None, (mpi.name, mpi.version))) for mpi in used)
    host, date = run.machine.get("host"), (run.started or "").partition("T")[0]
    return ", ".join(str(part) for part in (host, names, date) if part) or None


def absent_notes(results: Results) -> list[str]:
    """One line for each MPI that the campaign asks for and that is not here."""
    found = []
    for mpi in results.run.mpis:
        left_out = sum(cell.mpi == mpi.mpi for cell in results.cells)
        if mpi.unavailable:
            cells = f"; {left_out} cell{'' if left_out == 1 else 's'} left out" if left_out else ""
            found.append(f"{mpi.mpi} is not here: {mpi.unavailable}{cells}")
    return found


LAST_LINES = 12
LAST_BYTES = 4096


def skipped_rows(plan: Plan, launches: Sequence[LaunchRecord], run: Path) -> list[SkippedRow]:
    """Rows for results.json's `skipped`, in the order of cells, then whole launches that never began."""
    rows: dict[tuple[int | None, str, str], SkippedRow] = {}
    labels = {cell.cell: cell.label for cell in plan.cells}

    def add(cell: int | None, label: str, status: str, reason: str, launch: LaunchRecord | None) -> None:
        key = (cell, status, reason)
        row = rows.get(key) or SkippedRow(
            cell=cell, label=label, status=status, reason=reason, launches=0, log=None, output=None
        )
        if launch is not None:
            log, output = _last_words(launch, run)
            row = msgspec.structs.replace(
                row, launch_reason=launch.info.reason, launches=row.launches + 1, log=log, output=output
            )
        rows[key] = row

    for cell in plan.cells:
        if cell.skip:
            add(cell.cell, cell.label, "skipped", cell.skip, None)
    for launch in launches:
        ends = launch.events.cell_ends
        for number, end in ends.items():
            if end.status != "ok":
                add(
                    number,
                    labels.get(number, f"cell {number}"),
                    end.status,
                    end.reason or "no reason given",
                    launch,
                )
        for failed in launch.info.failed_cells:
            if failed.cell not in ends:
                add(
                    failed.cell,
                    labels.get(failed.cell, f"cell {failed.cell}"),
                    failed.status,
                    failed.reason,
                    launch,
                )
        if launch.info.ended != "ok" and not launch.info.failed_cells:
            label = f"launch in environment '{launch.info.environment}', placement '{launch.info.placement}'"
            add(None, label, launch.info.ended, launch.info.reason or "no reason given", launch)
    return sorted(rows.values(), key=lambda row: (row.cell is None, row.cell or 0))


def declined_cells(launches: Sequence[LaunchRecord]) -> dict[int, str]:
    """Return the cells that the engine skipped in every launch that came to them, with its reasons.

    A cell that also failed, hung or crashed in a launch is not among them.
    """
    reasons: dict[int, dict[str, None]] = {}
    otherwise: set[int] = set()
    for launch in launches:
        ends = launch.events.cell_ends
        for number, end in ends.items():
            if end.status == "skipped":
                reasons.setdefault(number, {})[end.reason or "no reason given"] = None
            else:
                otherwise.add(number)
        otherwise |= {failed.cell for failed in launch.info.failed_cells if failed.cell not in ends}
    return {cell: "; ".join(found) for cell, found in reasons.items() if cell not in otherwise}


def _last_words(launch: LaunchRecord, run: Path) -> tuple[str | None, str | None]:
    """Path of the launch's stderr (or stdout) in the run folder, and its last lines; of a launch that hung, where its
    ranks stood.
    """
    stacks = launch.folder / "stacks"
    if launch.info.ended == "hung" and (head := _part(stacks, last=False)):
        return str(stacks.relative_to(run)), "\n".join(head.partition("\n\n")[0].splitlines()[:LAST_LINES])
    for name in ("stderr", "stdout"):
        if text := _part(launch.folder / name, last=True):
            return str((launch.folder / name).relative_to(run)), "\n".join(text.splitlines()[-LAST_LINES:])
    return None, None


def _part(path: Path, last: bool) -> str | None:
    """The last or the first LAST_BYTES of a file of the launch, however long it is; None: there is none to read."""
    if not path.is_file():
        return None
    try:
        with os.fdopen(open_regular(path, None, within=path.parent), "rb") as file:
            if last:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
            return clean_text(file.read(LAST_BYTES).decode(errors="replace"))
    except (RecordError, OSError):
        return None
