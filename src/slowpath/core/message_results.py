# SPDX-License-Identifier: Apache-2.0
"""How counted messages grow with the number of ranks (docs/reference/results.md). Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from slowpath.core.result import AtLeastOne, Count, Interval, Name, NotNegative, Number, Result, Text, means


class RankPoint(Result, frozen=True, kw_only=True):
    """One number of ranks."""

    ranks: Annotated[AtLeastOne, means("in the communicator")]
    cell: Annotated[Count, means("that measured it")]
    value: Annotated[NotNegative, means("counted, or seconds")]
    interval: Annotated[Interval | None, means("of the value; null: it is a count, or there is none")] = None
    fitted: Annotated[Number | None, means("by the law; null: no law")] = None
    algorithms: Annotated[list[Name], means("that were recognised")] = []  # noqa: RUF012


class PredictedRanks(Result, frozen=True, kw_only=True):
    """What the law says of ranks that were not measured."""

    ranks: Annotated[AtLeastOne, means("in the communicator")]
    value: Annotated[Number, means("by the law: extrapolated, not measured")]
    interval: Annotated[Interval, means("of the value, as far as the points tell; equal ends: the law is exact")]


class HeldOutRanks(Result, frozen=True, kw_only=True):
    """The most ranks, predicted from the others alone."""

    ranks: Annotated[AtLeastOne, means("in the communicator")]
    value: Annotated[NotNegative, means("counted, or seconds")]
    predicted: Annotated[Interval, means("by the law of the other points")]
    holds: Annotated[bool, means("the value lies there")]


class RankScaling(Result, frozen=True, kw_only=True):
    """One quantity of a collective over the number of ranks."""

    collective: Annotated[Name, means("name")]
    quantity: Annotated[Literal["rounds", "chain", "time"], means("of `messages`, or collective_span_s")]
    label: Annotated[Text, means("what the points share")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    environment: Annotated[Name, means("as in run.environments")]
    placement: Annotated[Name | None, means("as in run.placements; null: several")]
    points: Annotated[list[RankPoint], Meta(min_length=1), means("ascending")]
    law: Annotated[Text | None, means("formula in p; null: see reason")]
    is_exact: Annotated[bool, means("the formula gives each point as it is")]
    exponent: Annotated[Number | None, means("e of a + b p^e; 0: grows with log p; null: constant, or not determined")]
    interval: Annotated[Interval | None, means("95 % of the exponent; equal ends: the law is exact")]
    held_out: Annotated[HeldOutRanks | None, means("null: too few points")]
    predicted: Annotated[
        list[PredictedRanks], means("extrapolated, not measured; empty: no law, or it did not predict")
    ]
    reason: Annotated[str | None, means("why there is no law, or nothing is predicted")] = None
