# SPDX-License-Identifier: Apache-2.0
"""How much of a diagnosis' budget is left: the time that the user waits, once an engine is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_REPORT_S = 2.0  # to write the pages at the end
EACH_S = 0.04  # a cell: to conclude from it, before a step has shown how long that takes here
_FEWEST_CELLS = 50  # of a step that shows what a cell takes: of fewer it is all overhead


@dataclass
class BudgetClock:
    """begun_s: when the user began to wait, by `now`, or with the default budget when the engine was there.

    before_s: that earlier commands took for the same diagnosis.  each_s, more_s: a conclusion takes so long for each
    cell, and besides.  most_cells: of a step that was concluded from.
    """

    begun_s: float
    before_s: float = 0.0
    each_s: float = EACH_S
    more_s: float = 0.0
    most_cells: int = 0
    now: Callable[[], float] = field(default=time.monotonic)

    @property
    def spent_s(self) -> float:
        """In all, seconds."""
        return self.before_s + self.now() - self.begun_s

    def left_s(self, budget_s: float, spent_s: float, cells: int) -> float:
        """For launches, seconds: what comes after them is kept back.

        Args: spent_s: as it was measured step by step; the larger one counts.  cells: of the step.
        """
        return budget_s - max(self.spent_s, spent_s) - _REPORT_S - self.more_s - self.each_s * cells

    def concluded(self, begun_s: float, cells: int) -> None:
        """A conclusion from a step with so many cells is over that began at `begun_s`."""
        took_s = self.now() - begun_s
        if cells > max(self.most_cells, _FEWEST_CELLS):
            self.each_s, self.most_cells = took_s / cells, cells
        else:
            self.more_s = max(self.more_s, took_s - self.each_s * cells)
