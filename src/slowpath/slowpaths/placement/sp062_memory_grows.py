# SPDX-License-Identifier: Apache-2.0
"""SP062: the memory of a rank grows all through the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.program_pattern import ProgramCalls, ProgramSlowPath, RankShare, SeenPattern

FEWEST_MOMENTS = 12
LEAST_BYTES = 16 * 2**20  # that the last two thirds of the run add
LEAST_RATIO = 0.1  # of what there was after the first third
STEADY = 0.8  # share of the moments of the last two thirds with more memory than at any moment before
LAST_THIRD = 0.25  # of what the last two thirds add: what levels off is no leak
PAGE_BYTES = 4096
FAULT_S = (0.25e-6, 0.1e-6, 1e-6)  # the first use of a page: value, low, high


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """The rank that grows most, where any does."""
    if calls.resources is None:
        return ()
    growing = [(grown, one) for one in calls.resources.ranks if (grown := grown_bytes(one)) is not None]
    if not growing:
        return ()
    most, rank = max(growing, key=lambda pair: pair[0])
    pages = sum(grown for grown, _ in growing) / PAGE_BYTES / max(calls.ranks, 1)
    value, low, high = (pages * each for each in FAULT_S)
    per_s = most / (2 / 3 * (rank.resident[-1][0] - rank.resident[0][0]))
    others = f", and that of {len(growing) - 1} more" if len(growing) > 1 else ""
    text = (
        f"the memory of rank {rank.rank}{others} grows throughout the run: by {_rough(most)} in its last two "
        f"thirds, {_rough(per_s)} a second, to {_rough(rank.resident[-1][1])}"
    )
    return [
        SeenPattern(
            sites=(),
            count=len(growing),
            text=text + _until_full(rank, per_s),
            change=f"rank {rank.rank} holds {_rough(per_s)} more each second: free what iterations make (requests, "
            "datatypes, communicators, buffers, growing lists)",
            basis="the first use of each new page, 0.25 us (0.1 to 1 us)",
            more_s=(value, low, high),
            reported=True,
        )
    ]


def _until_full(rank: RankShare, per_s: float) -> str:
    if rank.limit_bytes is None or per_s <= 0:
        return ""
    left_s = (rank.limit_bytes - rank.resident[-1][1]) / per_s
    limit = f"the limit of its control group, {_rough(rank.limit_bytes)}"
    return f"; it would reach {limit}, in {format_time(left_s)}" if left_s > 0 else f"; it is beyond {limit}"


def _rough(size_bytes: float) -> str:
    """In whole MiB, from 1 GiB on in quarters of one; less than 1 MiB in KiB."""
    unit = 2**28 if size_bytes >= 2**30 else 2**20 if size_bytes >= 2**20 else 2**10
    return format_bytes(round(size_bytes / unit) * unit)


def grown_bytes(one: RankShare) -> int | None:
    """What the last two thirds of the run added to a rank's memory; None: it did not grow steadily."""
    if len(one.resident) < FEWEST_MOMENTS:
        return None
    at_s, resident = np.array(one.resident, dtype=float).T
    begun, end = at_s[0], at_s[-1]
    late = at_s >= begun + (end - begun) / 3
    latest = at_s >= begun + 2 * (end - begun) / 3
    if late.sum() < FEWEST_MOMENTS // 2 or latest.sum() < 2:
        return None
    seen = resident[late]
    grown, last = seen[-1] - seen[0], resident[-1] - resident[latest][0]
    records = float(np.mean(seen[1:] > np.maximum.accumulate(seen)[:-1]))
    is_steady = records >= STEADY and last >= LAST_THIRD * grown
    return int(grown) if is_steady and grown >= max(LEAST_BYTES, LEAST_RATIO * seen[0]) else None


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP062",
    name="memory grows",
    title="The memory of ranks grows all through the run",
    what="A rank holds more memory from moment to moment until the end; at the limit of its control group or node "
    "the kernel ends the program.",
    needs="A watched program of a second or more: in the last two thirds of the run nearly each look finds more "
    "memory in RAM than any before.",
    remedy="Free what each iteration makes: requests, datatypes, communicators, windows, buffers.",
    cause="Memory is never given back.",
    needs_law=False,
    kind="property",
    pattern=see,
)
