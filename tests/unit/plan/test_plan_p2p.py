# SPDX-License-Identifier: Apache-2.0
"""p2p: messages in blocks, and who receives them."""

from __future__ import annotations

import pytest

from slowpath.experiments.messages import (
    allocation_bytes,
    blocks_of,
    extent_bytes,
    receiver_of,
    span_bytes,
    with_blocks,
)

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
        assert extent_bytes(one, 0) == extent_bytes(one, 1) == 16 * 64 + 15 * 64
    assert extent_bytes(cell(block_bytes="64"), 0) == 1024, "a message in one piece has no blocks"
    assert extent_bytes(cell(datatype="vector", blocks="1"), 0) == 1024
    assert extent_bytes(cell(datatype="vector", block_bytes="64", message_bytes="0"), 0) == 0


@pytest.mark.parametrize("blocks", [1, 2, 15, 16])
def test_unequal_gaps_are_of_three_blocks_and_of_one_by_turns(blocks: int) -> None:
    one = cell(datatype="indexed_uneven", block_bytes="64", message_bytes=str(64 * blocks))
    gaps = [3 if number % 2 == 0 else 1 for number in range(blocks - 1)]
    assert extent_bytes(one, 0) == 64 * (blocks + sum(gaps))
    assert extent_bytes({**one, "message_bytes": "0"}, 1) == 0


def test_a_side_in_one_piece_has_no_gaps_where_the_other_has_blocks() -> None:
    to_one_piece = cell(datatype="vector:contiguous", block_bytes="64", pattern="windowed")
    assert (extent_bytes(to_one_piece, 0), extent_bytes(to_one_piece, 1)) == (16 * 64 + 15 * 64, 1024)
    assert (span_bytes(to_one_piece, 0), span_bytes(to_one_piece, 1)) == (16 * 64 + 15 * 64, 4 * 1024)
    from_one_piece = cell(datatype="contiguous:indexed", blocks="16")
    assert (extent_bytes(from_one_piece, 0), extent_bytes(from_one_piece, 1)) == (1024, 16 * 64 + 15 * 64)


def test_each_message_of_a_window_has_its_extent() -> None:
    one = cell(pattern="windowed", datatype="vector", block_bytes="8")
    assert span_bytes(one, 1) == 3 * 2048 + 2040
    assert span_bytes(one, 0) == 2040
    assert allocation_bytes({**one, "buffer_bytes": "message:16384", "overalloc_bytes": "1:2"}, 0) == 2041
    assert allocation_bytes({**one, "buffer_bytes": "message:16384", "overalloc_bytes": "1:2"}, 1) == 16386


def test_results_say_blocks_whichever_was_given() -> None:
    said = with_blocks(cell(datatype="vector", block_bytes="64", blocks="1"))
    assert (said["blocks"], said["block_bytes"]) == ("16", "auto")
    assert blocks_of(said) == 16
    untouched = cell(datatype="vector", blocks="16", block_bytes="auto")
    assert with_blocks(untouched) == untouched


def test_who_receives() -> None:
    assert receiver_of(cell()) is None
    assert receiver_of(cell(peer="1")) == 1
    assert receiver_of(cell(peer="1", pattern="windowed")) is None
