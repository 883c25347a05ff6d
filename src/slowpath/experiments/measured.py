# SPDX-License-Identifier: Apache-2.0
"""What a launch measured: its blocks, its ranks and cores, and what they are reduced to.

A block holds samples of one rank, phase and allocation, and its part says what they span (docs/internals/record.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from slowpath.core.cell_results import RepetitionCounts
from slowpath.core.machine import parse_cpu_list
from slowpath.core.plan import Cell, Twins
from slowpath.core.units import plural, whole_number
from slowpath.record.blocks import BlockIndex, left_out, opened, phase_name, read_from, scan
from slowpath.record.events import (
    FixedWork,
    Intervals,
    LaunchEvents,
    Note,
    Rank,
    Release,
    Repetitions,
    Yardstick,
    read_events,
)
from slowpath.record.folder import LaunchInfo, launch_folder, read_launches
from slowpath.stats.estimate import Floats, quantiles
from slowpath.stats.launches import SteadyClass, SteadyState, Tails, steady_state, tails, within

UNSTATED = "the record does not state {}"
NO_MATCH = "the blocks of the ranks do not match"
OTHER_NODES_REASON = "ranks on several nodes, whose clocks differ"
_NOT_RECORDED = UNSTATED.format("the processors of ranks")


@dataclass(frozen=True)
class LaunchContext:
    """One launch, for one cell.

    size: ranks.  one_clock: rank 0 and the last rank share a node, hence CLOCK_MONOTONIC.  one_node: all ranks do.
    hosts: by rank; empty where the record does not say.
    shares_clock: all ranks read one CLOCK_MONOTONIC though on several nodes, which are containers of one machine.
    shared_cores: why not every rank has a processor of its own; None: each has.
    """

    size: int
    one_clock: bool
    one_node: bool = True
    shared_cores: str | None = _NOT_RECORDED
    repetitions: tuple[Repetitions, ...] = ()
    intervals: tuple[Intervals, ...] = ()
    hosts: tuple[str, ...] = ()
    shares_clock: bool = False

    def one_clock_with(self, rank: int) -> bool:
        """Rank 0 and this one share a node, so that their times are on one clock."""
        if len(self.hosts) != self.size:
            return self.one_clock
        return self.hosts[0] == self.hosts[rank]

    @property
    def take_turns(self) -> bool:
        """Ranks are known to share processors, so that the kernel switches between them."""
        return self.shared_cores not in (None, _NOT_RECORDED)


def why_cores_are_shared(ranks: Sequence[Rank]) -> str | None:
    """Why the ranks can't all run at once, each on a processor of its own; None: they can.

    A processor is what the kernel numbers as one, so two ranks on the hardware threads of one core count as apart.
    Ranks that may use several processors are taken to be spread as well as can be.
    """
    if not ranks:
        return _NOT_RECORDED
    by_host: dict[str, list[frozenset[int]]] = {}
    for rank in ranks:
        allowed = parse_cpu_list(rank.cpus_allowed)
        if not allowed:
            return _NOT_RECORDED
        by_host.setdefault(rank.host, []).append(allowed)
    for host, sets in by_host.items():
        if (running := _placed(sets)) < len(sets):
            return f"{len(sets)} ranks of {host} share {plural(running, 'processor')}"
    return None


def _placed(sets: Sequence[frozenset[int]]) -> int:
    """How many ranks can have a processor of their own: a maximum matching by augmenting paths.

    Source: Kuhn 1955, doi 10.1002/nav.3800020109; in the form of Berge's lemma.
    """
    holder: dict[int, int] = {}

    def move(rank: int) -> bool:
        """Breadth first, since a chain of moves may be as long as there are ranks."""
        came_from: dict[int, int] = {}
        queue = [rank]
        for mover in queue:
            for processor in sets[mover]:
                if processor in came_from:
                    continue
                came_from[processor] = mover
                if processor not in holder:
                    _hand_over(holder, came_from, processor, rank)
                    return True
                queue.append(holder[processor])
        return False

    return sum(move(rank) for rank in range(len(sets)))


def _hand_over(holder: dict[int, int], came_from: dict[int, int], processor: int, rank: int) -> None:
    """Gives each processor on the way to the rank that asked for it, up to `rank`, which had none."""
    while True:
        mover = came_from[processor]
        before = next((p for p, held_by in holder.items() if held_by == mover), None)
        holder[processor] = mover
        if mover == rank or before is None:
            return
        processor = before


NS = 1e-9
PHASES = ("first", "steady")
MEDIAN = 0.5


@dataclass(frozen=True)
class SampleBlock:
    """One block of the record, decoded: duration_ns and start_ns have shape (n,), int64; start_ns is absolute."""

    rank: int
    phase: str
    allocation: int
    batch: int
    seq0: int
    duration_ns: NDArray[np.int64]
    start_ns: NDArray[np.int64] | None
    part: int = 0  # of an operation, numbered by its experiment; 0: the whole


@dataclass(frozen=True)
class Order:
    """Where single operations stand in their launch. number: counted from 0, those without a sample included.
    begin_ns: absolute. Both int64, shape (n,), ascending.
    """

    number: NDArray[np.int64]
    begin_ns: NDArray[np.int64]


@dataclass(frozen=True)
class MetricSamples:
    """Samples of one metric, phase, cell and launch: seconds per operation, shape (n,), in the order taken.

    location: the quantile of the samples that stands for the launch. consecutive: the samples follow one another
    without a pause, so that a warm-up may stand at their head. clean: which samples nothing else disturbed, shape (n,);
    None: not recorded.  order: None where a sample is a batch, or its begin was not recorded.  by_rank_s: where samples
    are of the rank that took longest, `location` of each rank's own, and its mean if known, shape (1 or 2, ranks).
    """

    values_s: NDArray[np.float64]
    batch: int
    operations: int = 1  # in each element of the batch; a sample spans batch * operations of them
    location: float = MEDIAN
    consecutive: bool = False
    clean: NDArray[np.bool_] | None = None
    order: Order | None = None
    by_rank_s: Floats | None = None


@dataclass(frozen=True)
class Absent:
    """Why a metric can't be given."""

    reason: str


