# SPDX-License-Identifier: Apache-2.0
"""p2p: messages in blocks, late receives, and what can't go together."""

from __future__ import annotations

import pytest

from slowpath.core.errors import UsageError
from slowpath.experiments.checks import check_cell, check_metric, p2p_message_span
from slowpath.experiments.p2p.layout import blocks_of, extent_bytes, receiver_of, with_blocks

DEFAULT = {
    "pattern": "one_way",
    "message_bytes": "1024",
    "memory": "host",
    "pages": "default",
    "buffer_bytes": "message",
    "overalloc_bytes": "0",
    "offset_bytes": "0",
    "synchronise": "outside",
    "in_flight": "4",
    "pairs": "1",
}


def cell(**changed: str) -> dict[str, str]:
    return {**DEFAULT, **changed}


def test_blocks_and_gaps_make_the_extent() -> None:
    by_length, by_number = cell(datatype="vector", block_bytes="64"), cell(datatype="indexed", blocks="16")
    for one in (by_length, by_number):
        assert blocks_of(one) == 16
        assert extent_bytes(one) == 16 * 64 + 15 * 64
    assert extent_bytes(cell(block_bytes="64")) == 1024, "a message in one piece has no blocks"
    assert extent_bytes(cell(datatype="vector", blocks="1")) == 1024
    assert extent_bytes(cell(datatype="vector", block_bytes="64", message_bytes="0")) == 0


def test_each_message_of_a_window_has_its_extent() -> None:
    one = cell(pattern="windowed", datatype="vector", block_bytes="8")
    assert p2p_message_span(one, 1) == 3 * 2048 + 2040
    assert p2p_message_span(one, 0) == 2040


def test_results_say_blocks_whichever_was_given() -> None:
    said = with_blocks(cell(datatype="vector", block_bytes="64", blocks="1"))
    assert (said["blocks"], said["block_bytes"]) == ("16", "auto")
    assert blocks_of(said) == 16
    untouched = cell(datatype="vector", blocks="16", block_bytes="auto")
    assert with_blocks(untouched) == untouched


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"datatype": "vector", "block_bytes": "7"}, "1024 is no multiple of block_bytes 7"),
        ({"datatype": "vector", "blocks": "3"}, "1024 is no multiple of blocks 3"),
        ({"datatype": "vector", "block_bytes": "8", "blocks": "5"}, "blocks 5 and block_bytes 8 don't make"),
        ({"datatype": "indexed", "message_bytes": str(2**30)}, "is over 1073741823"),
        ({"posted": "after", "pattern": "ping_pong"}, "for pattern=one_way"),
        ({"posted": "before", "synchronise": "inside"}, "leave one out"),
        ({"queue": "64"}, "which queue"),
        ({"pack": "mpi_pack", "pattern": "windowed"}, "pack=mpi_pack is for"),
        ({"pack": "mpi_pack", "posted": "before"}, "pack=mpi_pack is for"),
        ({"progress": "test"}, "for pattern=overlap"),
        ({"peer": "2"}, "peer 2 needs 3 ranks, not 2"),
    ],
)
def test_what_cannot_go_together_is_refused(changed: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        check_cell("p2p", cell(**changed), 2)


def test_what_can_is_not() -> None:
    check_cell("p2p", cell(datatype="indexed", block_bytes="8", pack="mpi_pack"), 2)
    check_cell("p2p", cell(posted="after", queue="4096"), 2)
    check_cell("p2p", cell(pattern="overlap", progress="test", peer="2"), 3)


def test_metrics_of_late_receives() -> None:
    check_metric("p2p", cell(posted="after"), "receive_s")
    with pytest.raises(UsageError, match="use receive_s"):
        check_metric("p2p", cell(posted="after"), "one_way_s")


def test_who_receives() -> None:
    assert receiver_of(cell()) is None
    assert receiver_of(cell(peer="1")) == 1
    assert receiver_of(cell(peer="1", pattern="windowed")) is None
