# SPDX-License-Identifier: Apache-2.0
"""Bencher Metric Format: benchmark -> measure -> value with its interval. Seconds and plain ratios, unrounded.

Source: https://bencher.dev/docs/reference/bencher-metric-format/
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from slowpath.compare.export.values import values

if TYPE_CHECKING:
    from slowpath.compare.read import Source


def render(run: Source) -> str:
    """One JSON object. A benchmark is a cell's label, a measure metric and phase; without an interval no bounds."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in values(run):
        bounds = dict(zip(("lower_value", "upper_value"), one.interval or (), strict=False))
        found.setdefault(one.label, {})[f"{one.metric}.{one.phase}"] = {"value": one.value, **bounds}
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
