# SPDX-License-Identifier: Apache-2.0
"""Which repetitions something else disturbed: processors taken away, other load on the node. Pure.

None is dropped: they are counted, and the value over all repetitions is given with that over clean ones. On a shared
machine ratios of medians over all repetitions vary by a factor, over clean ones by a few percent
(docs/results/cannon.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.core.cell_results import RepetitionCounts
from slowpath.record.events import Repetitions
from slowpath.stats.inputs import Floats

Mask = NDArray[np.bool_]

SHORT_S = 0.02  # a longer repetition is interrupted by the kernel's own work now and then, at little cost
OTHER_S = 0.02  # /proc/stat counts in ticks of 10 ms, on each of its processors
OTHER_RATIO = 0.04


@dataclass(frozen=True)
class Disturbance:
    """By repetition, shape (count,): an involuntary switch on some rank; more load of others than allowed.

    switched: None where ranks share processors, so that they switch between themselves.
    loaded: None where other load was not reported for any repetition (ranks on several nodes, no /proc/stat).
    """

    count: int
    switched: Mask | None
    loaded: Mask | None

    @property
    def clean(self) -> Mask | None:
        """Neither, as far as it is known; None where neither is."""
        known = [mask for mask in (self.switched, self.loaded) if mask is not None]
        return ~np.logical_or.reduce(known) if known else None


def disturbance(length_s: Floats, events: Sequence[Repetitions], take_turns: bool) -> Disturbance | str:
    """What disturbed the repetitions of one cell and launch, or why it is not known.

    Args: length_s: of each repetition, shape (repetitions,).  events: the events of all ranks.
          take_turns: ranks share processors. The kernel counts a switch of a rank that yields as involuntary, too.
    """
    if not events:
        return "the engine did not say what disturbed the repetitions"
    if any(len(event.involuntary_switches) != length_s.size for event in events):
        return "the engine reported another number of repetitions than it stored"
    switches = np.array([event.involuntary_switches for event in events], dtype=np.int64)
    switched: Mask | None = None if take_turns else np.logical_and((switches > 0).any(axis=0), length_s < SHORT_S)
    others_s = [_other_s(event, length_s.size) for event in events]
    loads = np.array(others_s, dtype=np.float64)
    if np.isnan(loads).all():
        return Disturbance(length_s.size, switched, None)
    too_much = loads > OTHER_S + OTHER_RATIO * length_s  # false for nan
    loaded: Mask = np.logical_or.reduce(too_much)
    return Disturbance(length_s.size, switched, loaded)


def _other_s(event: Repetitions, count: int) -> list[float]:
    """Seconds, nan where not reported."""
    values = event.other_cpu_s if len(event.other_cpu_s) == count else (None,) * count
    return [float("nan") if value is None else value for value in values]


def counted(launches: Sequence[Disturbance], enough_clean: int) -> RepetitionCounts:
    """Repetitions over launches; None where no launch reported them.

    Args: enough_clean: so many clean repetitions stand for their launch alone.
    """
    clean = [launch.clean for launch in launches]
    return RepetitionCounts(
        all=sum(launch.count for launch in launches),
        clean=_number(clean),
        switched=_number([launch.switched for launch in launches]),
        loaded=_number([launch.loaded for launch in launches]),
        launches_of_clean=sum(mask is not None and int(mask.sum()) >= enough_clean for mask in clean),
        launches=len(launches),
    )


def _number(masks: Sequence[Mask | None]) -> int | None:
    known = [int(mask.sum()) for mask in masks if mask is not None]
    return sum(known) if known else None
