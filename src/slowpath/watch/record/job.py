# SPDX-License-Identifier: Apache-2.0
"""What a rank had to work with, from the lines `at`, `sample`, `launch` and `started_by` of its record.

A line may be cut off, or say what no kernel says: what can't be read is missing.

The records of one run of a program: which of a watch's files belong together, and their clocks.

A rank's ticks become seconds of its host's CLOCK_MONOTONIC by the record's two anchors. Where there are too many
events, windows of them are dropped as a full lane drops them itself: the same ones on all ranks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.mpi.launchers import RANK_VARIABLES
from slowpath.watch.folder import record_files
from slowpath.watch.record.layout import Doing, RecordState
from slowpath.watch.record.reader import HIGHEST_LEVEL, RankRecord, read_rank

_NUMBER = re.compile(r"[0-9]{1,18}")
_FRACTION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True)
class RecordedResources:
    """begin, end: words of the first and last `at`; empty: none.

    launch: variables by which the launcher gave the process its rank.  started_by: the parent's program.
    copy_refused: errno of the first copy to or from another process that the kernel refused; None: none was.
    """

    begin: Mapping[str, str]
    end: Mapping[str, str]
    launch: Mapping[str, str]
    started_by: str | None
    copy_refused: int | None = None

    def number(self, name: str, at_end: bool = True) -> int | None:
        """A whole number of one moment; None: missing."""
        text = (self.end if at_end else self.begin).get(name, "")
        return int(text) if _NUMBER.fullmatch(text) else None

    def fraction(self, name: str) -> float | None:
        """A number with a point, of the first moment."""
        text = self.begin.get(name, "")
        return float(text) if _FRACTION.fullmatch(text) else None

    def between(self, name: str) -> int | None:
        """What a count grew by from begin to end; None: one of them is missing, or it fell."""
        first, last = self.number(name, at_end=False), self.number(name)
        return last - first if first is not None and last is not None and last >= first else None


def resources_in(record: RankRecord) -> RecordedResources:
    """Of one rank; all empty where nothing was recorded."""
    moments = [_words(line) for line in record.text.get("at", ())]
    begin = next((words for moment, words in moments if moment == "begin"), {})
    end = next((words for moment, words in reversed(moments) if moment == "end"), {})
    launch = dict(
        word.split("=", 1) for line in record.text.get("launch", ())[:1] for word in line.split() if "=" in word
    )
    started_by = next(iter(record.text.get("started_by", ())), None)
    refused = next(iter(record.text.get("copy_refused", ())), "")
    refused_errno = int(refused) if _NUMBER.fullmatch(refused) else None
    return RecordedResources(begin, end, launch, started_by, refused_errno)


def _words(line: str) -> tuple[str, dict[str, str]]:
    moment, *words = line.split() or [""]
    return moment, dict(word.split("=", 1) for word in words if "=" in word)


MONOTONIC = 2  # ticks_kind: CLOCK_MONOTONIC in ns
LEAST_SPAN_NS = 1_000_000  # between the anchors: below it their own error shows
_RATES = (1e6, 1e11)  # ticks a second that a counter can have
SAME_BOOT_S = 1.0  # by which CLOCK_REALTIME - CLOCK_MONOTONIC of one boot may differ: it is slewed


@dataclass(frozen=True)
class Ticks:
    """One rank's clock: seconds = origin_s + (ticks - start_ticks) * s_per_tick."""

    start_ticks: int
    origin_s: float
    s_per_tick: float

    def seconds(self, ticks: NDArray[Any], since_s: float = 0.0) -> NDArray[np.float64]:
        """CLOCK_MONOTONIC - since_s, shape of `ticks`."""
        passed = (ticks.astype(np.int64) - np.int64(self.start_ticks)).astype(np.float64)
        seconds: NDArray[np.float64] = passed * self.s_per_tick + (self.origin_s - since_s)
        return seconds

    def duration_s(self, ticks: float) -> float:
        """Length of a stretch."""
        return float(ticks) * self.s_per_tick


def ticks_of(records: Sequence[RankRecord]) -> tuple[list[Ticks], list[str]]:
    """A clock for each record; a rank that died before its second anchor has the rate of another on its host.

    Returns: clocks; notes on ranks whose rate is not known and taken as that of ranks elsewhere, or 1 GHz.
    """
    rates = [tick_rate(record.header, record.current) for record in records]
    of_host: dict[str, float] = {}
    for record, rate in zip(records, rates, strict=True):
        if rate is not None:
            of_host.setdefault(record.words("host"), rate)
    notes, clocks = [], []
    for record, own in zip(records, rates, strict=True):
        rate = own
        if rate is None:
            near = of_host.get(record.words("host"))
            rate = near or next(iter(of_host.values()), 1e9)
            if near is None:
                notes.append(f"rank {record.rank}: its clock rate is unknown, so its times are a guess")
        start = int(record.header["start_ticks"]) % 2**63
        clocks.append(Ticks(start, int(record.header["start_monotonic_ns"]) * 1e-9, 1.0 / rate))
    return clocks, notes


