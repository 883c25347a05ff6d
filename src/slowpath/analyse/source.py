# SPDX-License-Identifier: Apache-2.0
"""Where a record comes from: a run folder of slowpath's own, or one that slowpath-ipc wrote by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from slowpath.analyse.machines import of_one_machine
from slowpath.core.errors import RecordError
from slowpath.core.plan import Plan
from slowpath.core.results import Line
from slowpath.experiments.ipc.folder import ipc_folders, read_ipc
from slowpath.experiments.measured.load import LaunchRecord, load_launches
from slowpath.record.folder import RunInfo, read_run
from slowpath.record.plan_check import require_launches
from slowpath.record.plan_files import read_plan


class Recorded(NamedTuple):
    """A run as recorded.

    mpis: what run.json says of each MPI, by its short name; empty where it is from before there could be several.
    interleaved: launches of both sides of a contrast stand in randomised blocks.  launches: of one kind of machine.
    lines, notes: on launches of other machines.
    """

    info: RunInfo
    plan: Plan
    launches: list[LaunchRecord]
    mpis: dict[str, dict[str, Any]]
    interleaved: bool
    lines: Sequence[Line] = ()
    notes: Sequence[str] = ()


def read_recorded(run: Path) -> Recorded:
    """Raises: RecordError when the folder holds neither, or its record can't be read."""
    if not (run / "run.json").exists() and (folders := ipc_folders(run)):
        return Recorded(*read_ipc(folders), mpis={}, interleaved=False)
    info, plan = read_run(run), read_plan(run / "plan.json")
    launches = load_launches(run)
    try:
        require_launches(plan, [launch.info for launch in launches])
    except ValueError as error:
        raise RecordError(f"{run}: is damaged: {error} in plan.json; restore the folder from a copy") from error
    mpis = {str(facts.get("short_name")): facts for facts in info.mpis}
    one = of_one_machine(info, launches)
    return Recorded(one.info, plan, one.launches, mpis, not info.imported, one.lines, one.notes)
