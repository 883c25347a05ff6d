# SPDX-License-Identifier: Apache-2.0
"""What reading a watch takes is bounded by the bytes of its records: no number in them makes it longer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.watch.events import MOST_GATHERED, events_of
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.record.job import MOST_RANKS, boots, read_job, ticks_of
from slowpath.watch.record.layout import RecordState
from slowpath.watch.record.reader import RankRecord, read_rank
from slowpath.watch.record.sites import Maps, named_sites
from slowpath.watch.start.session import RecordHeader, missing_ranks
from support.watch_record import Job, Rank

HUGE = 2**31 - 1
INFO = WatchInfo(slowpath="1", command=("./app",), started="2026-11-22T21:00:00+00:00", wall_s=0.5,
                 working_folder="/", host="n", library="l", exit_code=0)  # fmt: skip


def written(folder: Path, *ranks: Rank) -> Path:
    """A watch with these records."""
    (folder / "ranks").mkdir(parents=True)
    for number, rank in enumerate(ranks):
        (folder / "ranks" / f"{rank.host}-{4000 + number}.watch").write_bytes(rank.content(0.5))
    write_watch(folder, INFO)
    return folder


def test_a_made_up_rank_in_a_communicator_makes_no_list_of_its_length(tmp_path: Path) -> None:
    """The fuzzer's timeout: each of such communicators took memory and time in proportion to the number."""
    rank = Rank(0, 2)
    for identity, number in ((77, HUGE), (78, 2 * MOST_GATHERED), (79, 1)):
        rank.communicator(identity, size=3, rank=number)
    _, world = events_of(read_job(written(tmp_path / "watch", rank)))
    assert set(world.members) & {77, 78, 79} == {79}
    assert list(world.members[79]) == [-1, 0]


def test_communicators_of_many_ranks_share_what_the_record_has_once(tmp_path: Path) -> None:
    rank = Rank(0, 4)
    rank.communicator(77, size=4, rank=3, members=[3, 2, 1, 0])
    for identity in range(78, 178):
        rank.communicator(identity, size=4, rank=3, members_offset=0, members_count=4)
    _, world = events_of(read_job(written(tmp_path / "watch", rank)))
    lists = [world.members[identity] for identity in range(77, 178)]
    assert {tuple(members) for members in lists} == {(3, 2, 1, 0)}
    assert all(np.shares_memory(np.asarray(lists[0]), np.asarray(members)) for members in lists)


def test_a_record_of_more_ranks_than_any_machine_has_is_left_out(tmp_path: Path) -> None:
    job = read_job(written(tmp_path / "watch", Rank(0, HUGE), Rank(0, 2)))
    assert job.size == 2
    assert job.notes == (
        f"node1-4000.watch: left out, because it states a world of {HUGE} ranks, more than {MOST_RANKS}",
    )


def test_missing_ranks_are_named_without_counting_them_all() -> None:
    header = RecordHeader(Path("1.watch"), RecordState.FINALIZED, 1, HUGE)
    assert f"1 of {HUGE} ranks left a record; missing: 0, 2, 3, 4, 5, ...:" in (missing_ranks([header]) or "")


def test_mappings_are_read_once_a_record_however_many_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = Rank(0, 1)
    rows = [rank.site(0x401000 + 16 * number) for number in range(200)]
    rank.say("map", "00400000-00500000 r-xp 00000000 08:01 17 /nowhere/app")
    record = read_rank(written(tmp_path / "watch", rank) / "ranks" / "node1-4000.watch")
    read: list[RankRecord] = []
    of = Maps.of
    monkeypatch.setattr(Maps, "of", lambda record: read.append(record) or of(record))
    found = named_sites([(record, row) for row in rows], 0)
    assert [site.offset for site in found] == [0x1000 + 16 * number for number in range(200)]
    assert len(read) == 1


def test_clocks_of_many_ranks_that_died_take_a_look_at_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 60
    job = Job(count)
    for rank in job.ranks:
        rank.host = f"node{rank.rank % 20}"
        rank.header["ticks_kind"] = 1
        if rank.rank >= count // 2:
            rank.header["end_ticks"] = 0
    records = read_job(written(tmp_path / "watch", *job.ranks)).records
    asked: list[str] = []
    words = RankRecord.words
    monkeypatch.setattr(RankRecord, "words", lambda record, name: asked.append(name) or words(record, name))
    clocks, notes = ticks_of(records)
    assert len(clocks) == count
    assert not notes
    assert sorted(set(boots(records).tolist())) == list(range(20))
    assert len(asked) <= 3 * count
