# SPDX-License-Identifier: Apache-2.0
"""One job that sends from one kind of memory to the same kind, and what came of it: a child that may crash or hang."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.ucx_report import LOG_FILE, VARIABLES, Protocol, moving, protocols
from slowpath.run.cores import allocated_nodes, allowed_cores
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.process import JobLimits, Outcome, run_job

SMALL_BYTES = 8
LARGE_BYTES = 64 * 1024 * 1024
LIMIT_S = 60.0


@dataclass(frozen=True)
class Transfer:
    """bytes_per_s: of the later large messages; None if there is no such number, and then reason has the cause.

    protocols: those that UCX reports for the large message; empty where the library does not print UCX's report.
    """

    bytes_per_s: float | None
    reason: str | None
    protocols: tuple[Protocol, ...] = ()


def transfer(
    mpi: Mpi,
    engine: UsableEngine,
    memory: str,
    environ: Mapping[str, str],
    variables: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> Transfer:
    """Messages of 8 B and of 64 MiB, each byte compared, two ranks on this node.

    environ: the caller's environment, without what `mpi` needs.  variables: on top of all others, for the ranks.
    Raises: nothing for what the job does.
    """
    launcher = launcher_named(mpi.launcher)
    sizes = f"{SMALL_BYTES},{LARGE_BYTES}"
    cell = ["p2p", "--pattern", "one_way", "--memory", memory, "--message-bytes", sizes, "--allocations", "1"]
    with tempfile.TemporaryDirectory(prefix="slowpath-gpu-") as folder:
        steered = {**VARIABLES, LOG_FILE: f"{folder}/ucx-%p.log", **(variables or {})}
        made = command(
            launcher,
            str(mpi.mpiexec),
            mpi.name,
            2,
            "core" if "core" in launcher.bind else "none",
            steered,
            [str(engine.program), *cell, "--messages", "12", "--validate", "on"],
            allowed_cores() * allocated_nodes(environ),
            environ,
        )
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        outcome = run_job(
            made.argv, {**mpi.environ(environ), **made.variables}, out, err, [], JobLimits(total_s=limit_s)
        )
        table = out.read_text(errors="replace")
        logs = sorted(Path(folder).glob("ucx-*.log"))
        # Another UCX may not know the file and print on its output instead.
        printed = "\n".join([path.read_text(errors="replace") for path in (*logs, out)])
    reported = tuple(moving(protocols(printed), LARGE_BYTES))
    if outcome.ended != "ok":
        return Transfer(None, how_it_ended(outcome), reported)
    return Transfer(*later_bandwidth(table), reported)


def how_it_ended(outcome: Outcome) -> str:
    """Return how a job that failed ended, and the line of its output that states the cause, unless that is one of
    times.
    """
    how = f"{outcome.ended} by {outcome.signal}" if outcome.signal else outcome.ended
    reason = (outcome.reason or "").removeprefix("# ")
    stated = bool(reason) and reason != f"ended by {outcome.signal}" and re.match(r"\d+\s+[\d.]+", reason) is None
    return f"{how}: {reason}" if stated else f"{how}, without a message"


def later_bandwidth(table: str) -> tuple[float | None, str | None]:
    """Of the engine's one_way table: bytes per second of the later large messages, if all sizes have a row.

    Returns: the number and None; or None and what the table states instead.
    """
    refused = re.search(r"^# \d+ ((?:skipped|failed): .*)$", table, re.MULTILINE)
    if refused:
        return None, refused[1]
    rows = {int(row[1]): float(row[2]) for row in re.finditer(r"^(\d+)\s+\S+\s+([\d.]+)\s*$", table, re.MULTILINE)}
    if SMALL_BYTES not in rows or rows.get(LARGE_BYTES, 0.0) <= 0.0:
        return None, "the job succeeded but printed no times"
    return LARGE_BYTES / (rows[LARGE_BYTES] * 1e-6), None