Derived = dict[str, dict[str, MetricSamples] | Absent]
NO_SAMPLES = Absent("no samples")


def chosen(blocks: Sequence[SampleBlock], rank: int, phase: str) -> list[SampleBlock]:
    """The blocks of one rank and phase, by allocation, then by position on it."""
    series = [b for b in blocks if b.rank == rank and b.phase == phase]
    return sorted(series, key=lambda b: (b.allocation, b.seq0))


def order_of(blocks: Sequence[SampleBlock]) -> Order | None:
    """Of blocks of one rank and phase, by allocation: each allocation takes as many operations as its last block ends
    at.
    """
    if not blocks or any(b.batch != 1 or b.start_ns is None for b in blocks):
        return None
    each = max(b.seq0 + b.duration_ns.size for b in blocks)
    numbers = [b.allocation * each + b.seq0 + np.arange(b.duration_ns.size) for b in blocks]
    begins = [b.start_ns for b in blocks if b.start_ns is not None]
    return Order(np.concatenate(numbers), np.concatenate(begins))


def per_operation(
    blocks: Sequence[SampleBlock],
    rank: int,
    operations: int,
    *,
    location: float = MEDIAN,
    batches: bool = False,
) -> dict[str, MetricSamples]:
    """Each sample of one rank divided by its batch and by the operations that one batch element holds.

    Args: batches: the steady samples are consecutive batches.
    """
    phases = {}
    for phase in PHASES:
        if series := chosen(blocks, rank, phase):
            values = np.concatenate([b.duration_ns * (NS / (b.batch * operations)) for b in series])
            batch = max(b.batch for b in series)
            consecutive = batches and phase == "steady"
            phases[phase] = MetricSamples(values, batch, operations, location, consecutive, order=order_of(series))
    return phases


_OF_A_BLOCK = ("cell", "rank", "phase", "allocation", "batch", "seq0", "t0_ns", "part")


