# SPDX-License-Identifier: Apache-2.0
"""The experiment `ipc`: sharing GPU memory between processes, measured by slowpath-ipc below MPI."""

from __future__ import annotations

from slowpath.experiments.experiment import Experiment, Pattern, Program
from slowpath.experiments.ipc.folder import EXPERIMENT
from slowpath.experiments.ipc.metrics import steps
from slowpath.experiments.metric import Metric

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