def tick_rate(header: np.void, current: NDArray[Any]) -> float | None:
    """Ticks a second: by the anchors, else as the rank measured it at its start; None: neither tells."""
    if int(header["ticks_kind"]) == MONOTONIC:
        return 1e9
    passed_ns = int(header["end_monotonic_ns"]) - int(header["start_monotonic_ns"])
    ticks = int(header["end_ticks"]) - int(header["start_ticks"])
    if passed_ns >= LEAST_SPAN_NS and ticks > 0:
        rate = ticks / (passed_ns * 1e-9)
    else:
        rate = float(current["ticks_per_s"].max(initial=0))
    return rate if _RATES[0] <= rate <= _RATES[1] else None


def boots(records: Sequence[RankRecord]) -> NDArray[np.int64]:
    """Number of the clock that each rank has, shape (records,): one for each host and each of its boots.

    Containers of one name on several machines have clocks of their own.
    """
    numbers: list[int] = []
    known: dict[str, dict[float, int]] = defaultdict(dict)  # by host, then by the offset of its first record
    count = 0
    for record in records:
        of_host = known[record.words("host")]
        offset_s = (int(record.header["start_realtime_ns"]) - int(record.header["start_monotonic_ns"])) * 1e-9
        number = next((number for other_s, number in of_host.items() if abs(other_s - offset_s) < SAME_BOOT_S), None)
        if number is None:
            number = of_host[offset_s] = count
            count += 1
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)


def windows_of(record: RankRecord, clock: Ticks, start_ticks: NDArray[Any]) -> NDArray[np.int64]:
    """Number of the window of each of these times."""
    ns = max(int(record.header["window_ns"]), 1)
    seconds = clock.seconds(start_ticks)
    windows: NDArray[np.int64] = np.floor(seconds * (1e9 / ns)).astype(np.int64)
    return windows


def level_of(records: Sequence[RankRecord]) -> int:
    """The highest one: windows whose number is no multiple of 2^level are missing on some rank."""
    return max((int(record.lanes["level"].max(initial=0)) for record in records), default=0)


def thinned(records: Sequence[RankRecord], level: int) -> list[RankRecord]:
    """Windows whose number is no multiple of 2^level go, of all ranks."""
    level = min(level, HIGHEST_LEVEL)
    clocks, _ = ticks_of(records)
    kept_records = []
    for record, clock in zip(records, clocks, strict=True):
        kept = windows_of(record, clock, record.events["start_ticks"]) % (1 << level) == 0
        lanes = record.lanes.copy()
        lanes["level"] = np.maximum(lanes["level"], level)
        kept_records.append(
            replace(record, events=record.events[kept], event_lane=record.event_lane[kept], lanes=lanes)
        )
    return kept_records


MOST_RECORDS = 20_000  # files of a watch that are read
MOST_RANKS = 2**22  # of a world; a record that says more is made up, and tables by rank would have no room
# Of all ranks together, which take seconds; beyond, further windows are thinned as a full lane does it.
MOST_EVENTS = 2_000_000
MOST_NOTES = 50


@dataclass(frozen=True)
class WatchedJob:
    """One MPI_COMM_WORLD.

    records: at most one a rank, by rank.  size: ranks of the world.  notes: what is not part of it or damaged.
    alone: most processes that ran at one time, each rank 0 of a world of 1, where no world was larger; else 0.
    rank_variable: by which a launcher gave each of these another rank, and the program that started one; None: none.
    """

    records: tuple[RankRecord, ...]
    size: int
    notes: tuple[str, ...]
    alone: int = 0
    rank_variable: tuple[str, str | None] | None = None


