# SPDX-License-Identifier: Apache-2.0
"""Remedies that several slow paths of this family share. Pure."""

from __future__ import annotations

from slowpath.findings.remedy import Control, ProgramRemedy, Remedy, Way
from slowpath.mpi.applies import AppliesTo
from slowpath.mpi.launcher import WIDENED

# Both ranks computing at once would not do: where they share a core, that is what binding mends.
_CALL = Control(
    "an empty call uses only one rank's core: no message, no memory, no second rank",
    experiment="put",
    parameters={"design": "empty_call"},
    metric="time_per_put_s",
)

BIND_TO_CORES = Remedy(
    "bind to cores",
    "Bind each rank to a core of its own.",
    ("placement",),
    _CALL,
    side_effects=("threads of a rank share its core unless it gets more",),
    sources=("docs/reference/launching.md",),
    bind="core",
    phrase="a core of its own for each rank",
    cores_per_rank=1,
)

ALL_PROCESSORS = Remedy(
    "all processors",
    "Start the job without the mask: no taskset or numactl in front, and no CPUAffinity of a service.",
    ("placement",),
    _CALL,
    side_effects=("others may use the same processors",),
    sources=("docs/reference/diagnose.md",),
    bind=WIDENED,
    phrase="all processors of the machine",
)

PROGRAM_YIELD_WHEN_IDLE = ProgramRemedy(
    "yield-when-idle",
    "Let waiting ranks yield their core; this helps with more ranks and threads than cores.",
    "control variable",
    "MPICH: MPIR_CVAR_CH4_PROGRESS_THROTTLE; Open MPI: mpi_yield_when_idle (ompi_info --level 9)",
    ways=(
        Way(
            AppliesTo("mpich", ">=4.2"),
            {
                "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
                "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
            },
        ),
        Way(AppliesTo("openmpi", ">=2"), {"OMPI_MCA_mpi_yield_when_idle": "1"}),
    ),
    when_crowded=True,
)

PROGRAM_BIND_CORES = ProgramRemedy(
    "bind-cores",
    "Each rank is bound to a core of its own.",
    "affinity",
    "docs/reference/launching.md",
    table=("bind to cores",),
    bind="core",
)

PROGRAM_BIND_NONE = ProgramRemedy(
    "bind-none",
    "No rank is bound: the kernel moves ranks and their threads to free cores.",
    "affinity",
    "docs/reference/launching.md",
    bind="none",
)
