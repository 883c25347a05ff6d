# SPDX-License-Identifier: Apache-2.0
"""The variants, and a launch's repetitions of a cell: what each rank did when, what disturbed it, the clock. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.core.cell_results import RepetitionCounts
from slowpath.core.study_results import CannonClock
from slowpath.experiments.measured import NO_MATCH, NO_SAMPLES, NS, UNSTATED, Absent, LaunchContext, SampleBlock
from slowpath.record.events import Repetitions
from slowpath.stats.estimate import Floats

REFERENCE = "sendrecv_replace"  # the textbook form, which speed-ups are over
CEILING = "compute_only"  # the local multiplications alone; no way to communicate, so it does not compete
ALONE = "dgemm_alone"  # rank 0's local multiplications while the other ranks sleep: one core alone
YARDSTICKS = (CEILING, ALONE)

# Variant -> whether it runs with ranks on several nodes; engine/studies/cannon/variant.hpp.
ACROSS_NODES: dict[str, bool] = {
    CEILING: True,
    REFERENCE: True,
    "sendrecv": True,
    "isend_wait": True,
    "isend_test": True,
    "isend_test_apart": True,
    "put_fence": True,
    "put_fence_two_windows": True,
    "pscw": True,
    "put_flag": True,
    "get_from_home": True,
    "shared_copy": False,
    "shared_direct": False,
    ALONE: True,
}


TOTAL, DGEMM, GENERATE = 0, 1, 10
# Number in the record -> name; engine/studies/cannon/recorder.hpp.
PARTS: dict[int, str] = {
    TOTAL: "total",
    DGEMM: "dgemm",
    2: "issue",
    3: "test",
    4: "wait",
    5: "copy",
    6: "synchronise",
    7: "skew",
    8: "distribute",
    9: "gather",
    GENERATE: "generate",
}
Table = NDArray[np.int64]


@dataclass(frozen=True)
class Runs:
    """The steady repetitions of one cell and launch.

    begin_ns, duration_ns: (rank, part) -> shape (repetitions, intervals of one), int64; begin_ns on the rank's clock.
    """

    count: int
    size: int
    begin_ns: Mapping[tuple[int, int], Table]
    duration_ns: Mapping[tuple[int, int], Table]

    def spent_s(self, rank: int, part: int) -> Floats:
        """One rank's time in a part, shape (repetitions,), seconds; 0 where the rank has no interval of it."""
        spent = self.duration_ns.get((rank, part))
        seconds: Floats = np.zeros(self.count) if spent is None else spent.sum(axis=1).astype(np.float64) * NS
        return seconds

    def mean_s(self, part: int) -> Floats | None:
        """Mean over ranks of the time in a part, shape (repetitions,), seconds; None where no rank has it."""
        if not any((rank, part) in self.duration_ns for rank in range(self.size)):
            return None
        mean: Floats = np.mean([self.spent_s(rank, part) for rank in range(self.size)], axis=0)
        return mean

    def length_s(self, one_clock: bool) -> Floats:
        """From the first rank's start to the last rank's end, shape (repetitions,), seconds.

        Args: one_clock: of all ranks; without it, the longest rank's time.
        """
        begins = np.array([self.begin_ns[rank, TOTAL][:, 0] for rank in range(self.size)])
        spent = np.array([self.duration_ns[rank, TOTAL][:, 0] for rank in range(self.size)])
        length_ns = (begins + spent).max(axis=0) - begins.min(axis=0) if one_clock else spent.max(axis=0)
        seconds: Floats = length_ns * NS
        return seconds


def read_runs(blocks: Sequence[SampleBlock], job: LaunchContext) -> Runs | Absent:
    """The steady blocks of all ranks, or why they can't be used."""
    steady = [block for block in blocks if block.phase == "steady"]
    if not steady:
        return NO_SAMPLES
    totals = {block.rank: block for block in steady if block.part == TOTAL}
    if lacking := sorted(set(range(job.size)) - totals.keys()):
        return Absent(UNSTATED.format(f"the multiplication of rank {lacking[0]}"))
    counts = {len(block.duration_ns) for block in totals.values()}
    count = counts.pop()
    if counts or count == 0:
        return Absent(NO_MATCH)
    begin_ns: dict[tuple[int, int], Table] = {}
    duration_ns: dict[tuple[int, int], Table] = {}
    for block in steady:
        name = f"part {PARTS.get(block.part, block.part)} of rank {block.rank}"
        if block.start_ns is None or len(block.duration_ns) % count:
            return Absent(f"{name}: {NO_MATCH}")
        if (block.rank, block.part) in begin_ns:
            return Absent(f"{name}: {NO_MATCH}")
        begin_ns[block.rank, block.part] = block.start_ns.reshape(count, -1)
        duration_ns[block.rank, block.part] = block.duration_ns.reshape(count, -1)
    return Runs(count, job.size, begin_ns, duration_ns)


NOT_REPORTED = UNSTATED.format("a clock frequency")


def clock_of(events: Sequence[Repetitions]) -> CannonClock | str:
    """Over all ranks and repetitions of these events; or why it is not known."""
    known = [hz for event in events for hz in event.clock_hz if hz]
    if not known:
        return next((event.clock_from for event in events if event.clock_from), NOT_REPORTED)
    source = next(event.clock_from or NOT_REPORTED for event in events if any(event.clock_hz))
    return CannonClock(
        median_hz=statistics.median(known),
        lowest_hz=min(known),
        highest_hz=max(known),
        readings=len(known),
        source=source,
    )


def over_repetitions(events: Sequence[Repetitions], repetition: int) -> float | None:
    """The lowest frequency of any rank in one repetition, which holds all others up; None: not known."""
    known = [event.clock_hz[repetition] for event in events if len(event.clock_hz) > repetition]
    return min((hz for hz in known if hz), default=None)


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
        return UNSTATED.format("disturbances")
    if any(len(event.involuntary_switches) != length_s.size for event in events):
        return NO_MATCH
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
