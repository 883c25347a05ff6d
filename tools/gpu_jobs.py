# SPDX-License-Identifier: Apache-2.0
"""What the GPU tools share: a job of the engine under some settings, and a run of ucx_perftest."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slowpath.core.errors import SlowpathError
from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.record.blocks import BlockIndex, read, scan

TIME_LIMIT_S = 60.0
UCX_MEMORY = {"host": "host", "device": "cuda", "managed": "cuda-managed"}


class JobError(SlowpathError):
    """A job that did not end well, in one line."""


@dataclass(frozen=True)
class Settings:
    """Variables of the ranks. gpus: the one device that each of the two ranks may see; None: all of them."""

    variables: Mapping[str, str]
    gpus: tuple[str, str] | None = None


class TimeLeft:
    """Time for further jobs, each taken to last as long as the longest so far."""

    def __init__(self, limit_s: float) -> None:
        self._end = time.monotonic() + limit_s
        self._longest_s = 0.0
        self._started: float | None = None

    def for_another(self) -> bool:
        """Whether another job will end in time. Called before each: the one before is over then."""
        now = time.monotonic()
        if self._started is not None:
            self._longest_s = max(self._longest_s, now - self._started)
        self._started = now
        return now + self._longest_s <= self._end


def devices() -> list[str]:
    """GPUs that may be used."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given:
        return given.split(",")
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    except OSError:
        listed = ""
    return [str(i) for i in range(listed.count("GPU "))] or ["0"]


def rank_words(settings: Settings, words: Sequence[str]) -> list[str]:
    """`words` as a rank starts them: the launcher itself must not see the settings (a preloaded library, say)."""
    started = ["env", *(f"{name}={value}" for name, value in settings.variables.items()), *words]
    if settings.gpus is None:
        return started
    first, last = settings.gpus
    rank = "${OMPI_COMM_WORLD_LOCAL_RANK:-${PMI_RANK:-0}}"
    choose = f'[ "{rank}" = 0 ] && CUDA_VISIBLE_DEVICES={first} || CUDA_VISIBLE_DEVICES={last}'
    return ["sh", "-c", f'{choose}; export CUDA_VISIBLE_DEVICES; exec "$0" "$@"', *started]


def job(
    mpi: Mpi, words: Sequence[str], settings: Settings, limit_s: float = TIME_LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """A program on two ranks, bound to cores, as slowpath starts its own.  Raises: JobError."""
    cores = len(os.sched_getaffinity(0))
    made = command(
        launcher_named(mpi.launcher), str(mpi.mpiexec), mpi.name, 2, "core", {}, rank_words(settings, words), cores
    )
    environ = {**mpi.environ(os.environ), **made.variables}
    try:
        done = subprocess.run(made.argv, env=environ, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise JobError(f"{words[0]}: not done after {limit_s:g} s") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("---")]
        raise JobError(f"exit code {done.returncode}: {said[0].strip() if said else 'nothing said'}")
    return done


def run_cells(
    mpi: Mpi,
    engine: Path,
    cells: Sequence[str],
    folder: Path,
    settings: Settings,
    limit_s: float = TIME_LIMIT_S,
) -> BlockIndex:
    """One launch of the engine with `cells` (words of p2p), numbered from 0.  Raises: JobError."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / "plan.txt"
    lines = [f"cell {i} p2p {words}" for i, words in enumerate(cells)]
    plan.write_text("\n".join(["slowpath-plan 1", "launch 0", "seed 1", *lines]) + "\n")
    job(mpi, [str(engine), "--plan", str(plan), "--out", str(folder)], settings, limit_s)
    return scan(folder / "samples.blk")


def median_s(index: BlockIndex, cell: int, rank: int, phase: str) -> float | None:
    """Median of a rank's samples, each divided by its batch; None where there are none (a cell that was skipped)."""
    values: list[float] = []
    for position in index.select(cell=cell, rank=rank, phase=phase):
        batch = int(index.headers["batch"][position])
        values += (read(index, int(position)).duration_ns * (1e-9 / batch)).tolist()
    return float(np.median(values)) if values else None


def perftest(
    program: Path,
    environ: Mapping[str, str],
    words: Sequence[str],
    port: int,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """One run of ucx_perftest, its two ends on cores 0 and 1 and on the first and the last GPU.

    words: after the address, the test and what it needs.  variables: of both ends.
    Returns: the fields of its last line (-f -v).  Raises: JobError.
    """
    base = [str(program), "-p", str(port)]
    libraries = f"{program.resolve().parents[1]}/lib:{environ.get('LD_LIBRARY_PATH', '')}"
    environ = {**environ, "LD_LIBRARY_PATH": libraries, **(variables or {})}
    gpus = devices()
    server = subprocess.Popen(
        [*base, "-c", "0"], env={**environ, "CUDA_VISIBLE_DEVICES": gpus[0]}, stdout=subprocess.DEVNULL
    )
    client = [*base, "127.0.0.1", *words, "-f", "-v", "-c", "1"]
    try:
        time.sleep(1.0)
        environ = {**environ, "CUDA_VISIBLE_DEVICES": gpus[-1]}
        done = subprocess.run(client, env=environ, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
        if done.returncode == 0:  # else the server waits for a client for ever
            server.wait(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise JobError(f"{' '.join(client)}: not done after {TIME_LIMIT_S:g} s") from error
    finally:
        server.kill()
    lines = [line for line in done.stdout.splitlines() if line.count(",") >= 7 and line.strip()[:1].isdigit()]
    if done.returncode or not lines:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line] or [
            "no line with ERROR; UCX_LOG_FILE may have it"
        ]
        raise JobError(f"{' '.join(client)}: exit code {done.returncode}: {said[0].strip()}")
    return lines[-1].split(",")


def perftest_latency_s(
    program: Path,
    environ: Mapping[str, str],
    memory: str,
    message_bytes: int,
    port: int,
    variables: Mapping[str, str] | None = None,
) -> float:
    """Median half round trip (tag_lat).  Raises: JobError."""
    words = ["-t", "tag_lat", "-m", UCX_MEMORY[memory], "-s", str(message_bytes), "-n", "2000", "-w", "500", "-O", "16"]
    return float(perftest(program, environ, words, port, variables)[1]) * 1e-6


def middle(values: Sequence[float]) -> str:
    """Median and range in microseconds, as a table shows them."""
    if not values:
        return "-"
    low, mid, high = (value * 1e6 for value in (min(values), statistics.median(values), max(values)))
    return f"{mid:.2f} ({low:.2f} to {high:.2f})"
