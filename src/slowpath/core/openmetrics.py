# SPDX-License-Identifier: Apache-2.0
"""OpenMetrics text: families of gauges with labels. Pure.

Source: OpenMetrics 1.0, section "Text format": # TYPE, # UNIT and # HELP of a family before its samples, a unit is the
suffix of the family's name, labels escape backslash, line feed and quote, and # EOF ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slowpath.core.clean import text

Labels = Mapping[str, str]
Sample = tuple[Labels, float]


def document(lines: Iterable[str]) -> str:
    """Return the lines of all families as one text."""
    return "\n".join([*lines, "# EOF"]) + "\n"


def family(name: str, unit: str | None, meaning: str, samples: Iterable[Sample]) -> list[str]:
    """Return the lines of one family; none without a sample."""
    full = f"{name}_{unit}" if unit else name
    head = [f"# TYPE {full} gauge", *([f"# UNIT {full} {unit}"] if unit else []), f"# HELP {full} {meaning}"]
    lines = [f"{full}{_written(labels)} {value!r}" for labels, value in samples]
    return head + lines if lines else []


def _written(labels: Labels) -> str:
    words = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{words}}}" if words else ""


def _escaped(value: str) -> str:
    return text(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
