# SPDX-License-Identifier: Apache-2.0
"""The random programs of this folder, started natively, watched, with their collectives replaced, and with both."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from slowpath.mpi.guidelines import GUIDELINES
from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.tuning import SCHEMA

NATIVE, WATCHED, REPLACED, BOTH = "native", "watched", "replaced", "both"
# Families of calls; those whose collectives are replaced come with every table.
COLLECTIVES: Final = ("moves", "reductions")
OTHERS: Final = (
    *("lengths", "inter-moves", "inter-lengths", "inter-reductions", "neighbours"),
    *("messages", "one-sided", "errors", "handles", "communicators", "threads", "thread-messages"),
    *("sessions", "session-reductions", "spawn", "spawn-reductions"),
)
FAMILIES: Final = (*COLLECTIVES, *OTHERS)
# Families that a library fails natively, by its name, with what happens.
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
# Ranks that wait give their core away: other programs may use it, and ranks may outnumber cores.
_WAITING: Final = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "I_MPI_THREAD_YIELD": "3",
    "I_MPI_THREAD_SLEEP": "0",
}
# Collectives that libslowpath-coll.so replaces.
_REPLACEABLE: Final = (
    *("barrier", "bcast", "gather", "scatter", "allgather", "alltoall"),
    *("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
)
LEAST_S: Final = 0.3  # of the calls of a run
_LAUNCH_S: Final = 1.5  # what a run takes beside its calls, on a busy machine
_GRACE_S: Final = 300  # a process ends itself 120 s after its last calls, and all communicators take a while
_LEAST_CALLS: Final = 60  # among which some are replaced
_FEW_COMMUNICATORS: Final = 8  # that the preloads may need for themselves
_END: Final = re.compile(r"^calls (\d+), wrong (\d+)", re.MULTILINE)
_COMMUNICATORS: Final = re.compile(r"^communicators (\d+)", re.MULTILINE)
_WRONG: Final = re.compile(r"^(?:different|crashed): .*", re.MULTILINE)


def mockups() -> Mapping[str, tuple[str, ...]]:
    """Return the mock-ups of each collective. `nonblocking` is no guideline of its own, and every collective has it."""
    named = {
        name: [line.mockup for line in GUIDELINES if line.collective == name and line.mockup] for name in _REPLACEABLE
    }
    return {name: (*words, "nonblocking") for name, words in named.items()}


def tables(mpi: Mpi) -> tuple[str, ...]:
    """Return tables that replace every call, each by another mock-up, until every mock-up was named."""
    made = []
    for number in range(max(map(len, mockups().values()))):
        rows = [
            {"collective": name, "ranks": [1, 10**6], "bytes": [0, 2**62], "mockup": ways[number % len(ways)]}
            for name, ways in mockups().items()
        ]
        made.append(json.dumps({"schema": SCHEMA, "mpi": f"{mpi.name}-{mpi.version}", "rows": rows}))
    return tuple(made)


@dataclass(frozen=True)
class Part:
    """One run of a random program. table: its number, where collectives are replaced."""

    family: str
    way: str
    ranks: int
    table: int | None = None


def parts(mpi: Mpi, ranks: Sequence[int], family: str) -> list[Part]:
    """Return a family in every way: one whose collectives are replaced with every table, another with one in turn."""
    index, count = FAMILIES.index(family), len(tables(mpi))
    return [part for number in ranks for part in _of(family, number, index, count)]


def _of(family: str, ranks: int, index: int, count: int) -> Iterator[Part]:
    yield Part(family, NATIVE, ranks)
    yield Part(family, WATCHED, ranks)
    for table in range(count) if family in COLLECTIVES else [(index + ranks) % count]:
        yield Part(family, REPLACED, ranks, table)
        yield Part(family, BOTH, ranks, (table + 1) % count)


def seconds_of_each(minutes: float, count: int) -> float:
    """Return what each of so many runs gets."""
    return max(LEAST_S, minutes * 60 / max(1, count) - _LAUNCH_S)


class Runner:
    """Runs parts under one MPI.

    Args: libraries: the folder with the preloads.  folder: for the program, without a blank in its path.
    """

    def __init__(self, mpi: Mpi, libraries: Path, folder: Path) -> None:
        assert mpi.mpicxx is not None
        self.mpi, self._libraries, self._folder = mpi, libraries, folder
        self._native_communicators: dict[int, int] = {}  # at a time, by ranks
        self._program = folder / "random"
        folder.mkdir(parents=True, exist_ok=True)
        sources = sorted((Path(__file__).parent / "programs").glob("*.c"))
        argv = [mpi.mpicxx.with_name("mpicc"), "-O1", "-g", "-o", self._program, *sources, "-lpthread"]
        subprocess.run(argv, env=mpi.environ(os.environ), check=True, capture_output=True, text=True)

    def wrong(self, part: Part, seed: int, seconds: float) -> list[str]:
        """Run a part, and return what was wrong, with what repeats it; empty: nothing."""
        if part.family == "communicators" and part.way != NATIVE and part.ranks not in self._native_communicators:
            self.wrong(replace(part, way=NATIVE, table=None), seed, LEAST_S)
        words = [str(self._program), part.family, str(seed), "0", f"{seconds:g}"]
        code, text = self._started(words, part.ranks, self._variables(part), seconds + _GRACE_S)
        end, lines = _END.search(text), [line[:400] for line in _WRONG.findall(text)[:5]]
        if end is None or code or int(end[2]):
            lines = lines or [f"exit {code}: " + " | ".join(text.strip().splitlines()[-4:])[:400]]
        elif part.table is not None and part.family in COLLECTIVES and int(end[1]) > _LEAST_CALLS:
            report = json.loads((self._folder / "run" / "replaced.json").read_text())
            lines += [] if any(row["calls"] for row in report["rows"]) else ["no call was replaced"]
        if (seen := _COMMUNICATORS.search(text)) is not None:
            native = self._native_communicators.setdefault(part.ranks, int(seen[1]))
            if int(seen[1]) < native - _FEW_COMMUNICATORS:
                lines.append(f"{seen[1]} communicators at a time instead of {native}")
        return [f"{part}, seed {seed}: {line}" for line in lines]

    def _variables(self, part: Part) -> dict[str, str]:
        folder = self._folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "ranks").mkdir(parents=True)
        preloads, variables = [], {}
        # The watch comes last, as `slowpath watch` has it: behind it the other one replaces nothing, silently.
        if part.table is not None:
            (folder / "tuning.json").write_text(tables(self.mpi)[part.table])
            preloads.append(str(self._libraries / "libslowpath-coll.so"))
            variables["SLOWPATH_COLL"] = str(folder / "tuning.json")
            variables["SLOWPATH_COLL_REPORT"] = str(folder / "replaced.json")
        if part.way in (WATCHED, BOTH):
            preloads.append(str(self._libraries / "libslowpath-watch.so"))
            variables["SLOWPATH_WATCH"] = str(folder / "ranks")
        return {**variables, "LD_PRELOAD": ":".join(preloads)} if preloads else variables

    def _started(self, argv: list[str], ranks: int, variables: Mapping[str, str], limit_s: float) -> tuple[int, str]:
        """Run a program on ranks. Returns: exit code, 124 where it ran past its time, and output."""
        launcher, cores = launcher_named(self.mpi.launcher), len(os.sched_getaffinity(0))
        environ = {**self.mpi.environ(os.environ), **_WAITING}
        made = command(
            launcher, str(self.mpi.mpiexec), self.mpi.name, ranks, "none", dict(variables), argv, cores, environ
        )
        words = list(made.argv)
        if "-bind-to" in words:  # Hydra's default, and MPI_Comm_spawn fails where it is named: "duplicate setting"
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
            for wait_s, end in ((limit_s, process.terminate), (10.0, process.kill)):
                try:
                    text, _ = process.communicate(timeout=wait_s)
                    return process.returncode if wait_s == limit_s else 124, text
                except subprocess.TimeoutExpired:
                    end()
            return 124, process.communicate()[0]
