# SPDX-License-Identifier: Apache-2.0
"""events.jsonl: what the engine says. Read as far as it goes: the job may have died in the middle of a
line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, BinaryIO, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from slowpath.core.errors import unreadable
from slowpath.core.files import DAMAGE, RESTORE, open_regular, why
from slowpath.core.plan import CellNumber, Count, RankNumber, Ranks
from slowpath.core.result import FILE_BYTES, LONGEST_LINE_BYTES, LongText, Name, Number, Whole
from slowpath.record.blocks import left_out

_Value = TypeVar("_Value")
_NUMBER = re.compile("[0-9]{1,18}")
# One value that all ranks of a node share, or one for each of them.
Texts: TypeAlias = LongText | tuple[LongText | None, ...] | None
Integers: TypeAlias = Whole | tuple[Whole | None, ...] | None
Numbers: TypeAlias = Number | tuple[Number | None, ...] | None


class Clock(msgspec.Struct, frozen=True):
    """Calibration of one rank's clock."""

    quantum_ns: Number | None = None
    overhead_ns: Number | None = None
    source: LongText | None = None


class Rank(msgspec.Struct, frozen=True):
    """Where one rank ran."""

    rank: RankNumber
    host: Name
    pid: Count | None = None
    cpus_allowed: LongText | None = None  # kernel list format, "0-1"
    cpu: Count | None = None
    numa_node: Whole | None = None
    clock: Clock | None = None


class NodeClocks(msgspec.Struct, frozen=True):
    """`Clock` of the ranks of one node."""

    quantum_ns: Numbers = None
    overhead_ns: Numbers = None
    source: Texts = None


class NodeRanks(msgspec.Struct, frozen=True):
    """`Rank` of the ranks of one node. ranks: "0-3,8".  pid: always one for each, and so what says how many."""

    host: Name
    ranks: LongText
    pid: tuple[Count, ...]
    cpus_allowed: Texts = None
    cpu: Integers = None
    numa_node: Integers = None
    clock: NodeClocks | None = None

    def each(self) -> Iterator[Rank]:
        """Rank by rank.  Raises: ValueError: a list is not as long as there are ranks."""
        count = len(self.pid)
        numbers = _numbers(self.ranks, count)
        clocks: Iterable[Clock | None] = [None] * count if self.clock is None else _clocks(self.clock, count)
        allowed, cpus = _spread(self.cpus_allowed, count), _spread(self.cpu, count)
        columns = zip(numbers, self.pid, allowed, cpus, _spread(self.numa_node, count), clocks, strict=True)
        return (Rank(rank, self.host, *facts) for rank, *facts in columns)


def ranks_of(nodes: Iterable[NodeRanks], size: int) -> tuple[Rank, ...]:
    """Return all ranks, by number.  Raises: ValueError: they are not 0 to size - 1, or a list has a wrong length."""
    ranks = sorted((rank for node in nodes for rank in node.each()), key=lambda rank: rank.rank)
    if [rank.rank for rank in ranks] != list(range(len(ranks))) or len(ranks) != size:
        raise ValueError(f"nodes name {len(ranks)} ranks, not each of {size} once")
    return tuple(ranks)


def _clocks(shared: NodeClocks, count: int) -> list[Clock]:
    columns = [_spread(getattr(shared, name), count) for name in Clock.__struct_fields__]
    known: dict[tuple[object, ...], Clock] = {}  # most ranks of a node share one: 4096 ranks are few objects then
    return [known.setdefault(values, Clock(*values)) for values in zip(*columns, strict=True)]


def _spread(column: _Value | tuple[_Value | None, ...] | None, count: int) -> tuple[_Value | None, ...]:
    if not isinstance(column, tuple):
        return (column,) * count
    if len(column) != count:
        raise ValueError(f"a list of {len(column)} values for {count} ranks")
    return column


