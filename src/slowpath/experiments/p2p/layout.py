# SPDX-License-Identifier: Apache-2.0
"""The experiment `p2p`: how its messages lie in memory, and which parameters can't go together.

The rules are the engine's own (engine/experiments/p2p/parameters.cpp, datatype.cpp), so that a campaign that the engine
would refuse is refused before anything is launched. An engine from before a parameter existed has none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from slowpath.core.errors import UsageError

Parameters = Mapping[str, str]

AUTO = "auto"
CONTIGUOUS, TOGETHER, LAST, NO_PACK, NO_PROGRESS = "contiguous", "together", "last", "none", "none"
MOST_DERIVED_BYTES = (2**31 - 1) // 2  # counts and displacements of derived datatypes are int, gaps double the length


def blocks_of(parameters: Parameters) -> int:
    """Blocks of a message if its datatype is not contiguous.  Raises: UsageError: they don't make up the message."""
    message, blocks = int(parameters["message_bytes"]), int(parameters.get("blocks", "1"))
    written = parameters.get("block_bytes", AUTO)
    unit, name = (blocks, "blocks") if written == AUTO else (int(written), "block_bytes")
    if message % unit:
        raise UsageError(
            f"message_bytes {message} is no multiple of {name} {unit}: a message of datatype=vector or indexed "
            "consists of whole blocks"
        )
    if written == AUTO:
        return blocks
    if blocks not in (1, message // unit):
        raise UsageError(f"blocks {blocks} and block_bytes {unit} don't make message_bytes {message}; leave one out")
    return message // unit


def extent_bytes(parameters: Parameters) -> int:
    """From the first to the last byte of one message: gaps as long as blocks lie between them."""
    message = int(parameters["message_bytes"])
    if parameters.get("datatype", CONTIGUOUS) == CONTIGUOUS:
        return message
    blocks = blocks_of(parameters)
    return 2 * message - message // blocks if blocks else 0


def with_blocks(parameters: Parameters) -> dict[str, str]:
    """The same cell with `blocks` said as a number, whichever of `blocks` and `block_bytes` was given."""
    written, message = parameters.get("block_bytes", AUTO), int(parameters.get("message_bytes", "0"))
    if written == AUTO or message == 0 or message % int(written):
        return dict(parameters)
    return {**parameters, "blocks": str(message // int(written)), "block_bytes": AUTO}


def receiver_of(parameters: Parameters) -> int | None:
    """The rank that receives what rank 0 sends, in patterns of one pair; None: the last one."""
    peer = parameters.get("peer", LAST)
    return None if peer == LAST or parameters.get("pattern") == "windowed" else int(peer)


@dataclass(frozen=True)
class Rule:
    """broken: whether a cell breaks it.  because: what is wrong and what to do."""

    broken: Callable[[Parameters], bool]
    because: str


def _late(p: Parameters) -> bool:
    return p.get("posted", TOGETHER) != TOGETHER


RULES = (
    Rule(
        lambda p: _late(p) and p["pattern"] != "one_way",
        "posted=before and after are for pattern=one_way; leave posted out",
    ),
    Rule(
        lambda p: _late(p) and p["synchronise"] == "inside",
        "posted=before and after time the receiver, and synchronise=inside the sender; leave one out",
    ),
    Rule(
        lambda p: p.get("queue", "0") != "0" and not _late(p),
        "queue needs to know which queue: take pattern=one_way and posted=before or posted=after",
    ),
    Rule(
        lambda p: p.get("pack", NO_PACK) != NO_PACK and (p["pattern"] not in ("one_way", "ping_pong") or _late(p)),
        "pack=mpi_pack is for pattern=ping_pong, and for one_way with posted=together; leave pack out",
    ),
    Rule(
        lambda p: (
            (p.get("pack", NO_PACK) != NO_PACK or p.get("datatype", CONTIGUOUS) != CONTIGUOUS)
            and int(p["message_bytes"]) > MOST_DERIVED_BYTES
        ),
        f"message_bytes is over {MOST_DERIVED_BYTES}, the most that datatype=vector, indexed and pack=mpi_pack take; "
        "take datatype=contiguous and pack=none",
    ),
    Rule(
        lambda p: p.get("progress", NO_PROGRESS) != NO_PROGRESS and p["pattern"] != "overlap",
        "progress=test is for pattern=overlap; leave progress out",
    ),
)


def check_combination(parameters: Parameters, ranks: int) -> None:
    """Refuses what the engine would refuse or skip.  Raises: UsageError."""
    for rule in RULES:
        if rule.broken(parameters):
            raise UsageError(rule.because)
    if parameters.get("datatype", CONTIGUOUS) != CONTIGUOUS:
        blocks_of(parameters)
    peer = receiver_of(parameters)
    if peer is not None and peer >= ranks:
        raise UsageError(f"peer {peer} needs {peer + 1} ranks, not {ranks}; change ranks or peer")