@dataclass(frozen=True)
class LaunchRecord:
    """One launch as recorded. `events` and `blocks` are empty when the engine never began."""

    info: LaunchInfo
    folder: Path
    events: LaunchEvents
    blocks: BlockIndex | None
    notes: tuple[str, ...]

    @property
    def ranks(self) -> tuple[Rank, ...]:
        return self.events.ranks

    @property
    def size(self) -> int:
        """Ranks in the job; 2 for an imported log, which holds rank 0's times alone."""
        return self.events.size or 2

    @property
    def one_clock(self) -> bool:
        """Rank 0 and the last rank share a node, so their CLOCK_MONOTONIC is one clock."""
        return not self.ranks or self.ranks[0].host == self.ranks[-1].host

    def context(self, cell: int) -> LaunchContext:
        """What is known of one cell in addition to its samples."""
        return LaunchContext(
            self.size,
            self.one_clock,
            len({rank.host for rank in self.ranks}) <= 1,
            self._shared_cores,
            tuple(self.events.repetitions(cell)),
            tuple(self.events.intervals(cell)),
            tuple(rank.host for rank in self.ranks),
            any(release.one_clock for release in self.events.of(Release) if release.cell == cell),
        )

    @cached_property
    def _shared_cores(self) -> str | None:
        return why_cores_are_shared(self.ranks)

    @cached_property
    def yardsticks(self) -> dict[tuple[int, int, str, int], Yardstick]:
        """Sender, receiver, way and length -> what it took without MPI, in this launch."""
        return {
            (yardstick.rank, yardstick.peer, yardstick.name, yardstick.bytes): yardstick
            for yardstick in self.events.of(Yardstick)
        }

    @property
    def quantum_ns(self) -> float | None:
        """The coarsest clock of any rank; None for an imported log."""
        quanta = [rank.clock.quantum_ns for rank in self.ranks if rank.clock and rank.clock.quantum_ns is not None]
        return max(quanta) if quanta else None

    @property
    def cell_notes(self) -> dict[int, str]:
        """What the engine said of a cell, the last note of each."""
        return {note.cell: note.text for note in self.events.of(Note) if note.cell is not None}

    def measured_cells(self) -> list[int]:
        """Cells that this launch brought to a good end, ascending. An imported log has no engine that says so."""
        if self.blocks is None:
            return []
        ends = self.events.cell_ends
        present = sorted({int(cell) for cell in self.blocks.headers["cell"]})
        return [cell for cell in present if not ends or (cell in ends and ends[cell].status == "ok")]

    def cell_blocks(self, cells: Sequence[int]) -> dict[int, list[SampleBlock]]:
        """The blocks of these cells, read in one pass over the file."""
        index = self.blocks
        if index is None:
            return {}
        by_cell: dict[int, list[SampleBlock]] = {cell: [] for cell in cells}
        with opened(index.path) as descriptor:
            columns = (index.headers[name].tolist() for name in _OF_A_BLOCK)
            for i, (cell, rank, phase, allocation, batch, seq0, t0_ns, part) in enumerate(zip(*columns, strict=True)):
                if cell not in by_cell:
                    continue
                samples = read_from(descriptor, index, i)
                start = samples.start_ns
                by_cell[cell].append(
                    SampleBlock(
                        rank=rank,
                        phase=phase_name(phase),
                        allocation=allocation,
                        batch=batch,
                        seq0=seq0,
                        duration_ns=samples.duration_ns,
                        start_ns=None if start is None else start + t0_ns,
                        part=part,
                    )
                )
        return by_cell


def load_launch(run: Path, info: LaunchInfo) -> LaunchRecord:
    """One launch of a run folder; what is missing or damaged in it is left out and noted."""
    return read_launch(launch_folder(run, info.launch), info)


