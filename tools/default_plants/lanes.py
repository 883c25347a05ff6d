# SPDX-License-Identifier: Apache-2.0
"""Commands side by side, each on a lane: processors of its own."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ENDED_S = 20.0  # for a command that is over its time to end by itself


@dataclass(frozen=True)
class Command:
    """argv, and where it says what it does. limit_s: after which it is interrupted."""

    name: str
    argv: Sequence[str]
    log: Path
    limit_s: float
    variables: Mapping[str, str]


def run_all(
    commands: Sequence[Command], lanes: Sequence[str], until_s: float, tell: Callable[[str], None]
) -> dict[str, int]:
    """Run the commands in their order, one a lane at a time, and return the exit codes of those that were begun.

    Args: lanes: lists of processors, as taskset takes them.  until_s: on the monotonic clock: none begins later.
    """
    waiting: queue.SimpleQueue[Command] = queue.SimpleQueue()
    for command in commands:
        waiting.put(command)
    codes: dict[str, int] = {}
    alive: dict[int, subprocess.Popen[bytes]] = {}

    def work(number: int, lane: str) -> None:
        while time.monotonic() < until_s:
            try:
                command = waiting.get_nowait()
            except queue.Empty:
                return
            begun_s = time.monotonic()
            with command.log.open("wb") as log:
                alive[number] = _started(command, lane, log)
            codes[command.name] = _ended(alive[number], command.limit_s)
            tell(f"{command.name}: {time.monotonic() - begun_s:.0f} s on {lane}, exit code {codes[command.name]}")

    workers = [threading.Thread(target=work, args=place) for place in enumerate(lanes)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        while not waiting.empty():
            waiting.get()
        for process in alive.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        raise
    return codes


def _started(command: Command, lane: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["taskset", "-c", lane, *command.argv],
        env={**own_environment(), **command.variables},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _ended(process: subprocess.Popen[bytes], limit_s: float) -> int:
    for wait_s, sent in ((limit_s, signal.SIGINT), (ENDED_S, signal.SIGKILL)):
        try:
            return process.wait(wait_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, sent)
    return process.wait()


def own_environment() -> dict[str, str]:
    """Return this process's variables without those of MPI libraries and of what lies below them."""
    prefixes = ("OMPI_", "PRTE_", "PMIX_", "MPIR_", "MPICH_", "I_MPI_", "FI_", "UCX_")
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
