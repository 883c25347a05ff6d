# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: calls that a program could do without, seen in what it does."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.program import (
    calls,
    excess,
    managed,
    outside,
    waiting,
)

FAMILY: tuple[SlowPath, ...] = (
    calls.SLOW_PATH,
    excess.SLOW_PATH,
    managed.SLOW_PATH,
    outside.SLOW_PATH,
    waiting.SLOW_PATH,
)
