# SPDX-License-Identifier: Apache-2.0
"""What is wrong with where ranks ran is the first line of a watch, by what they recorded or by where they started."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowpath.core.place import PlaceFacts
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.folder import WatchInfo, read_watch, write_watch
from slowpath.watch.results import WatchResults
from slowpath.watch.start.session import troubles
from slowpath.watch.verdict import brief_of
from support.watch_record import BASE_NS, Job

SPAN_S = 4.0
MIB = 2**20
FINE = f"processors=0-1 online=2 user_namespace=7 seccomp=2 shm_bytes={64 * MIB} shm_free_bytes=1 processor_quota=2.000"


def watched(
    folder: Path, words: list[str], place: PlaceFacts | None = None, waited_s: float = 0.0, refused: str = ""
) -> WatchResults:
    """Two ranks with these words at their begin. Args: refused: line copy_refused of the first."""
    job = Job(len(words))
    for rank, said in zip(job.ranks, words, strict=True):
        for number in range(40):
            rank.collective("MPI_Barrier", start_s=0.1 * number + 0.02, end_s=0.1 * number + 0.05)
        rank.say("at", f"begin ns={BASE_NS} waited_ns=0 throttled_ns=0 {said}")
        waited = f"waited_ns={round(waited_s * 1e9)} throttled_ns=2000000000"
        rank.say("at", f"end ns={BASE_NS + 4 * 10**9} {waited} {said}")
    if refused:
        job.ranks[0].say("copy_refused", refused)
    job.write(folder / "ranks", SPAN_S)
    info = WatchInfo(slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", wall_s=SPAN_S, host="node1",
                     working_folder="/", library="/l.so", exit_code=0, place=place)  # fmt: skip
    write_watch(folder, info)
    return concluded_watch(folder)


def first_line(results: WatchResults) -> str:
    brief = brief_of(results).answer
    if results.place:
        assert results.verdict[0].startswith(brief)
    return brief


def test_a_place_that_is_fine_gets_no_line(tmp_path: Path) -> None:
    results = watched(tmp_path, [FINE, FINE], PlaceFacts(copy_errno=0, apart_errno=errno.EPERM))
    assert results.place == ()
    assert "2 ranks, " in first_line(results)


WRONG = [
    ([FINE, FINE.replace("namespace=7", "namespace=8")], "2 ranks in 2 user namespaces"),
    ([FINE, FINE.replace(str(64 * MIB), "65536")], "/dev/shm has 64 KiB"),
    ([FINE.replace("2.000", "1.500")] * 2, "A CPU quota of 1.5 processors for 2 ranks: 2 processes"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=["namespaces", "shm", "quota"])
def test_what_ranks_recorded_speaks(tmp_path: Path, words: list[str], said: str) -> None:
    assert first_line(watched(tmp_path, words)).startswith(said)


def test_shared_processors_speak_where_time_was_lost(tmp_path: Path) -> None:
    words = [FINE.replace("=0-1", "=1")] * 2
    assert watched(tmp_path / "fine", words).place == ()
    lost = first_line(watched(tmp_path / "lost", words, waited_s=1.0))
    assert lost.startswith("2 ranks may use only processor 1 of 2")


@pytest.mark.parametrize(("seccomp", "by"), [("2", "a seccomp filter"), ("0", "possibly a security module")])
def test_a_copy_that_the_library_was_refused_speaks(tmp_path: Path, seccomp: str, by: str) -> None:
    words = [FINE.replace("seccomp=2", f"seccomp={seccomp}")] * 2
    said = first_line(watched(tmp_path, words, refused=str(errno.EPERM)))
    assert said.startswith(f"{by[0].upper()}{by[1:]}")
    assert "refuses a copy from another rank's memory (EPERM): " in said


def test_where_it_was_started_speaks_for_ranks_there(tmp_path: Path) -> None:
    place = PlaceFacts(copy_errno=errno.EPERM, own_errno=errno.EPERM)
    assert "8 KiB copy" in first_line(watched(tmp_path / "here", [FINE, FINE], place))
    info = replace(read_watch(tmp_path / "here"), host="login")
    write_watch(tmp_path / "here", info)
    assert concluded_watch(tmp_path / "here").place == ()


def test_it_speaks_where_no_rank_left_a_record(tmp_path: Path) -> None:
    watched(tmp_path, [FINE, FINE], PlaceFacts(shm_bytes=65536))
    for record in (tmp_path / "ranks").iterdir():
        record.unlink()
    for number in range(2):
        (tmp_path / "ranks" / f"node1-{number}.begun").touch()
    has_record, lines = troubles(tmp_path, {})
    assert not has_record
    assert lines[0].startswith("/dev/shm has 64 KiB and 2 ranks of MPI need")