def _numbers(text: str, count: int) -> list[int]:
    """Return the numbers in "0-3,8"; never more than `count`, whatever a damaged record says."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _NUMBER.fullmatch(first) or (dash and not _NUMBER.fullmatch(last)):
            raise ValueError(f"ranks '{text[:40]}' is not a list such as 0-3,8")
        begin, end = int(first), int(last or first)
        if not 0 <= end - begin < count - len(numbers):
            raise ValueError(f"ranks '{text[:40]}' are not the {count} of pid")
        numbers += range(begin, end + 1)
    if len(numbers) != count:
        raise ValueError(f"ranks '{text[:40]}' are not the {count} of pid")
    return numbers


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
    reason: LongText | None = None


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


class LaunchBegin(msgspec.Struct, frozen=True, tag_field="event", tag="launch_begin"):
    """First line of a launch. ranks: made of `nodes`."""

    t_ns: Whole
    launch: Count
    size: Ranks
    seed: Whole | None = None
    engine: LongText | None = None
    mpi_library: LongText | None = None
    mpi_standard: LongText | None = None
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
    core: LongText | None = None  # what it took the processor for
    threads: Count | None = None
    file: LongText | None = None
    compiled_for: LongText | None = None  # flags of the engine's own code around it


class Grid(msgspec.Struct, frozen=True):
    """How the ranks lie on the matrices."""

    rows: Count
    columns: Count
    steps: Count


class Note(msgspec.Struct, frozen=True, tag_field="event", tag="note"):
    """Something that a reader should know."""

    t_ns: Whole
    text: LongText
    cell: CellNumber | None = None
    blas: Blas | None = None
    grid: Grid | None = None
    remark: LongText | None = None


class ProgressMade(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """What runs now, of several cells that run in turns."""

    t_ns: Whole
    cell: CellNumber


class LaunchEnd(msgspec.Struct, frozen=True, tag_field="event", tag="launch_end"):
    """Last line of a launch that ended by itself."""

    t_ns: Whole


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
    method: LongText | None = None
    stepped: tuple[Count, ...] = ()
    retired: tuple[Count, ...] = ()
    region_instructions: Count | None = None
    shares: tuple[CountedFunction, ...] = ()
    reason: LongText | None = None

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


class CellBegin(msgspec.Struct, frozen=True, tag_field="event", tag="cell_begin"):
    """The engine starts a cell."""

    t_ns: Whole
    cell: CellNumber


class Allocation(msgspec.Struct, frozen=True, tag_field="event", tag="allocation"):
    """A fresh allocation of one rank: what was asked for and what the kernel gave."""

    t_ns: Whole
    cell: CellNumber
    rank: RankNumber
    index: Count
    role: LongText | None = None
    memory: LongText | None = None
    mpi_memory_kind: LongText | None = None
    pages_observed: LongText | None = None
    huge_bytes: Count | None = None
    page_bytes: Count | None = None
    base: Whole | LongText | None = None
    address: Whole | LongText | None = None
    allocation_bytes: Count | None = None
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
    clock_from: LongText | None = None


class Release(msgspec.Struct, frozen=True, tag_field="event", tag="release"):
    """How the ranks of a cell of `coll` set off together.

    by: shared memory | messages, which have no deadline.  late_starts: calls, over all ranks, that began more than
    late_ns after their moment; null: there was none.  together_ns: of a call to which all came at once, on the slowest
    rank; null: all of them did.  one_clock: all ranks read one CLOCK_MONOTONIC, on whichever nodes they are.
    """

    t_ns: Whole
    cell: CellNumber
    by: LongText
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
    reason: LongText | None = None
    batch: Count | None = None
    validated_bytes: Count | None = None
    wrong_bytes: Count | None = None


MOST_NOTES = 20  # on lines of one file; a spoilt file has one on each line

Event: TypeAlias = (
    LaunchBegin
    | CellBegin
    | Allocation
    | Instructions
    | WitnessedCalls
    | Intervals
    | Repetitions
    | Release
    | CellEnd
    | Note
    | ProgressMade
    | FixedWork
    | ProcessorTime
    | Yardstick
    | LaunchEnd
)
_Kind = TypeVar(
    "_Kind",
    LaunchBegin,
    CellBegin,
    Allocation,
    Instructions,
    WitnessedCalls,
    Intervals,
    Repetitions,
    Release,
    CellEnd,
    Note,
    ProgressMade,
    FixedWork,
    ProcessorTime,
    Yardstick,
    LaunchEnd,
)


@dataclass(frozen=True)
class LaunchEvents:
    """The events of one launch in file order, and a line on each thing that could not be read."""

    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """Return all events of one kind."""
        return [event for event in self._by_kind.get(kind, ()) if isinstance(event, kind)]

    @cached_property
    def _by_kind(self) -> dict[type[Event], list[Event]]:
        """Once for all cells: a launch of many cells has many events of a few kinds each."""
        by_kind: dict[type[Event], list[Event]] = {}
        for event in self.events:
            by_kind.setdefault(type(event), []).append(event)
        return by_kind

    @cached_property
    def _by_cell(self) -> dict[tuple[type[Event], int], list[Event]]:
        """Return the events that belong to one cell each, by type and cell."""
        by_kind: dict[tuple[type[Event], int], list[Event]] = {}
        for event in self.events:
            if isinstance(event, (Allocation, Instructions, WitnessedCalls, Intervals, Repetitions, Release)):
                by_kind.setdefault((type(event), event.cell), []).append(event)
        return by_kind

    def _of_cell(self, kind: type[_Kind], cell: int) -> list[_Kind]:
        return [event for event in self._by_cell.get((kind, cell), ()) if isinstance(event, kind)]

    @cached_property
    def begin(self) -> LaunchBegin | None:
        """Return the event of the launch's begin; None: the engine never got as far."""
        return next(iter(self.of(LaunchBegin)), None)

    @cached_property
    def end(self) -> LaunchEnd | None:
        """Return the event of the launch's end; None: the launch did not end by itself."""
        return next(iter(self.of(LaunchEnd)), None)

    @property
    def ranks(self) -> tuple[Rank, ...]:
        return () if self.begin is None else self.begin.ranks

    @property
    def size(self) -> int | None:
        """Ranks in MPI_COMM_WORLD."""
        return None if self.begin is None else self.begin.size

    def allocations(self, cell: int) -> list[Allocation]:
        """Allocations of one cell, all ranks."""
        return self._of_cell(Allocation, cell)

    def instructions(self, cell: int) -> list[Instructions]:
        """Counts of one cell, all ranks and regions."""
        return self._of_cell(Instructions, cell)

    def calls(self, cell: int) -> list[WitnessedCalls]:
        """Return what the ranks of a witnessed launch called in one cell, all ranks and phases."""
        return self._of_cell(WitnessedCalls, cell)

    def intervals(self, cell: int) -> list[Intervals]:
        """Steps of the intervals of one cell, all ranks and parts."""
        return self._of_cell(Intervals, cell)

    def repetitions(self, cell: int) -> list[Repetitions]:
        """Disturbances of one cell's repetitions, all ranks."""
        return self._of_cell(Repetitions, cell)

    @cached_property
    def cell_ends(self) -> dict[int, CellEnd]:
        """Return how each cell that ended did so; the last word counts."""
        return {event.cell: event for event in self.of(CellEnd)}

    @property
    def open_cell(self) -> int | None:
        """The cell in which the job died or hung: of those begun that never ended the one that ran last."""
        ended = self.cell_ends
        begun = [event.cell for event in self.of(CellBegin) if event.cell not in ended]
        ran = [event.cell for event in self.of(ProgressMade) if event.cell in begun]
        return next(iter([*ran[-1:], *begun[-1:]]), None)


