# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: what happens once for each buffer, communicator, window or peer."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.first_use import sp001_first_use_pages

FAMILY: tuple[SlowPath, ...] = (sp001_first_use_pages.SLOW_PATH,)
