# SPDX-License-Identifier: Apache-2.0
"""The records of one run of a program: which of a watch's files belong together, by rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.watch.folder import record_files
from slowpath.watch.record.reader import HIGHEST_LEVEL, RankRecord, read_rank
from slowpath.watch.record.thinned import level_of, thinned

MOST_RECORDS = 20_000  # files of a watch that are read
# Of all ranks together, which take seconds; beyond, further windows are thinned as a full lane does it.
MOST_EVENTS = 2_000_000
MOST_NOTES = 50


@dataclass(frozen=True)
class WatchedJob:
    """One MPI_COMM_WORLD.

    records: at most one a rank, by rank.  size: ranks of the world.  notes: what is not part of it or damaged.
    """

    records: tuple[RankRecord, ...]
    size: int
    notes: tuple[str, ...]


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
        records += thinned([record], level) if level else [record]
        events += records[-1].events.size
        while events > MOST_EVENTS and level < HIGHEST_LEVEL:
            level = max(level, level_of(records)) + 1
            records = thinned(records, level)
            events = sum(one.events.size for one in records)
    chosen, others = _chosen(records)
    notes += [note for record in chosen for note in record.notes]
    if others:
        programs = sorted({Path(record.words("program")).name for record in others})
        notes.append(
            f"{len(others)} further processes called MPI and are not in this account: {', '.join(programs[:8])}"
        )
    size = max((record.size for record in chosen), default=0)
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"and {len(notes) - MOST_NOTES} more"]
    return WatchedJob(tuple(chosen), size, tuple(notes))


def _chosen(records: Sequence[RankRecord]) -> tuple[list[RankRecord], list[RankRecord]]:
    """The world with the most calls' time, by rank; and what belongs to others."""
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
