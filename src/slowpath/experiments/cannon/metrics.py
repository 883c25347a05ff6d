# SPDX-License-Identifier: Apache-2.0
"""Metrics of the experiment cannon: one multiplication and its parts. Definitions: docs/reference/metrics.md. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.experiments.cannon.disturbance import Disturbance, Mask, disturbance
from slowpath.experiments.cannon.runs import DGEMM, PARTS, TOTAL, Runs, read_runs
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import Absent, Derived, MetricSamples, SampleBlock
from slowpath.stats.inputs import Floats

# Part -> what one rank does in it; the metric PART_s is its mean over ranks.
MEANINGS = {
    "dgemm": "the local multiplications of a rank, mean over ranks",
    "issue": "starting communication that something else completes, mean over ranks",
    "test": "asking whether communication is over, between pieces of the multiplication, mean over ranks",
    "wait": "blocked until communication is over, mean over ranks",
    "copy": "copying between shared memory and a rank's own, mean over ranks",
    "synchronise": "fences, epochs, barriers and flags, mean over ranks",
    "skew": "moving the initial alignment, mean over ranks",
    "distribute": "inputs out of rank 0 or a file, mean over ranks",
    "gather": "the product to rank 0 or into a file, mean over ranks",
    "generate": "making the inputs in place, outside the multiplication, mean over ranks",
}


def multiply(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """One value for each repetition; those that nothing disturbed are marked as clean."""
    runs = read_runs(blocks, job)
    if isinstance(runs, Absent):
        return {"multiply_s": runs}
    length_s = runs.length_s(job.one_node)
    found = disturbance(length_s, job.repetitions, job.take_turns)
    clean = found.clean if isinstance(found, Disturbance) else None
    return {
        "multiply_s": _series(length_s, clean),
        **_parts(p, runs, clean),
        **_exposed(runs, clean, job),
    }


def _series(values: Floats, clean: Mask | None) -> dict[str, MetricSamples]:
    return {"steady": MetricSamples(values, 1, clean=clean)}


def _parts(p: Mapping[str, str], runs: Runs, clean: Mask | None) -> Derived:
    found: Derived = {}
    for number, part in PARTS.items():
        if number == TOTAL:
            continue
        spent_s = runs.mean_s(number)
        if spent_s is None:
            found[f"{part}_s"] = Absent(f"variant {p.get('variant', 'of this cell')} has no part {part} here")
        else:
            found[f"{part}_s"] = _series(spent_s, clean)
    return found


def _exposed(runs: Runs, clean: Mask | None, job: LaunchContext) -> Derived:
    """What the multiplication does not hide.

    Where ranks share cores, a rank that waits lets another one compute: its waiting is no loss, the share says nothing.
    """
    if not any((rank, DGEMM) in runs.duration_ns for rank in range(runs.size)):
        nothing = Absent("it multiplies and communicates in one call, so that the two can't be distinguished")
        return {"exposed_s": nothing, "exposed_ratio": nothing}
    totals_s: Floats = np.array([runs.spent_s(rank, TOTAL) for rank in range(runs.size)])
    dgemms_s: Floats = np.array([runs.spent_s(rank, DGEMM) for rank in range(runs.size)])
    exposed_s = (totals_s - dgemms_s).mean(axis=0)
    share: dict[str, MetricSamples] | Absent
    if job.shared_cores is not None:
        share = Absent(job.shared_cores)
    else:
        share = _series(exposed_s / totals_s.mean(axis=0), clean)
    return {"exposed_s": _series(exposed_s, clean), "exposed_ratio": share}
