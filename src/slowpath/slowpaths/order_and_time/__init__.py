# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: the order of messages, and time."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.order_and_time import (
    sp026_stalls,
    sp027_alternation,
    sp029_launch_lottery,
    sp030_growth,
    sp032_idle,
    sp033_order,
    sp034_direction,
    sp073_mixed_messages,
    sp074_random_stalls,
)

FAMILY: tuple[SlowPath, ...] = (
    sp026_stalls.SLOW_PATH,
    sp027_alternation.SLOW_PATH,
    sp029_launch_lottery.SLOW_PATH,
    sp030_growth.SLOW_PATH,
    sp032_idle.SLOW_PATH,
    sp033_order.SLOW_PATH,
    sp034_direction.SLOW_PATH,
    sp073_mixed_messages.SLOW_PATH,
    sp074_random_stalls.SLOW_PATH,
)
