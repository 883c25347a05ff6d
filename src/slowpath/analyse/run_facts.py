# SPDX-License-Identifier: Apache-2.0
"""What a headline needs to know of its run, and what is noted of MPIs that are not there. Pure."""

from __future__ import annotations

import msgspec

from slowpath.core.place import PlaceFacts, PlaceFault
from slowpath.core.results import Results, RunResult, nothing_measured
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


def wrong_place(run: RunResult) -> list[PlaceFault]:
    """What is wrong with the place where it was measured; nothing where that was not recorded."""
    place = msgspec.convert(run.machine.get("place") or {}, PlaceFacts)
    allocation = run.machine.get("allocation")
    nodes = allocation.get("nodes") if isinstance(allocation, dict) else None
    ranks = -(-(place.ranks or 0) // (nodes if isinstance(nodes, int) and nodes > 0 else 1))
    return faults(place, PlaceJob(ranks, run.mpi.name, run.machine.get("variables") or {}))


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
