# SPDX-License-Identifier: Apache-2.0
"""What each step of a tuning may take of its budget. Pure but for the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

# Verifying times each cell in three ways. It and the lengths between are asked for twice: they may be repeated.
WEIGHTS: Final[Mapping[str, float]] = {"choose": 4, "finer": 2, "prove": 2, "verify": 8}


@dataclass
class Shares:
    """total_s: for all steps; None: as long as they take.  clock: monotonic, seconds."""

    total_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    _begun_s: float = field(init=False)
    _taken: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._begun_s = self.clock()

    def left_s(self) -> float | None:
        """Return what is left of the budget, seconds; None: there is none."""
        return None if self.total_s is None else max(0.0, self.total_s - (self.clock() - self._begun_s))

    def next_s(self, step: str, numbers: int) -> float | None:
        """As `share_s`, and the run is counted."""
        share_s = self.share_s(step, numbers)
        self._taken[step] = self._taken.get(step, 0) + 1
        return share_s

    def share_s(self, step: str, numbers: int) -> float | None:
        """Seconds of the next run of a step: its weight's share of what is left, of all that is still to come.

        Args: step: a key of WEIGHTS.  numbers: of ranks, each of which has all steps.
        """
        left_s = self.left_s()
        if left_s is None:
            return None
        names = list(WEIGHTS)
        later = sum(WEIGHTS[name] * numbers for name in names[names.index(step) + 1 :])
        here = max(1, numbers - self._taken.get(step, 0))
        weight = WEIGHTS[step]
        repeated = weight / 2 if step in ("finer", "verify") else weight
        return left_s * repeated / (weight * here + later)
