# SPDX-License-Identifier: Apache-2.0
"""Events of a launch as a whole, of its cells and of their allocations (docs/internals/record.md).

Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slowpath.core.limits import Name, Number, Text, Whole
from slowpath.core.plan import CellNumber, Count, RankNumber, Ranks
from slowpath.record.events_ranks import NodeRanks, Rank, ranks_of

# Events of what a launch measured without MPI (docs/internals/record.md).

MOST_OF_OTHER = 0.2  # of a stretch that may be booked as the other kind: interrupts, the calls' own entry and exit


class FixedWork(msgspec.Struct, frozen=True, tag_field="event", tag="fixed_work"):
    """The same counted work, timed on one rank before, between and after the cells. Every sample is there.

    visits: samples of each time that the rank came to it: before the first cell, after each cell or group of cells.
    begins_ns: of each sample, on the rank's CLOCK_MONOTONIC, from t0_ns on.
    """

    t_ns: Whole
    rank: RankNumber
    steps: Count
    t0_ns: Whole
    visits: tuple[Count, ...]
    begins_ns: tuple[Count, ...]
    durations_ns: tuple[Count, ...]

    def __post_init__(self) -> None:
        if not len(self.begins_ns) == len(self.durations_ns) == sum(self.visits):
            raise ValueError("begins_ns, durations_ns and visits do not agree on how many samples there are")


class Yardstick(msgspec.Struct, frozen=True, tag_field="event", tag="yardstick"):
    """What moving bytes from one rank to another costs without MPI, by one way (docs/internals/statistics.md).

    samples_ns: each spans `operations` of them. bytes: 0 where the way has no length. reason: why there are no samples.
    """

    t_ns: Whole
    rank: RankNumber
    peer: RankNumber
    name: Name
    bytes: Count
    operations: Annotated[int, Meta(ge=1, le=2**62)]
    samples_ns: tuple[Count, ...] = ()
    reason: Text | None = None


class ProcessorTime(msgspec.Struct, frozen=True, tag_field="event", tag="processor_time"):
    """What getrusage(2) said of two stretches of known work on one rank, ns: arithmetic alone, the kernel's work alone.

    A kernel that samples at timer ticks shares both out alike: its user and system times of a block mean nothing.
    """

    t_ns: Whole
    rank: RankNumber
    user_work_user_ns: Count
    user_work_system_ns: Count
    kernel_work_user_ns: Count
    kernel_work_system_ns: Count

    @property
    def is_distinguished(self) -> bool:
        """Whether nearly all of each stretch was booked as what it was."""
        return self.user_work_system_ns <= MOST_OF_OTHER * (
            self.user_work_user_ns + self.user_work_system_ns
        ) and self.kernel_work_user_ns <= MOST_OF_OTHER * (self.kernel_work_user_ns + self.kernel_work_system_ns)


class ThreadLevel(msgspec.Struct, frozen=True):
    """MPI's support for threads: single, funneled, serialized or multiple. asked: null where MPI_Init was called."""

    asked: Text | None = None
    provided: Text | None = None


class LaunchBegin(msgspec.Struct, frozen=True, tag_field="event", tag="launch_begin"):
    """First line of a launch. ranks: written one by one by slowpath-ipc and older engines; else made of `nodes`."""

    t_ns: Whole
    launch: Count
    size: Ranks
    seed: Whole | None = None
    engine: Text | None = None
    mpi_library: Text | None = None
    mpi_standard: Text | None = None
    thread_level: ThreadLevel | None = None
    ranks: tuple[Rank, ...] = ()
    witnessed: bool = False  # libslowpath-witness.so was there: its times stand for nothing
    nodes: tuple[NodeRanks, ...] = ()

    def __post_init__(self) -> None:
        if self.nodes:
            msgspec.structs.force_setattr(self, "ranks", ranks_of(self.nodes, self.size))
        elif len({rank.rank for rank in self.ranks if rank.rank < self.size}) < len(self.ranks):
            raise ValueError(f"ranks names one twice, or one that is not below {self.size}")


class Blas(msgspec.Struct, frozen=True):
    """The library that multiplies."""

    name: Name
    core: Text | None = None  # what it took the processor for
    threads: Count | None = None
    file: Text | None = None
    compiled_for: Text | None = None  # flags of the engine's own code around it


class Grid(msgspec.Struct, frozen=True):
    """How the ranks lie on the matrices."""

    rows: Count
    columns: Count
    steps: Count


class Note(msgspec.Struct, frozen=True, tag_field="event", tag="note"):
    """Something that a reader should know."""

    t_ns: Whole
    text: Text
    cell: CellNumber | None = None
    blas: Blas | None = None
    grid: Grid | None = None
    interval_ns: Number | None = None
    remark: Text | None = None


