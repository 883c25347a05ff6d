# SPDX-License-Identifier: Apache-2.0
"""Messages inside a collective, from what witnessed launches logged of their sockets. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from slowpath.core.cell_results import MessageCounts
from slowpath.core.units import format_bytes, parse_bytes
from slowpath.mpi.algorithms import (
    Entry,
    Graph,
    GraphMessage,
    NotCounted,
    RankLog,
    counted,
    recognise,
    without_acknowledgements,
)
from slowpath.record.events import SocketMessages

PATTERN = "messages"
_NO_LOG = (
    "nobody logged messages: the cell needs an environment with witness = true, and the library that counts has to "
    "reach the ranks"
)
_NO_SOCKETS = (
    "no message of these calls went through a socket: the library moves them through shared memory or a network card; "
    'give the environment setting = "messages_by_sockets"'
)


def messages(
    parameters: Mapping[str, str], launches: Sequence[Sequence[SocketMessages]]
) -> tuple[MessageCounts | None, str | None]:
    """A cell's `messages` and `messages_reason` of results.json.

    Args: launches: of each launch that measured the cell its events of the cell.
    """
    if parameters.get("pattern") != PATTERN:
        return None, "only pattern=messages of coll counts messages"
    said = [events for events in launches if events]
    if not said:
        return None, _NO_LOG
    try:
        found = [_one_launch(parameters, events) for events in said]
    except NotCounted as error:
        return None, str(error)
    if len({(tuple(counts.sent), tuple(counts.received), tuple(counts.algorithms)) for counts in found}) > 1:
        return None, "launches moved different messages"
    # Chance can make a chain longer, never shorter.
    best = min(found, key=lambda one: one.chain)
    calls, of_calls = sum(counts.calls for counts in found), sum(counts.of_calls for counts in found)
    return msgspec.structs.replace(best, calls=calls, of_calls=of_calls, launches=len(found)), None


@dataclass(frozen=True)
class _Headers:
    """Of messages of known length. message_bytes: of the user's data in a block.  extra, answer: by what a synchronous
    message is longer, and how long the answer to it is; None: there is none, or it does not look like one.
    """

    message_bytes: int
    header_bytes: int
    extra: float | None = None
    answer: float | None = None


def _one_launch(parameters: Mapping[str, str], events: Sequence[SocketMessages]) -> MessageCounts:
    """Raises: NotCounted."""
    logs = _logs(events)
    known = min(event.known_calls for event in events)
    headers = _headers(parameters, logs, known)
    found = counted(logs, known)
    if not found.graph.messages:
        raise NotCounted(_NO_SOCKETS)
    moved = found.graph
    if headers.extra is not None and headers.answer is not None:
        moved = without_acknowledgements(moved, headers.extra, headers.answer)
    graph, sizes_tell = _without_headers(moved, headers.header_bytes)
    block_bytes = headers.message_bytes if sizes_tell else None
    recognised = recognise(parameters["collective"], graph, block_bytes)
    return MessageCounts(
        ranks=graph.ranks,
        sent=list(graph.sent),
        received=list(graph.received),
        sent_bytes=[round(size) for size in graph.sent_sizes] if sizes_tell else None,
        chain=graph.chain,
        rounds=graph.rounds,
        settled=found.settled,
        to_self=found.to_self,
        acknowledgements=len(found.graph.messages) - len(graph.messages),
        header_bytes=headers.header_bytes,
        calls=found.calls,
        launches=1,
        of_calls=found.of,
        algorithms=list(recognised.names),
        growths=list(recognised.growths),
        exact=recognised.exact,
        text=_text(graph, recognised.words),
    )


def _logs(events: Sequence[SocketMessages]) -> list[RankLog]:
    """By rank.  Raises: NotCounted: entries are missing, or a rank spoke twice."""
    by_rank = {event.rank: event for event in events}
    lost = next((event for event in events if event.lost), None)
    if lost is not None:
        raise NotCounted(
            f"rank {lost.rank} had room for {len(lost.log)} entries, {lost.lost} more are lost: fewer calls"
        )
    if len(by_rank) < len(events) or sorted(by_rank) != list(range(len(events))):
        raise NotCounted("not every rank of the communicator reported its messages, once")
    return [
        RankLog(event.sockets, [Entry(what, socket, begin, size) for socket, what, begin, size in event.log])
        for _, event in sorted(by_rank.items())
    ]


def _headers(parameters: Mapping[str, str], logs: Sequence[RankLog], known: int) -> _Headers:
    """What is known of a message from those of known length.  Raises: NotCounted: they aren't one write each."""
    message_bytes = 0 if parameters["collective"] == "barrier" else parse_bytes(parameters["message_bytes"])
    if not known:
        raise NotCounted("the engine sent no messages of known length")
    graph = counted(logs, 0, known // 2).graph
    if not graph.messages:
        raise NotCounted(_NO_SOCKETS)
    first = graph.messages[0]
    if len(graph.messages) > 1 or first.size < message_bytes:
        raise NotCounted(
            f"one message of {format_bytes(message_bytes)} goes through sockets in {len(graph.messages)} parts, so "
            "parts are no messages: take a shorter message"
        )
    header_bytes = round(first.size) - message_bytes
    synchronous = counted(logs, known // 2, known).graph.messages
    ends = [(message.source, message.target) for message in synchronous]
    if ends != [(0, 1), (1, 0)] or synchronous[0].size <= first.size:
        # Where a synchronous message looks like any other one, answers can't be distinguished from messages.
        return _Headers(message_bytes, header_bytes)
    return _Headers(message_bytes, header_bytes, synchronous[0].size - first.size, synchronous[1].size)


def _without_headers(graph: Graph, header_bytes: int) -> tuple[Graph, bool]:
    """With sizes of the user's data, and whether every message is long enough to have had such a header."""
    if any(message.size < header_bytes for message in graph.messages):
        return graph, False
    bare = tuple(
        GraphMessage(message.source, message.target, message.size - header_bytes) for message in graph.messages
    )
    return Graph(graph.ranks, bare, graph.after), True


def _text(graph: Graph, words: str) -> str:
    most = max(graph.sent)
    return (
        f"{graph.ranks} ranks send {_number(len(graph.messages), 'message')}, {most} at most by one rank, in "
        f"{_number(graph.rounds, 'round')}; the longest chain has {graph.chain}: {words}."
    )


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
