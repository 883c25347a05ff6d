# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: windows and one-sided messages."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.one_sided import sp018_rma, sp019_window_kind, sp044_window_pages, sp072_puts_far_above_floor

FAMILY: tuple[SlowPath, ...] = (
    sp018_rma.SLOW_PATH,
    sp019_window_kind.SLOW_PATH,
    sp044_window_pages.SLOW_PATH,
    sp072_puts_far_above_floor.SLOW_PATH,
)