def read_launch(folder: Path, info: LaunchInfo) -> LaunchRecord:
    """The record in `folder`; what is missing or damaged in it is left out and noted."""
    events, blocks = LaunchEvents(), None
    if (folder / "events.jsonl").exists():
        events = read_events(folder / "events.jsonl")
    if (folder / "samples.blk").exists():
        blocks = _of_ranks(scan(folder / "samples.blk"), events.size)
    notes = [*events.notes, *(blocks.notes if blocks else ())]
    if blocks is None and info.ended == "ok":
        notes.append("samples.blk: is missing")
    return LaunchRecord(info, folder, events, blocks, tuple(f"launch {info.launch}: {note}" for note in notes))


def _of_ranks(blocks: BlockIndex, size: int | None) -> BlockIndex:
    """Without blocks of ranks that the launch does not have, which is noted."""
    if size is None or not len(blocks):
        return blocks
    known = blocks.headers["rank"] < size
    if known.all():
        return blocks
    others = int((~known).sum())
    note = left_out(blocks.path, f"{others} blocks", f"of ranks beyond {size}")
    return blocks.only(known, [note])


def load_launches(run: Path) -> list[LaunchRecord]:
    """Every launch that is over, by number.  Raises: RecordError if the run folder can't be read."""
    return [load_launch(run, info) for info in read_launches(run)]


def first_good_launches(launches: Sequence[LaunchRecord]) -> dict[int, list[int]]:
    """Launch number -> the cells to take from it: of several that measured a cell in one round the first one counts."""
    taken: set[tuple[int, int]] = set()
    chosen: dict[int, list[int]] = {}
    for launch in launches:
        cells = [cell for cell in launch.measured_cells() if (cell, launch.info.round) not in taken]
        taken.update((cell, launch.info.round) for cell in cells)
        chosen[launch.info.launch] = cells
    return chosen


HIDDEN = Absent("hidden: the overlap is as fast as computing alone")
_NO_MATCH = Absent(NO_MATCH)


def longest(blocks: Sequence[SampleBlock], ranks: Sequence[int], part: int) -> dict[str, MetricSamples] | Absent:
    """Return one part by phase: seconds of one operation on the slowest of the ranks, sample by sample."""
    mine = [block for block in blocks if block.part == part]
    phases: dict[str, MetricSamples] = {}
    for phase in PHASES:
        of_ranks = [{(b.allocation, b.seq0): b for b in chosen(mine, rank, phase)} for rank in ranks]
        if not of_ranks or not of_ranks[0]:
            continue
        slowest: list[Floats] = []
        for place, series in of_ranks[0].items():
            others = [of_rank.get(place) for of_rank in of_ranks]
            durations = [block.duration_ns for block in others if block is not None]
            if len(durations) != len(others) or len({len(values) for values in durations}) > 1:
                return _NO_MATCH
            slowest.append(np.max(durations, axis=0).astype(np.float64) * (NS / series.batch))
        batch = max(block.batch for block in of_ranks[0].values())
        phases[phase] = MetricSamples(np.concatenate(slowest), batch)
    return phases or NO_SAMPLES


def with_exposed(alone: str, derived: Derived) -> Derived:
    """Return the parts with what is exposed, which is one value a launch: in single samples the difference of two
    nearly equal times may be negative, and then has no logarithm.

    Args: alone: the metric of the communication alone.  found: it, compute_s and overlapped_s.
    """
    exposed_s, whole_s = _exposed_s(derived), _median_s(derived[alone])
    if exposed_s is None or whole_s is None:
        return derived | {"exposed_s": NO_SAMPLES, "exposed_communication_ratio": NO_SAMPLES}
    if exposed_s <= 0:
        return derived | {"exposed_s": HIDDEN, "exposed_communication_ratio": HIDDEN}
    return derived | {
        "exposed_s": _one_value(exposed_s),
        "exposed_communication_ratio": _one_value(exposed_s / whole_s),
    }


def _exposed_s(derived: Derived) -> float | None:
    """Median over the samples of a launch of both at once minus computing alone."""
    both, alone = _steady(derived["overlapped_s"]), _steady(derived["compute_s"])
    if both is None or alone is None or both.shape != alone.shape:
        return None
    return float(np.median(both - alone))


