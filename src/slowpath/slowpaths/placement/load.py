# SPDX-License-Identifier: Apache-2.0
"""Whether other processes leave a core for each rank. Pure."""

from __future__ import annotations

from slowpath.core.machine import Others

LEAST_CORES = 0.5  # that others keep busy
MISSING_CORES = 0.25  # that ranks lack, at least


def is_loaded(others: Others | None, ranks: int) -> bool:
    """Whether what others take leaves less than a core for each rank."""
    if others is None or others.cores < LEAST_CORES:
        return False
    return ranks - (others.processors - others.cores) > MISSING_CORES
