# SPDX-License-Identifier: Apache-2.0
"""OpenMetrics text of a run, of a comparison and of a gate: GitLab's metrics report, Prometheus' textfile collector.

Every sample says where it is from: host, campaign, cell and date (of the run's start).

Source: OpenMetrics 1.0, section "Text format": # TYPE, # UNIT and # HELP of a family before its samples, a unit is the
suffix of the family's name, labels escape backslash, line feed and quote, and # EOF ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.compare.export.values import Value, values
from slowpath.compare.gate import judges
from slowpath.core.clean import text
from slowpath.core.files import write_atomically

if TYPE_CHECKING:
    from slowpath.compare.comparison import Comparison
    from slowpath.compare.gate import Gate
    from slowpath.compare.read import Source
    from slowpath.core.results import Finding

_UNITS = {"s": "seconds", "1": "ratio"}
Labels = Mapping[str, str]
Sample = tuple[Labels, float]
_RATIO = "slowpath_against_baseline"


def render(found: Gate, run: Source) -> str:
    """Values and interval ends by cell, metric and phase; the ratio to the baseline; the gate's outcome and why."""
    judged = found.rows if judges(found) else []  # a ratio across machines would look like one of the code
    rows = [(one.row, one.again.ratio if one.again else one.row.ratio) for one in judged]
    ratios = [(_row(one.label, one.metric, one.phase), ratio) for one, ratio in rows if ratio is not None]
    states = [({"outcome": word}, float(found.outcome == word)) for word in ("pass", "regression", "undecided")]
    kinds = {one.kind: one.accepted for one in found.doubts}
    doubts = [({"kind": kind}, float(not accepted)) for kind, accepted in kinds.items()]
    lacking: list[Sample] = [({}, float(len(found.comparison.uncompared)))]
    return _text(
        [
            *_measured(run),
            *_family(_RATIO, "ratio", "above 1: worse than in the baseline", _from(run, ratios)),
            *_family("slowpath_gate", None, "1 for the outcome of the gate", _from(run, states)),
            *_family("slowpath_gate_doubt", None, "1: why nothing is decided; 0: accepted", _from(run, doubts)),
            *_family("slowpath_gate_uncompared", None, "cells that were not compared", _from(run, lacking)),
        ]
    )


def render_run(run: Source, findings: Sequence[Finding]) -> str:
    """Values and interval ends by cell, metric and phase, and how slow each finding is."""
    slow = [(_finding(one), one.ratio) for one in findings if one.ratio is not None]
    return _text([*_measured(run), *_family("slowpath_finding", "ratio", "slow over usual time", _from(run, slow))])


def render_comparison(found: Comparison, run: Source) -> str:
    """Values of the second run, and their ratios to the first.  Args: run: the second."""
    ratios = [(_row(one.label, one.metric, one.phase), one.ratio) for one in found.rows if one.ratio is not None]
    return _text([*_measured(run), *_family(_RATIO, "ratio", "the second run over the first", _from(run, ratios))])


def write(path: Path, text: str) -> None:
    """At once, so that a collector never reads half of it.  Raises: EnvironmentFailure."""
    write_atomically(path, text)


def _text(lines: Iterable[str]) -> str:
    return "\n".join([*lines, "# EOF"]) + "\n"


def _measured(run: Source) -> list[str]:
    lines: list[str] = []
    every = list(values(run))
    for unit in dict.fromkeys(one.unit for one in every):
        of_unit = [one for one in every if one.unit == unit]
        name = _UNITS.get(unit)
        intervals = [one for one in of_unit if one.interval]
        for end, which in ((0, "low"), (1, "high")):
            samples = [(_labels(one), one.interval[end]) for one in intervals if one.interval]
            lines += _family(f"slowpath_{which}", name, f"{which} end of the value's interval", _from(run, samples))
        measured = [(_labels(one), one.value) for one in of_unit]
        lines += _family("slowpath_value", name, "over launches", _from(run, measured))
    return lines


def _from(run: Source, samples: Iterable[Sample]) -> list[Sample]:
    """With what the run says of itself; an imported log may state neither host nor date."""
    host, started = run.run.machine.get("host"), run.run.started
    shared = {"campaign": run.run.campaign}
    shared |= {"host": str(host)} if host else {}
    shared |= {"date": started[:10]} if started else {}
    return [({**labels, **shared}, value) for labels, value in samples]


def _row(cell: str, metric: str, phase: str) -> dict[str, str]:
    return {"cell": cell, "metric": metric, "phase": phase}


def _finding(one: Finding) -> dict[str, str]:
    return {"rule": one.rule, "finding": one.id, "status": one.status, "cell": one.where, "metric": one.metric}


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
    return text(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
