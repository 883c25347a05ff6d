# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: how a message is sent and matched."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.protocol import sp013_protocol_switch

FAMILY: tuple[SlowPath, ...] = (sp013_protocol_switch.SLOW_PATH,)
