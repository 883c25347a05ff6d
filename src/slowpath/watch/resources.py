# SPDX-License-Identifier: Apache-2.0
"""What each rank had to work with: from the lines of its record to results, and to what slow paths judge. Pure.

A launcher tells each process its rank by a protocol of its own library (PMI, PMIx). A library that hears nothing starts
as a job of one rank, without a message: N processes then do the whole work N times.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from slowpath.core.errors import UsageError
from slowpath.core.machine import format_cpu_list, parse_cpu_list
from slowpath.findings.program_pattern import ProgramResources, RankShare
from slowpath.mpi.launchers import launcher_named
from slowpath.mpi.libraries import MPI_LIBRARIES, named_in
from slowpath.watch.accounts import IDLE
from slowpath.watch.folder import WatchInfo, WatchLauncher
from slowpath.watch.record.job import RecordedResources, WatchedJob, resources_in
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.results import AccountName, RankResources, RankTime, WatchResults

BUSY_SHARE: Final = 0.1  # of the run: threads that ran for so long are busy ones, as in engine/watch/resources.cpp
_S: Final = 1e-9
_LONGEST_S: Final = 1e9  # of a run; what is longer is no time


def resources_of(records: Sequence[RankRecord]) -> tuple[RankResources, ...]:
    """Of every rank whose record says anything of it, in the order of the records."""
    every = [(record.rank, resources_in(record)) for record in records]
    return tuple(_of_rank(rank, recorded) for rank, recorded in every if recorded.begin)


def _of_rank(rank: int, recorded: RecordedResources) -> RankResources:
    processors = parse_cpu_list(recorded.begin.get("processors")) | parse_cpu_list(recorded.end.get("processors"))
    first, last = recorded.number("resident_bytes", at_end=False), recorded.number("resident_bytes")
    most = recorded.number("most_resident_bytes")
    used_ns, own_ns = recorded.between("used_ns"), recorded.between("ran_ns")
    return RankResources(
        rank=rank,
        processors=format_cpu_list(sorted(processors)) or None,
        online=recorded.number("online", at_end=False),
        processor_quota=recorded.fraction("processor_quota"),
        busy_threads=recorded.number("busy_threads"),
        ran_s=_seconds(own_ns),
        waited_s=_seconds(recorded.between("waited_ns")),
        threads_waited_s=_seconds(recorded.between("threads_waited_ns")),
        others_ran_s=None if used_ns is None or own_ns is None else _seconds(max(used_ns - own_ns, 0)),
        grown_bytes=last - first if first is not None and last is not None else None,
        touched_bytes=most - first if first is not None and most is not None else None,
        throttled_s=_seconds(recorded.between("throttled_ns")),
        copy_refused=recorded.copy_refused,
        seccomp=recorded.number("seccomp", at_end=False),
        user_namespace=recorded.number("user_namespace", at_end=False),
        shm_bytes=recorded.number("shm_bytes", at_end=False),
        shm_free_bytes=recorded.number("shm_free_bytes"),
        minor_faults=recorded.between("minor_faults"),
        fault_s=tuple(ns * _S for ns in map(_fault_ns, (recorded.begin, recorded.end)) if ns) or None,
    )


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else min(ns * _S, _LONGEST_S)


def _fault_ns(words: Mapping[str, str]) -> float:
    text = words.get("fault_ns", "")
    return float(text) if text.isdecimal() and len(text) < 10 else 0.0


def program_resources(results: WatchResults) -> ProgramResources | None:
    """What slow paths judge; None: no record says it."""
    if not results.resources:
        return None
    times = {rank.rank: rank for rank in results.ranks}
    spent = {rank.rank: [(a.name, a.by_rank[i]) for a in results.accounts] for i, rank in enumerate(results.ranks)}
    shares = [_share(rank, times[rank.rank], spent[rank.rank]) for rank in results.resources if rank.rank in times]
    span_s = results.program.span_s if results.program.span_s is not None else results.program.wall_s
    return ProgramResources(tuple(shares), span_s, results.program.launcher_s)


def launcher_seconds(info: WatchInfo, job: WatchedJob, resources: Sequence[RankResources]) -> float | None:
    """Return the processor time that the command used beside its ranks; None: not known, as of ranks on other hosts."""
    is_here = {record.words("host") for record in job.records} == {info.host}
    used = [
        rank.ran_s + rank.others_ran_s for rank in resources if rank.ran_s is not None and rank.others_ran_s is not None
    ]
    if info.ran_s is None or not is_here or not len(used) == len(resources) == job.size:
        return None
    return max(info.ran_s - sum(used), 0.0)


def _share(rank: RankResources, time: RankTime, spent: Sequence[tuple[AccountName, float]]) -> RankShare:
    busy = rank.busy_threads
    if busy and rank.others_ran_s is not None:  # the kernel counts from a thread's begin, which may be before the run's
        active_s = rank.others_ran_s + max((rank.threads_waited_s or 0.0) - (rank.waited_s or 0.0), 0.0)
        busy = min(busy, 1 + int(active_s / max(BUSY_SHARE * time.span_s, 1e-9)))
    waited = rank.threads_waited_s / busy if rank.threads_waited_s is not None and busy else None
    ended = busy is not None and busy < 2 and (rank.others_ran_s or 0) >= BUSY_SHARE * time.span_s
    if ended:  # of threads that are over the kernel keeps what they ran, neither their number nor what they waited
        busy, waited = 2, rank.waited_s
    return RankShare(
        rank=rank.rank,
        host=time.host,
        processors=parse_cpu_list(rank.processors),
        online=rank.online,
        span_s=time.span_s,
        mpi_s=time.mpi_s,
        waited_s=rank.waited_s,
        busy=busy,
        busy_waited_s=waited,
        has_ended_threads=ended,
        grown_bytes=rank.grown_bytes,
        touched_bytes=rank.touched_bytes,
        faults=rank.minor_faults,
        fault_s=rank.fault_s or (),
        throttled_s=rank.throttled_s,
        ran_s=rank.ran_s,
        worked_s=sum(value_s for name, value_s in spent if name not in IDLE),
        without_s=dict(spent).get("no processor", 0.0) if spent else None,
    )


FEWEST = 2  # processes; one alone may be meant so
_NAMES = ("mpiexec", "mpirun")
# Of one library's launcher, by which a system with several tells them apart (Debian: mpiexec.openmpi).
_SUFFIXES = {"openmpi": ("openmpi",), "mpich": ("mpich", "hydra"), "intelmpi": ("hydra",), "mvapich": ("hydra",)}


def misstart(info: WatchInfo, job: WatchedJob) -> str | None:
    """What is wrong with how the ranks were started, and what to do; None: nothing, or it is not known."""
    if job.alone < FEWEST or (info.launcher is None and job.rank_variable is None):
        return None
    return _sentence(job.alone, info.launcher, job)


def alone_note(info: WatchInfo, job: WatchedJob) -> str | None:
    """The same where no launcher is known: it may be meant so; None: it is known, or there is nothing to say."""
    if job.alone < FEWEST or info.launcher is not None or job.rank_variable is not None:
        return None
    return (
        f"{job.alone} processes ran alone as rank 0 of 1: a launcher that started them does not belong to the "
        f"program's library ({job.records[0].words('library_path')})"
    )


def _sentence(count: int, launcher: WatchLauncher | None, job: WatchedJob) -> str:
    record = job.records[0]
    path = record.words("library_path")
    known = named_in(record.words("library"))
    name, version = (known[0].name, known[1]) if known else (None, None)
    library = f"the program's library ({path}, {_titled(name, version)})"
    head = f"Each of {count} processes ran alone as rank 0 of 1:"
    own = own_launcher(Path(path), name) if path else None
    is_other = own is not None and (launcher is None or os.path.realpath(own) != os.path.realpath(launcher.path))
    start = f"Start it with {own}." if is_other else "Start it with the launcher of that library."
    if launcher is None:
        variable, by = job.rank_variable or ("", None)
        who = f"what started them ({by})" if by else "what started them"
        return f"{head} {who} gave each a rank by {variable}, which {library} ignored. {start}"
    word = Path(launcher.path).name
    this, do = f"{word} ({launcher.path})", _pmi(launcher, name)
    if launcher.library is not None:
        this, do = f"this {word} ({launcher.path}, {_titled(launcher.library, launcher.version)})", start
    return f"{head} {this} does not belong to {library}. {do}"


def _pmi(launcher: WatchLauncher, library: str | None) -> str:
    try:
        pmi = launcher_named(launcher.name).pmi.get(library or "")
    except UsageError:
        pmi = None
    if pmi:
        return f"Start it with {launcher.name} {pmi}."
    return "Start it with the launcher of that library."


def _titled(name: str | None, version: str | None) -> str:
    title = next((library.title for library in MPI_LIBRARIES if library.name == name), "unknown MPI")
    return f"{title} {version}" if version else title


def own_launcher(library_path: Path, name: str | None) -> Path | None:
    """The launcher of the installation that a library lies in; None: not found, or it could be another library's.

    Args: name: of the library. In a folder of several MPIs (/usr/bin) its launcher has a name of its own.
    """
    for folder in library_path.parents[:4]:
        if folder == Path("/"):
            return None
        of_its_own = [
            folder / "bin" / f"{word}.{suffix}" for word in _NAMES for suffix in _SUFFIXES.get(name or "", ())
        ]
        plain = [] if folder == Path("/usr") else [folder / "bin" / word for word in _NAMES]
        for path in (*of_its_own, *plain):
            if path.is_file() and os.access(path, os.X_OK):
                return path
    return None