def read_job(folder: Path) -> WatchedJob:
    """The world with the most time in MPI of all that were recorded in a watch; no records give an empty one.

    A command may start several MPI programs, one after the other or spawned: the others are named in the notes.
    """
    paths = record_files(folder)
    if len(paths) > MOST_RECORDS:
        raise RecordError(f"{folder}: {len(paths)} records, more than the {MOST_RECORDS} that are read")
    records: list[RankRecord] = []
    notes, events, level = [], 0, 0
    for path in paths:
        try:
            record = read_rank(path)
        except RecordError as error:
            notes.append(str(error))
            continue
        if record.size > MOST_RANKS:
            notes.append(
                f"{path.name}: left out, because it states a world of {record.size} ranks, more than {MOST_RANKS}"
            )
            continue
        records += thinned([record], level) if level else [record]
        events += records[-1].events.size
        while events > MOST_EVENTS and level < HIGHEST_LEVEL:
            level = max(level, level_of(records)) + 1
            records = thinned(records, level)
            events = sum(kept.events.size for kept in records)
    chosen, others = _chosen(records)
    notes += [note for record in chosen for note in record.notes]
    if others:
        programs = sorted({Path(record.words("program")).name for record in others})
        notes.append(f"{len(others)} further processes called MPI but are not included: {', '.join(programs[:8])}")
    size = max((record.size for record in chosen), default=0)
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"and {len(notes) - MOST_NOTES} more"]
    alone = alone_in(records)
    return WatchedJob(tuple(chosen), size, tuple(notes), alone, _rank_variable(records) if alone > 1 else None)


def _rank_variable(records: Sequence[RankRecord]) -> tuple[str, str | None] | None:
    """By RANK_VARIABLES: of a job script's own processes all have the same value."""
    of_ranks = [resources_in(record) for record in records]
    for name in RANK_VARIABLES:
        if len({rank.launch[name] for rank in of_ranks if name in rank.launch}) > 1:
            return name, next((rank.started_by for rank in of_ranks if name in rank.launch), None)
    return None


def alone_in(records: Sequence[RankRecord]) -> int:
    """Most processes that ran at one time, each rank 0 of a world of 1 and started by no MPI_Comm_spawn.

    0: a world was larger. A process lasts from its start to the last sign of its record; one that was killed, on.
    """
    if any(record.size > 1 for record in records):
        return 0
    marks: list[tuple[int, int]] = []
    for record in records:
        if record.size == 1 and int(record.header["parent_rank_hint"]) != 1:
            is_over = record.state in (RecordState.FINALIZED, RecordState.NO_FINALIZE)
            end = int(record.header["end_realtime_ns"]) if is_over else 2**63
            marks += [(int(record.header["process_start_realtime_ns"]), 1), (end, -1)]
    running = most = 0
    for _, change in sorted(marks):
        running += change
        most = max(most, running)
    return most


def _chosen(records: Sequence[RankRecord]) -> tuple[list[RankRecord], list[RankRecord]]:
    worlds = list(_worlds(record for record in records if 0 <= record.rank < record.size))
    best = max(worlds, key=_seconds, default=[])
    ids = {id(record) for record in best}
    return sorted(best, key=lambda record: record.rank), [record for record in records if id(record) not in ids]


def _worlds(records: Iterable[RankRecord]) -> Iterable[list[RankRecord]]:
    """Records that can be of one world: the n-th process of each rank among worlds of one size."""
    by_kind: dict[tuple[int, bool], dict[int, list[RankRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        by_kind[record.size, int(record.header["parent_rank_hint"]) == 1][record.rank].append(record)
    for ranks in by_kind.values():
        for of_rank in ranks.values():
            of_rank.sort(key=lambda record: int(record.header["start_realtime_ns"]))
        for n in range(max(len(of_rank) for of_rank in ranks.values())):
            yield [of_rank[n] for of_rank in ranks.values() if n < len(of_rank)]


def _seconds(records: Sequence[RankRecord]) -> float:
    """A measure of the time in MPI; ticks of one host are of one kind."""
    return sum(float(record.lanes["call_ticks"].sum(dtype=float)) for record in records)


@dataclass(frozen=True)
class Moved:
    """When a rank last began or ended a call, CLOCK_REALTIME in seconds; and whether it is in one that can block."""

    at_s: float
    is_in_call: bool


def moved(header: np.void, lanes: NDArray[Any], current: NDArray[Any]) -> Moved | None:
    """Of one record; None: it says nothing of now. Polls that find nothing move nothing."""
    if not current.size:
        return None
    if int(header["state"]) in (RecordState.FINALIZED, RecordState.NO_FINALIZE):
        return Moved(int(header["end_realtime_ns"]) * 1e-9, False)
    rate = tick_rate(header, current)
    if rate is None:
        return None
    count = min(lanes.size, current.size)
    is_outside = current["doing"][:count] == Doing.OUTSIDE
    ticks = np.where(
        is_outside,
        np.maximum(lanes["last_ticks"][:count], current["since_ticks"][:count]),
        current["since_ticks"][:count],
    )
    passed = (int(ticks.max()) - int(header["start_ticks"])) / rate
    return Moved(int(header["start_realtime_ns"]) * 1e-9 + passed, bool((~is_outside).any()))
