# SPDX-License-Identifier: Apache-2.0
"""The random programs of tests/transparency, built for an MPI and started on its ranks."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi

from .ways import WAITING, Way

SOURCES: Final = Path(__file__).resolve().parents[2] / "tests" / "transparency" / "programs"
#: Families of calls; those whose collectives are replaced come with every table.
COLLECTIVES: Final = ("moves", "reductions")
OTHERS: Final = (
    *("lengths", "inter-moves", "inter-lengths", "inter-reductions", "neighbours"),
    *("messages", "one-sided", "errors", "handles", "communicators", "threads", "thread-messages"),
    *("sessions", "session-reductions", "spawn", "spawn-reductions"),
)
FAMILIES: Final = (*COLLECTIVES, *OTHERS)
#: Families that a library fails natively, by its name, with what happens.
_IALLTOALLW = "MPI_Ialltoallw in place: later calls stall or are truncated"
UNFIT: Final[Mapping[str, Mapping[str, str]]] = {
    "openmpi": {
        "lengths": _IALLTOALLW,
        "inter-lengths": "MPI_Scatterv and MPI_Gatherv between groups: MPI_ERR_TRUNCATE",
        "handles": "ends by SIGSEGV when a communicator with a datatype's attribute is freed",
        "communicators": "as handles",
        "spawn": "stalls at its end",
        "spawn-reductions": "stalls at its end",
    },
    "intelmpi": {
        "lengths": _IALLTOALLW,
        "inter-lengths": "MPI_Allgatherv between groups of one and two ranks ends by SIGSEGV",
        "communicators": "an assertion of the library's fails when communicators are used up",
        "threads": "stalls before its first call, with three ranks",
        "spawn": "MPI_Comm_spawn ends by SIGSEGV",
        "spawn-reductions": "MPI_Comm_spawn ends by SIGSEGV",
    },
}
_END: Final = re.compile(r"^calls (\d+), wrong (\d+)", re.MULTILINE)
_COMMUNICATORS: Final = re.compile(r"^communicators (\d+)", re.MULTILINE)
_SEEN: Final = re.compile(r"^(?:different|crashed): .*", re.MULTILINE)
_GRACE_S: Final = 300  # a process ends itself 120 s after its last calls, and all communicators take a while


def program_for(mpi: Mpi, folder: Path, words: Sequence[str] = ()) -> Path:
    """The random program, built anew where a source is younger."""
    assert mpi.mpicxx is not None
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"random-{mpi.name}-{mpi.version}"
    sources = sorted(SOURCES.glob("*.c"))
    newest = max(path.stat().st_mtime for path in SOURCES.iterdir())
    if made.exists() and made.stat().st_mtime > newest and not words:
        return made
    argv = [mpi.mpicxx.with_name("mpicc"), "-O1", "-g", *words, "-o", made, *sources, "-lpthread"]
    subprocess.run(argv, env=mpi.environ(os.environ), check=True, capture_output=True, text=True)
    return made


@dataclass(frozen=True)
class Outcome:
    """One run. calls: made by each rank.  lines: the first differences and crashes.  replaced: as in Way.

    communicators: that there were at a time, where they were used up.
    """

    suite: str
    mpi: str
    way: str
    ranks: int
    seed: int
    code: int
    calls: int
    wrong: int
    lines: tuple[str, ...] = ()
    replaced: Mapping[str, int] = field(default_factory=dict)
    table: int | None = None
    communicators: int | None = None

    @property
    def is_crashed(self) -> bool:
        """It did not come to its end."""
        return self.code != 0 and self.wrong == 0

    @property
    def is_right(self) -> bool:
        """It came to its end, and no call had another result."""
        return self.code == 0 and self.wrong == 0


def started(
    mpi: Mpi, argv: Sequence[str], ranks: int, variables: Mapping[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """A program on ranks; exit code 124 where it ran past its time."""
    launcher, cores = launcher_named(mpi.launcher), len(os.sched_getaffinity(0))
    environ = {**mpi.environ(os.environ), **WAITING}
    made = command(launcher, str(mpi.mpiexec), mpi.name, ranks, "none", dict(variables), list(argv), cores, environ)
    words = list(made.argv)
    if "-bind-to" in words:  # Hydra's default, and MPI_Comm_spawn fails where it is named: "duplicate setting: binding"
        at = words.index("-bind-to")
        del words[at : at + 2]
    with subprocess.Popen(
        words,
        env={**environ, **made.variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            text, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                text, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                text, _ = process.communicate()
            return subprocess.CompletedProcess(words, 124, text)
    return subprocess.CompletedProcess(words, process.returncode, text)


def run_random(
    mpi: Mpi, program: Path, family: str, way: Way, ranks: int, seed: int, seconds: float, calls: int = 0
) -> Outcome:
    """One family in one way, for so many seconds or calls."""
    words = [str(program), family, str(seed), str(calls), f"{seconds:g}"]
    done = started(mpi, words, ranks, way.variables(), seconds + _GRACE_S)
    end = _END.search(done.stdout)
    lines = tuple(line[:400] for line in _SEEN.findall(done.stdout)[:5])
    counts = (int(end[1]), int(end[2])) if end else (0, 0)
    if end is None and not lines:
        lines = (f"exit {done.returncode}: " + " | ".join(done.stdout.strip().splitlines()[-4:])[:400],)
    code = done.returncode if end or done.returncode else 1
    found = _COMMUNICATORS.search(done.stdout)
    return Outcome(
        family,
        f"{mpi.name} {mpi.version}",
        way.name,
        ranks,
        seed,
        code,
        *counts,
        lines,
        dict(way.replaced()),
        communicators=int(found[1]) if found else None,
    )
