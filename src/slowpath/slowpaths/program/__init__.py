# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: calls that a program could do without, seen in what it does."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.program import (
    sp050_small_messages,
    sp051_small_reductions,
    sp052_made_anew,
    sp053_redundant_barrier,
    sp054_own_collective,
    sp055_serial_chain,
    sp056_receives_late,
    sp057_never_freed,
)

FAMILY: tuple[SlowPath, ...] = (
    sp050_small_messages.SLOW_PATH,
    sp051_small_reductions.SLOW_PATH,
    sp052_made_anew.SLOW_PATH,
    sp053_redundant_barrier.SLOW_PATH,
    sp054_own_collective.SLOW_PATH,
    sp055_serial_chain.SLOW_PATH,
    sp056_receives_late.SLOW_PATH,
    sp057_never_freed.SLOW_PATH,
)
