# SPDX-License-Identifier: Apache-2.0
"""The reproducers' commands on ranks, and the lines that they print."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ranks import Process, finished

from slowpath.mpi.launchers import launcher_named
from slowpath.mpi.mpi import Mpi

MOST_RANKS = 4
HEADING = "Doing MPI_Send/Recv"
# What ostream prints of a double: 6 significant digits, no trailing zeros.
SECONDS = r"(?=[0-9])(?:[0-9]{1,6}(?:\.[0-9]*[1-9])?|[0-9](?:\.[0-9]{0,4}[1-9])?e[-+][0-9]{2,3})"


@dataclass(frozen=True)
class Commands:
    """The built commands and how to start them on several ranks."""

    folder: Path
    mpiexec: list[str]
    env: dict[str, str]

    def run(self, ranks: int, words: str, env: Mapping[str, str] | None = None) -> Process:
        name, *arguments = shlex.split(words)
        argv = [*self.mpiexec, "-n", str(ranks), str(self.folder / name), *arguments]
        return finished(argv, {**self.env, **(env or {})})


def commands_in(folder: Path, mpi: Mpi) -> Commands:
    """The commands in a folder, for this MPI."""
    launcher = launcher_named(mpi.launcher)
    oversubscribe = [*launcher.mapped(launcher.oversubscribe_map), *launcher.oversubscribe]
    more = oversubscribe if len(os.sched_getaffinity(0)) < MOST_RANKS else []
    return Commands(folder, [str(mpi.mpiexec), *more], mpi.environ(os.environ))


def lines_match(text: str, patterns: list[str]) -> None:
    """Each line of rank 0 in its place, each heading of rank 1 in its own: no launcher promises more."""
    assert len(text.splitlines()) == len(patterns), text
    for headings in (False, True):
        lines = [line for line in text.splitlines() if line.startswith(HEADING) == headings]
        wanted = [pattern for pattern in patterns if pattern.startswith(HEADING) == headings]
        assert len(lines) == len(wanted), text
        for line, pattern in zip(lines, wanted, strict=True):
            assert re.fullmatch(pattern, line), f"{line!r} is not {pattern!r}"


def times(iterations: int, sub_iterations: int) -> list[str]:
    return [rf"\[{i}:{j}\] time: {SECONDS}" for i in range(iterations) for j in range(sub_iterations)]


def overalloc_lines(
    last: int, iterations: int, sub_iterations: int, p2p: int, buffer: int, over: int, memory: str = "device"
) -> list[str]:
    """GPU memory, of which the original program knows nothing else, is not printed."""

    def part(length: int, word: str) -> list[str]:
        sent = f"from rank 0 to rank {last}, of {min(p2p, length)} bytes from a buffer of {length} bytes"
        return [rf"{HEADING} {sent} \({word} overalloc\)\.", *times(iterations, sub_iterations)]

    return [
        *([f"mem_type: {memory}"] if memory != "device" else []),
        f"p2p_size: {p2p}",
        f"buffer_size: {buffer}",
        f"overalloc_size: {over}",
        rf"\[-1\] time: {SECONDS}",
        *part(buffer + over, "with"),
        *part(buffer, "without"),
    ]


def pinned_lines(memory: str, last: int, iterations: int, sub_iterations: int, p2p: int) -> list[str]:
    return [
        f"mem_type: {memory}",
        f"p2p_size: {p2p}",
        rf"\[-1\] time: {SECONDS}",
        f"{HEADING} from rank 0 to rank {last}, of {p2p} bytes",
        *times(iterations, sub_iterations),
    ]