def _median_s(part: dict[str, MetricSamples] | Absent) -> float | None:
    values = _steady(part)
    return None if values is None else float(np.median(values))


def _steady(part: dict[str, MetricSamples] | Absent) -> Floats | None:
    series = None if isinstance(part, Absent) else part.get("steady")
    return None if series is None else series.values_s


def _one_value(value: float) -> dict[str, MetricSamples]:
    return {"steady": MetricSamples(np.array([value]), 1)}


ENOUGH_CLEAN = 3  # fewer say less than all samples together
KEPT_WHOLE = 4096  # samples of a launch kept for intervals within it; more say nothing more about a median


@dataclass(frozen=True)
class Ordered:
    """The first KEPT_WHOLE single operations of a launch in their order, shape (n,): number, begin and seconds."""

    number: NDArray[np.int64]
    begin_ns: NDArray[np.int64]
    times_s: NDArray[np.float64]


@dataclass(frozen=True)
class Reduced:
    """Seconds per operation of one launch. `kept_s`: the steady part, at most KEPT_WHOLE samples, evenly taken.

    centre_s: what stands for the launch: the quantile `location` of its steady samples, the median unless the metric
    says otherwise; of the clean ones alone where the metric tells them apart and at least ENOUGH_CLEAN are clean.
    ordered: None where samples are batches.
    repeats_ratio: the longest over the shortest of the log's own repetitions, where a first one was left out.
    """

    centre_s: float
    location: float
    total_s: float
    samples: int
    cut_samples: int  # at the head, before the steady state began; not in centre_s
    steady_class: SteadyClass | None
    kept_s: NDArray[np.float64]
    tails: Tails
    within_ratio: float | None
    batch: int
    operations: int
    ordered: Ordered | None = None
    by_rank_s: Floats | None = None
    repeats_ratio: float = 1.0


