# SPDX-License-Identifier: Apache-2.0
"""results.json of a watched program, typed: what the analysis concludes and everybody else reads. And its file.

Times are seconds, lengths bytes, numbers unrounded; None means missing and stands next to a reason. "A rank" in a
meaning is the mean over ranks. A file may come from anybody: it is read within limits, and has to be complete.

Parts of results.json of a watch that other modules fill: time, resources, files, and a program that stood still.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.files import DAMAGE, read_bytes, require_schema, why
from slowpath.core.finding_results import RemedyResult
from slowpath.core.machine import PlaceFault
from slowpath.core.result import (
    FILE_BYTES,
    Count,
    Interval,
    Name,
    NotNegative,
    Number,
    Result,
    Share,
    Text,
    means,
    optional,
)

WATCH_SCHEMA: Final = 1

Family = Literal["point to point", "completion", "collective", "one-sided", "management", "files", "other"]
AccountName = Literal[
    "late sender", "late receiver", "late progress", "wait at barrier", "wait at N x N", "late broadcast",
    "early reduce", "wait at management", "wait at fence", "late target", "unexpected copy", "moving bytes",
    "call overhead", "slow transfer", "wait or slow transfer", "no processor", "management", "files", "unattributed",
    "computing", "asleep", "page faults", "system calls", "outside MPI",
]  # fmt: skip
BEFORE_THE_RUN: Final = frozenset({"MPI_Init", "MPI_Init_thread", "MPI_Session_init"})  # in no sum of a rank's time


class WatchedProgram(Result, frozen=True, kw_only=True):
    """The program and the run that was watched."""

    command: Annotated[tuple[Text, ...], means("as it was given to `slowpath watch`")]
    program: Annotated[Name, means("file name of the program that called MPI")]
    ranks: Annotated[Count, means("of MPI_COMM_WORLD; 0: no rank left a record")]
    recorded_ranks: Annotated[Count, means("that left a readable record")]
    hosts: Annotated[tuple[Name, ...], means("that the ranks ran on")]
    interface: Annotated[Literal["mpich", "openmpi", "abi", "unknown"], means("of the program's MPI library")]
    library: Annotated[str, means("first line of MPI_Get_library_version")]
    library_path: Annotated[str, means("of the MPI library")]
    thread_level: Annotated[str | None, means("that MPI gave: single, funneled, serialized, multiple")]
    exit_code: Annotated[int | None, means("of the command; null: a signal ended it, or it was not started here")]
    signal: Annotated[int | None, means("that ended the command; null: none")]
    wall_s: Annotated[NotNegative, means("of the command, from start to end")]
    span_s: Annotated[
        NotNegative | None, means("from the first MPI_Init to the last MPI_Finalize; null: no rank was recorded")
    ]
    started: Annotated[str, means("ISO 8601, UTC")]
    misstart: Annotated[
        Text | None,
        means("what is wrong with how the ranks were started, and what to do; null: nothing, or it is not known"),
    ] = optional()
    launcher_s: Annotated[
        NotNegative | None,
        means("processor time of its launcher and of processes that its ranks started; null: not known"),
    ] = optional()


class RankTime(Result, frozen=True, kw_only=True):
    """How long one rank ran, and was in MPI; the accounts say where that went."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    host: Annotated[Name, means("it ran on")]
    span_s: Annotated[NotNegative, means("from MPI_Init to MPI_Finalize, or to its last sign")]
    mpi_s: Annotated[
        NotNegative,
        means(
            "in MPI calls and in loops that wait by polling; where several threads call MPI, of the one that started "
            "it, or of the longest if that one does not communicate"
        ),
    ]
    ended: Annotated[Literal["finalized", "without finalize", "killed", "not known"], means("how the record ends")]


class Account(Result, frozen=True, kw_only=True):
    """Time under one name. All of them add up to the ranks' time, from MPI_Init to MPI_Finalize."""

    name: Annotated[
        AccountName,
        means("what the time went to; unattributed: in MPI, of no known call; outside MPI: where no more is known"),
    ]
    seconds: Annotated[NotNegative, means("a rank")]
    share: Annotated[Share, means("of all ranks' time")]
    by_rank: Annotated[tuple[NotNegative, ...], means("seconds of each rank, in the order of ranks")]


class CallCount(Result, frozen=True, kw_only=True):
    """One MPI call over all ranks."""

    name: Annotated[Name, means("MPI_Send and so on")]
    family: Annotated[Family, means("of the call")]
    calls: Annotated[Count, means("outermost ones, all ranks")]
    time_s: Annotated[NotNegative, means("in them a rank")]
    bytes: Annotated[Count, means("of its messages, all ranks")]


