# SPDX-License-Identifier: Apache-2.0
"""The clock that all times come from."""

from __future__ import annotations

import itertools
import math
import platform
import time

from slowpath.doctor.check import Check
from slowpath.run.machine import read_line

SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
READS = 20000


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
    """Largest step that divides all differences between readings, ns; None if the clock stood still."""
    differences = {b - a for a, b in itertools.pairwise(reads) if b > a}
    return math.gcd(*differences) if differences else None


def kernel() -> Check:
    """Kernel and system."""
    return Check(
        "kernel",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "ok",
        "recorded with each run",
    )
