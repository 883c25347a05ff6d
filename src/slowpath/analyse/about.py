# SPDX-License-Identifier: Apache-2.0
"""The section `run` of results.json: who, when, where, with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowpath.analyse.placed import Groups, differences, groups_of
from slowpath.analyse.source import Recorded
from slowpath.analyse.variables import reported_by_library
from slowpath.core.plan import Placement, Plan
from slowpath.core.results import (
    EnvironmentResult,
    LaunchCounts,
    MpiResult,
    PlacementResult,
    RankPlace,
    RunResult,
)
from slowpath.core.secrets import clean_words
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.mpi.recorded_variables import clean_machine

_FACTS = frozenset(field.name for field in msgspec.structs.fields(MpiResult))  # of run.json that are carried over


def without_secrets(machine: Mapping[str, Any]) -> dict[str, Any]:
    """What a record states of its machine, without values of variables that would not be recorded now."""
    return clean_machine(machine)


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
        machine=without_secrets(info.machine),
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
        reported = reported_by_library(mine, [environment.name for environment in plan.environments])
        known = recorded.mpis.get(name) if name else None
        facts = recorded.info.mpi if known is None and len(planned) == 1 else known or {}
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