class Coverage(Result, frozen=True, kw_only=True):
    """What was seen, and what was not."""

    imported: Annotated[Count, means("kinds of MPI calls that the program and its libraries import")]
    wrapped: Annotated[Count, means("of these, calls that are watched")]
    unseen: Annotated[tuple[Name, ...], means("imported and not watched")]
    calls: Annotated[Count, means("of MPI, all ranks")]
    messages: Annotated[Count, means("point to point, all ranks: sends")]
    recorded_messages: Annotated[Count, means("of these, with an event of their own in the record")]
    matched_share: Annotated[
        Share | None, means("of the recorded sends and receives of which both sides were recorded: matched; null: none")
    ]
    contradictions: Annotated[
        Count, means("matched pairs whose lengths contradict each other: their matching is wrong")
    ]
    kept_share: Annotated[Share, means("of the ranks' time in MPI, in events that are kept")]
    clock_error_s: Annotated[
        NotNegative | None, means("largest error of one rank's clock against another's; 0 on one host; null: not known")
    ]
    own_cost_s: Annotated[
        NotNegative, means("that watching took a rank, by its own estimate: calls times what one costs")
    ]
    notes: Annotated[tuple[Text, ...], means("what a reader has to know")]


class CallSite(Result, frozen=True, kw_only=True):
    """A place in the program."""

    function: Annotated[str, means("demangled; empty: no symbol")]
    file: Annotated[str | None, means("null: no line information")]
    line: Annotated[Count | None, means("in the file")]
    object: Annotated[Name, means("program or library that holds it")]
    offset: Annotated[Count, means("of the return address in that object")]
    callers: Annotated[tuple[str, ...], means("functions around it, nearest first")] = ()


class MessageClass(Result, frozen=True, kw_only=True):
    """Messages that are alike: one call, one size class, one kind of buffer, at one place. One row of `classes.csv`."""

    id: Annotated[Count, means("index in classes")]
    call: Annotated[Name, means("MPI_Send and so on; of a request, the call that posted it")]
    side: Annotated[Literal["send", "receive", "both", "none"], means("of the message")]
    site: Annotated[Count, means("index in sites; the place of the call")]
    bytes_low: Annotated[Count, means("shortest length of the size class")]
    bytes_high: Annotated[Count, means("longest length of the size class")]
    first: Annotated[bool, means("first use of the allocation by MPI")]
    memory: Annotated[str, means("kind of the buffer's memory")]
    page_bytes: Annotated[Count | None, means("pages that map it; null: not known")]
    allocation_bytes: Annotated[Count | None, means("length of the allocation; null: not known")]
    is_odd: Annotated[bool | None, means("the allocation's length is no multiple of its page; null: not known")]
    start: Annotated[str, means("of the buffer: page, line, elsewhere, not known")]
    block_bytes: Annotated[Count | None, means("mean contiguous stretch of its datatype; null: contiguous")]
    is_uneven: Annotated[bool, means("its blocks or gaps are unequal")] = False
    ranks: Annotated[Count, means("that have messages of this class")]
    count: Annotated[Count, means("messages or calls, all ranks")]
    bytes: Annotated[Count, means("all ranks")]
    time_s: Annotated[NotNegative, means("in its calls, a rank")]
    wait_s: Annotated[
        NotNegative | None, means("waiting for others, the completing calls included, a rank; null: not matched")
    ]
    transfer_s: Annotated[
        NotNegative | None, means("moving bytes, the completing calls included, a rank; null: not matched")
    ]


class CollectiveClass(Result, frozen=True, kw_only=True):
    """Blocking collectives that are alike: one call, one size class, communicators of one size."""

    id: Annotated[Count, means("index in collectives")]
    collective: Annotated[Name, means("as experiment coll has it: allreduce")]
    call: Annotated[Name, means("MPI_Allreduce and so on")]
    bytes: Annotated[Count, means("mean length of the message, of one block where each rank has a block of its own")]
    ranks: Annotated[Count, means("of the communicator")]
    count: Annotated[Count, means("collectives; one is a call on each of its ranks")]
    work_s: Annotated[NotNegative, means("of one, from the last rank's entry to the last rank's exit: median")]
    sites: Annotated[tuple[Count, ...], means("indices in sites, those with most calls first")]


