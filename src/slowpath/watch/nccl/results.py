# SPDX-License-Identifier: Apache-2.0
"""What results.json of a watched program states of its NCCL calls, typed."""

from __future__ import annotations

from typing import Annotated, Literal

from slowpath.core.result import AtLeastOne, Count, Interval, Name, NotNegative, Result, Share, Text, means

NcclTimer = Literal["GPU", "proxy thread", "host only"]


class NcclOperation(Result, frozen=True, kw_only=True):
    """NCCL calls that are alike: one function, one size, one way that NCCL chose. Times leave out first calls."""

    function: Annotated[Name, means("AllReduce and so on")]
    datatype: Annotated[Name, means("as NCCL names it, without its prefix; empty: not named")]
    bytes: Annotated[Count, means("as nccl-tests counts them: of all ranks' parts in AllGather and ReduceScatter")]
    ranks: Annotated[AtLeastOne, means("of the communicator")]
    algorithm: Annotated[Name, means("that NCCL chose: RING, TREE, NVLS; empty: it did not say")]
    protocol: Annotated[Name, means("that NCCL chose: LL, LL128, SIMPLE; empty: it did not say")]
    channels: Annotated[Count, means("that NCCL used; 0: it did not say")]
    group_calls: Annotated[Count, means("calls that share its kernel, and so their times; 1: it has one of its own")]
    calls: Annotated[Count, means("of all ranks, first ones included")]
    seconds: Annotated[NotNegative | None, means("in all of them a rank, first ones included; null: not timed")]
    mean_s: Annotated[NotNegative | None, means("of one call, on all ranks; null: not timed")]
    work_s: Annotated[
        NotNegative | None, means("of one call on the rank that came last, so without waiting: median; null: not kept")
    ]
    work_interval: Annotated[Interval | None, means("of work_s, at 95 %")]
    wait_s: Annotated[NotNegative | None, means("that a rank waits in one call for the last one: mean; null: not kept")]
    bus_bytes_per_s: Annotated[
        NotNegative | None, means("bus bandwidth by work_s, as nccl-tests defines it; null: not defined, or not kept")
    ]
    bus_interval: Annotated[Interval | None, means("of bus_bytes_per_s, at 95 %")]
    launch_s: Annotated[NotNegative | None, means("of one call on the host, until NCCL had launched it: mean")]
    first_s: Annotated[NotNegative | None, means("of the first call of a rank, the longest one; null: not timed")]
    first_launch_s: Annotated[NotNegative | None, means("of the first call of a rank on the host, the longest one")]


class NcclFirstUse(Result, frozen=True, kw_only=True):
    """The first collective or message of a communicator, in which NCCL connects its ranks."""

    function: Annotated[Name, means("of that call")]
    bytes: Annotated[Count, means("as nccl-tests counts them")]
    ranks: Annotated[AtLeastOne, means("of the communicator")]
    launch_s: Annotated[NotNegative, means("on the host, until NCCL had launched it, on the slowest rank")]
    rank: Annotated[Count, means("that one")]
    later_launch_s: Annotated[NotNegative | None, means("of later calls of its kind: mean; null: there are none")]


class NcclLateRank(Result, frozen=True, kw_only=True):
    """A rank for which others wait in collectives: their kernels run, and have nothing to do."""

    rank: Annotated[Count, means("in the communicator")]
    host: Annotated[Name, means("it ran on")]
    ranks: Annotated[AtLeastOne, means("of the communicator")]
    waited_s: Annotated[NotNegative, means("that another rank waits for it in all of the run's collectives")]
    share: Annotated[Share, means("of the run")]
    function: Annotated[Name, means("of the collectives in which most is waited for it")]
    bytes: Annotated[Count, means("of those, as nccl-tests counts them")]
    calls: Annotated[Count, means("of those, of which each rank's time is known")]
    last_share: Annotated[Share, means("of these calls, in which it came last by 5 us or more")]
    late_s: Annotated[NotNegative, means("by which it came last in those: median of what the others wait on average")]
    late_interval: Annotated[Interval | None, means("of late_s, at 95 %; null: too few")]


class NcclProcess(Result, frozen=True, kw_only=True):
    """A process that called NCCL."""

    rank: Annotated[Count, means("in its largest communicator")]
    host: Annotated[Name, means("it ran on")]
    calls: Annotated[Count, means("of NCCL")]
    busy_s: Annotated[NotNegative | None, means("that NCCL's kernels ran, by communicator added up; null: not timed")]
    unfinished: Annotated[Count, means("calls whose end was not seen")]
    ended: Annotated[Literal["closed", "killed"], means("closed: its record was written when it ended")]


class NcclUse(Result, frozen=True, kw_only=True):
    """What a program did by NCCL or RCCL, as their profiler interface reports it."""

    program: Annotated[Name, means("file name of the program")]
    interface: Annotated[Count, means("version of the profiler interface: 5 is NCCL 2.28")]
    timer: Annotated[NcclTimer, means("whose clock the times come from; host only: when kernels ran is not known")]
    run_s: Annotated[NotNegative, means("of the command; of the longest record where that is not known")]
    busy_s: Annotated[NotNegative | None, means("a rank, that NCCL's kernels ran; null: not timed")]
    processes: Annotated[tuple[NcclProcess, ...], means("by rank")]
    communicators: Annotated[Count, means("with calls")]
    operations: Annotated[tuple[NcclOperation, ...], means("most time first")]
    first_uses: Annotated[tuple[NcclFirstUse, ...], means("slowest first, at most 20")]
    late: Annotated[tuple[NcclLateRank, ...], means("that others wait for, longest first, at most 20")]
    notes: Annotated[tuple[Text, ...], means("what a reader has to know")]

    @property
    def share(self) -> float | None:
        """Of the run, that NCCL's kernels ran on a rank; None: not timed."""
        if self.busy_s is None or self.run_s <= 0:
            return None
        return min(self.busy_s / self.run_s, 1.0)


NcclPart = Annotated[NcclUse | None, means("calls of NCCL or RCCL; null: none was seen")]
