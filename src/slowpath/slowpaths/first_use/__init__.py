# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: what happens once for each buffer, communicator, window or peer."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.first_use import (
    sp001_first_use_pages,
    sp002_first_use_allocation,
    sp004_late_fast_path,
    sp005_first_use_constant,
    sp006_first_use_message,
    sp012_first_touch,
    sp023_ipc_allocation,
    sp024_fresh_buffers,
    sp043_first_use_peers,
)

FAMILY: tuple[SlowPath, ...] = (
    sp001_first_use_pages.SLOW_PATH,
    sp002_first_use_allocation.SLOW_PATH,
    sp004_late_fast_path.SLOW_PATH,
    sp005_first_use_constant.SLOW_PATH,
    sp006_first_use_message.SLOW_PATH,
    sp012_first_touch.SLOW_PATH,
    sp023_ipc_allocation.SLOW_PATH,
    sp024_fresh_buffers.SLOW_PATH,
    sp043_first_use_peers.SLOW_PATH,
)
