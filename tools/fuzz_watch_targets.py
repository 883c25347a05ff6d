# SPDX-License-Identifier: Apache-2.0
"""Readers of watches: records of ranks, what is concluded from them, and the programs that they name."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
from fuzz_target import Defect, Target, always, of_file

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from slowpath.run.engine.elf import dynamic  # noqa: E402
from slowpath.watch.folder import WATCH_FILE, WatchInfo, read_watch, write_watch  # noqa: E402
from slowpath.watch.prices import LAWS_FILE, read_laws  # noqa: E402
from slowpath.watch.proof import PROOF_FILE, read_proof  # noqa: E402
from slowpath.watch.record.reader import read_rank  # noqa: E402
from slowpath.watch.record.sites import (  # noqa: E402
    Maps,
    Object,
    demangled,
)
from slowpath.watch.report.write import rebuild  # noqa: E402
from slowpath.watch.results import RESULTS_FILE, read_watch_results  # noqa: E402
from support.watch_record import Job, Rank  # noqa: E402
from support.watch_results import a_proof, results  # noqa: E402

INFO = WatchInfo(slowpath="1", command=("mpiexec", "./app"), started="2026-11-22T21:00:00+00:00", wall_s=0.5,
                 working_folder="/", host="n", library="l", exit_code=0)  # fmt: skip
LINES_LIMIT_S = 0.2  # for the line tables of one program


def _records(folder: Path) -> list[bytes]:
    """One rank with most that a record can hold, and one of a pair."""
    rank = Rank(1, 4)
    rank.allocation(2_000_001)
    site = rank.site(0x401234, 0x401400)
    rank.datatype(800, 1600, blocks=100)
    rank.communicator(77, size=2, rank=0, members=[1, 3])
    rank.send(3, tag=9, start_s=0.1, end_s=0.2, message_bytes=1000, communicator=1, site=site, allocation=0)
    request = rank.irecv(0, start_s=0.3, end_s=0.31, message_bytes=64)
    rank.wait(request, start_s=0.4, end_s=0.5)
    rank.say("map", "00400000-00500000 r-xp 00000000 08:01 17 /opt/app/app")
    pair = Job(ranks=2)
    pair.ranks[0].send(1, tag=7, start_s=0.02, end_s=0.021, message_bytes=65_536)
    return [rank.content(), pair.ranks[0].content(0.5)]


def _read_record(content: bytes, folder: Path) -> None:
    """Every index of what is read is within its section, as the reader promises."""
    path = folder / "a.watch"
    path.write_bytes(content)
    record = read_rank(path)
    if len(record.events) != len(record.event_lane) or len(record.profile) != len(record.profile_lane):
        raise Defect("rows without a lane")
    addresses = np.asarray(record.sites["frames"], dtype=np.uint64).ravel()
    index, _ = Maps.of(record).places(addresses)
    if len(index) != len(addresses):
        raise Defect("an address without an answer")
    for name in ("host", "program", "library"):
        record.words(name)
    _ = record.call_names, record.rank, record.size, record.state


def _read_job(content: bytes, folder: Path) -> None:
    """The whole report of a watch in which one of two ranks left these bytes."""
    watch = folder / "watch"
    shutil.rmtree(watch, ignore_errors=True)
    pair = Job(ranks=2)
    pair.ranks[1].receive(0, tag=7, start_s=0.015, end_s=0.022, message_bytes=65_536)
    pair.write(watch / "ranks", 0.5)
    (watch / "ranks" / "node1-4000.watch").write_bytes(content)
    write_watch(watch, INFO)
    rebuild(watch)
    read_watch_results(watch)


def _read_object(content: bytes, folder: Path) -> None:
    path = folder / "program"
    path.write_bytes(content)
    dynamic(path)
    held = Object(path)
    try:
        offsets = [1, 0x100, 0x200, 0x1000, 0x1010, 0x1040, len(content)]
        if len(held.places(offsets, time.monotonic() + LINES_LIMIT_S)) != len(offsets):
            raise Defect("an offset without an answer")
    finally:
        held.close()


def _read_symbol(content: bytes, folder: Path) -> None:
    if not isinstance(demangled(content.decode("utf-8", "replace").replace("\0", "")), str):
        raise Defect("no name")


def _laws(folder: Path) -> list[bytes]:
    return [msgspec.json.encode({"folders": ["/a", "/b"]})]


def _proof(folder: Path) -> list[bytes]:
    return [msgspec.json.encode(a_proof())]


def _watch(folder: Path) -> list[bytes]:
    return [msgspec.json.encode(INFO)]


def _results(folder: Path) -> list[bytes]:
    return [msgspec.json.encode(results(size=2, slices=(), pairs=()))]


SYMBOLS = (
    b"_ZN9CommBrick12forward_commEi", b"_ZNSt6vectorIiSaIiEE9push_backERKi", b"__mpi_mod_MOD_halo", b"MPI_Send",
    b"__pyx_pw_6mpi4py_3MPI_4Comm_77Isend",
)  # fmt: skip

WATCH_TARGETS = (
    Target("watch-record", _records, _read_record),
    Target("watch-job", _records, _read_job),
    Target("watch-info", _watch, of_file(WATCH_FILE, read_watch), is_json=True),
    Target("watch-results", _results, of_file(RESULTS_FILE, read_watch_results), is_json=True),
    Target("watch-proof", _proof, of_file(PROOF_FILE, read_proof), is_json=True),
    Target("watch-laws", _laws, of_file(LAWS_FILE, read_laws), is_json=True),
    Target("program", always(), _read_object),
    Target("symbol", always(*SYMBOLS), _read_symbol),
)