class WatchFinding(Result, frozen=True, kw_only=True):
    """A slow path of the program, priced."""

    id: Annotated[Text, means("stable over watches of one program: rule and place")]
    rule: Annotated[str, means("SP...; as in `slowpath explain`")]
    name: Annotated[Text, means("a few words: of the rule, or of what it sees here")]
    title: Annotated[Text, means("of the rule")]
    text: Annotated[Text, means("one sentence with numbers")]
    seconds: Annotated[Number, means("added up over its messages, a rank")]
    interval: Annotated[Interval, means("of seconds, at 95 %")]
    share: Annotated[Share, means("of the run")]
    saved_s: Annotated[Number | None, means("of the run's time, by replaying the order of events; null: not replayed")]
    saved_interval: Annotated[Interval | None, means("of saved_s, at 95 %")]
    messages: Annotated[Count, means("all ranks")]
    sites: Annotated[tuple[Count, ...], means("indices in sites, most costly first")]
    remedies: Annotated[tuple[RemedyResult, ...], means("best first")]
    prove: Annotated[str | None, means("arguments of `slowpath prove` that try the first remedy; null: it needs code")]
    change: Annotated[str | None, means("lines to change and where, for a remedy that needs code")]
    status: Annotated[
        Literal["priced", "estimated", "proven", "no effect", "undecided"],
        means(
            "priced: by cells of this machine; estimated: from the program's own calls; "
            "proven: `slowpath prove` showed it on the program itself"
        ),
    ]


class Pair(Result, frozen=True, kw_only=True):
    """What one rank sent to another."""

    source: Annotated[Count, means("rank")]
    destination: Annotated[Count, means("rank")]
    messages: Annotated[Count, means("point to point")]
    bytes: Annotated[Count, means("point to point")]


class WatchResults(Result, frozen=True, kw_only=True):
    """results.json of a watch."""

    schema: Annotated[int, means("version of this file")]
    slowpath: Annotated[str, means("version that wrote it")]
    program: Annotated[WatchedProgram, means("what ran, and how it ended")]
    coverage: Annotated[Coverage, means("what was seen, and what was not")]
    verdict: Annotated[tuple[Text, ...], means("lines of the text verdict, the headline first")]
    saved_s: Annotated[
        Number | None, means("of the run by all findings' remedies together; null: none, or not replayed")
    ]
    saved_interval: Annotated[Interval | None, means("of saved_s, at 95 %")]
    findings: Annotated[tuple[WatchFinding, ...], means("most saved first")]
    ranks: Annotated[tuple[RankTime, ...], means("by rank")]
    calls: Annotated[tuple[CallCount, ...], means("most time first")]
    classes: Annotated[tuple[MessageClass, ...], means("most time first")]
    sites: Annotated[tuple[CallSite, ...], means("places in the program")]
    pairs: Annotated[tuple[Pair, ...], means("that exchanged messages; the largest 4096 by bytes")]
    slices: Annotated[tuple[Slice, ...], means("for the picture; at most 200 a rank, 64 ranks")]
    collectives: Annotated[tuple[CollectiveClass, ...], means("blocking ones, most time first")] = ()
    resources: Annotated[tuple[RankResources, ...], means("what each rank had to work with")] = ()
    path: Annotated[tuple[PathPart, ...], means("the critical path, longest part first; at most 20")] = ()
    shown_ranks: Annotated[tuple[Count, ...] | None, means("ranks with slices; null: all")] = optional()
    not_measured: Annotated[
        Share | None,
        means("of the run, in messages of which a replay can say what they take here, and none did; null: not known"),
    ] = optional()
    accounts: Annotated[tuple[Account, ...], means("the ranks' time by name, longest first")] = ()
    place: WrongPlace = optional()
    standstill: WhyStill = optional()
    start_s: StartTime = optional()
    outside: Annotated[Text | None, means("where time outside MPI passes; null: little, or not known")] = optional()
    most: Annotated[Text | None, means("with what most time in MPI passes; null: not known")] = optional()


def tried_remedy(finding: WatchFinding) -> str | None:
    """Return the key of the remedy that `finding.prove` tries; None: the finding's remedy needs code."""
    return None if finding.prove is None else finding.prove.removeprefix("--remedy ")


RESULTS_FILE: Final = "results.json"
_ANEW = "rebuild it: slowpath report FOLDER"


def read_watch_results(folder: Path) -> WatchResults:
    """results.json of a watch.

    Raises: RecordError: missing, damaged, beyond the limits, of another schema, or not whole in itself.
    """
    path = folder / RESULTS_FILE
    return decode_watch_results(read_bytes(path, FILE_BYTES[RESULTS_FILE], within=folder), path)


def decode_watch_results(content: bytes, path: Path) -> WatchResults:
    """From the bytes of a results.json; `path` names it in errors.  Raises: RecordError."""
    require_schema(content, path, WATCH_SCHEMA, "name a folder that slowpath watch wrote")
    try:
        results = msgspec.json.decode(content, type=WatchResults)
        require_whole(results)
    except (*DAMAGE, ValueError) as error:
        raise RecordError(f"{path}: is damaged: {why(error)}; {_ANEW}") from error
    return results


