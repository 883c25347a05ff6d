# SPDX-License-Identifier: Apache-2.0
"""What results.json of a watched program states of its time line, typed."""

from __future__ import annotations

from typing import Annotated, Literal

from slowpath.core.result import Count, NotNegative, Result, Share, Text, means


class Slice(Result, frozen=True, kw_only=True):
    """One rank over one stretch of the run, for the picture ranks x time."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    start_s: Annotated[NotNegative, means("since the first MPI_Init")]
    end_s: Annotated[NotNegative, means("since the first MPI_Init")]
    computing: Annotated[Share, means("outside of MPI")]
    waiting: Annotated[Share, means("for other ranks")]
    transfer: Annotated[Share, means("moving bytes")]
    other: Annotated[Share, means("in MPI, otherwise")]
    is_kept: Annotated[bool, means("false: no events of this stretch were kept, the shares mean nothing")]


class Efficiency(Result, frozen=True, kw_only=True):
    """Efficiencies of the POP model, of the run or of a window of its time; the parallel one is the product of others.

    parallel = load_balance x communication; communication = serialization x transfer.
    """

    start_s: Annotated[NotNegative, means("since the first MPI_Init")]
    end_s: Annotated[NotNegative, means("since the first MPI_Init")]
    parallel: Annotated[Share | None, means("mean time outside MPI over the time; null: no events were kept")]
    load_balance: Annotated[
        Share | None, means("mean time outside MPI over that of the rank with most; null: as above")
    ]
    communication: Annotated[
        Share | None, means("time outside MPI of the rank with most over the time; null: as above")
    ]
    serialization: Annotated[
        Share | None, means("time outside MPI of the rank with most over the time on a network that takes none")
    ]
    transfer: Annotated[
        Share | None, means("the time on a network that takes none over the time, by replaying the calls")
    ]
    reason: Annotated[str | None, means("why serialization and transfer are null")]
    per_s: Annotated[
        NotNegative | None, means("messages and collectives that all ranks began a second; null: as above")
    ]


class Phase(Result, frozen=True, kw_only=True):
    """A stretch of the run over which a measure stays at one level that differs from those before and after it."""

    measure: Annotated[Literal["parallel efficiency", "calls a second"], means("that changes")]
    start_s: Annotated[NotNegative, means("since the first MPI_Init, to half a window")]
    end_s: Annotated[NotNegative, means("as start_s")]
    level: Annotated[NotNegative, means("median over its windows")]
    usual: Annotated[NotNegative, means("the level that holds for most of the run")]
    text: Annotated[Text, means("one sentence")]
