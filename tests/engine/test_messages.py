# SPDX-License-Identifier: Apache-2.0
"""p2p: what the library is told of queues and late receives, the parts of overlap, thread levels in the record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ranks import Event, Ranks, events_in
from told import TAG, shim, told

from slowpath.record.blocks import read, scan

QUEUE = 3


def ran(ranks: Ranks, words: list[str], variables: dict[str, str] | None = None) -> None:
    done = ranks.run_engine("p2p", *words, of_ranks=variables)
    assert done.returncode == 0, done.stderr


def event(folder: Path, name: str) -> Event:
    return next(event for event in events_in(folder) if event["event"] == name)


@pytest.mark.parametrize("posted", ["before", "after"])
def test_what_the_library_sees_of_late_messages(ranks: Ranks, blankless: Path, tmp_path: Path, posted: str) -> None:
    """The others stand in front as long as messages are timed, and are received in the end."""
    out = tmp_path / "out"
    words = ["--pattern", "one_way", "--posted", posted, "--queue", str(QUEUE), "--messages", "2", "--out", str(out)]
    ran(ranks, words, shim(ranks, blankless, tmp_path))
    sent, received = (told(tmp_path, rank, "call", "tag") for rank in (0, 1))
    others = [str(TAG + 100 + i) for i in range(QUEUE)]
    # One exchange before anything counts, two timed messages, one more with new content.
    exchange, more = [("send", "77"), ("receive", "77")], ("send", "77")
    in_front = [("send", tag) for tag in others]
    if posted == "before":
        assert sent == [*exchange, more, more, more, *in_front]
        timed = [("post", "77"), ("post", "77")]
        assert received == [*exchange[::-1], *(("post", tag) for tag in others), *timed, ("receive", "77")]
    else:
        assert sent == [*exchange, *in_front, more, more, more]
        timed = 2 * [("probe", "77"), ("receive", "77")]
        assert received == [
            *exchange[::-1],
            ("probe", others[-1]),
            *timed,
            ("receive", "77"),
            *(("post", tag) for tag in others),
        ]
    assert event(out, "cell_end")["status"] == "ok"


def printed(ranks: Ranks, blankless: Path, tmp_path: Path, words: list[str]) -> list[list[str]]:
    """The calls with the tag of messages that each rank makes after the exchange before anything counts."""
    out = tmp_path / "out"
    ran(ranks, [*words, "--out", str(out)], shim(ranks, blankless, tmp_path))
    assert event(out, "cell_end")["status"] == "ok"
    every = [told(tmp_path, rank, "call", "tag") for rank in (0, 1)]
    return [[call for call, tag in of_rank if tag == str(TAG)][2:] for of_rank in every]


@pytest.mark.parametrize(("completion", "calls"), [("probe", ["probe", "receive"]), ("mprobe", ["mprobe", "matched"])])
def test_what_the_library_sees_of_probes(
    ranks: Ranks, blankless: Path, tmp_path: Path, completion: str, calls: list[str]
) -> None:
    words = ["--pattern", "one_way", "--completion", completion, "--messages", "3"]
    sent, received = printed(ranks, blankless, tmp_path, words)
    assert sent == 4 * ["send"]
    assert received == [*(3 * calls), "receive"]  # the last one is the check


def test_a_poll_comes_before_its_message(ranks: Ranks, blankless: Path, tmp_path: Path) -> None:
    """Rank 0 polls, and in each phase receives what it asked for; nothing is sent before."""
    words = ["--pattern", "polling", "--samples", "8", "--warmup-s", "0", "--time-limit-s", "0"]
    asked, sent = printed(ranks, blankless, tmp_path, words)
    assert set(sent) == {"send"}
    assert len(sent) == asked.count("receive")
    assert asked[0] == "iprobe"
    assert asked.count("iprobe") >= 1 + 4 + 8  # the first one, warm-up, samples of a poll or more
    index = scan(tmp_path / "out" / "samples.blk")
    assert index.select(cell=0, rank=0, phase="steady").size
    assert not index.select(cell=0, rank=1, phase="steady").size


def test_the_three_parts_of_overlap(ranks: Ranks, tmp_path: Path) -> None:
    ran(ranks, ["--pattern", "overlap", "--samples", "12", "--time-limit-s", "0.01", "--out", str(tmp_path)])
    index = scan(tmp_path / "samples.blk")
    for rank in (0, 1):
        blocks = [int(i) for i in index.select(cell=0, rank=rank, phase="steady")]
        assert sorted(index.headers["part"][blocks].tolist()) == [0, 1, 2]
        assert len(set(index.headers["n"][blocks].tolist())) == 1
        assert all(np.all(read(index, i).duration_ns > 0) for i in blocks)
        assert sorted(bool(flag) for flag in index.flag("witness")[blocks]) == [False, False, True]
        first = [int(i) for i in index.select(cell=0, rank=rank, phase="first")]
        assert index.headers["part"][first].tolist() == [0]


WINDOWS = ["--pattern", "windowed", "--in-flight", "4", "--message-bytes", "8,64KiB", "--samples", "8"]


def test_threads_have_windows_of_their_own_and_need_the_level(ranks: Ranks, tmp_path: Path) -> None:
    words = [*WINDOWS, "--threads", "2", "--time-limit-s", "0.01", "--out"]
    ran(ranks, [*words, str(tmp_path / "without")], {"SLOWPATH_THREAD_LEVEL": "single"})
    ran(ranks, [*words, str(tmp_path / "with")], {"SLOWPATH_THREAD_LEVEL": "multiple"})
    provided = event(tmp_path / "with", "launch_begin")["thread_level"]["provided"]
    for name in ("without", "with"):
        if event(tmp_path / name, "launch_begin")["thread_level"]["provided"] == "multiple":
            continue
        end = event(tmp_path / name, "cell_end")
        assert end["status"] == "skipped"
        assert "needs MPI_THREAD_MULTIPLE" in end["reason"]
    if provided == "multiple":
        ends = [event for event in events_in(tmp_path / "with") if event["event"] == "cell_end"]
        assert [event["status"] for event in ends] == ["ok", "ok"]
        assert ends[1]["validated_bytes"] >= 3 * 2 * 4 * 65536  # received by one end: 4 messages of each thread
