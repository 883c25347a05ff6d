# SPDX-License-Identifier: Apache-2.0
"""What a library reports of itself in witnessed launches: its variables (MPI_T), and UCX's table of protocols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from slowpath.core.results import LibraryVariable, UcxProtocol
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.mpi.ucx_report import protocols
from slowpath.record.witness import (
    CONTROL_VARIABLES,
    PERFORMANCE_VARIABLES,
    UCX_LOGS,
    Variable,
    read_logs,
    read_variables,
)

_MPI_T_NAMES = (("control_variables", CONTROL_VARIABLES), ("performance_variables", PERFORMANCE_VARIABLES))


def reported_by_library(launches: Sequence[LaunchRecord], environments: Sequence[str]) -> dict[str, Any]:
    """Keys of one of run.mpis; none where no launch was witnessed.

    Args: launches: all of one MPI.  environments: names in the campaign's order, whose first has the usual values.
    """
    witnessed = [launch for launch in launches if launch.events.begin and launch.events.begin.witnessed]
    by_name = {launch.info.environment: launch for launch in reversed(witnessed)}
    first = [by_name[name] for name in dict.fromkeys(environments) if name in by_name]
    reported: dict[str, Any] = {}
    for key, name in _MPI_T_NAMES:
        rows, reason = _variables(first, name)
        if rows or reason:
            reported[key] = rows
        if reason:
            reported[f"{key}_reason"] = reason
    if found := [row for launch in first for row in _protocols(launch)]:
        reported["protocols"] = found
    return reported


def _variables(launches: Sequence[LaunchRecord], name: str) -> tuple[list[LibraryVariable], str | None]:
    """The variables of the first environment, with what others have instead; why there are none if so."""
    rows: dict[str, LibraryVariable] = {}
    elsewhere: dict[str, dict[str, Any]] = {}
    reason: str | None = None
    for launch in launches:
        read, why_not = read_variables(launch.folder / name)
        if read is None:
            reason = reason or why_not
            continue
        reason = reason or read.reason
        for variable in read.variables:
            known = rows.setdefault(variable.name, _row(variable))
            if known.value != variable.value:
                elsewhere.setdefault(variable.name, {})[launch.info.environment] = variable.value
    found = [msgspec.structs.replace(row, by_environment=elsewhere.get(name)) for name, row in rows.items()]
    return found, reason if not rows else None


def _row(variable: Variable) -> LibraryVariable:
    return LibraryVariable(
        name=variable.name,
        value=variable.value,
        type=variable.type,
        description=variable.description,
        reason=variable.reason,
        kind=variable.kind,
    )


def _protocols(launch: LaunchRecord) -> list[UcxProtocol]:
    """UCX's rows, each once; its ranks print the same."""
    rows = dict.fromkeys(protocols(read_logs(launch.folder.glob(UCX_LOGS))))
    return [
        UcxProtocol(
            environment=launch.info.environment,
            scope=row.scope,
            operation=row.operation,
            first_bytes=row.first_bytes,
            last_bytes=None if math.isinf(row.last_bytes) else row.last_bytes,
            how=row.how,
            transports=row.transports,
        )
        for row in rows
    ]
