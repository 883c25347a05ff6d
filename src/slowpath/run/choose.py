# SPDX-License-Identifier: Apache-2.0
"""Which MPIs a run uses: those of --mpi, else that of SLOWPATH_MPI, else the campaign's, else the first found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError
from slowpath.core.plan import ALL
from slowpath.mpi.find import LAUNCHER_NAMES, VARIABLE, find_all, find_mpi, is_embedded
from slowpath.mpi.loaded import Ask
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.probe import output_of


@dataclass(frozen=True)
class ChosenMpis:
    """The MPIs of a run.

    found    at least one, in the order in which they were named
    missing  names of the campaign that stand for no MPI of this machine, and why not
    unbuilt  what becomes of one for which no engine can be built: the run fails (it was asked for), its cells are
             skipped (the campaign names it), or it is left out (it only happens to be here)
    """

    found: tuple[Mpi, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    unbuilt: Literal["fail", "skip", "leave out"] = "fail"


def choose_mpis(
    option: str | None,
    campaign: Sequence[str] | None,
    environ: Mapping[str, str] | None = None,
    ask: Ask = output_of,
) -> ChosenMpis:
    """The MPIs to use.

    option: one or several as `find_mpi` takes them, separated by commas, or "all": every MPI that is found.
    campaign: the campaign's own list, where there is no option and no SLOWPATH_MPI.
    Raises: UsageError: the option names one that is not there.  EnvironmentFailure: there is no MPI.
    """
    environ = os.environ if environ is None else environ
    if option:
        names = [option] if Path(option).exists() else [name.strip() for name in option.split(",")]
        return _every(environ, ask) if names == [ALL] else _asked_for(names, environ, ask)
    if environ.get(VARIABLE) or campaign is None:
        return ChosenMpis((find_mpi(None, environ, ask),))
    return _every(environ, ask) if list(campaign) == [ALL] else _of_campaign(campaign, environ, ask)


def _every(environ: Mapping[str, str], ask: Ask) -> ChosenMpis:
    """Every MPI in sight, each installation once, whatever its launcher is called."""
    found: dict[tuple[str, Path], Mpi] = {}
    for mpi in find_all(environ, ask):
        found.setdefault((mpi.identity, mpi.prefix.resolve()), mpi)
    if not found:
        find_mpi(None, environ, ask)  # raises, with what to do
    return ChosenMpis(tuple(found.values()), unbuilt="leave out")


def _asked_for(names: Sequence[str], environ: Mapping[str, str], ask: Ask) -> ChosenMpis:
    given = f"--mpi {','.join(names)}"
    found: dict[Path, tuple[str, Mpi]] = {}
    for name in names:
        if name == ALL:
            raise UsageError(f"{given}: '{ALL}' already means every MPI that is found; write it alone")
        if not name:
            raise UsageError(f"{given}: a name is empty; write for example --mpi mpich,openmpi")
        try:
            mpi = find_mpi(name, environ, ask)
        except EnvironmentFailure as error:
            raise UsageError(str(error)) from error
        place = mpi.mpiexec.resolve()
        if place in found:
            raise UsageError(f"{given}: {found[place][0]} and {name} are the same MPI; name it once")
        found[place] = (name, mpi)
    return ChosenMpis(tuple(mpi for _, mpi in found.values()))


def _of_campaign(names: Sequence[str], environ: Mapping[str, str], ask: Ask) -> ChosenMpis:
    found: dict[Path, Mpi] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            mpi = find_mpi(name, environ, ask)
        except SlowpathError as error:
            missing[name] = str(error).removeprefix(f"--mpi {name}: ")
        else:
            named = replace(mpi, source="campaign") if mpi.source == "option" else mpi
            found.setdefault(mpi.mpiexec.resolve(), named)
    if found or len(names) > 1:
        found, more = _with_the_loaded_one(found, environ, ask)
        missing |= more
    if not found:
        raise EnvironmentFailure(
            f"none of the campaign's MPIs was found ({', '.join(names)}); name one with --mpi, or load its module"
        )
    return ChosenMpis(tuple(found.values()), missing, "skip")


def _with_the_loaded_one(
    found: dict[Path, Mpi], environ: Mapping[str, str], ask: Ask
) -> tuple[dict[Path, Mpi], dict[str, str]]:
    """The loaded MPI first, where the campaign does not name its library and the embedded one would stand in for it.

    The second value says under the embedded one's name why that stands back.
    """
    back = {path: mpi for path, mpi in found.items() if mpi.source == "campaign" and is_embedded(mpi.mpiexec)}
    if found and not back:
        return found, {}
    try:
        loaded = find_mpi(None, environ, ask)
    except SlowpathError:
        return found, {}
    if loaded.source != "PATH" or loaded.name in ("unknown", *(mpi.name for mpi in found.values())):
        return found, {}
    reason = f"{loaded.identity} is loaded; the embedded one is measured, too, with --mpi {loaded.name},embedded"
    others = {path: mpi for path, mpi in found.items() if path not in back}
    return {loaded.mpiexec.resolve(): loaded, **others}, {mpi.name: reason for mpi in back.values()}


def launcher_in(command: Sequence[str]) -> str | None:
    """The path of the launcher with which a command begins; None where it is no launcher, or just a name."""
    name = Path(command[0]).name.split(".")[0]
    return command[0] if name in LAUNCHER_NAMES and "/" in command[0] else None
