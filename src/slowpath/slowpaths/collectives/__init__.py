# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: collective calls."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.collectives import (
    sp036_guideline,
    sp037_size_cliff,
    sp038_count_cliff,
    sp039_linear_in_ranks,
    sp040_opens_at_call,
    sp041_closes_at_communicator,
    sp042_collective_path,
    sp045_arrival,
    sp069_root,
)

FAMILY: tuple[SlowPath, ...] = (
    sp036_guideline.SLOW_PATH,
    sp037_size_cliff.SLOW_PATH,
    sp038_count_cliff.SLOW_PATH,
    sp039_linear_in_ranks.SLOW_PATH,
    sp040_opens_at_call.SLOW_PATH,
    sp041_closes_at_communicator.SLOW_PATH,
    sp042_collective_path.SLOW_PATH,
    sp045_arrival.SLOW_PATH,
    sp069_root.SLOW_PATH,
)
