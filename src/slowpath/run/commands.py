# SPDX-License-Identifier: Apache-2.0
"""The exact command line and variables of one launch."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.guard import shell_assignments
from slowpath.core.plan import Launch, Placement, Plan
from slowpath.mpi.launchers import WIDENED, Command, Launcher, command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.own_settings import unset_in_ranks
from slowpath.mpi.tuning import FILE_VARIABLE, REPLACED_CALLS, REPORT_VARIABLE
from slowpath.record.folder import launch_folder
from slowpath.run.cores import (
    allocated_nodes,
    allowed_cores,
    cores_for,
    granted_processors,
    kept_within,
    place_of,
    widening,
)
from slowpath.run.libraries import Library
from slowpath.run.witness import witness_variables


@dataclass(frozen=True)
class MpiCommands:
    """The launch commands of one MPI: everything that stays the same during a run.

    environ: the user's own environment.  cores: those that the ranks may use, on all nodes together.
    within: processors, one a core, where they are fewer than a launcher binds to; as kept_within.
    """

    mpi: Mpi
    engine: Path
    environ: Mapping[str, str]
    cores: int
    within: tuple[int, ...] = ()
    launcher: Launcher = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "launcher", launcher_named(self.mpi.launcher))

    def command(self, plan: Plan, planned: Launch, out: Path) -> Command:
        """Command of one launch; `variables` are all that it sets on top of the user's environment."""
        environment = plan.environment(planned.environment, planned.mpi)
        placement = next(p for p in plan.placements if p.name == planned.placement)
        variables = environment.variables
        if environment.witness:
            variables = witness_variables(self.engine, out, variables, self.environ, self.mpi.name)
        if FILE_VARIABLE in variables:  # what libslowpath-coll.so replaced is reported launch by launch
            variables = {REPORT_VARIABLE: str(out / REPLACED_CALLS), **variables}
        # env(1) takes a variable out of what the launcher inherits, and so out of what it passes on to the ranks.
        inside = _env_without(unset_in_ranks(self.mpi.name, environment.unset, variables))
        before, cores = self._widened(placement)
        made = command(
            self.launcher,
            str(self.mpi.mpiexec),
            self.mpi.name,
            plan.ranks_of(planned.placement),
            placement.bind,
            variables,
            [*inside, str(self.engine), "--plan", str(out / "plan.txt"), "--out", str(out)],
            cores_for(placement, cores, allocated_nodes(self.environ)),
            self.environ,
            place_of(placement, plan.ranks_of(planned.placement), self.within),
        )
        return Command((*_env_without(environment.unset), *before, *made.argv), {**self.mpi.env, **made.variables})

    def _widened(self, placement: Placement) -> tuple[tuple[str, ...], int]:
        """Return the words before the launcher, and the cores that its ranks may use."""
        if placement.bind != WIDENED:
            return (), self.cores
        return widening(self.environ), allowed_cores(processors=granted_processors(self.environ))


def _env_without(names: Sequence[str]) -> tuple[str, ...]:
    """`env -u A -u B`; empty where there is nothing to take out."""
    return ("env", *(word for name in names for word in ("-u", name))) if names else ()


@dataclass(frozen=True)
class RunCommands:
    """Launch commands of each MPI of a run, by its short name; the only one also serves a plan that names no MPI."""

    by_mpi: Mapping[str, MpiCommands]

    def command(self, plan: Plan, planned: Launch, out: Path) -> Command:
        """Command of one launch, as its MPI has it."""
        return self.of(planned).command(plan, planned, out)

    def of(self, planned: Launch) -> MpiCommands:
        """Return the commands of this launch's MPI."""
        return self._first if planned.mpi is None else self.by_mpi[planned.mpi]

    @property
    def environ(self) -> Mapping[str, str]:
        """The user's own environment."""
        return self._first.environ

    @property
    def cores(self) -> int:
        """Cores that the ranks may use, on all nodes together."""
        return self._first.cores

    @property
    def _first(self) -> MpiCommands:
        return next(iter(self.by_mpi.values()))


Commands = MpiCommands | RunCommands


def commands_for(libraries: Sequence[Library], environ: Mapping[str, str]) -> RunCommands:
    """The launch commands of these MPIs on this machine or allocation."""
    cores, within = allowed_cores() * allocated_nodes(environ), kept_within(environ)
    return RunCommands(
        {
            library.name: MpiCommands(library.mpi, library.engine.program, dict(environ), cores, within)
            for library in libraries
        }
    )


def shell_line(made: Command) -> str:
    """The command as a line to paste into a shell."""
    variables = shell_assignments(dict(sorted(made.variables.items())))
    return " ".join([*variables, shlex.join(made.argv)])


def command_lines(commands: Commands, plan: Plan, run: Path) -> list[str]:
    """One shell line for each planned launch, in their order."""
    return [shell_line(commands.command(plan, launch, launch_folder(run, launch.launch))) for launch in plan.launches]
