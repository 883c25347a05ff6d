# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: where ranks run."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.placement import (
    sp011_binding,
    sp048_load,
    sp060_shared_processors,
)

FAMILY: tuple[SlowPath, ...] = (
    sp011_binding.SLOW_PATH,
    sp048_load.SLOW_PATH,
    sp060_shared_processors.SLOW_PATH,
)
