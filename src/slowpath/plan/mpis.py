# SPDX-License-Identifier: Apache-2.0
"""The MPIs of a run as the planner knows them, and the environments of a campaign resolved for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowpath.core.campaign import EnvironmentTable
from slowpath.core.plan import Environment, PlannedMpi

ResolveSetting = Callable[[str], tuple[dict[str, str], str | None]]


@dataclass(frozen=True)
class MpiInUse:
    """One MPI to plan for.

    name, identity  as in PlannedMpi
    resolve         library-neutral setting -> variables, or the reason why there are none; unused where unavailable
    unavailable     why it is not there
    """

    name: str
    identity: str
    resolve: ResolveSetting
    unavailable: str | None = None

    @property
    def planned(self) -> PlannedMpi:
        """What plan.json says of it."""
        return PlannedMpi(self.name, self.identity, self.unavailable)


def absent(name: str, reason: str) -> MpiInUse:
    """An MPI that a campaign names and that is not there."""
    return MpiInUse(name, name, lambda setting: ({}, reason), reason)


def short_names(libraries: Sequence[str], identities: Sequence[str]) -> list[str]:
    """A short name for each MPI: the library's where it is the only one, else with its version, else numbered."""
    shared = Counter(libraries)
    names = [
        library if shared[library] == 1 else identity for library, identity in zip(libraries, identities, strict=True)
    ]
    return numbered(names)


def numbered(names: Sequence[str]) -> list[str]:
    """`names`, from the second of equal ones on with a number: "mpich 5.0.2", "mpich 5.0.2 (2)"."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def resolve_environments(tables: Sequence[EnvironmentTable], mpis: Sequence[MpiInUse]) -> list[Environment]:
    """Environments in the campaign's order: one for all MPIs, or one for each where a setting differs by library."""
    return [environment for table in tables for environment in _resolve(table, mpis)]


def _resolve(table: EnvironmentTable, mpis: Sequence[MpiInUse]) -> list[Environment]:
    if table.setting is None:
        return [
            Environment(table.name, dict(table.variables), unset=list(table.unset), witness=table.witness),
        ]
    result = []
    for mpi in mpis:
        variables, reason = mpi.resolve(table.setting)
        name = mpi.name if len(mpis) > 1 else None
        unset = list(table.unset)
        result.append(Environment(table.name, dict(variables), table.setting, reason, name, unset, table.witness))
    return result