def require_whole(results: WatchResults) -> None:
    """Raises: ValueError: something names a class, a place or a rank that is not there."""
    sites = range(len(results.sites))
    if len({message_class.id for message_class in results.classes}) < len(results.classes):
        raise ValueError("two classes have one id")
    if len({finding.id for finding in results.findings}) < len(results.findings):
        raise ValueError("two findings have one id")
    _known(sites, (message_class.site for message_class in results.classes), "a class", "place")
    _known(sites, (site for finding in results.findings for site in finding.sites), "a finding", "place")
    _known(sites, (part.site for part in results.path if part.site is not None), "the path", "place")
    if any(stretch.end_s < stretch.start_s for stretch in results.slices):
        raise ValueError("a slice ends before it starts")


def _known(known: range, asked: Iterable[int], who: str, kind: str) -> None:
    unknown = next((number for number in asked if number not in known), None)
    if unknown is not None:
        raise ValueError(f"{who} is about {kind} {unknown}, which is not there")


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
    path: Annotated[Share | None, means("of the critical path there; null: not known")] = optional()


class PathPart(Result, frozen=True, kw_only=True):
    """What the critical path spends on one rank at one place: the run lasts so long because this does."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    call: Annotated[Name, means("in which, or before which it is spent")]
    site: Annotated[Count | None, means("index in sites, of the call; null: not known")]
    is_outside: Annotated[bool, means("true: outside MPI, before the call")]
    seconds: Annotated[NotNegative, means("of the stretches whose calls were kept")]
    share: Annotated[Share, means("of the path")]


StartTime = Annotated[NotNegative | None, means("in MPI_Init, a rank, before the run; null: not recorded")]


class Standing(Result, frozen=True, kw_only=True):
    """What one rank did when nothing moved any more."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    doing: Annotated[Text, means("in a call, polling, outside MPI; or how it ended, or that it left no record")]
    call: Annotated[str | None, means("that it is in, or was in last; null: none that can block")]
    place: Annotated[str | None, means("of that call in the program; null: not known")]
    seconds: Annotated[NotNegative, means("since when it does that")]
    text: Annotated[str, means("the call with its partners, in words; empty: it is in none")]


class Standstill(Result, frozen=True, kw_only=True):
    """A program that stood still until it was stopped."""

    quiet_s: Annotated[NotNegative, means("for which no rank began or ended an MPI call; polls in vain don't count")]
    text: Annotated[Text, means("what the ranks did, one sentence")]
    was_stopped: Annotated[bool, means("by the user or a signal; false: it failed, or a launcher ended it")]
    ranks: Annotated[tuple[Standing, ...], means("by rank")]


WhyStill = Annotated[
    Standstill | None, means("why nothing moved when the program was stopped; null: it moved, or was not stopped")
]


WrongPlace = Annotated[
    tuple[PlaceFault, ...] | None,
    means("what is wrong with where the ranks ran, of the first node where anything is; null: nothing"),
]


class RankResources(Result, frozen=True, kw_only=True):
    """What one rank had to work with, from MPI_Init to MPI_Finalize; null: its kernel or its record does not say."""

    rank: Annotated[Count, means("in MPI_COMM_WORLD")]
    processors: Annotated[str | None, means("that any of its threads may use, as 0-3,8")]
    online: Annotated[Count | None, means("processors of its node")]
    processor_quota: Annotated[NotNegative | None, means("processors' worth of time that its control group may use")]
    busy_threads: Annotated[Count | None, means("of these, that ran or could have run for a tenth of the time or more")]
    ran_s: Annotated[NotNegative | None, means("processor time of the thread that calls MPI")]
    waited_s: Annotated[NotNegative | None, means("that this thread could run and had no processor")]
    others_ran_s: Annotated[
        NotNegative | None,
        means("processor time of all threads but the one that calls MPI, also of those that are over"),
    ] = optional()
    threads_waited_s: Annotated[NotNegative | None, means("that these could run and had no processor, added up")]
    grown_bytes: Annotated[int | None, means("by which that grew; negative: it shrank")]
    touched_bytes: Annotated[int | None, means("by which it grew at most, in between")] = optional()
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
    minor_faults: Annotated[Count | None, means("page faults that need no disk")] = optional()
    fault_s: Annotated[
        tuple[NotNegative, ...] | None,
        means("what a new page takes to map, touch and unmap: measured at MPI_Init, and at MPI_Finalize"),
    ] = optional()
