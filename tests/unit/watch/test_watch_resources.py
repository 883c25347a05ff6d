# SPDX-License-Identifier: Apache-2.0
"""What ranks had to work with: read from their records, whatever is cut off or missing."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from slowpath.watch.analysis import watched as watched_folder
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.resources import MOST_MOMENTS, program_resources
from slowpath.watch.results import WatchResults
from support.watch_record import BASE_NS, Job

MIB = 2**20
BEGIN = (
    f"begin ns={BASE_NS} threads=1 processors=0-1 busy_threads=1 threads_ran_ns=100 threads_waited_ns=50 ran_ns=100 "
    "waited_ns=50 voluntary_switches=3 involuntary_switches=1 resident_bytes=1000000 processor=0 "
    "user_namespace=4026531837 shm_bytes=67108864 memory_limit_bytes=8589934592 processor_quota=1.500"
)
END = (
    f"end ns={BASE_NS + 2 * 10**9} threads=4 processors=0-2 busy_threads=2 threads_ran_ns=3000000100 "
    "threads_waited_ns=1000000050 ran_ns=1500000100 waited_ns=500000050 voluntary_switches=13 involuntary_switches=201 "
    "resident_bytes=3000000 most_resident_bytes=4000000 processor=2 shm_free_bytes=1024"
)


def watched(tmp_path: Path, *lines: tuple[str, str]) -> WatchResults:
    job = Job(2)
    for rank in job.ranks:
        rank.collective("MPI_Barrier", start_s=0.1, end_s=2.0)
    for key, value in lines:
        job.ranks[0].say(key, value)
    job.write(tmp_path / "ranks")
    info = WatchInfo(slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", wall_s=2.0, working_folder="/",
                     host="node1", library="/l.so", exit_code=0)  # fmt: skip
    write_watch(tmp_path, info)
    return watched_folder(tmp_path).results


def sample(at_s: float, resident: int, waited_s: float = 0.0) -> tuple[str, str]:
    return "sample", f"{BASE_NS + round(at_s * 1e9)} {resident} 0 {50 + round(waited_s * 1e9)} 1"


def test_what_a_rank_had(tmp_path: Path) -> None:
    found = watched(tmp_path, ("started_by", "/usr/bin/prted"), ("at", BEGIN), sample(0.5, 2 * MIB, 0.25), ("at", END))
    assert found.resources is not None
    (one,) = found.resources  # rank 1 is of an older version
    assert (one.rank, one.processors, one.processor_count, one.processor_quota) == (0, "0-2", 3, 1.5)
    assert (one.threads, one.busy_threads) == (4, 2)
    assert (one.ran_s, one.waited_s, one.threads_ran_s, one.threads_waited_s) == pytest.approx((1.5, 0.5, 3.0, 1.0))
    assert (one.voluntary_switches, one.involuntary_switches) == (10, 200)
    assert (one.resident_bytes, one.grown_bytes, one.most_resident_bytes) == (3_000_000, 2_000_000, 4_000_000)
    assert (one.memory_limit_bytes, one.user_namespace) == (2**33, 4026531837)
    assert (one.shm_bytes, one.shm_free_bytes, one.started_by) == (64 * MIB, 1024, "/usr/bin/prted")
    (moment,) = one.moments
    assert (moment.at_s, moment.resident_bytes, moment.waited_s) == (pytest.approx(0.5), 2 * MIB, pytest.approx(0.25))
    shared = program_resources(found)
    assert shared is not None
    assert (shared.ranks[0].waited_s, shared.ranks[0].busy_waited_s) == pytest.approx((0.5, 0.5))


def test_records_of_older_versions_say_nothing(tmp_path: Path) -> None:
    found = watched(tmp_path)
    assert found.resources == ()
    assert program_resources(found) is None


@pytest.mark.parametrize(
    "lines",
    [
        (("at", ""), ("sample", "")),
        (("at", "begin"), ("at", "end"), ("sample", "1 2 3")),
        (("at", "begin ns=x threads=-1 processors=9-1 waited_ns=1e9 processor_quota=nan"), ("sample", "a b c d e")),
        (("at", BEGIN), ("at", "end waited_ns=1")),  # counts don't fall
        (("at", BEGIN.replace("0-1", "0-999999999999")), ("launch", "=== PMI_RANK")),
        (("at", f"begin ns={10**17} threads={'9' * 18}"), sample(1.0, 10**17)),
    ],
)
def test_what_can_not_be_read_is_missing(tmp_path: Path, lines: tuple[tuple[str, str], ...]) -> None:
    for one in watched(tmp_path, *lines).resources or ():
        assert one.waited_s is None
        assert one.moments == ()


def test_many_samples_are_spread_over_the_run_and_the_last_one_is_kept(tmp_path: Path) -> None:
    dense = [sample(0.1 * n, MIB) for n in range(1, 600)]
    rare = [sample(60.0 + 20 * n, MIB + n) for n in range(1, 100)]
    found = watched(tmp_path, ("at", BEGIN), *dense, *rare)
    assert found.resources is not None
    moments = found.resources[0].moments
    assert 32 <= len(moments) <= MOST_MOMENTS
    assert moments[-1].resident_bytes == MIB + 99
    assert all(a.at_s < b.at_s for a, b in itertools.pairwise(moments))
