# SPDX-License-Identifier: Apache-2.0
"""SP056: receives that are posted when hundreds of messages have already come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.findings.observation import nothing
from slowpath.findings.program_pattern import NONE, Bools, Ints, ProgramCalls, SeenPattern, most, usual
from slowpath.findings.slow_path import SlowPath

DEEP = 256  # messages that have come and wait for their receive
SHALLOW = 16
LEAST = 100  # receives with so many waiting


@dataclass(frozen=True)
class _Early:
    """Messages that were there before their receive, shape (m,): row of the receive, and how many waited with it."""

    row: Ints
    depth: Ints
    rank: Ints


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Receives that take longer where many messages wait than the same call where few do."""
    early = _early(calls)
    deep = early.depth >= DEEP
    found = []
    for call in np.unique(calls.call[early.row[deep]]).tolist():
        alike = calls.call[early.row] == call
        mine, few = alike & (early.depth > SHALLOW), alike & (early.depth <= SHALLOW)
        if np.unique(early.row[alike & deep]).size < LEAST:
            continue
        rows = np.unique(early.row[mine])
        # Where all receives find many, those of the shortest queues are what there is to compare with.
        base = early.row[few] if few.sum() >= SHALLOW else early.row[mine][np.argsort(early.depth[mine])[: LEAST // 2]]
        found.append(_pattern(calls, early, mine, rows, float(np.median(calls.own_s[base]))))
    return found


def _early(calls: ProgramCalls) -> _Early:
    messages = calls.messages
    usable = np.flatnonzero(messages.early & (messages.posted != NONE) & (messages.left != NONE))
    row = messages.posted[usable]
    depth = np.zeros(usable.size, dtype=np.int64)
    came_s, taken_s = calls.end_s[messages.left[usable]], calls.start_s[row]
    for rank in np.unique(messages.destination[usable]).tolist():
        here = messages.destination[usable] == rank
        came, taken = np.sort(came_s[here]), np.sort(taken_s[here])
        at = taken_s[here]
        depth[here] = np.searchsorted(came, at, side="left") - np.searchsorted(taken, at, side="left")
    return _Early(row, depth, messages.destination[usable])


def _pattern(calls: ProgramCalls, early: _Early, mine: Bools, rows: Ints, base_s: float) -> SeenPattern:
    own_s, call = calls.own_s[rows], calls.call[rows]
    ends = [usual(own_s, call) - base_s, usual(own_s, call, 1.0) - 2 * base_s, own_s - base_s]
    deepest = int(early.depth[mine].max())
    rank = int(early.rank[mine][early.depth[mine].argmax()])
    name = calls.names[int(call[0])]
    return SeenPattern(
        sites=most(calls.site[rows], own_s),
        count=rows.size,
        text=f"{rows.size:,} {name} in {{place}} found messages that had come before, up to {deepest:,} at once on "
        f"rank {rank}",
        change="post the receives before the messages come (MPI_Irecv), receive them in the order in which they are "
        "sent, or let the sender wait for the receiver now and then",
        basis="what these receives take longer than those with few messages waiting",
        rows=rows,
        saved_s=np.maximum(np.stack(ends, axis=1), 0.0),
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP056",
    name="receives posted late",
    title="Receives are posted when hundreds of messages have come, and search them",
    what="Messages that no receive waits for are kept in a queue, and each receive looks through it.",
    shows="A hundred receives or more find 256 or more messages waiting, and take longer than receives of the same "
    "program that find few.",
    why="Most libraries search that queue from its beginning: receives in another order than that of the sends take "
    "time in proportion to its length. The messages are kept in memory of the library, and copied.",
    needs="A watched program (docs/reference/watch.md). The saving is what these receives take longer than those with "
    "at most 16 messages waiting, or than those with the fewest.",
    remedy="Post receives early, receive in the order of sending, use fewer and longer messages, or let the sender "
    "wait.",
    false_alarms="None known: without a difference between long and short queues nothing is reported.",
    sources=("MPI-4.1 section 3.5", "docs/reference/watch.md"),
    observe=nothing,
    cause="Each receive searches the messages that came before it.",
    needs_law=False,
    kind="property",
    pattern=see,
    skeleton_change="receive early",
)
