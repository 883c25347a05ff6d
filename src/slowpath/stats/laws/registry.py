# SPDX-License-Identifier: Apache-2.0
"""Every law there is, simplest first."""

from __future__ import annotations

from slowpath.core.errors import UsageError
from slowpath.stats.laws import allocation, granules, linear, pages, saturates, segments, steps, threshold
from slowpath.stats.laws.law import Law

LAWS: tuple[Law, ...] = (
    linear.CONSTANT,
    linear.BY_BYTE,
    allocation.LAW,
    pages.LAW,
    granules.LAW,
    steps.LIVE_BUFFERS,
    steps.REPETITIONS,
    steps.STEP,
    saturates.LAW,
    threshold.LAW,
    segments.LAW,
    linear.BY_DEPTH,
    linear.BY_BLOCK,
)


def find(name: str) -> Law:
    """Return the law of this name.  Raises: UsageError: there is no law of that name."""
    for law in LAWS:
        if law.name == name:
            return law
    raise UsageError(f"there is no law '{name}'; there are {', '.join(law.name for law in LAWS)}")
