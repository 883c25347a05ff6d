# SPDX-License-Identifier: Apache-2.0
"""OpenMetrics text of runs, comparisons and gates, for GitLab's metrics reports and Prometheus' textfile collector.

Every sample is labelled with host, campaign, cell and the date on which the run started.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.compare.export.values import ExportedValue, values
from slowpath.compare.gate import judges
from slowpath.core.files import write_atomically
from slowpath.core.openmetrics import Sample, document, family

if TYPE_CHECKING:
    from slowpath.compare.comparison import Comparison
    from slowpath.compare.gate import Gate
    from slowpath.compare.read import RunSource
    from slowpath.core.results import Finding

_UNITS = {"s": "seconds", "1": "ratio"}
_RATIO = "slowpath_against_baseline"


def render(found: Gate, run: RunSource) -> str:
    """Return values and intervals by cell, metric and phase, ratios to the baseline, and the gate's outcome."""
    judged_rows = found.rows if judges(found) else []  # a ratio across machines would look like a change of the code
    rows = [(judged.row, judged.again.ratio if judged.again else judged.row.ratio) for judged in judged_rows]
    ratios = [(_row(row.label, row.metric, row.phase), ratio) for row, ratio in rows if ratio is not None]
    states = [({"outcome": word}, float(found.outcome == word)) for word in ("pass", "regression", "undecided")]
    kinds = {doubt.kind: doubt.accepted for doubt in found.doubts}
    doubts = [({"kind": kind}, float(not accepted)) for kind, accepted in kinds.items()]
    lacking: list[Sample] = [({}, float(len(found.comparison.uncompared)))]
    return document(
        [
            *_measured(run),
            *family(_RATIO, "ratio", "above 1: worse than in the baseline", _from(run, ratios)),
            *family("slowpath_gate", None, "1 for the outcome of the gate", _from(run, states)),
            *family(
                "slowpath_gate_doubt",
                None,
                "1 for a doubt that prevents a decision, 0 for an accepted one",
                _from(run, doubts),
            ),
            *family("slowpath_gate_uncompared", None, "cells that were not compared", _from(run, lacking)),
        ]
    )


def render_run(run: RunSource, findings: Sequence[Finding]) -> str:
    """Return values and intervals by cell, metric and phase, and the ratio of each finding."""
    slow = [(_finding(finding), finding.ratio) for finding in findings if finding.ratio is not None]
    return document(
        [*_measured(run), *family("slowpath_finding", "ratio", "slow time over usual time", _from(run, slow))]
    )


def render_comparison(found: Comparison, run: RunSource) -> str:
    """Return the values of the second run and their ratios to the first.  Args: run: the second run."""
    ratios = [(_row(row.label, row.metric, row.phase), row.ratio) for row in found.rows if row.ratio is not None]
    return document([*_measured(run), *family(_RATIO, "ratio", "the second run over the first", _from(run, ratios))])


def write(path: Path, text: str) -> None:
    """Write the file atomically, so that a collector never reads half of it.  Raises: EnvironmentFailure."""
    write_atomically(path, text)


def _measured(run: RunSource) -> list[str]:
    lines: list[str] = []
    every = list(values(run))
    for unit in dict.fromkeys(value.unit for value in every):
        of_unit = [value for value in every if value.unit == unit]
        name = _UNITS.get(unit)
        intervals = [value for value in of_unit if value.interval]
        for end, which in ((0, "low"), (1, "high")):
            samples = [(_labels(value), value.interval[end]) for value in intervals if value.interval]
            lines += family(f"slowpath_{which}", name, f"{which} end of the value's interval", _from(run, samples))
        measured = [(_labels(value), value.value) for value in of_unit]
        lines += family("slowpath_value", name, "over launches", _from(run, measured))
    return lines


def _from(run: RunSource, samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples with the run's labels. An imported log may state neither host nor date."""
    host, started = run.run.machine.get("host"), run.run.started
    shared = {"campaign": run.run.campaign}
    shared |= {"host": str(host)} if host else {}
    shared |= {"date": started[:10]} if started else {}
    return [({**labels, **shared}, value) for labels, value in samples]


def _row(cell: str, metric: str, phase: str) -> dict[str, str]:
    return {"cell": cell, "metric": metric, "phase": phase}


def _finding(finding: Finding) -> dict[str, str]:
    return {
        "rule": finding.rule,
        "finding": finding.id,
        "status": finding.status,
        "cell": finding.where,
        "metric": finding.metric,
    }


def _labels(value: ExportedValue) -> dict[str, str]:
    found = {"cell": value.label, "experiment": value.experiment, "metric": value.metric, "phase": value.phase}
    return found | ({"mpi": value.mpi} if value.mpi else {})
