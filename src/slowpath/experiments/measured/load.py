# SPDX-License-Identifier: Apache-2.0
"""Reads a run folder launch by launch: which launch measured a cell in a round, and that cell's blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from slowpath.experiments.measured.launch_context import LaunchContext, why_cores_are_shared
from slowpath.experiments.measured.series import SampleBlock
from slowpath.record.blocks import BlockIndex, opened, phase_name, read_from, scan
from slowpath.record.events import LaunchEvents, Note, Rank, Release, SocketMessages, Yardstick, read_events
from slowpath.record.folder import LaunchInfo, launch_folder, read_launches

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
        """Cells that this launch brought to a good end, ascending: with samples, or with logged messages alone.
        An imported log has no engine that says so.
        """
        if self.blocks is None:
            return []
        ends = self.events.cell_ends
        logged = {event.cell for event in self.events.of(SocketMessages)}
        present = sorted({int(cell) for cell in self.blocks.headers["cell"]} | logged)
        return [cell for cell in present if not ends or (cell in ends and ends[cell].status == "ok")]

    def cell_blocks(self, cells: Sequence[int]) -> dict[int, list[SampleBlock]]:
        """The blocks of these cells, read in one pass over the file."""
        index = self.blocks
        if index is None:
            return {}
        found: dict[int, list[SampleBlock]] = {cell: [] for cell in cells}
        with opened(index.path) as descriptor:
            columns = (index.headers[name].tolist() for name in _OF_A_BLOCK)
            for i, (cell, rank, phase, allocation, batch, seq0, t0_ns, part) in enumerate(zip(*columns, strict=True)):
                if cell not in found:
                    continue
                samples = read_from(descriptor, index, i)
                start = samples.start_ns
                found[cell].append(
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
        return found


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
        notes.append("samples.blk: is missing; the launch counts as not measured")
    return LaunchRecord(info, folder, events, blocks, tuple(f"launch {info.launch}: {note}" for note in notes))


def _of_ranks(blocks: BlockIndex, size: int | None) -> BlockIndex:
    """Without blocks of ranks that the launch does not have, which is noted."""
    if size is None or not len(blocks):
        return blocks
    known = blocks.headers["rank"] < size
    if known.all():
        return blocks
    others = int((~known).sum())
    note = f"{blocks.path.name}: {others} blocks are of ranks beyond the {size} of the launch; left out"
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
