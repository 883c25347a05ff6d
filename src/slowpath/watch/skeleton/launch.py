# SPDX-License-Identifier: Apache-2.0
"""How a skeleton is started: as its program was, with the player in the program's place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.find import find_mpi
from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.run.cores import allowed_cores
from slowpath.run.engine.build import engine_for
from slowpath.run.engine.meter import Tell
from slowpath.watch.folder import WatchInfo
from slowpath.watch.prove.session import base_environment
from slowpath.watch.prove.witness import program_at
from slowpath.watch.replay.library import launcher_of
from slowpath.watch.results import WatchedProgram
from slowpath.watch.sources import settings_of
from slowpath.watch.start.command import is_known
from slowpath.watch.start.environment import is_launcher

PLAYER: Final = "slowpath-skeleton"
NEXT_PROGRAM: Final = ":"  # of one job of several programs (MPI-4.1 section 11.5)


@dataclass(frozen=True)
class PlayerStart:
    """words: what stands before the player's own arguments.  folder: to start in.  note: what is not as it was."""

    words: tuple[str, ...]
    environ: Mapping[str, str]
    folder: Path | None
    note: str | None

    def argv(self, scripts: Path, out: Path) -> tuple[str, ...]:
        """Play the scripts of a folder."""
        return *self.words, str(scripts.resolve()), str(out.resolve())


def player_start(
    info: WatchInfo, program: WatchedProgram, environ: Mapping[str, str], option: str | None, tell: Tell
) -> PlayerStart:
    """Args: option: as --mpi takes it; None: the program's own MPI is searched.

    Raises: UsageError: it is another MPI.  EnvironmentFailure: the MPI or the player is not here.
    """
    mpi = find_mpi(launcher_of(program, option, environ), environ)
    player = engine_for(mpi, environ, tell).program.with_name(PLAYER)
    if not os.access(player, os.X_OK):
        raise EnvironmentFailure(f"{player}: is missing; this engine is older than skeletons: slowpath engine build")
    then, now = settings_of(info.variables), settings_of(environ)
    given = {name: value for name, value in then.items() if value is not None}
    kept = {name: value for name, value in base_environment().items() if name not in now or name in then}
    variables = mpi.environ({**kept, **given})
    folder = Path(info.working_folder)
    words = _own_words(info, mpi, environ) if option is None else None
    if words is not None:
        return PlayerStart((*words, str(player)), variables, folder if folder.is_dir() else None, None)
    cores = allowed_cores()
    made = command(
        launcher_named(mpi.launcher), str(mpi.mpiexec), mpi.name, program.ranks, "none", {}, [str(player)], cores,
        environ,
    )  # fmt: skip
    note = "the program's own command line does not start the skeleton, so its ranks may use other cores"
    return PlayerStart(tuple(made.argv), {**variables, **made.variables}, None, note)


def _own_words(info: WatchInfo, mpi: Mpi, environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """The launcher and its options as the user gave them; None: not seen, or not to be trusted.

    A folder does not decide what is run: only a command that this user watched here is.
    """
    words = info.command
    if not words or NEXT_PROGRAM in words or not is_launcher(words[0]) or not is_known(info, environ):
        return None
    found = shutil.which(words[0], path=environ.get("PATH"))
    if found is None or Path(found).resolve() != Path(mpi.mpiexec).resolve():
        return None
    at = program_at(words, environ)
    return None if at is None else tuple(words[:at])
