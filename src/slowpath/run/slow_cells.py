# SPDX-License-Identifier: Apache-2.0
"""Which cells the launches to come hold, where cells take many times as long as estimated. Pure.

A message that takes 80 ms where 0.1 ms are expected is what a diagnosis looks for. Were all cells measured in each
launch, its time would hold one or two launches, from which nothing can be concluded. The cells that take longest are
put off instead, until the others have the rounds that a conclusion needs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from slowpath.core.plan import Cell, Launch, Plan
from slowpath.plan.cost import FEWEST_ROUNDS, Kind, kind_of, launch_parts_s

SLOW = 3.0  # times as long as estimated, all measured cells together, from which on cells are put off
GIVEN_UP = 4.0  # a launch is ended after so many times what it is expected to take
# One that stands still is to be recognised as that: it may have taken so many times the expected until then.
BEFORE_HANG = 2.0


class CellTimes:
    """How long cells take in a launch: as estimated, and as they took."""

    def __init__(self, plan: Plan, nodes: int = 1, launch_s: float | None = None) -> None:
        """Args: nodes: of the allocation.  launch_s: start and end of a job of two ranks here; None: not timed."""
        self._start_s: dict[Kind, float] = {}
        self._estimated_s: dict[int, float] = {}
        first = {kind_of(launch): launch for launch in reversed(plan.launches)}
        for kind, (start_s, cells_s) in launch_parts_s(plan, nodes, launch_s).items():
            self._start_s[kind] = start_s
            self._estimated_s.update(zip(first[kind].cells, cells_s, strict=True))
        self._class = {cell.cell: _length_class(cell) for cell in plan.cells}
        self._took_s: dict[int, list[float]] = defaultdict(list)
        self._rounds: Counter[Kind] = Counter()

    def saw(self, planned: Launch, took_s: Mapping[int, float]) -> None:
        """A launch is over.  Args: took_s: of each cell that ended in it, seconds."""
        self._rounds[kind_of(planned)] += 1
        for cell, seconds in took_s.items():
            self._took_s[cell].append(seconds)

    def held(self, planned: Launch, cells: Sequence[int], left: Sequence[Launch], left_s: float) -> tuple[int, ...]:
        """Return the cells of a launch that the time left holds, in their order; one at least.

        All of them where cells take about what was estimated, where the rounds that a conclusion needs fit with all,
        or where this kind of launch has had them.

        Args: cells: to be measured by it.  left: launches that are not over, this one among them.  left_s: for all.
        """
        rounds = FEWEST_ROUNDS - self._rounds[kind_of(planned)]
        if rounds <= 0 or not self._are_slow():
            return tuple(cells)
        expected_s = self._expected_s()
        kinds = {kind_of(launch): launch.cells for launch in left}
        round_s = sum(self._launch_s(kind, of_kind, expected_s) for kind, of_kind in kinds.items())
        if rounds * round_s <= left_s:
            return tuple(cells)
        share = self._launch_s(kind_of(planned), cells, expected_s) / round_s
        allowed_s = left_s / rounds * share - self._start_s[kind_of(planned)]
        kept = set[int]()
        for cell in sorted(cells, key=lambda one: (expected_s[one], one)):
            allowed_s -= expected_s[cell]
            if kept and allowed_s < 0:
                break
            kept.add(cell)
        return tuple(cell for cell in cells if cell in kept)

    def limit_s(self, planned: Launch, cells: Sequence[int], idle_s: float) -> float:
        """Wall time after which a launch of these cells is ended, seconds; what it measured until then counts.

        Args: idle_s: without progress for so long a launch counts as hung.
        """
        expected_s = self._launch_s(kind_of(planned), cells, self._expected_s())
        return max(GIVEN_UP * expected_s, BEFORE_HANG * expected_s + idle_s)

    def longest_s(self, cells: Sequence[int]) -> float:
        """What the slowest of these cells is expected to take, seconds."""
        expected_s = self._expected_s()
        return max((expected_s[cell] for cell in cells), default=0.0)

    def _launch_s(self, kind: Kind, cells: Sequence[int], expected_s: Mapping[int, float]) -> float:
        return self._start_s[kind] + sum(expected_s[cell] for cell in cells)

    def _are_slow(self) -> bool:
        took_s = sum(median(times) for times in self._took_s.values())
        return took_s >= SLOW * sum(self._estimated_s[cell] for cell in self._took_s) > 0

    def _expected_s(self) -> dict[int, float]:
        """Of each cell the median of what it took; where it was not measured, as much longer than estimated as cells of
        about its length are, or else those of the nearest one.
        """
        ratios: dict[int, list[float]] = defaultdict(list)
        for cell, times in self._took_s.items():
            if self._estimated_s[cell] > 0:
                ratios[self._class[cell]].append(median(times) / self._estimated_s[cell])
        of_class = {one: median(many) for one, many in ratios.items()}
        nearest = {
            one: min(of_class, key=lambda known: abs(known - one)) if of_class else None
            for one in set(self._class.values())
        }

        def expected_s(cell: int) -> float:
            if cell in self._took_s:
                return median(self._took_s[cell])
            like = nearest[self._class[cell]]
            return self._estimated_s[cell] * (1.0 if like is None else of_class[like])

        return {cell: expected_s(cell) for cell in self._estimated_s}


def _length_class(cell: Cell) -> int:
    """Lengths of one class differ by less than a factor of 2."""
    written = cell.parameters.get("message_bytes", "")
    return int(written).bit_length() if written.isdigit() else 0