def reduce(series: MetricSamples) -> Reduced | None:
    """Summary of one launch's series; None when it is empty or holds a time that is not positive.

    A warm-up at the head of consecutive samples is left out of the centre only; tails are of all samples.
    """
    values = series.values_s
    if values.size == 0 or not (values > 0).all():
        return None
    state = steady_state(values) if series.consecutive else SteadyState(0, None)
    cut = state.cut if state.cut <= values.size / 2 else 0
    steady, table = values[cut:], tails(values)
    is_median = not cut and series.location == MEDIAN
    if series.clean is not None and int(series.clean.sum()) >= ENOUGH_CLEAN:
        steady, is_median = values[series.clean], False
    return Reduced(
        centre_s=table.p50 if is_median else float(quantiles(steady, [series.location])[0]),
        location=series.location,
        total_s=float(values.sum()),
        samples=values.size,
        cut_samples=cut,
        steady_class=state.steady_class,
        kept_s=steady[:: max(1, -(-steady.size // KEPT_WHOLE))].copy(),
        tails=table,
        within_ratio=within(values, table.p50),
        batch=series.batch,
        operations=series.operations,
        ordered=_ordered(series),
        by_rank_s=series.by_rank_s,
    )


def _ordered(series: MetricSamples) -> Ordered | None:
    order = series.order
    if order is None:
        return None
    kept = slice(KEPT_WHOLE)
    return Ordered(order.number[kept].copy(), order.begin_ns[kept].copy(), series.values_s[kept].copy())


@dataclass(frozen=True)
class FixedWorkSamples:
    """One rank's samples in the order taken, each of the same count of dependent steps. All arrays have shape (n,).

    begin_ns: CLOCK_MONOTONIC of the rank's node, as in blocks with start_ns. visit: 0 before the first cell, then one
    more after each cell or group of cells.
    """

    rank: int
    steps: int
    begin_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    visit: NDArray[np.int64]


def fixed_work(events: Iterable[FixedWork]) -> list[FixedWorkSamples]:
    """The samples of each rank that kept some, by rank: `fixed_work(launch.events.of(FixedWork))`."""
    return [
        FixedWorkSamples(
            rank=event.rank,
            steps=event.steps,
            begin_ns=np.array(event.begins_ns, dtype=np.int64) + event.t0_ns,
            duration_ns=np.array(event.durations_ns, dtype=np.int64),
            visit=np.repeat(np.arange(len(event.visits)), event.visits),
        )
        for event in sorted(events, key=lambda work: work.rank)
        if event.durations_ns
    ]


SAMPLE_BYTES = 16  # duration_ns and start_ns
BLOCK_BYTES = 128  # schema/block.json, header_bytes
EVENT_BYTES = 512


def recorded_bytes(parameters: Mapping[str, str], ranks: int, parts: int = 1) -> int:
    """Upper estimate of what one cell writes in one launch, bytes, where every rank stores samples of each allocation.

    Args: parts: what samples span: whole operations, or parts of them too.
    """
    samples = max(_number(parameters, "samples"), _number(parameters, "messages"))
    allocations = _number(parameters, "allocations") * _number(parameters, "live_buffers")
    each = 3 * BLOCK_BYTES + 2 * EVENT_BYTES + parts * samples * SAMPLE_BYTES
    return 2 * EVENT_BYTES + ranks * allocations * each


def _number(parameters: Mapping[str, str], name: str) -> int:
    text = parameters.get(name, "1")
    return 1 if (number := whole_number(text)) is None else number


class Observer(Protocol):
    """What an experiment gathers from all launches in addition to its metrics."""

    def add(self, cell: int, launch: int, blocks: Sequence[SampleBlock], job: LaunchContext) -> None:
        """One launch's blocks of a cell of this experiment."""

    def repetitions(self, cell: int) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""


@dataclass(frozen=True)
class Split:
    """One launch and phase: mean over its messages of each part's share of one_way_s; the shares add up to 1."""

    sender_alone: float  # in MPI_Send while the receiver has not begun
    both: float
    receiver_alone: float  # in MPI_Recv when the sender is through
    neither: float  # the sender is through and the receiver has not begun
    receiver_early_s: float  # median; how long MPI_Recv waits for MPI_Send to begin; negative: it begins later
    sender_after_s: float  # median; how long MPI_Send goes on after the end of MPI_Recv; negative: it ends before


@dataclass
class Measurements:
    """twins        witnessed cells, which have no times, and whose they count for
    by_series    cell, metric and phase, then round -> the launch's number and its reduced samples
    absent       (cell, metric) -> why it is in no launch
    splits       (cell, phase) -> one Split a launch
    no_split     cell -> why it has none
    launches_of  cell -> the launches that measured it
    observers    experiment -> what it gathered
    """

    twins: Twins
    by_series: dict[tuple[int, str, str], dict[int, tuple[int, Reduced]]] = field(default_factory=dict)
    absent: dict[tuple[int, str], str] = field(default_factory=dict)
    splits: dict[tuple[int, str], list[Split]] = field(default_factory=dict)
    no_split: dict[int, str] = field(default_factory=dict)
    launches_of: dict[int, list[LaunchRecord]] = field(default_factory=dict)
    observers: dict[str, Observer] = field(default_factory=dict)

    @cached_property
    def series_of(self) -> dict[int, list[tuple[str, str, dict[int, tuple[int, Reduced]]]]]:
        """Cell -> metric, phase and rounds of each of its series, in their order. Once all are there."""
        by_cell: dict[int, list[tuple[str, str, dict[int, tuple[int, Reduced]]]]] = {}
        for (cell, metric, phase), rounds in self.by_series.items():
            by_cell.setdefault(cell, []).append((metric, phase, rounds))
        return by_cell

    @cached_property
    def absent_of(self) -> dict[int, dict[str, str]]:
        """Cell -> metric -> why it is in no launch. Once all are there."""
        by_cell: dict[int, dict[str, str]] = {}
        for (cell, metric), why in self.absent.items():
            by_cell.setdefault(cell, {})[metric] = why
        return by_cell

    def repetitions(self, cell: Cell) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""
        observer = self.observers.get(cell.experiment)
        if observer is None:
            return None, UNSTATED.format("disturbances")
        return observer.repetitions(cell.cell)
