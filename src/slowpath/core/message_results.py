# SPDX-License-Identifier: Apache-2.0
"""Messages inside one collective, counted, and how counts and times grow with the ranks (docs/reference/results.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from slowpath.core.result import AtLeastOne, Count, Interval, Name, NotNegative, Number, Result, Text, means


class MessageCounts(Result, frozen=True, kw_only=True):
    """What one call of a collective sends, counted where bytes enter sockets; pattern=messages of coll."""

    ranks: Annotated[AtLeastOne, means("in the communicator")]
    sent: Annotated[list[Count], means("messages that each rank sends")]
    received: Annotated[list[Count], means("messages that each rank receives")]
    sent_bytes: Annotated[list[Count] | None, means("of the user's data, by each rank; null: lengths do not tell")]
    chain: Annotated[
        Count, means("messages in the longest chain in which each has to be received before the next is sent")
    ]
    rounds: Annotated[Count, means("needed if a rank sends at most one message and receives at most one in each")]
    settled: Annotated[bool, means("half of the calls give the same chain; else it may be shorter")]
    to_self: Annotated[Count, means("messages of ranks to themselves; in no other number")]
    acknowledgements: Annotated[Count, means("answers to synchronous sends; in no other number")]
    header_bytes: Annotated[Count, means("what a message adds on the socket, from messages of known length")]
    calls: Annotated[AtLeastOne, means("that moved just these messages")]
    launches: Annotated[AtLeastOne, means("that counted, all alike")]
    of_calls: Annotated[AtLeastOne, means("that were looked at, over all launches")]
    algorithms: Annotated[list[Name], means("all that send just these messages; empty: none of the known")]
    growths: Annotated[list[Name], means("how rounds of these algorithms grow: p, log p")]
    exact: Annotated[
        bool, means("the same messages between the same ranks; false: as many by each rank, in chains as long")
    ]
    text: Annotated[Text, means("one sentence")]


class ScalingPoint(Result, frozen=True, kw_only=True):
    """One number of ranks."""

    ranks: Annotated[AtLeastOne, means("in the communicator")]
    cell: Annotated[Count, means("that measured it")]
    value: Annotated[NotNegative, means("counted, or seconds")]
    interval: Annotated[Interval | None, means("of the value; null: it is a count, or there is none")] = None
    fitted: Annotated[Number | None, means("by the law; null: no law")] = None
    algorithms: Annotated[list[Name], means("that were recognised")] = []  # noqa: RUF012


class Foretold(Result, frozen=True, kw_only=True):
    """What the law says of ranks that were not measured."""

    ranks: Annotated[AtLeastOne, means("in the communicator")]
    value: Annotated[Number, means("by the law: extrapolated, not measured")]
    interval: Annotated[Interval, means("of the value, as far as the points tell; equal ends: the law is exact")]


class HeldOut(Result, frozen=True, kw_only=True):
    """The most ranks, foretold from the others alone."""

    ranks: Annotated[AtLeastOne, means("in the communicator")]
    value: Annotated[NotNegative, means("counted, or seconds")]
    foretold: Annotated[Interval, means("by the law of the other points")]
    holds: Annotated[bool, means("the value lies there")]


class Scaling(Result, frozen=True, kw_only=True):
    """One quantity of a collective over the number of ranks."""

    collective: Annotated[Name, means("name")]
    quantity: Annotated[Literal["rounds", "chain", "time"], means("of `messages`, or collective_span_s")]
    label: Annotated[Text, means("what the points share")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    environment: Annotated[Name, means("as in run.environments")]
    placement: Annotated[Name | None, means("as in run.placements; null: several")]
    points: Annotated[list[ScalingPoint], Meta(min_length=1), means("ascending")]
    law: Annotated[Text | None, means("formula in p; null: see reason")]
    is_exact: Annotated[bool, means("the formula gives each point as it is")]
    exponent: Annotated[Number | None, means("e of a + b p^e; 0: grows with log p; null: constant, or not determined")]
    interval: Annotated[Interval | None, means("95 % of the exponent; equal ends: the law is exact")]
    held_out: Annotated[HeldOut | None, means("null: too few points")]
    foretold: Annotated[list[Foretold], means("extrapolated, not measured; empty: no law, or it did not foretell")]
    reason: Annotated[str | None, means("why there is no law, or nothing is foretold")] = None
