# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: calls that a program could do without, seen in what it does."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.program import (
    calls,
    managed,
    sp049_hot_spot,
    sp053_redundant_barrier,
    sp055_serial_chain,
    sp056_receives_late,
    sp059_new_buffers,
    sp075_target_away,
    sp077_polls_in_vain,
)

FAMILY: tuple[SlowPath, ...] = (
    calls.SLOW_PATH,
    managed.SLOW_PATH,
    sp049_hot_spot.SLOW_PATH,
    sp053_redundant_barrier.SLOW_PATH,
    sp055_serial_chain.SLOW_PATH,
    sp056_receives_late.SLOW_PATH,
    sp059_new_buffers.SLOW_PATH,
    sp075_target_away.SLOW_PATH,
    sp077_polls_in_vain.SLOW_PATH,
)
