# SPDX-License-Identifier: Apache-2.0
"""Ranks and threads on too few processors, and memory that grows: named where planted, and not in clean twins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slowpath.findings.program_pattern import Ints, Messages, ProgramCalls
from slowpath.findings.program_resources import ProgramResources, RankShare, crowds
from slowpath.slowpaths.placement import sp061_threads_share, sp063_user_namespaces, sp071_other_jobs
from slowpath.slowpaths.placement.sp062_memory_grows import grown_bytes
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.results import WatchFinding, WatchResults
from support.watch_record import BASE_NS, Job

MIB, RANKS, SPAN_S = 2**20, 4, 4.0
Resident = Callable[[float], float]  # seconds since MPI_Init -> bytes


def watched(
    folder: Path,
    masks: Sequence[str],
    waited_s: float = 0.0,
    busy: int = 1,
    threads_waited_s: float = 0.0,
    others_ran_s: float = 0.0,
    resident: Resident = lambda _: 100.0 * MIB,
    namespaces: Callable[[int], str] | None = None,
    **of_rank: str,
) -> WatchResults:
    """A program of a rank for each mask, all of whose ranks had to wait for a processor so long."""
    job = Job(len(masks))
    for rank, mask in zip(job.ranks, masks, strict=True):
        for number in range(40):
            rank.collective("MPI_Barrier", start_s=0.1 * number + 0.02, end_s=0.1 * number + 0.05)
        counts = f"threads={busy} busy_threads={busy}"
        if namespaces is not None:
            of_rank = {**of_rank, "user_namespace": namespaces(rank.rank)}
        more = "".join(f" {name}={value}" for name, value in of_rank.items())
        rank.say("at", f"begin ns={BASE_NS} processors={mask} threads_waited_ns=0 waited_ns=0 ran_ns=0 used_ns=0 "
                 f"online=16{more}")  # fmt: skip
        for number in range(1, 41):
            at_s = 0.1 * number
            rank.say("sample", f"{BASE_NS + round(at_s * 1e9)} {round(resident(at_s))} 0 0 0")
        rank.say("at", f"end ns={BASE_NS + 4 * 10**9} {counts} processors={mask} waited_ns={round(waited_s * 1e9)} "
                 f"threads_waited_ns={round((threads_waited_s or waited_s) * 1e9)} ran_ns={10**9} "
                 f"used_ns={round((1 + others_ran_s) * 1e9)}")  # fmt: skip
    job.write(folder / "ranks", SPAN_S)
    info = WatchInfo(slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", wall_s=SPAN_S, host="node1",
                     working_folder="/", library="/l.so", exit_code=0)  # fmt: skip
    write_watch(folder, info)
    return concluded_watch(folder)


def found(*arguments: object, **more: object) -> list[WatchFinding]:
    return list(watched(*arguments, **more).findings)  # type: ignore[arg-type]


def test_ranks_on_one_processor_are_named_with_what_they_lost(tmp_path: Path) -> None:
    (one,) = found(tmp_path, ["0-1"] * RANKS, waited_s=2.0)
    assert one.rule == "SP060"
    assert "4 ranks on 2 processors (0-1 of node1): ranks 0, 1, 2 and 3 were ready to run" in one.text
    assert "had no processor for 2.00 s of 4.00 s each" in one.text
    assert "yield-when-idle" in (one.change or "")
    assert "bind each to its own core" in (one.change or "")  # the node has 16
    low, high = one.saved_interval or one.interval
    assert 1.0 <= low <= 2.0 <= high <= SPAN_S
    assert one.status == "estimated"


def test_more_ranks_than_the_node_has_processors_are_told_to_be_fewer(tmp_path: Path) -> None:
    (one,) = found(tmp_path, ["0-15"] * 20, waited_s=1.0)
    assert "20 ranks share the 16 processors of node1: start at most 16 there" in (one.change or "")


def test_ranks_that_share_and_do_not_wait_lose_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, ["0"] * RANKS, waited_s=0.001) == []


@pytest.mark.parametrize("masks", [["0", "1", "2", "3"], ["0-3"] * 4, ["0-1", "0-1", "2-3", "2-3"]])
def test_a_processor_for_each_rank_is_shared_with_none_of_the_program(tmp_path: Path, masks: list[str]) -> None:
    """Others took it: of bound ranks that is named as such, and only where it was long."""
    (one,) = found(tmp_path / "long", masks, waited_s=1.0)
    assert one.rule == "SP071"
    assert (
        "of 16 of node1, which other processes use, too: it was ready to run but had no processor for 1.00 s of"
        in one.text
    )
    assert "; 3 more ranks likewise" in one.text
    assert one.interval == pytest.approx((0.5, 1.0))
    assert found(tmp_path / "short", masks, waited_s=0.5) == []


def test_processors_that_others_use_are_no_fault_of_the_binding_where_there_is_none(tmp_path: Path) -> None:
    (one,) = found(tmp_path / "long", ["0-15"] * 2, waited_s=2.0)
    assert one.rule == "SP071"
    assert "other processes use the 16 processors of node1, too: rank 0 was ready to run but had no" in one.text
    assert "bind" not in (one.change or "")
    assert found(tmp_path / "short", ["0-15"] * 2, waited_s=0.5) == []


def test_a_quota_that_stops_processors_is_no_other_job() -> None:
    bound = replace(share(0, [0]), waited_s=0.5)
    for rank, count in ((bound, 1), (replace(bound, throttled_s=0.4), 0), (replace(bound, has_ended_threads=True), 0)):
        resources = ProgramResources((rank,), 1.0)
        assert len(sp071_other_jobs.see(calls_of(np.zeros((0, 3), dtype=np.int64), resources))) == count


def test_threads_that_exceed_the_processors_of_their_rank(tmp_path: Path) -> None:
    (one,) = found(tmp_path, ["0", "1"], busy=4, threads_waited_s=8.0)
    assert one.rule == "SP061"
    assert "4 busy threads of rank 0 on 1 processor (0 of node1)" in one.text
    assert "; 1 more group likewise" in one.text
    assert "OMP_NUM_THREADS" in (one.change or "")
    assert one.interval[0] <= one.seconds <= one.interval[1]


def test_threads_that_were_over_before_the_end_count_as_one(tmp_path: Path) -> None:
    (one,) = found(tmp_path, ["0", "1"], waited_s=2.0, others_ran_s=2.0)
    assert one.rule == "SP061"
    assert "at least 2 busy threads of rank 0 on 1 processor (0 of node1): each was ready to run" in one.text
    assert one.interval[0] == pytest.approx(1.0)


@pytest.mark.parametrize(("masks", "others_ran_s", "rules"), [(["0", "1"], 0.3, ["SP071"]), (["0-1", "2-3"], 2.0, [])])
def test_threads_that_are_over_and_ran_little_or_had_a_processor_are_not_what_a_rank_waits_for(
    tmp_path: Path, masks: list[str], others_ran_s: float, rules: list[str]
) -> None:
    """What else a rank may wait for on a processor of its own are other processes."""
    assert [one.rule for one in found(tmp_path, masks, waited_s=2.0, others_ran_s=others_ran_s)] == rules


def test_threads_of_a_library_that_starts_are_no_finding_of_a_short_run() -> None:
    short = replace(share(0, [0]), span_s=0.005, busy=2, busy_waited_s=0.001)
    assert sp061_threads_share.see(calls_of(np.zeros((0, 3), dtype=np.int64), ProgramResources((short,), 0.005))) == []


def test_threads_with_a_processor_each_are_clean(tmp_path: Path) -> None:
    assert found(tmp_path, ["0-3", "4-7"], busy=4, threads_waited_s=1.0) == []


def test_memory_that_grows_until_the_end_names_the_rank_and_the_limit(tmp_path: Path) -> None:
    more = {"memory_limit_bytes": str(1024 * MIB)}
    (one,) = found(tmp_path, ["0", "1"], resident=lambda at_s: (100 + 50 * at_s) * MIB, **more)
    assert one.rule == "SP062"
    assert "the memory of rank 0, and that of 1 more grows throughout the run" in one.text
    assert "50 MiB a second, to 300 MiB; it would reach the limit of its control group, 1 GiB, in 14.5 s" in one.text
    assert (one.change or "").startswith("rank 0 holds 50 MiB more each second")


@pytest.mark.parametrize(
    "resident",
    [
        lambda at_s: 100 * MIB,
        lambda at_s: (100 + 200 * min(at_s, 1.0)) * MIB,  # what it needs, then no more
        lambda at_s: (100 + 50 * at_s) * MIB if at_s < 3.0 else 250 * MIB,  # levels off
        lambda at_s: (100 + 50 * (round(10 * at_s) % 5)) * MIB,  # taken and given back
        lambda at_s: 100 * MIB + at_s * 4096,  # some pages
    ],
    ids=["constant", "begin", "levels off", "saw", "pages"],
)
def test_memory_that_does_not_grow_to_the_end_is_clean(tmp_path: Path, resident: Resident) -> None:
    assert found(tmp_path, ["0", "1"], resident=resident) == []


def test_ranks_in_namespaces_of_their_own_are_named_and_those_in_one_are_not(tmp_path: Path) -> None:
    """As of `unshare -Ur` behind the launcher and in front of it."""
    spaces = iter(["4026532001", "4026532002"])

    def each(_: int) -> str:
        return next(spaces)

    (one,) = found(tmp_path / "behind", ["0", "1"], namespaces=each)
    assert one.rule == "SP063"
    assert "the ranks of node1 are in 2 user namespaces" in one.text
    assert found(tmp_path / "in front", ["0", "1"], user_namespace="4026532001") == []


def test_the_second_copy_of_long_messages_is_the_price_of_namespaces() -> None:
    ranks = tuple(replace(share(rank, [rank]), namespace=7 + rank // 2) for rank in range(4))
    sent = np.array([[0, 1, 10**6], [0, 2, 10**6], [0, 3, 100], [3, 0, 10**6]])  # from, to, bytes: two go across
    found = calls_of(sent, ProgramResources(ranks, 1.0))
    (one,) = sp063_user_namespaces.see(found)
    assert one.more_s == pytest.approx((2e6 * 1e-10 / 4, 0.0, 2e6 * 4e-10 / 4))
    assert one.reported


def calls_of(sent: Ints, resources: ProgramResources) -> ProgramCalls:
    """Calls of a program that only sends. sent: shape (messages, 3), from, to, bytes."""
    count = len(sent)
    rows, none, zeros = np.arange(count), np.full(count, -1), np.zeros(count)
    no, yes = np.zeros(count, dtype=bool), np.ones(count, dtype=bool)
    messages = Messages(rows, rows, none, none, sent[:, 2], sent[:, 0], sent[:, 1], no)
    return ProgramCalls(
        sent[:, 0], sent[:, 0], zeros, zeros, zeros, none, none, none, sent[:, 2], none, none, no, yes, no, no, none,
        np.ones(count), ("MPI_Send",), messages, np.zeros((0, 4), dtype=np.int64), zeros[:0], (), 4, 1.0,
        resources=resources,
    )  # fmt: skip


def test_records_of_an_older_version_are_clean(tmp_path: Path) -> None:
    job = Job(2)
    for rank in job.ranks:
        rank.collective("MPI_Barrier", start_s=0.1, end_s=0.2)
    job.write(tmp_path / "ranks", SPAN_S)
    info = WatchInfo(slowpath="1", command=(), started="", working_folder="/", host="n", library="l")
    write_watch(tmp_path, info)
    assert list(concluded_watch(tmp_path).findings) == []


def share(rank: int, processors: Sequence[int], host: str = "a") -> RankShare:
    return RankShare(rank, host, frozenset(processors), 16, 1.0, 0.5, 0.1, 1, 0.1, (), None, None)


def test_crowds_are_found_on_each_host_and_inside_larger_sets() -> None:
    ranks = [share(0, [0]), share(1, [0]), share(2, [1, 2]), share(3, [0], "b")]
    (one,) = crowds(ranks)
    assert (one.host, [rank.rank for rank in one.ranks], one.processors) == ("a", [0, 1], frozenset({0}))
    assert crowds([share(0, []), share(1, [])]) == []  # not recorded


def test_too_few_looks_are_no_growth() -> None:
    growing = tuple((0.1 * n, (100 + 50 * n) * MIB) for n in range(11))
    assert grown_bytes(RankShare(0, "a", frozenset({0}), 1, 1.0, 0.1, 0.0, 1, 0.0, growing, None, None)) is None
