# SPDX-License-Identifier: Apache-2.0
"""Slow paths of one family: how a message is sent and matched."""

from __future__ import annotations

from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.protocol import (
    sp013_protocol_switch,
    sp020_unexpected,
    sp021_queue_depth,
    sp064_completion,
    sp065_wildcard,
    sp066_open_receive,
    sp068_multiples,
)

FAMILY: tuple[SlowPath, ...] = (
    sp013_protocol_switch.SLOW_PATH,
    sp020_unexpected.SLOW_PATH,
    sp021_queue_depth.SLOW_PATH,
    sp064_completion.SLOW_PATH,
    sp065_wildcard.SLOW_PATH,
    sp066_open_receive.SLOW_PATH,
    sp068_multiples.SLOW_PATH,
)
