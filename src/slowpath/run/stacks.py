# SPDX-License-Identifier: Apache-2.0
"""Where each rank of a job stands that makes no progress: its state, and its stack where a debugger is there.

Read before the job is ended. A stopped rank stays stopped, a waiting one waits on: nothing here lets the job go on.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core import guard
from slowpath.core.units import whole_number
from slowpath.mpi.launchers import RANK_VARIABLES
from slowpath.mpi.probe import ask
from slowpath.run.leftovers import marked_processes

MOST_RANKS = 16  # of one node; more show nothing new
ONE_LIMIT_S = 10.0
ALL_LIMIT_S = 30.0
FRAMES_SHOWN = 4


@dataclass(frozen=True)
class Debugger:
    """A program that prints the stacks of a process, and how it is asked to."""

    name: str
    argv: Callable[[int], Sequence[str]]


def _gdb(pid: int) -> Sequence[str]:
    settings = ("set pagination off", "set print frame-arguments none", "set width 0")
    asked = [word for text in (*settings, "thread apply all backtrace 40") for word in ("-ex", text)]
    return ["gdb", "-nx", "-batch", "-p", str(pid), *asked]


# Best first. gdb names functions that eu-stack can't where only .symtab is there; pstack is gdb's on most systems.
DEBUGGERS: tuple[Debugger, ...] = (
    Debugger("gdb", _gdb),
    Debugger("eu-stack", lambda pid: ["eu-stack", "-n", "40", "-p", str(pid)]),
    Debugger("pstack", lambda pid: ["pstack", str(pid)]),
)
# "#1  0x00007f in MPI_Recv () from libmpi.so", "#0  main (argc=1) at x.cpp:3", "#2  0x00007f MPI_Recv"
_FRAME = re.compile(r"#(\d+)\s+(?:0x[0-9a-f]+ (?:in )?)?([\w:~@.$<>*&, -]*?[\w>])(?:@\S+)?(?: \(.*| - .*|)$")
_FIRST = re.compile(r"^(?:Thread \d+ |PID |#0)", re.MULTILINE)  # before it gdb introduces itself
_STATES = {"R": "running", "S": "waiting", "D": "waiting for a device", "T": "stopped", "t": "traced", "Z": "dead"}


def save_stacks(job: str, path: Path, search: str | None = None, proc: Path = Path("/proc")) -> None:
    """Write the stacks of the job's ranks on this node into `path`: a line on each rank, a blank line, then all.

    search: folders for the debugger, as in PATH; None: those of this process.
    Raises nothing: what can't be had is stated in the file, and a file that can't be written is left out.
    """
    ranks = sorted((rank, pid) for pid in marked_processes(job, proc) if (rank := _rank_of(pid, proc)) is not None)
    found = next((debugger for debugger in DEBUGGERS if shutil.which(debugger.name, path=search)), None)
    end = time.monotonic() + ALL_LIMIT_S
    heads, bodies = [], []
    for rank, pid in ranks[:MOST_RANKS]:
        text, why_not = _stack(found, pid, min(ONE_LIMIT_S, end - time.monotonic()))
        where = innermost(text) if text else why_not
        heads.append(f"rank {rank} (process {pid}, {_state(pid, proc)}): {where}")
        bodies.append(f"==== rank {rank}, process {pid}, waits in the kernel at {_kernel(pid, proc)} ====\n{text}")
    if len(ranks) > MOST_RANKS:
        heads.append(f"{len(ranks) - MOST_RANKS} more ranks on this node: not looked at")
    if not ranks:
        heads.append("no rank of the job was found on this node")
    with contextlib.suppress(OSError):
        path.write_text(guard.text("\n".join([*heads, "", *bodies])) + "\n", encoding="utf-8")


def innermost(text: str) -> str:
    """The innermost frames of the first thread that a debugger printed, up to the MPI call: "poll < MPI_Recv"."""
    # gdb prints threads from the last to the first, which is the one that called main.
    main = re.split(r"^(?=Thread 1 |TID )", text, flags=re.MULTILINE)
    names: list[str] = []
    for line in main[1 if text.startswith("PID") and len(main) > 1 else -1].splitlines():
        frame = _FRAME.match(line.strip())
        if frame is None:
            continue
        names.append(frame[2].split("(")[0].strip())
        if re.fullmatch(r"P?MPIX?_\w+", names[-1]):
            break
    if not names:
        return "no frame could be read"
    shown = names if len(names) <= FRAMES_SHOWN else [*names[: FRAMES_SHOWN - 1], "...", names[-1]]
    return " < ".join(shown)


def _stack(debugger: Debugger | None, pid: int, limit_s: float) -> tuple[str, str]:
    """Return what the debugger printed, or nothing and why."""
    if debugger is None:
        return "", f"no stack: none of {', '.join(debugger.name for debugger in DEBUGGERS)} is installed"
    if limit_s <= 0:
        return "", f"no stack: {ALL_LIMIT_S:g} s were spent on others"
    try:
        # No look-up of debug information over a network while a job hangs.
        done = ask(debugger.argv(pid), {**os.environ, "DEBUGINFOD_URLS": "", "LC_ALL": "C"}, limit_s)
    except subprocess.TimeoutExpired:
        return "", f"no stack: {debugger.name} took more than {limit_s:.0f} s"
    except OSError as error:
        return "", f"no stack: {debugger.name}: {error.strerror or error}"
    text = done.stdout.decode("utf-8", "replace")
    first = _FIRST.search(text)
    if first is None:
        printed = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return "", f"no stack: {debugger.name}: {printed[-1][:200] if printed else 'printed none'}"
    return text[first.start() :], ""


def _rank_of(pid: int, proc: Path) -> int | None:
    try:
        content = (proc / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    return rank_in(dict(part.partition("=")[::2] for part in content.decode("utf-8", "replace").split("\0")))


def rank_in(environ: Mapping[str, str]) -> int | None:
    """The rank that a launcher gave a process; None: it is no rank."""
    given = next((environ[name] for name in RANK_VARIABLES if name in environ), "")
    return whole_number(given)


def _state(pid: int, proc: Path) -> str:
    try:
        letter = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "gone"
    return _STATES.get(letter, letter)


def _kernel(pid: int, proc: Path) -> str:
    try:
        return (proc / str(pid) / "wchan").read_text().strip() or "no place"
    except OSError:
        return "a place that the kernel does not report"
