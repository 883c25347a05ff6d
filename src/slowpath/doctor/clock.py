# SPDX-License-Identifier: Apache-2.0
"""The clock that all times come from."""

from __future__ import annotations

import itertools
import platform
import statistics
import time
from collections import Counter

from slowpath.doctor.check import Check
from slowpath.run.machine import read_line

SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
READS = 20000
FREQUENT = 1e-3  # share of readings from which a difference counts
NEIGHBOURS_NS = 2


def clock() -> Check:
    """Source of CLOCK_MONOTONIC and the step it was seen to advance by."""
    source = read_line(SOURCE)
    step = quantum_ns([time.clock_gettime_ns(time.CLOCK_MONOTONIC) for _ in range(READS)])
    seen = f"steps of {step} ns" if step is not None else "no step seen"
    value = f"{source or 'unknown source'}, {seen}"
    if step is not None and step > 1000:
        return Check(
            "clock",
            value,
            "warn",
            "a coarse clock: small messages need batches, which the engine makes itself",
        )
    if source in ("hpet", "acpi_pm", "jiffies"):
        return Check(
            "clock",
            value,
            "warn",
            "reading this clock takes about 1 us, a large part of a small message",
            None,
        )
    return Check("clock", value, "ok", "fine enough; the engine calibrates it anew in each launch")


def quantum_ns(reads: list[int]) -> int | None:
    """The step by which the clock advances, ns; None if it stood still.

    As the engine finds it (engine/core/calibration.cpp): frequent differences of successive readings form clusters of
    neighbours, because ticks are rounded to whole nanoseconds, and the quantum is the usual gap between clusters.
    """
    counts = Counter(b - a for a, b in itertools.pairwise(reads))
    frequent = sorted(d for d, n in counts.items() if d > 0 and n > FREQUENT * len(reads))
    if not frequent:
        return min((d for d in counts if d > 0), default=None)
    clusters: list[list[int]] = [[frequent[0]]]
    for difference in frequent[1:]:
        if difference - clusters[-1][-1] <= NEIGHBOURS_NS:
            clusters[-1].append(difference)
        else:
            clusters.append([difference])
    centres = [sum(d * counts[d] for d in cluster) / sum(counts[d] for d in cluster) for cluster in clusters]
    if any(cluster[-1] - cluster[0] > NEIGHBOURS_NS for cluster in clusters):
        return 1  # no steps to be seen: the clock is finer than its readings are steady
    return round(statistics.median(b - a for a, b in itertools.pairwise(centres))) if len(centres) > 1 else frequent[-1]


def kernel() -> Check:
    """Kernel and system."""
    return Check(
        "kernel",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "ok",
        "recorded with each run",
    )
