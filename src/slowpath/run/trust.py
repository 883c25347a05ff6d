# SPDX-License-Identifier: Apache-2.0
"""What a plan from a folder may decide: what was measured, never what is run.

A run folder may come from anybody. Its plan is carried out with launchers and engines of this machine
(slowpath.run.find_again), and before that it is looked through here: for names that a launcher would take for options,
for nodes that are not this job's, and for variables that choose what is loaded or started.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.plan import Environment, Plan
from slowpath.mpi.batch_systems import find_allocation
from slowpath.mpi.own_settings import why_code
from slowpath.mpi.settings import Resolved
from slowpath.record.plan_files import engine_cells_text

Resolve = Callable[[str], Resolved]  # a setting -> its variables under one MPI of this machine
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# No leading dash: ssh(1) takes a host that begins with one for an option, and options can name a command.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_SHOWN = 100


@dataclass(frozen=True)
class ChoosingVariable:
    """A variable of a plan that may choose what is run, and why."""

    name: str
    value: str
    environment: str
    why: str

    @property
    def words(self) -> str:
        """`LD_PRELOAD=/tmp/x.so (environment 'default'): the dynamic linker loads libraries ...`."""
        value = self.value if len(self.value) <= _SHOWN else f"{self.value[:_SHOWN]}..."
        return f"{self.name}={value} (environment '{self.environment}'): {self.why}"


def require_names(plan: Plan, where: str) -> None:
    """Check names from a folder.

    Raises: RecordError: names of nodes or variables, or parameters of cells, that no campaign makes.
    """
    problem = next(_problems(plan), None)
    if problem is not None:
        raise RecordError(f"{where}: {problem}; the plan is damaged: restore a copy, or start a new run")


def require_hosts(plan: Plan, environ: Mapping[str, str], where: str) -> None:
    """Check the nodes of the placements.

    Raises: EnvironmentFailure: a placement is about a node that is not this job's.
    """
    allocation = find_allocation(environ)
    names = allocation.names if allocation else ()
    for placement in plan.placements:
        for host in placement.hosts:
            if host not in names:
                raise EnvironmentFailure(
                    f"{where}: placement '{placement.name}' puts ranks on {host}, which is not a node of this job; "
                    "resume in a job with the same nodes, or start a new run"
                )


def choosing_code(environments: Sequence[Environment], resolve: Mapping[str | None, Resolve]) -> list[ChoosingVariable]:
    """Variables that may choose what is run and that this machine's own tables don't give.

    Args: resolve: by the short name of the MPI; None: that of environments for every MPI.
    """
    found = []
    for environment in environments:
        known = environment.setting is not None and environment.mpi in resolve
        own = resolve[environment.mpi](environment.setting)[0] if known and environment.setting else {}
        for name, value in environment.variables.items():
            if own.get(name) != value and (why := why_code(name, value)) is not None:
                found.append(ChoosingVariable(name, value, environment.name, why))
    return found


def _problems(plan: Plan) -> Iterator[str]:
    """Yield the problems in the order in which they are checked."""
    for environment in plan.environments:
        of = f"environment '{environment.name}'"
        for name in (*environment.variables, *environment.unset):
            if not _VARIABLE.fullmatch(name):
                yield f"{of}: {name!r} is no name of a variable"
        for name, value in environment.variables.items():
            if "\0" in value or "\n" in value:
                yield f"{of}: {name} holds a line break or a zero byte"
    for placement in plan.placements:
        for host in placement.hosts:
            if not _HOST.fullmatch(host):
                yield f"placement '{placement.name}': {host!r} is no name of a node"
    try:
        engine_cells_text(plan.cells)
    except ValueError as error:
        yield str(error)
