# SPDX-License-Identifier: Apache-2.0
"""Whether an MPI takes messages from GPU memory, and by which path: by doing it, not by what a library says of itself.

A library without GPU support given a device pointer may crash, hang, or deliver wrong bytes, so each try is a job of
its own, in child processes, with a time limit.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowpath.engine.cache import Engine
from slowpath.launch.cores import allocated_nodes, allowed_cores
from slowpath.launch.launchers import command, launcher_named
from slowpath.launch.mpi import Mpi
from slowpath.launch.process import Limits, Outcome, run_job

SMALL_BYTES = 8
LARGE_BYTES = 64 * 1024 * 1024
LIMIT_S = 60.0
# Copying through pinned host memory by the GPU's copy engines reached 5 times the host path on an H200,
# its own links 50 times (docs/gpu-results.md). What lies between is not called either way.
IPC_AT_LEAST = 10.0
STAGED_AT_MOST = 1.5


@dataclass(frozen=True)
class DevicePath:
    """What two ranks on this node found.

    works: messages of 8 B and 64 MiB from GPU memory to GPU memory arrived with the right bytes.
    path: ipc (straight from GPU memory to GPU memory) or staged (through host memory), judged by bandwidth alone; None:
        it doesn't work, or the bandwidth tells neither.
    host_bytes_per_s, device_bytes_per_s: bandwidth of one 64 MiB message from an allocation that was sent before, from
        host memory and from GPU memory; None if not measured.
    reason: why it doesn't work, or why there is no path or host bandwidth; None if nothing is lacking.
    """

    works: bool
    path: Literal["ipc", "staged"] | None
    host_bytes_per_s: float | None
    device_bytes_per_s: float | None
    reason: str | None


def prove_device_path(
    mpi: Mpi, engine: Engine, environ: Mapping[str, str] | None = None, limit_s: float = LIMIT_S
) -> DevicePath:
    """Send from GPU memory under `mpi`, then the same from host memory, two ranks on this node.

    environ: the caller's environment, without what `mpi` needs.  limit_s: of each of the two jobs.
    Raises: nothing for what a job does: that is the answer.
    """
    environ = os.environ if environ is None else environ
    device, reason = _bandwidth(mpi, engine, "device", environ, limit_s)
    if device is None:
        return DevicePath(False, None, None, None, reason)
    host, reason = _bandwidth(mpi, engine, "host", environ, limit_s)
    if host is None:
        return DevicePath(True, None, None, device, f"the same from host memory gave no number: {reason}")
    path = judge(host, device)
    between = f"GPU memory at {device / host:.1f} times the bandwidth of host memory tells no path"
    return DevicePath(True, path, host, device, None if path else between)


def judge(host_bytes_per_s: float, device_bytes_per_s: float) -> Literal["ipc", "staged"] | None:
    """The path by the ratio of bandwidths; None where it may be either."""
    ratio = device_bytes_per_s / host_bytes_per_s
    if ratio >= IPC_AT_LEAST:
        return "ipc"
    return "staged" if ratio <= STAGED_AT_MOST else None


def _bandwidth(
    mpi: Mpi, engine: Engine, memory: str, environ: Mapping[str, str], limit_s: float
) -> tuple[float | None, str | None]:
    """Bytes per second of the later large messages, and None; or None and why there is no such number."""
    launcher = launcher_named(mpi.launcher)
    sizes = f"{SMALL_BYTES},{LARGE_BYTES}"
    cell = ["p2p", "--pattern", "one_way", "--memory", memory, "--message-bytes", sizes, "--allocations", "1"]
    made = command(
        launcher,
        str(mpi.mpiexec),
        mpi.name,
        2,
        "core" if "core" in launcher.bind else "none",
        {},
        [str(engine.program), *cell, "--messages", "6", "--validate", "on"],
        allowed_cores() * allocated_nodes(environ),
        environ,
    )
    with tempfile.TemporaryDirectory(prefix="slowpath-gpu-") as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        outcome = run_job(made.argv, {**mpi.environ(environ), **made.variables}, out, err, [], Limits(total_s=limit_s))
        text = out.read_text(errors="replace")
    if outcome.ended != "ok":
        return None, told(outcome)
    return later_bandwidth(text)


def told(outcome: Outcome) -> str:
    """How a job that did not end well ended, and the line of its output that tells why, unless that is one of times."""
    how = f"{outcome.ended} by {outcome.signal}" if outcome.signal else outcome.ended
    reason = (outcome.reason or "").removeprefix("# ")
    said = bool(reason) and reason != f"ended by {outcome.signal}" and re.match(r"\d+\s+[\d.]+", reason) is None
    return f"{how}: {reason}" if said else f"{how}, without a message"


def later_bandwidth(table: str) -> tuple[float | None, str | None]:
    """Of the engine's one_way table: bytes per second of the later large messages, if all sizes have a row.

    Returns: the number and None; or None and what the table says instead.
    """
    refused = re.search(r"^# \d+ ((?:skipped|failed): .*)$", table, re.MULTILINE)
    if refused:
        return None, refused[1]
    rows = {int(row[1]): float(row[2]) for row in re.finditer(r"^(\d+)\s+\S+\s+([\d.]+)\s*$", table, re.MULTILINE)}
    if SMALL_BYTES not in rows or rows.get(LARGE_BYTES, 0.0) <= 0.0:
        return None, "the job ended well but printed no times"
    return LARGE_BYTES / (rows[LARGE_BYTES] * 1e-6), None