def read_events(path: str | os.PathLike[str]) -> LaunchEvents:
    """Read events.jsonl as far as it can be read.

    Returns: a line that is damaged, of an unknown kind or cut short is left out and noted.
    Raises:  RecordError: no such file, it cannot be opened, or it is beyond the limits.
    """
    path = Path(path)
    decoder = msgspec.json.Decoder(Event)
    events: list[Event] = []
    notes: list[str] = []
    with os.fdopen(open_regular(path, FILE_BYTES["events.jsonl"], within=path.parent), "rb") as file:
        for number, line in enumerate(_lines(file, path), start=1):
            if not line.strip():
                continue
            if len(line) > LONGEST_LINE_BYTES:
                raise unreadable(path, f"line {number} has more than {LONGEST_LINE_BYTES} bytes", RESTORE)
            try:
                events.append(decoder.decode(line))
            except DAMAGE as error:
                said = why(error) if line.endswith(b"\n") else "unfinished (was the job killed?)"
                notes.append(left_out(path, f"line {number}", said))
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], left_out(path, f"{len(notes) - MOST_NOTES} more lines", "damaged")]
    return LaunchEvents(tuple(events), tuple(notes))


def _lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Lines with their ends, as far as one may be long.  Raises: RecordError: the disk refuses."""
    try:
        while line := file.readline(LONGEST_LINE_BYTES + 1):
            yield line
    except OSError as error:
        raise unreadable(path, error, RESTORE) from error
