# SPDX-License-Identifier: Apache-2.0
"""The experiment `ipc`: sharing GPU memory between processes, measured by slowpath-ipc below MPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.experiments.experiment import Experiment, Pattern, Program
from slowpath.experiments.ipc.folder import EXPERIMENT
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NO_SAMPLES, Absent, Derived, MetricSamples, SampleBlock, per_operation
from slowpath.experiments.metric import Metric

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


_METRICS = (
    Metric("ipc_export_s", "s", "lower", "making the handle of a GPU allocation"),
    Metric("ipc_open_s", "s", "lower", "opening the handle of a fresh GPU allocation in another process"),
    Metric("ipc_first_access_s", "s", "lower", "the first copy from the opened allocation"),
    Metric("ipc_close_s", "s", "lower", "closing the opened allocation"),
    Metric("ipc_reopen_s", "s", "lower", "opening the same handle again"),
)

IPC = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("ipc", steps, _METRICS),),
    roles={
        "allocation_bytes": "covariate",
        "overalloc_bytes": "covariate",
        "pad_to_bytes": "covariate",
        "live": "covariate",
        "keep": "covariate",
        "repetitions": "effort",
        "warmups": "effort",
        "access_bytes": "covariate",
        "exporter_device": "setting",
        "importer_device": "setting",
    },
    program=Program("slowpath-ipc", takes_experiment=False),
)
