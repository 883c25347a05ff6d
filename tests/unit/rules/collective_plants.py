# SPDX-License-Identifier: Apache-2.0
"""Collectives with one slow path each, planted and clean."""

from __future__ import annotations

from typing import Any

from planted_results import Planted, placement, witness

WORK = "collective_work_s"
BEFORE_S, AFTER_S = 1.1e-6, 0.3e-6
THRESHOLD = "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD"


def call(run: Planted, steady_s: float, environment: str = "default", faults: float = 0.0, **parameters: Any) -> int:
    """A cell of later calls. faults: page faults of a call, on the last rank."""
    also = {"witness": witness("steady", 0.0, faults)}
    more = {"pattern": "calls", **parameters, "also": also}
    return run.cell({WORK: {"steady": steady_s}}, experiment="coll", environment=environment, **more)


def path(run: Planted, slow: bool) -> None:
    """MPI_THREAD_MULTIPLE closes what a variable closes, too; a collective without that path is the same."""
    level = run.environment("threads", SLOWPATH_THREAD_LEVEL="multiple")
    never = run.environment("never", "collectives_never_open", **{THRESHOLD: "1000000"})
    for name, open_s in (("allreduce", AFTER_S if slow else BEFORE_S), ("alltoall", BEFORE_S)):
        usual = call(run, open_s, collective=name, message_bytes=8)
        threads = call(run, BEFORE_S, level, collective=name, message_bytes=8)
        call(run, BEFORE_S, never, collective=name, message_bytes=8)
        run.contrast("environment", WORK, (usual, "default"), (threads, "threads"), usual="a")


def crowded(run: Planted, slow: bool) -> None:
    """Two ranks on one core; the setting makes ranks that wait yield."""
    run.placements[0] = placement("bound", "0", "0")
    yields = run.environment("yields", "yield_when_idle", OMPI_MCA_mpi_yield_when_idle="1")
    usual = call(run, 4e-3 if slow else 2e-6, collective="barrier", message_bytes=0)
    better = call(run, 2e-6, yields, collective="barrier", message_bytes=0)
    run.contrast("environment", WORK, (better, "yields"), (usual, "default"), usual="b")


PLANTS = {
    "SP042": path,
    "SP046": crowded,
}
