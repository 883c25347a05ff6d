# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: windows and one-sided messages."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.one_sided import sp019_window_kind

FAMILY: tuple[SlowPath, ...] = (sp019_window_kind.SLOW_PATH,)
