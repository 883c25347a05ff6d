# SPDX-License-Identifier: Apache-2.0
"""What results.json says of the experiment put: cells that differ in who puts alone, side by side. Pure."""

from __future__ import annotations

from typing import Annotated

from slowpath.core.result import Count, Interval, NotNegative, Number, Positive, Result, means


class RateShare(Result, frozen=True, kw_only=True):
    """Rate of puts over that of the empty call with as many arguments, in launches of the same MPI."""

    ratio: Annotated[Positive, means("above 1: more puts in the same time")]
    interval: Annotated[Interval | None, means("of the ratio")]
    interval_kind: Annotated[str, means("how the interval was made, or why there is none")]


class PutRow(Result, frozen=True, kw_only=True):
    """One design in the launches of one MPI."""

    design: Annotated[str, means("as the parameter of this name")]
    mpi: Annotated[str | None, means("null in a run of one MPI without a name")]
    cell: Annotated[Count, means("number")]
    instructions_with_loop: Annotated[
        Number | None, means("of a put: inside the call (median), call site and loop; null: not counted")
    ]
    of_empty: Annotated[RateShare | None, means("null: it is the empty call, or none was measured")]


class PutCondition(Result, frozen=True, kw_only=True):
    """Cells that differ in who puts alone."""

    settings: Annotated[dict[str, str], means("what its cells share: parameters, environment, placement")]
    differs: Annotated[dict[str, str], means("settings that the first condition does not have")]
    rows: Annotated[list[PutRow], means("libraries, layers, limits")]


class PutPart(Result, frozen=True, kw_only=True):
    """One function that instructions of a call are spent in, mean over calls."""

    library: Annotated[str, means("file that holds the function")]
    function: Annotated[str, means("name, or place in the library")]
    per_call: Annotated[NotNegative, means("instructions")]
    ratio: Annotated[Number | None, means("share of the call; null: nothing was counted")]


class PutSplit(Result, frozen=True, kw_only=True):
    """Where the instructions of a library's put are spent."""

    design: Annotated[str, means("as the parameter of this name")]
    mpi: Annotated[str | None, means("short name as in run.mpis")]
    cell: Annotated[Count, means("number")]
    parts: Annotated[list[PutPart], means("largest first")]


class PutResults(Result, frozen=True, kw_only=True):
    """The comparison of who puts."""

    cells: Annotated[list[Count], means("every measured cell of the experiment")]
    conditions: Annotated[list[PutCondition], means("two designs or more meet; most designs first")]
    splits: Annotated[list[PutSplit], means("one for each library that was counted")]
