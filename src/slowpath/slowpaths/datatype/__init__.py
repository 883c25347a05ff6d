# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: how data with gaps is sent."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.datatype import sp015_datatype

FAMILY: tuple[SlowPath, ...] = (sp015_datatype.SLOW_PATH,)
