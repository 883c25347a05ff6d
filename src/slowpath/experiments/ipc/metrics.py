# SPDX-License-Identifier: Apache-2.0
"""Metrics of slowpath-ipc: the steps of sharing a GPU allocation with another process (docs/reference/ipc.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, Absent, Derived, MetricSamples, SampleBlock, per_operation

EXPORT, OPEN, FIRST_ACCESS, CLOSE, REOPEN, CLOSE_AGAIN = range(6)  # seq0 of a step's block
_EXPORTER, _IMPORTER = 0, 1
# The opening comes first because a report's overviews show a cell by its first metric.
STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "ipc_open_s": (_IMPORTER, (OPEN,)),
    "ipc_reopen_s": (_IMPORTER, (REOPEN,)),
    "ipc_close_s": (_IMPORTER, (CLOSE, CLOSE_AGAIN)),
    "ipc_export_s": (_EXPORTER, (EXPORT,)),
    "ipc_first_access_s": (_IMPORTER, (FIRST_ACCESS,)),
}


def steps(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """One sample for each step of each fresh allocation; the phase separates the second close from the first."""

    def step(rank: int, numbers: tuple[int, ...]) -> dict[str, MetricSamples] | Absent:
        return per_operation([b for b in blocks if b.seq0 in numbers], rank, 1) or NO_SAMPLES

    return {metric: step(rank, numbers) for metric, (rank, numbers) in STEPS.items()}
