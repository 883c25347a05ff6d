# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: collective calls."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.collectives import sp036_guideline

FAMILY: tuple[SlowPath, ...] = (sp036_guideline.SLOW_PATH,)
