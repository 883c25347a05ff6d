# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: which way a message takes inside a node."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.paths import sp009_paths

FAMILY: tuple[SlowPath, ...] = (sp009_paths.SLOW_PATH,)
