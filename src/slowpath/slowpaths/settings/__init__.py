# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: what the program or its user chose."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.settings import sp035_own_settings, sp070_library_default

FAMILY: tuple[SlowPath, ...] = (
    sp035_own_settings.SLOW_PATH,
    sp070_library_default.SLOW_PATH,
)
