# SPDX-License-Identifier: Apache-2.0
"""What a library reports of itself in witnessed launches: its variables (MPI_T), and UCX's table of protocols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from slowpath.core.results import LibraryVariable, UcxProtocol
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.mpi.ignored import unused_by_ucx
from slowpath.mpi.ucx_report import protocols
from slowpath.record.witness import (
    CONTROL_VARIABLES,
    PERFORMANCE_VARIABLES,
    UCX_LOGS,
    Variable,
    read_logs,
    read_variables,
)


class Reported(NamedTuple):
    """Fields of one of run.mpis; all but the last are None where no launch was witnessed."""

    control_variables: list[LibraryVariable] | None = None
    control_variables_reason: str | None = None
    performance_variables: list[LibraryVariable] | None = None
    performance_variables_reason: str | None = None
    protocols: list[UcxProtocol] | None = None
    unused_variables: dict[str, str] | None = None


def reported_by_library(launches: Sequence[LaunchRecord], environments: Sequence[str]) -> Reported:
    """What witnessed launches report.

    Args: launches: all of one MPI.  environments: names in the campaign's order, whose first has the usual values.
    """
    witnessed = [launch for launch in launches if launch.events.begin and launch.events.begin.witnessed]
    by_name = {launch.info.environment: launch for launch in reversed(witnessed)}
    first = [by_name[name] for name in dict.fromkeys(environments) if name in by_name]
    return Reported(
        *_variables(first, CONTROL_VARIABLES),
        *_variables(first, PERFORMANCE_VARIABLES),
        protocols=[row for launch in first for row in _protocols(launch)] or None,
        unused_variables=_unused(launches, environments) or None,
    )


def _unused(launches: Sequence[LaunchRecord], environments: Sequence[str]) -> dict[str, str]:
    """Of the user's own environment, the campaign's first: what UCX warns of in its first launch."""
    plain = (launch for launch in launches if launch.info.environment in environments[:1])
    own = next(plain, None)
    return unused_by_ucx(read_logs(own.folder / name for name in ("stdout", "stderr"))) if own else {}


def _variables(launches: Sequence[LaunchRecord], name: str) -> tuple[list[LibraryVariable] | None, str | None]:
    """The variables of the first environment, with what others have instead; [] with why there are none."""
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
    return (found, None) if found else ([] if reason else None, reason)


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
