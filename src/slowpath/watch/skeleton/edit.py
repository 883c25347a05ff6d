# SPDX-License-Identifier: Apache-2.0
"""Scripts with operations taken out, put in other places and replaced. Pure."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from slowpath.watch.skeleton.script import (
    WITH_REQUEST,
    Message,
    Operation,
    Script,
    Stream,
    sides,
    stream_of,
)

MOST_SMALL_BYTES: Final = 1024
MOST_PAUSE_S: Final = 10e-6  # between calls, in which the next could hardly be computed from the last
LOOP_S: Final = 1e-6  # between calls that become one: shorter stretches are the loop itself, and go with it


@dataclass(frozen=True)
class Change:
    """A changed script. text: what became what.  check: what the author has to check; None: it means the same."""

    script: Script
    text: str
    check: str | None


@dataclass
class Edit:
    """Changes of one rank's operations. gone: without what they take; replaced: by index; before: put in there."""

    gone: set[int] = field(default_factory=set)
    replaced: dict[int, Operation] = field(default_factory=dict)
    before: dict[int, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    requests: set[int] = field(default_factory=set)  # that nobody waits for any more

    def drop(self, operations: Sequence[Operation], first: int, last: int, gone: Sequence[int]) -> None:
        """Take operations out, and the loop's own time between the first and the last of a row."""
        for at in gone:
            self.gone.add(at)
            if operations[at].kind in WITH_REQUEST:
                self.requests.update(operations[at].requests)
        for at in range(first, last):
            if operations[at].kind == "compute" and operations[at].seconds < LOOP_S:
                self.gone.add(at)


def edited(script: Script, edits: Mapping[int, Edit]) -> Script:
    """Args: edits: by rank; the others stay as they are."""
    ranks = [
        _of_rank(operations, edits[rank]) if rank in edits else operations
        for rank, operations in enumerate(script.ranks)
    ]
    return dataclasses.replace(script, ranks=tuple(ranks))


def _of_rank(operations: Sequence[Operation], edit: Edit) -> tuple[Operation, ...]:
    found: list[Operation] = []
    for at, operation in enumerate(operations):
        found += edit.before.get(at, ())
        if at in edit.gone:
            continue
        one = edit.replaced.get(at, operation)
        if one.kind == "wait" and edit.requests.intersection(one.requests):
            left = tuple(number for number in one.requests if number not in edit.requests)
            if not left:
                continue
            one = dataclasses.replace(one, requests=left)
        if one.kind == "compute" and found and found[-1].kind == "compute":
            found[-1] = dataclasses.replace(one, seconds=found[-1].seconds + one.seconds)
            continue
        found.append(one)
    return tuple(found)


@dataclass(frozen=True)
class End:
    """One side of a message: its operation, and the phases of its start and its end.

    A phase is a stretch of one rank in which it does one thing: sends to one rank, receives from one, starts requests,
    or waits; what it computes meanwhile makes none.
    """

    rank: int
    at: int
    operation: Operation
    message: Message
    phases: tuple[int, int]


def streams(script: Script) -> dict[Stream, tuple[list[End], list[End]]]:
    """Sends and receives of each stream, in the order in which they are matched."""
    found: dict[Stream, tuple[list[End], list[End]]] = defaultdict(lambda: ([], []))
    for rank, operations in enumerate(script.ranks):
        phase = phases(operations)
        waited = {
            number: phase[at] for at, one in enumerate(operations) if one.kind == "wait" for number in one.requests
        }
        for at, one in enumerate(operations):
            for message, is_send in sides(one):
                ended = waited.get(one.requests[0], -1) if one.requests else phase[at]
                end = End(rank, at, one, message, (phase[at], ended))
                found[stream_of(script, rank, one, message, is_send)][0 if is_send else 1].append(end)
    return found


def phases(operations: Sequence[Operation]) -> list[int]:
    """Number of the phase of each operation."""
    found, now, key = [], 0, None
    for at, one in enumerate(operations):
        if one.kind != "compute":
            mine = _key(one, at)
            now += mine != key
            key = mine
        found.append(now)
    return found


def _key(one: Operation, at: int) -> object:
    if one.kind in ("send", "ssend", "recv") and one.message is not None:
        return one.kind, one.communicator, one.message.peer
    if one.kind in WITH_REQUEST:
        return "start"
    return one.kind if one.kind == "wait" else at


def computing_between(operations: Sequence[Operation], one: int, other: int) -> float | None:
    """Seconds between two operations; None: there is more than computing."""
    total = 0.0
    for operation in operations[one + 1 : other]:
        if operation.kind != "compute":
            return None
        total += operation.seconds
    return total


def peer_of(one: Operation) -> int:
    """The other rank of its message, in its communicator; -1: it has none."""
    return one.message.peer if one.message is not None else -1
