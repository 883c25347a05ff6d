# SPDX-License-Identifier: Apache-2.0
"""p2p: messages in blocks, and who receives them."""

from __future__ import annotations

from slowpath.experiments.messages import (
    blocks_of,
    extent_bytes,
    receiver_of,
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
