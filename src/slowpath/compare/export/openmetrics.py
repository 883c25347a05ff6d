# SPDX-License-Identifier: Apache-2.0
"""OpenMetrics text of a run and of its gate: GitLab's metrics report, Prometheus' textfile collector.

Source: OpenMetrics 1.0, section "Text format": # TYPE, # UNIT and # HELP of a family before its samples, a unit is the
suffix of the family's name, labels escape backslash, line feed and quote, and # EOF ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from slowpath.compare.export.values import Value, values

if TYPE_CHECKING:
    from slowpath.compare.gate import Gate
    from slowpath.compare.read import Source

_UNITS = {"s": "seconds", "1": "ratio"}
Sample = tuple[Mapping[str, str], float]


def render(found: Gate, run: Source) -> str:
    """Values and interval ends by cell, metric and phase; the ratio to the baseline; the gate's outcome as a state."""
    lines: list[str] = []
    every = list(values(run))
    for unit in dict.fromkeys(one.unit for one in every):
        of_unit = [one for one in every if one.unit == unit]
        name = _UNITS.get(unit)
        intervals = [one for one in of_unit if one.interval]
        for end, text in ((0, "low"), (1, "high")):
            samples = [(_labels(one), one.interval[end]) for one in intervals if one.interval]
            lines += _family(f"slowpath_{text}", name, f"{text} end of the value's interval", samples)
        lines += _family("slowpath_value", name, "over launches", [(_labels(one), one.value) for one in of_unit])
    rows = [(one, one.again.ratio if one.again else one.row.ratio) for one in found.rows]
    ratios = [
        ({"cell": one.row.label, "metric": one.row.metric, "phase": one.row.phase}, ratio)
        for one, ratio in rows
        if ratio is not None
    ]
    lines += _family("slowpath_against_baseline", "ratio", "above 1: worse than in the baseline", ratios)
    states = [({"outcome": word}, float(found.outcome == word)) for word in ("pass", "regression", "undecided")]
    lines += _family("slowpath_gate", None, "1 for the outcome of the gate", states)
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(name: str, unit: str | None, meaning: str, samples: Iterable[Sample]) -> list[str]:
    full = f"{name}_{unit}" if unit else name
    head = [f"# TYPE {full} gauge", *([f"# UNIT {full} {unit}"] if unit else []), f"# HELP {full} {meaning}"]
    lines = [f"{full}{{{_written(labels)}}} {value!r}" for labels, value in samples]
    return head + lines if lines else []


def _labels(one: Value) -> dict[str, str]:
    found = {"cell": one.label, "experiment": one.experiment, "metric": one.metric, "phase": one.phase}
    return found | ({"mpi": one.mpi} if one.mpi else {})


def _written(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