class ProgressMade(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """What runs now, of several cells that run in turns."""

    t_ns: Whole
    cell: CellNumber


class LaunchEnd(msgspec.Struct, frozen=True, tag_field="event", tag="launch_end"):
    """Last line of a launch that ended by itself."""

    t_ns: Whole
    cells_ok: Count
    cells_skipped: Count
    cells_failed: Count


# Events that count: instructions of calls, calls of the C library, messages (docs/internals/record.md).
#
# Fields that an engine may not know have a default of None: missing, not zero. Unknown fields are ignored.


class CountedFunction(msgspec.Struct, frozen=True):
    """Instructions of one function of one library, over all counted calls."""

    library: Name
    function: Name
    instructions: Count


class Instructions(msgspec.Struct, frozen=True, tag_field="event", tag="instructions"):
    """Instructions of the calls of one region, counted one by one; null where they could not be, with the reason.

    stepped: of each call, outside of the program's own text. retired: the same with the iterations of a rep-prefixed
    instruction as one. region_instructions: calls, call sites and loop.
    """

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    region: Name  # put | synchronisation
    calls: Count | None = None
    method: Text | None = None
    stepped: tuple[Count, ...] = ()
    retired: tuple[Count, ...] = ()
    region_instructions: Count | None = None
    shares: tuple[CountedFunction, ...] = ()
    reason: Text | None = None

    @property
    def counted(self) -> bool:
        return self.reason is None and bool(self.calls)


class WitnessedCallCount(msgspec.Struct, frozen=True):
    """Calls of one kind. bytes: moved or mapped by those that did not fail; None: such calls have no length.

    time_ns: inside calls of a kind that waits; None: it does not wait, or an older engine did not look.
    """

    calls: Count
    bytes: Count | None = None
    failed: Count = 0
    time_ns: Count | None = None


class WitnessedCalls(msgspec.Struct, frozen=True, tag_field="event", tag="calls"):
    """What a witnessed rank called in all blocks of one phase; operations: of the blocks, its peer's included."""

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    phase: Name  # init | first | warmup | steady
    operations: Count
    counts: dict[Name, WitnessedCallCount]


class SocketMessages(msgspec.Struct, frozen=True, tag_field="event", tag="messages"):
    """What went through a rank's sockets during the marked calls of a cell, in the rank's own order.

    known_calls: the first calls, each one message of the cell's length from the first rank to the second.  sockets: own
    and other address.  log: (socket, -1: a mark; kind as mpi/message_log has it; bytes before it, or the call's number;
    bytes).  lost: entries for which there was no room, the last ones.
    """

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    known_calls: Count
    lost: Count
    sockets: tuple[tuple[Name, Name], ...]
    log: tuple[tuple[Whole, Count, Count, Count], ...]


class CellBegin(msgspec.Struct, frozen=True, tag_field="event", tag="cell_begin"):
    """The engine starts a cell. slowpath-ipc, which no plan describes, says here what the cell is."""

    t_ns: Whole
    cell: CellNumber
    experiment: Name | None = None
    parameters: dict[Name, Text] | None = None


class Allocation(msgspec.Struct, frozen=True, tag_field="event", tag="allocation"):
    """A fresh allocation of one rank: what was asked for and what the kernel gave."""

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    index: Count
    role: Text | None = None
    memory: Text | None = None
    mpi_memory_kind: Text | None = None
    pages_asked: Text | None = None
    pages_observed: Text | None = None
    huge_bytes: Count | None = None
    page_bytes: Count | None = None
    base: Whole | Text | None = None
    address: Whole | Text | None = None
    allocation_bytes: Count | None = None
    offset_bytes: Count | None = None
    reused_address: bool | None = None
    device: Whole | None = None


class Intervals(msgspec.Struct, frozen=True, tag_field="event", tag="intervals"):
    """Which step of one repetition each interval of a part belongs to; the same in every repetition."""

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    part: Count
    steps: tuple[Count, ...]


class Repetitions(msgspec.Struct, frozen=True, tag_field="event", tag="repetitions"):
    """What disturbed each steady repetition on one rank, in order.

    other_cpu_s: processor time that processes other than the ranks used on the node meanwhile; null: not reported.
    clock_hz: the frequency of the rank's processor right after the repetition; null: not known.
    clock_from: cpufreq | counted loop, or why there is no frequency.
    """

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    involuntary_switches: tuple[Count, ...]
    other_cpu_s: tuple[Number | None, ...] = ()
    clock_hz: tuple[Number | None, ...] = ()
    clock_from: Text | None = None


class Release(msgspec.Struct, frozen=True, tag_field="event", tag="release"):
    """How the ranks of a cell of `coll` set off together.

    by: shared memory | messages, which have no deadline.  late_starts: calls, over all ranks, that began more than
    late_ns after their moment; null: there was none.  together_ns: of a call to which all came at once, on the slowest
    rank; null: all of them did.  one_clock: all ranks read one CLOCK_MONOTONIC, on whichever nodes they are.
    """

    t_ns: Whole
    cell: CellNumber
    by: Text
    calls: Count
    late_ns: Count
    late_starts: Count | None = None
    together_ns: Count | None = None
    one_clock: bool = False


class CellEnd(msgspec.Struct, frozen=True, tag_field="event", tag="cell_end"):
    """The engine is done with a cell."""

    t_ns: Whole
    cell: CellNumber
    status: Annotated[str, Meta(pattern="^(ok|skipped|failed)$")]
    reason: Text | None = None
    batch: Count | None = None
    steady_samples: Count | None = None
    stopped_because: Text | None = None
    validated_bytes: Count | None = None
    wrong_bytes: Count | None = None
