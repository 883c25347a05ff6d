# SPDX-License-Identifier: Apache-2.0
"""JSON for github-action-benchmark, tool customSmallerIsBetter; metrics of which more is better are left out.

Source: https://github.com/benchmark-action/github-action-benchmark, section "customSmallerIsBetter".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from slowpath.compare.export.values import Value, values

if TYPE_CHECKING:
    from slowpath.compare.read import Source


def render(run: Source) -> str:
    """A list of name, unit, value, range (half the interval's width, where there is one) and extra."""
    return (
        json.dumps([_entry(one) for one in values(run) if one.better == "lower"], ensure_ascii=False, indent=1) + "\n"
    )


def _entry(one: Value) -> dict[str, str | float]:
    entry: dict[str, str | float] = {
        "name": f"{one.label}: {one.metric}, {one.phase}",
        "unit": one.unit,
        "value": one.value,
        "extra": f"{one.launches} launches; {one.interval_kind}; cell {one.key}",
    }
    if one.interval:
        entry["range"] = f"± {(one.interval[1] - one.interval[0]) / 2:.3g}"
    return entry
