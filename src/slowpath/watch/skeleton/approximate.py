# SPDX-License-Identifier: Apache-2.0
"""What a script is not: where the record says less than a call needs, what is played in its place. Pure."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from slowpath.watch.events import Events
from slowpath.watch.record.layout import EventKind
from slowpath.watch.skeleton.script import COLLECTIVES, FRESH, Script

LEAST_FRESH_BYTES: Final = 65536  # shorter memory is part of a heap, which is not new with each use
MOST_BUFFERS, MOST_BUFFER_BYTES = 4096, 2**29  # of a rank; above it, one buffer for each direction


def numbered_buffers(events: Events, rows: Sequence[int], seen: Counter[str]) -> dict[int, int]:
    """Of each event of a message the number of its memory, or FRESH."""
    both = int(EventKind.SEND | EventKind.RECEIVE)
    of_messages = [row for row in rows if int(events.kind[row]) & both]
    found: dict[int, int] = {}
    numbers: dict[tuple[int, int, bool], int] = {}
    longest: dict[int, int] = defaultdict(int)
    for row in of_messages:
        kind, length = int(events.kind[row]), int(events.bytes[row])
        if kind & EventKind.FIRST and length >= LEAST_FRESH_BYTES:
            found[row] = FRESH
            seen["fresh"] += 1
            continue
        key = int(events.allocation[row]), int(events.offset[row]), bool(kind & EventKind.SEND)
        found[row] = numbers.setdefault(key, len(numbers))
        longest[found[row]] = max(longest[found[row]], length)
    if len(numbers) > MOST_BUFFERS or sum(longest.values()) > MOST_BUFFER_BYTES:
        is_send = {number: side for (_, _, side), number in numbers.items()}
        seen["buffers"] += 1
        return {row: number if number == FRESH else int(is_send[number]) for row, number in found.items()}
    return found


def levelled(script: Script, seen: Counter[str]) -> Script:
    """Blocks of one collective that differ in length get their mean: the lengths of each pair are not recorded."""
    wanted: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for rank, operations in enumerate(script.ranks):
        nth: Counter[int] = Counter()
        for at, operation in enumerate(operations):
            if operation.kind in COLLECTIVES:
                wanted[operation.communicator, nth[operation.communicator]].append((rank, at))
                nth[operation.communicator] += 1
    changed: dict[tuple[int, int], int] = {}
    for places in wanted.values():
        lengths = [script.ranks[rank][at].bytes for rank, at in places]
        if max(lengths) != min(lengths):
            seen["blocks"] += 1
            changed |= dict.fromkeys(places, round(sum(lengths) / len(lengths)))
    if not changed:
        return script
    ranks = [
        tuple(
            dataclasses.replace(operation, bytes=changed[rank, at]) if (rank, at) in changed else operation
            for at, operation in enumerate(operations)
        )
        for rank, operations in enumerate(script.ranks)
    ]
    return dataclasses.replace(script, ranks=tuple(ranks))


STATEMENTS: Final[Mapping[str, str]] = {
    "any": "{} receives for any source or tag are replayed with the source that came, in the watch's order",
    "polls": "{} polled waits are replayed as waits, without what the program computed between polls",
    "fresh": "{} messages use memory that MPI had not seen before, and get new memory",
    "buffers": "{} ranks use more memory than is replayed: messages share one buffer per direction",
    "datatypes": "{} sides of messages have datatypes and are replayed as contiguous bytes",
    "blocks": "{} collectives with blocks of different lengths are replayed with their mean length",
    "reductions": "{} reductions are replayed as sums: operation and type are not recorded",
    "stand-ins": "{} scans and calls of MPI_Reduce_scatter are replayed as MPI_Allreduce",
    "dup": "{} calls that make a communicator are replayed as MPI_Comm_dup",
    "merged": "{} communicators are replayed as one for each set of ranks",
    "watching": "{} ns between two calls are the watch's own: not replayed, and subtracted from the program's time",
    "cancelled": "{} receives that were cancelled, and got no message, are not replayed",
    "left open": "{} requests that nobody waited for are completed at the end",
}


def statements(seen: Counter[str]) -> tuple[str, ...]:
    """A sentence for each.  Args: seen: how often, by key of STATEMENTS."""
    return tuple(words.format(f"{seen[key]:,}") for key, words in STATEMENTS.items() if seen[key])
