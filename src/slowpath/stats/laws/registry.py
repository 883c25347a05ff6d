# SPDX-License-Identifier: Apache-2.0
"""Every law there is, simplest first."""

from __future__ import annotations

from slowpath.core.errors import UsageError
from slowpath.stats.laws import (
    allocation,
    blocks,
    constant,
    granules,
    live_buffers,
    message,
    pages,
    queue_depth,
    repetition,
    saturates,
    segments,
    step,
    threshold,
)
from slowpath.stats.laws.law import Law

LAWS: tuple[Law, ...] = (
    constant.LAW,
    message.LAW,
    allocation.LAW,
    pages.LAW,
    granules.LAW,
    live_buffers.LAW,
    repetition.LAW,
    step.LAW,
    saturates.LAW,
    threshold.LAW,
    segments.LAW,
    queue_depth.LAW,
    blocks.LAW,
)


def find(name: str) -> Law:
    """Raises: UsageError: no law of that name."""
    for law in LAWS:
        if law.name == name:
            return law
    raise UsageError(f"there is no law '{name}'; there are {', '.join(law.name for law in LAWS)}")
