# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: calls that a program could do without, seen in what it does."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.program import (
    managed,
    sp049_hot_spot,
    sp050_small_messages,
    sp051_small_reductions,
    sp053_redundant_barrier,
    sp054_own_collective,
    sp055_serial_chain,
    sp056_receives_late,
    sp058_senders_wait,
    sp059_new_buffers,
    sp075_target_away,
    sp076_synchronous_sends,
    sp077_polls_in_vain,
)

FAMILY: tuple[SlowPath, ...] = (
    managed.SLOW_PATH,
    sp049_hot_spot.SLOW_PATH,
    sp050_small_messages.SLOW_PATH,
    sp051_small_reductions.SLOW_PATH,
    sp053_redundant_barrier.SLOW_PATH,
    sp054_own_collective.SLOW_PATH,
    sp055_serial_chain.SLOW_PATH,
    sp056_receives_late.SLOW_PATH,
    sp058_senders_wait.SLOW_PATH,
    sp059_new_buffers.SLOW_PATH,
    sp075_target_away.SLOW_PATH,
    sp076_synchronous_sends.SLOW_PATH,
    sp077_polls_in_vain.SLOW_PATH,
)
