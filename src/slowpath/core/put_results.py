# SPDX-License-Identifier: Apache-2.0
"""What results.json says of the experiment put: cells that differ in who puts alone, side by side. Pure."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from slowpath.core.result import Interval, Result


class RateShare(Result, frozen=True, kw_only=True):
    """Rate of puts over that of the empty call with as many arguments, in launches of the same MPI."""

    ratio: float
    interval: Interval | None
    interval_kind: Annotated[str, Meta(description="how the interval was made, or why there is none")]


class PutRow(Result, frozen=True, kw_only=True):
    """One design in the launches of one MPI."""

    design: str
    mpi: Annotated[str | None, Meta(description="null in a run of one MPI without a name")]
    cell: int
    rung: Annotated[int, Meta(description="of the ladder; 0 for any other design")]
    instructions_with_loop: Annotated[
        float | None, Meta(description="of a put: inside the call (median), call site and loop; null: not counted")
    ]
    of_empty: Annotated[RateShare | None, Meta(description="null: it is the empty call, or none was measured")]


class PutRung(Result, frozen=True, kw_only=True):
    """One rung of the ladder in the launches of one MPI: with its piece, and what the piece adds."""

    rung: int
    mpi: str | None
    cell: int
    instructions: Annotated[float | None, Meta(description="median inside the call; null: not counted")]
    instructions_added: Annotated[float | None, Meta(description="over the rung below; null: none is below, or one was not counted")]
    time_s: float
    time_added_s: Annotated[float | None, Meta(description="over the rung below; null: none is below")]


class PutCondition(Result, frozen=True, kw_only=True):
    """Cells that differ in who puts alone."""

    settings: Annotated[dict[str, str], Meta(description="what its cells share: parameters, environment, placement")]
    differs: Annotated[dict[str, str], Meta(description="settings that the first condition does not have")]
    rows: Annotated[list[PutRow], Meta(description="libraries, layers, limits, then the ladder, rung by rung")]


class PutPart(Result, frozen=True, kw_only=True):
    """One function that instructions of a call are spent in, mean over calls."""

    library: str
    function: str
    per_call: float
    ratio: Annotated[float | None, Meta(description="share of the call; null: nothing was counted")]


class PutSplit(Result, frozen=True, kw_only=True):
    """Where the instructions of a library's put are spent."""

    design: str
    mpi: str | None
    cell: int
    parts: Annotated[list[PutPart], Meta(description="largest first")]


class PutResults(Result, frozen=True, kw_only=True):
    """The comparison of who puts."""

    cells: Annotated[list[int], Meta(description="every measured cell of the experiment")]
    conditions: Annotated[list[PutCondition], Meta(description="two designs or more meet; most designs first")]
    ladder: Annotated[list[PutRung], Meta(description="of the first condition")]
    splits: Annotated[list[PutSplit], Meta(description="one for each library that was counted")]
