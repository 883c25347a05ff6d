# SPDX-License-Identifier: Apache-2.0
"""Changes of collectives: small ones become one, barriers go, a loop of sends becomes a broadcast. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from slowpath.watch.skeleton.edit import (
    MOST_PAUSE_S,
    MOST_SMALL_BYTES,
    Change,
    Edit,
    End,
    computing_between,
    edited,
    peer_of,
    streams,
)
from slowpath.watch.skeleton.script import COLLECTIVES, NEED_ALL, Operation, Refused, Script, why_inconsistent

LEAST_RANKS: Final = 3  # of a broadcast by hand


Places = list[tuple[int, list[int]]]  # of each member of a communicator: rank, and where its collectives are


def _collectives(script: Script) -> list[Places]:
    """By communicator. The n-th of each member are one collective."""
    return [
        [
            (
                rank,
                [
                    at
                    for at, one in enumerate(script.ranks[rank])
                    if one.kind in COLLECTIVES and one.communicator == number
                ],
            )
            for rank in members
        ]
        for number, members in enumerate(script.communicators)
    ]


def _pause_s(script: Script, places: Places, n: int) -> float | None:
    """What the ranks compute between two collectives of one communicator, median; None: some do more than that."""
    found = []
    for rank, where in places:
        between = computing_between(script.ranks[rank], where[n], where[n + 1])
        if between is None:
            return None
        found.append(between)
    return statistics.median(found)


def fused(script: Script) -> Change | None:
    """Small reductions or broadcasts that follow each other become one."""
    edits: dict[int, Edit] = defaultdict(Edit)
    before = after = 0
    for places in _collectives(script):
        count = len(places[0][1]) if places else 0
        low = 0
        for n in range(1, count + 1):
            if n < count and _can_fuse(script, places, n - 1):
                continue
            if n - low > 1:
                _fuse(script, edits, places, low, n)
                before, after = before + n - low, after + 1
            low = n
    if not edits:
        return None
    text = f"{before:,} collectives of at most {MOST_SMALL_BYTES} bytes become {after:,}"
    check = "no result of a row may be used before its last call, and all must have one operation"
    return Change(edited(script, edits), text, check)


def _can_fuse(script: Script, places: Places, n: int) -> bool:
    rank, where = places[0]
    one, other = script.ranks[rank][where[n]], script.ranks[rank][where[n + 1]]
    alike = one.kind == other.kind and one.root == other.root and one.kind in ("allreduce", "reduce", "bcast")
    if not alike or max(one.bytes, other.bytes) > MOST_SMALL_BYTES:
        return False
    pause_s = _pause_s(script, places, n)
    return pause_s is not None and pause_s <= MOST_PAUSE_S


def _fuse(script: Script, edits: dict[int, Edit], places: Places, low: int, high: int) -> None:
    for rank, where in places:
        operations, row = script.ranks[rank], where[low:high]
        length = sum(operations[at].bytes for at in row)
        edits[rank].replaced[row[-1]] = dataclasses.replace(operations[row[-1]], bytes=length)
        edits[rank].drop(operations, row[0], row[-1], row[:-1])


def without_barriers(script: Script) -> Change | None:
    """Barriers go that stand next to a collective of the same ranks, which needs none."""
    edits: dict[int, Edit] = defaultdict(Edit)
    count = 0
    for places in _collectives(script):
        kinds = [script.ranks[places[0][0]][at].kind for at in places[0][1]] if places else []
        last_kept = -1  # barriers in a row need one that stays
        for n, kind in enumerate(kinds):
            if kind != "barrier":
                last_kept = n
                continue
            behind = n > 0 and last_kept == n - 1 and kinds[n - 1] in NEED_ALL and _is_next(script, places, n - 1)
            ahead = n + 1 < len(kinds) and kinds[n + 1] != "barrier" and _is_next(script, places, n)
            if not (behind or ahead):
                last_kept = n
                continue
            count += 1
            for rank, where in places:
                edits[rank].gone.add(where[n])
    if not edits:
        return None
    check = "the barriers may not separate what MPI does not see: timings, files, output, shared memory"
    return Change(edited(script, edits), f"{count:,} barriers go that stand next to a collective of all ranks", check)


def _is_next(script: Script, places: Places, n: int) -> bool:
    pause_s = _pause_s(script, places, n)
    return pause_s is not None and pause_s <= MOST_PAUSE_S


def own_broadcasts(script: Script) -> Change | Refused | None:
    """A loop of sends of one buffer to all others becomes MPI_Bcast."""
    edits: dict[int, Edit] = defaultdict(Edit)
    partner: dict[tuple[int, int], End] = {}
    for sends, receives in streams(script).values():
        partner |= {(send.rank, send.at): receive for send, receive in zip(sends, receives, strict=True)}
    count = 0
    for rank, operations in enumerate(script.ranks):
        for row in _loops(script, rank, operations):
            receives = [partner[rank, at] for at in row]
            if any(one.operation.kind != "recv" for one in receives):
                continue
            first = operations[row[0]]
            number, length = first.communicator, (first.message.bytes if first.message else 0)
            call = Operation("bcast", communicator=number, root=script.place(rank, number), bytes=length)
            edits[rank].replaced[row[-1]] = call
            edits[rank].drop(operations, row[0], row[-1], row[:-1])
            for one in receives:
                edits[one.rank].replaced[one.at] = call
            count += 1
    if not count:
        return None
    changed = edited(script, edits)
    if why_inconsistent(changed) is not None:
        return Refused("the ranks come to the broadcasts and to their other collectives in different orders")
    check = "all ranks of the communicator have to call it, in one order with its other collectives"
    return Change(changed, f"{count:,} loops of sends become MPI_Bcast", check)


def _loops(script: Script, rank: int, operations: Sequence[Operation]) -> list[list[int]]:
    """Rows of sends of one buffer to each other rank of a communicator."""
    found: list[list[int]] = []
    row: list[int] = []
    for at, one in enumerate(operations):
        if one.kind == "compute":
            continue
        if one.kind != "send" or one.message is None:
            row = []
            continue
        if row and not _alike(operations[row[0]], one):
            row = []
        row.append(at)
        members = script.communicators[one.communicator]
        peers = {peer_of(operations[place]) for place in row}
        if len(row) == len(members) - 1 and len(members) >= LEAST_RANKS and len(peers) == len(row):
            found.append(row)
            row = []
    return found


def _alike(one: Operation, other: Operation) -> bool:
    first, second = one.message, other.message
    if first is None or second is None:
        return False
    same = (first.bytes, first.buffer) == (second.bytes, second.buffer)
    return same and one.communicator == other.communicator
