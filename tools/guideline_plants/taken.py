# SPDX-License-Identifier: Apache-2.0
"""A clean run taken for one with mock-ups: the first copy of a cell is the library's own, each other one a mock-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from slowpath.analyse.cells import estimate
from slowpath.analyse.source import read_recorded
from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.core.plan import Cell
from slowpath.experiments.coll.experiment import COLL
from slowpath.experiments.coll.metrics import WORK
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.load import first_good_launches
from slowpath.experiments.measured.reduce import Reduced, reduce
from slowpath.experiments.measured.series import Absent, SampleBlock

FactorOf = Callable[[Cell], float]


@dataclass(frozen=True)
class Taken:
    """blocks: cell -> of each launch its blocks and what else is known of it, in the order of the rounds."""

    cells: Sequence[Cell]
    blocks: Mapping[int, Sequence[tuple[Sequence[SampleBlock], LaunchContext]]]

    @property
    def launches(self) -> int:
        """Of the cell that has most."""
        return max(len(one) for one in self.blocks.values())


def read_clean(run: Path) -> Taken:
    """Every block of a run of the campaign of noise."""
    recorded = read_recorded(run)
    chosen = first_good_launches(recorded.launches)
    blocks: dict[int, list[tuple[Sequence[SampleBlock], LaunchContext]]] = {}
    for launch in sorted(recorded.launches, key=lambda one: one.info.round):
        numbers = chosen[launch.info.launch]
        for number, found in launch.cell_blocks(numbers).items():
            blocks.setdefault(number, []).append((found, launch.context(number)))
    return Taken(recorded.plan.cells, blocks)


def cells_of(taken: Taken, factor_of: FactorOf = lambda _: 1.0) -> list[CellResult]:
    """As results.json would have them, with ways in place of copies.

    Args: factor_of: by which every recorded call of a cell becomes longer.
    """
    made = [_cell(cell, taken, factor_of(cell)) for cell in taken.cells if cell.cell in taken.blocks]
    return [one for one in made if one is not None]


def _cell(cell: Cell, taken: Taken, factor: float) -> CellResult | None:
    launches = [_reduced(cell, blocks, job, factor) for blocks, job in taken.blocks[cell.cell]]
    known = [one for one in launches if one is not None]
    if not known or len(known) < len(launches):
        return None
    way = "library" if cell.copy == 1 else f"mockup{cell.copy}"
    metric = MetricResult(
        unit="s", better="lower", phases={"steady": estimate(known, None)}, first_slow=None, by_repetition=None
    )
    return CellResult(
        cell=cell.cell,
        key=cell.key,
        label=cell.label,
        group=cell.group,
        experiment=cell.experiment,
        parameters={**cell.parameters, "way": way},
        mpi=cell.mpi,
        environment=cell.environment,
        placement=cell.placement,
        status="ok",
        metrics={WORK: metric},
        absent={},
    )


def _reduced(cell: Cell, blocks: Sequence[SampleBlock], job: LaunchContext, factor: float) -> Reduced | None:
    longer = [_longer(block, factor) for block in blocks]
    derived = COLL.derive(cell.parameters, longer, job)[WORK]
    return None if isinstance(derived, Absent) or "steady" not in derived else reduce(derived["steady"])


def _longer(block: SampleBlock, factor: float) -> SampleBlock:
    """Calls alone: how late a rank came stays."""
    if factor == 1.0 or block.part != 0:
        return block
    return replace(block, duration_ns=(block.duration_ns * factor).round().astype(block.duration_ns.dtype))
