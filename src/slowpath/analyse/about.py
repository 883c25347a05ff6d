# SPDX-License-Identifier: Apache-2.0
"""The section `run` of results.json: who, when, where, with what.

With it stands what a library reports of itself in witnessed launches: its variables (MPI_T), UCX's table of protocols,
and what carries its messages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slowpath.analyse.placed import Groups, differences, groups_of
from slowpath.analyse.source import Recorded
from slowpath.core.guard import clean_words
from slowpath.core.plan import Placement, Plan
from slowpath.core.results import (
    EnvironmentResult,
    LaunchCounts,
    LibraryVariable,
    MessagePath,
    MpiResult,
    PlacementResult,
    RankPlace,
    RunResult,
    UcxProtocol,
)
from slowpath.experiments.measured import LaunchRecord
from slowpath.mpi.message_path import paths_of, protocols
from slowpath.mpi.own_settings import unused_by_ucx
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
    paths: list[MessagePath] | None = None
    unused_variables: dict[str, str] | None = None


def reported_by_library(launches: Sequence[LaunchRecord], environments: Sequence[str], library: str) -> Reported:
    """What witnessed launches report.

    Args: launches: all of one MPI.  environments: names in the campaign's order, whose first has the usual values.
          library: name of that MPI.
    """
    witnessed = [launch for launch in launches if launch.events.begin and launch.events.begin.witnessed]
    by_name = {launch.info.environment: launch for launch in reversed(witnessed)}
    first = [by_name[name] for name in dict.fromkeys(environments) if name in by_name]
    return Reported(
        *_variables(first, CONTROL_VARIABLES),
        *_variables(first, PERFORMANCE_VARIABLES),
        protocols=[row for launch in first for row in _protocols(launch)] or None,
        paths=[row for launch in first for row in _paths(launch, library)] or None,
        unused_variables=_unused(launches, environments) or None,
    )


def _unused(launches: Sequence[LaunchRecord], environments: Sequence[str]) -> dict[str, str]:
    """Of the user's own environment, the campaign's first: what UCX warns of in its first launch."""
    plain = (launch for launch in launches if launch.info.environment in environments[:1])
    own = next(plain, None)
    return unused_by_ucx(_output(own)) if own else {}


def _paths(launch: LaunchRecord, library: str) -> list[MessagePath]:
    """What carries the messages of a witnessed launch."""
    read, _ = read_variables(launch.folder / CONTROL_VARIABLES)
    values = {variable.name: variable.value for variable in read.variables} if read else {}
    return paths_of(library, _output(launch), values, launch.info.environment)


def _output(launch: LaunchRecord) -> str:
    """What its processes and the launcher printed."""
    return read_logs(launch.folder / name for name in ("stdout", "stderr"))


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


_FACTS = frozenset(field.name for field in msgspec.structs.fields(MpiResult))  # of run.json that are carried over


def run_entry(recorded: Recorded, run: Path) -> RunResult:
    """Facts of the run, from run.json, the plan and what the engine observed."""
    info, plan, launches = recorded.info, recorded.plan, recorded.launches
    failed = sum(launch.info.ended != "ok" for launch in launches)
    mpis = _mpis(recorded)
    return RunResult(
        id=info.id,
        folder=str(run),
        campaign=info.campaign,
        title=info.title,
        started=info.started,
        finished=info.finished,
        wall_s=info.wall_s,
        seed=info.seed,
        engine=info.engine,
        slowpath=info.slowpath,
        imported=info.imported,
        mpi=_first_there(mpis),
        mpis=mpis,
        machine=dict(info.machine),
        launches=LaunchCounts(planned=len(plan.launches), done=len(launches) - failed, failed=failed),
        rounds=plan.rounds,
        status=info.status,
        command=clean_words(info.command),
        environments=[
            EnvironmentResult(
                name=e.name,
                mpi=e.mpi,
                setting=e.setting,
                variables=e.variables,
                unset=e.unset,
                witness=e.witness,
                unavailable=e.unavailable,
                stated=e.stated or None,
            )
            for e in plan.environments
        ],
        placements=[_placement(p, launches, groups_of(info.machine)) for p in plan.placements],
        quantum_ns=max((q for launch in launches if (q := launch.quantum_ns) is not None), default=None),
    )


def _first_there(mpis: Sequence[MpiResult]) -> MpiResult:
    return next((mpi for mpi in mpis if not mpi.unavailable), mpis[0])


def launch_mpis(plan: Plan, launches: Sequence[LaunchRecord]) -> dict[int, str | None]:
    """Launch number -> the short name of its MPI; a follow-up has that of the launch which it continues."""
    names: dict[int, str | None] = {launch.launch: launch.mpi for launch in plan.launches}
    for launch in launches:
        if launch.info.launch not in names and launch.info.continues is not None:
            names[launch.info.launch] = names.get(launch.info.continues)
    return names


def _mpis(recorded: Recorded) -> list[MpiResult]:
    """Each MPI of the run: `mpi`, the short name that cells have, what run.json says, what the library says itself.

    One that is not there has nothing but its name and why.
    """
    plan, launches = recorded.plan, recorded.launches
    names = launch_mpis(plan, launches)
    planned: dict[str | None, str | None] = {mpi.name: mpi.unavailable for mpi in plan.mpis} or {None: None}
    found = []
    for name, unavailable in planned.items():
        begins = [launch.events.begin for launch in launches if names.get(launch.info.launch) == name]
        begin = next((begin for begin in begins if begin), None)
        mine = [launch for launch in launches if names.get(launch.info.launch) == name]
        known = recorded.mpis.get(name) if name else None
        facts = recorded.info.mpi if known is None and len(planned) == 1 else known or {}
        library = str(facts.get("name") or "unknown")
        reported = reported_by_library(mine, [environment.name for environment in plan.environments], library)
        known_facts = {key: value for key, value in facts.items() if value is not None and key in _FACTS}
        mpi = MpiResult(
            mpi=name,
            unavailable=unavailable,
            library=begin.mpi_library if begin else None,
            standard=begin.mpi_standard if begin else None,
            **reported._asdict(),
        )
        found.append(msgspec.structs.replace(mpi, **known_facts))
    return found


def _placement(placement: Placement, launches: Sequence[LaunchRecord], groups: Groups) -> PlacementResult:
    """A placement as asked for, what the ranks of its first launch observed, and where any launch's ranks differ."""
    here = [launch for launch in launches if launch.info.placement == placement.name and launch.ranks]
    ranks = here[0].ranks if here else ()
    differs = dict.fromkeys(text for launch in here for text in differences(placement, launch.ranks, groups))
    return PlacementResult(
        name=placement.name,
        bind=placement.bind,
        **placement.asked,
        ranks=placement.ranks,
        observed=[RankPlace(rank=r.rank, host=r.host, cpus_allowed=r.cpus_allowed, cpu=r.cpu) for r in ranks],
        differs=list(differs),
    )
