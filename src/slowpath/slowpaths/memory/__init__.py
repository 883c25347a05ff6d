# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: which memory a message lies in."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.memory import sp007_pinned_host, sp008_small_pages

FAMILY: tuple[SlowPath, ...] = (
    sp007_pinned_host.SLOW_PATH,
    sp008_small_pages.SLOW_PATH,
)
