# SPDX-License-Identifier: Apache-2.0
"""Parts of results.json of a watch that other modules fill: time, resources, files, and a program that stood still."""

from __future__ import annotations

from typing import Annotated, Literal

from slowpath.core.place import PlaceFault
from slowpath.core.result import Count, Name, NotNegative, Result, Share, Text, means, optional


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


class FileTime(Result, frozen=True, kw_only=True):
    """MPI-IO: how long it takes, and by which module. No rule judges it."""

    seconds: Annotated[NotNegative, means("in MPI_File calls, a rank")]
    share: Annotated[Share, means("of the run")]
    calls: Annotated[Count, means("all ranks")]
    call: Annotated[Name, means("that takes most of it")]
    module: Annotated[Name | None, means("of the library: ompio or ROMIO; null: not known")]
    module_reason: Annotated[Text, means("what says so: no library reports which one it took")]
    text: Annotated[Text, means("one line")]


Files = Annotated[FileTime | None, means("MPI-IO; null: the program makes no such call")]
StartTime = Annotated[NotNegative | None, means("in MPI_Init, a rank, before the run; null: not recorded")]


StandstillCause = Literal["mismatch", "circle", "missing", "not known"]


class Standing(Result, frozen=True, kw_only=True):
    """What one rank did when nothing moved any more."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    doing: Annotated[Text, means("in a call, polling, outside MPI; or how it ended, or that it left no record")]
    call: Annotated[str | None, means("that it is in, or was in last; null: none that can block")]
    place: Annotated[str | None, means("of that call in the program; null: not known")]
    seconds: Annotated[NotNegative, means("since when it does that")]
    waits_for: Annotated[tuple[Count, ...], means("ranks without which the call can't return; empty: not known")]
    text: Annotated[Text, means("the same in words")]


class Standstill(Result, frozen=True, kw_only=True):
    """A program that stood still until it was stopped."""

    quiet_s: Annotated[NotNegative, means("for which no rank began or ended an MPI call; polls in vain don't count")]
    cause: Annotated[
        StandstillCause,
        means(
            "mismatch: ranks are in different collectives; circle: ranks wait for each other; missing: some have not "
            "come; not known"
        ),
    ]
    late: Annotated[tuple[Count, ...], means("ranks that have not come, that form the circle, or that call another")]
    text: Annotated[Text, means("one sentence")]
    was_stopped: Annotated[
        bool, means("by the user, a signal or --hang-after; false: it failed, or a launcher ended it")
    ]
    ranks: Annotated[tuple[Standing, ...], means("by rank")]


WhyStill = Annotated[
    Standstill | None, means("why nothing moved when the program was stopped; null: it moved, or was not stopped")
]


WrongPlace = Annotated[
    tuple[PlaceFault, ...] | None,
    means("what is wrong with where the ranks ran, of the first node where anything is; null: nothing"),
]


class ResourceMoment(Result, frozen=True, kw_only=True):
    """What a rank had at one moment."""

    at_s: Annotated[NotNegative, means("since its MPI_Init")]
    resident_bytes: Annotated[Count, means("of its memory in RAM")]
    waited_s: Annotated[NotNegative, means("that its thread had waited for a processor by then, since MPI_Init")]


class RankResources(Result, frozen=True, kw_only=True):
    """What one rank had to work with, from MPI_Init to MPI_Finalize; null: its kernel or its record does not say."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    processors: Annotated[str | None, means("that any of its threads may use, as 0-3,8")]
    processor_count: Annotated[Count | None, means("of these")]
    online: Annotated[Count | None, means("processors of its node")]
    processor_quota: Annotated[NotNegative | None, means("processors' worth of time that its control group may use")]
    threads: Annotated[Count | None, means("that it had at the end")]
    busy_threads: Annotated[Count | None, means("of these, that ran or could have run for a tenth of the time or more")]
    ran_s: Annotated[NotNegative | None, means("processor time of the thread that calls MPI")]
    waited_s: Annotated[NotNegative | None, means("that this thread could run and had no processor")]
    threads_ran_s: Annotated[NotNegative | None, means("processor time of all threads that were there at the end")]
    others_ran_s: Annotated[
        NotNegative | None,
        means("processor time of all threads but the one that calls MPI, also of those that are over"),
    ] = optional()
    threads_waited_s: Annotated[NotNegative | None, means("that these could run and had no processor, added up")]
    voluntary_switches: Annotated[Count | None, means("of its threads: they waited for something")]
    involuntary_switches: Annotated[Count | None, means("of its threads: the kernel gave their processor to another")]
    resident_bytes: Annotated[Count | None, means("of its memory in RAM at the end")]
    grown_bytes: Annotated[int | None, means("by which that grew; negative: it shrank")]
    most_resident_bytes: Annotated[Count | None, means("that it ever had in RAM")]
    memory_limit_bytes: Annotated[Count | None, means("of its control group; null: none, or not known")]
    throttled_s: Annotated[
        NotNegative | None,
        means("that the kernel stopped processors of its control group because its quota was used up, added up"),
    ] = optional()
    copy_refused: Annotated[
        Count | None, means("errno of the first copy from or to another process that was refused; null: none was")
    ] = optional()
    seccomp: Annotated[Count | None, means("2: a filter of system calls; null: not known")] = optional()
    user_namespace: Annotated[Count | None, means("number; ranks of two can't copy from each other's memory")]
    shm_bytes: Annotated[Count | None, means("size of its /dev/shm")]
    shm_free_bytes: Annotated[Count | None, means("of that, free at the end")]
    started_by: Annotated[str | None, means("program of its parent process")]
    minor_faults: Annotated[Count | None, means("page faults that need no disk")] = optional()
    fault_s: Annotated[
        tuple[NotNegative, ...] | None,
        means("what a new page takes to map, touch and unmap: measured at MPI_Init, and at MPI_Finalize"),
    ] = optional()
    moments: Annotated[tuple[ResourceMoment, ...], means("at most 64, evenly over the run")]
