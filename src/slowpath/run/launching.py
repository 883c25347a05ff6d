# SPDX-License-Identifier: Apache-2.0
"""The exact command line and variables of one launch."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.launch.cores import allocated_nodes, allowed_cores
from slowpath.launch.launchers import Command, Launcher, command, launcher_named
from slowpath.launch.mpi import Mpi
from slowpath.plan.model import Launch, Plan
from slowpath.record.folder import launch_folder


@dataclass(frozen=True)
class Starter:
    """Everything that a launch needs and that stays the same during a run.

    environ: the user's own environment.  cores: those that the ranks may use, on all nodes together.
    """

    mpi: Mpi
    engine: Path
    environ: Mapping[str, str]
    cores: int
    launcher: Launcher = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "launcher", launcher_named(self.mpi.launcher))

    def command(self, plan: Plan, planned: Launch, out: Path) -> Command:
        """Command of one launch; `variables` are all that it sets on top of the user's environment."""
        environment = next(e for e in plan.environments if e.name == planned.environment)
        placement = next(p for p in plan.placements if p.name == planned.placement)
        made = command(
            self.launcher,
            str(self.mpi.mpiexec),
            self.mpi.name,
            plan.ranks,
            placement.bind,
            environment.variables,
            [str(self.engine), "--plan", str(out / "plan.txt"), "--out", str(out)],
            self.cores,
            self.environ,
        )
        return Command(made.argv, {**self.mpi.env, **made.variables})


def starter(mpi: Mpi, engine: Path, environ: Mapping[str, str]) -> Starter:
    """Starter for this machine or allocation."""
    return Starter(mpi, engine, dict(environ), allowed_cores() * allocated_nodes(environ))


def shell_line(made: Command) -> str:
    """The command as a line to paste into a shell."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(made.variables.items())]
    return " ".join([*variables, shlex.join(made.argv)])


def command_lines(starter: Starter, plan: Plan, run: Path) -> list[str]:
    """One shell line for each planned launch, in their order."""
    return [shell_line(starter.command(plan, launch, launch_folder(run, launch.launch))) for launch in plan.launches]
