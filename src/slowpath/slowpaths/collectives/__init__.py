# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: collective calls."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.collectives import sp036_guideline, sp042_collective_path

FAMILY: tuple[SlowPath, ...] = (
    sp036_guideline.SLOW_PATH,
    sp042_collective_path.SLOW_PATH,
)
