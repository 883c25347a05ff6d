# SPDX-License-Identifier: Apache-2.0
"""What results.json of a watched program states of processors and memory, typed."""

from __future__ import annotations

from typing import Annotated

from slowpath.core.place import PlaceFault
from slowpath.core.result import Count, NotNegative, Result, means, optional

WrongPlace = Annotated[
    tuple[PlaceFault, ...] | None,
    means("what is wrong with where the ranks ran, of the first node where anything is; null: an older version"),
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
