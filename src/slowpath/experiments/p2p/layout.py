# SPDX-License-Identifier: Apache-2.0
"""The experiment `p2p`: how its messages lie in memory, and who receives them. Pure.

Which parameters can go together the engine says (`slowpath-engine check`); here they are taken to. A record from before
a parameter existed has none of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.core.units import side_values

Parameters = Mapping[str, str]

AUTO = "auto"
CONTIGUOUS, UNEVEN, TOGETHER, LAST = "contiguous", "indexed_uneven", "together", "last"
FORWARD, REVERSE, BOTH_WAYS = "forward", "reverse", "both"
NO_LENGTH = "none"
FRESH, PARTITIONED = "fresh", "partitioned"
POLLING = "polling"
APART, ONE_PLACE = "apart", "one"
_PLACE_BYTES = 64  # a cache line


def with_blocks(parameters: Parameters) -> dict[str, str]:
    """The same cell with `blocks` as a number, whichever of `blocks` and `block_bytes` was given."""
    written, message = parameters.get("block_bytes", AUTO), int(parameters.get("message_bytes", "0"))
    if written == AUTO or message == 0 or message % int(written):
        return dict(parameters)
    return {**parameters, "blocks": str(message // int(written)), "block_bytes": AUTO}


def blocks_of(parameters: Parameters) -> int:
    """Blocks of a message on a side whose datatype is not contiguous."""
    return int(with_blocks(parameters).get("blocks", "1"))


def is_in_blocks(parameters: Parameters, side: int) -> bool:
    """Whether the messages of a side lie in blocks. side: 0: sender, 1: receiver."""
    return side_values(parameters.get("datatype", CONTIGUOUS))[side] != CONTIGUOUS


def extent_bytes(parameters: Parameters, side: int) -> int:
    """From the first to the last byte of one message of a side: gaps as long as blocks lie between them, or with
    UNEVEN of three blocks' length and of one by turns.
    """
    message = int(parameters["message_bytes"])
    if not is_in_blocks(parameters, side):
        return message
    blocks = blocks_of(parameters)
    block = message // blocks
    if side_values(parameters["datatype"])[side] == UNEVEN:
        return block * (3 * (blocks - 1) + 1 + (blocks - 1) % 2) if message else 0
    return 2 * message - block


def span_bytes(parameters: Parameters, side: int) -> int:
    """Bytes from the first to the last one that the messages of a side occupy.

    Who receives a window has a place for each message in flight of each thread, on a multiple of 64 bytes, as the
    engine does; with places=one a place for each thread. Partitions follow one another without a gap, on both sides.
    """
    message = max(extent_bytes(parameters, side), other_bytes(parameters) or 0)
    partitions = parameters.get("requests", FRESH) == PARTITIONED
    apart = parameters["pattern"] == "windowed" and (side == 1 or is_both_ways(parameters) or partitions)
    places = _in_window(parameters) * threads_of(parameters) if apart else 1
    stride = message if partitions else -(-message // _PLACE_BYTES) * _PLACE_BYTES
    return (places - 1) * stride + message


def _in_window(parameters: Parameters) -> int:
    """Places of a window of one thread."""
    return 1 if parameters.get("places", APART) == ONE_PLACE else int(parameters["in_flight"])


def is_both_ways(parameters: Parameters) -> bool:
    """Whether both ends of a pair send and receive at once."""
    return parameters.get("direction", FORWARD) == BOTH_WAYS


def threads_of(parameters: Parameters) -> int:
    """Threads of each rank that communicate at once."""
    return int(parameters.get("threads", "1"))


def window_messages(parameters: Parameters) -> int:
    """Messages of a pair in one window of all its threads, in both directions."""
    directions = 2 if is_both_ways(parameters) else 1
    return int(parameters.get("in_flight", "64")) * threads_of(parameters) * directions


def other_bytes(parameters: Parameters) -> int | None:
    """Length of every second message; None: all are alike."""
    written = parameters.get("other_bytes", NO_LENGTH)
    return None if written == NO_LENGTH else int(written)


def allocation_bytes(parameters: Parameters, side: int) -> int:
    """Length of a buffer of a side, over-allocation included."""
    written = side_values(parameters["buffer_bytes"])[side]
    buffer = span_bytes(parameters, side) if written == "message" else int(written)
    return buffer + int(side_values(parameters["overalloc_bytes"])[side])


def ends_of(parameters: Parameters) -> tuple[int | None, int | None]:
    """Sender and receiver of patterns of one pair; None: the last rank. Who polls is the receiver: rank 0 of itself."""
    other = receiver_of(parameters)
    to_first = (parameters.get("direction", FORWARD) == REVERSE) != (parameters.get("pattern") == POLLING)
    return (other, 0) if to_first else (0, other)


def receiver_of(parameters: Parameters) -> int | None:
    """The rank that receives what rank 0 sends, or with direction=reverse the other way round, in patterns of one pair;
    None: the last one.
    """
    peer = parameters.get("peer", LAST)
    return None if peer == LAST or parameters.get("pattern") == "windowed" else int(peer)
