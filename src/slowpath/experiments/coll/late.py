# SPDX-License-Identifier: Apache-2.0
"""How many calls of a cell a rank came late to, over all launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import RepetitionCounts
from slowpath.experiments.coll.calls import calls
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.reduce import ENOUGH_CLEAN
from slowpath.experiments.measured.series import PHASES, Absent, SampleBlock

_NOT_RECORDED = "the engine did not record when the ranks were to enter"


@dataclass(frozen=True)
class _Launch:
    calls: int
    clean: int
    enough: bool  # clean calls to stand for the launch alone


class LateStarts:
    """By cell, gathered launch by launch; first and later calls together."""

    def __init__(self) -> None:
        self._launches: dict[int, list[_Launch]] = {}

    def add(self, cell: int, launch: int, blocks: Sequence[SampleBlock], job: LaunchContext) -> None:
        """One launch's blocks of a cell of this experiment."""
        members = {"members": str(1 + max((block.rank for block in blocks), default=0))}
        masks = []
        for phase in PHASES:
            found = calls(members, blocks, job, phase)
            if not isinstance(found, Absent) and found.clean is not None:
                masks.append(found.clean)
        if masks:
            clean = int(sum(mask.sum() for mask in masks))
            enough = int(masks[-1].sum()) >= ENOUGH_CLEAN
            self._launches.setdefault(cell, []).append(_Launch(sum(mask.size for mask in masks), clean, enough))

    def repetitions(self, cell: int) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""
        known = self._launches.get(cell)
        if not known:
            return None, _NOT_RECORDED
        every, clean = sum(one.calls for one in known), sum(one.clean for one in known)
        found = RepetitionCounts(
            all=every,
            clean=clean,
            switched=None,
            loaded=None,
            late=every - clean,
            launches_of_clean=sum(one.enough for one in known),
            launches=len(known),
        )
        return found, "of a collective late starts are counted, and nothing else that disturbs it"
