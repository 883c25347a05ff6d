# SPDX-License-Identifier: Apache-2.0
"""The command line of a launch, from the row of its launcher. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.errors import UsageError
from slowpath.mpi.batch_launchers import BATCH_LAUNCHERS
from slowpath.mpi.launcher import BINDINGS, Command, Launcher, RankPlacement
from slowpath.mpi.library_launchers import LIBRARY_LAUNCHERS, OTHER

__all__ = [
    "BATCH_NAMES",
    "BINDINGS",
    "LAUNCHERS",
    "RANK_VARIABLES",
    "Command",
    "Launcher",
    "RankPlacement",
    "binding_line",
    "command",
    "launcher_named",
    "unavailable_binding",
    "unavailable_place",
]

LAUNCHERS = (*LIBRARY_LAUNCHERS, *BATCH_LAUNCHERS, OTHER)
BATCH_NAMES = tuple(launcher.name for launcher in LAUNCHERS if launcher.batch)
RANK_VARIABLES = tuple(dict.fromkeys(name for launcher in LAUNCHERS for name in launcher.rank_variables))
ANYWHERE = RankPlacement()
# Libraries that come with another one's launcher, or with none but the batch system's.
_LAUNCHED_BY = {"mvapich": "hydra", "craympich": "srun"}


def launcher_named(name: str) -> Launcher:
    """The launcher of this name in LAUNCHERS. Raises UsageError for an unknown one."""
    for launcher in LAUNCHERS:
        if launcher.name == name:
            return launcher
    known = ", ".join(launcher.name for launcher in LAUNCHERS)
    raise UsageError(f"unknown launcher {name}; known are {known}")


def binding_line(library: str, bind: str) -> str | None:
    """How ranks are bound under this library, as a line for a shell; None: its launcher is not known."""
    name = _LAUNCHED_BY.get(library)
    launcher = next(
        (launcher for launcher in LAUNCHERS if (library and library == launcher.library) or name == launcher.name), None
    )
    if launcher is None or bind not in launcher.bind:
        return None
    if variables := launcher.bind_variables.get(bind):
        return "export " + " ".join(f"{name}={value}" for name, value in variables.items())
    return " ".join((launcher.name if launcher.batch else "mpiexec", *launcher.bind[bind]))


def unavailable_binding(launcher: Launcher, bind: str) -> str | None:
    """Why `launcher` can't be asked for this binding; None if it can."""
    if bind in launcher.bind:
        return None
    if not launcher.known:
        return f"this launcher is not known to Slowpath, so it can't be asked to bind ranks to a {bind}"
    return f"{launcher.name} can't be asked to bind ranks to a {bind}"


def unavailable_place(launcher: Launcher, place: RankPlacement) -> str | None:
    """Why `launcher` can't be asked to put ranks there; None if it can."""
    if place.spread and place.spread not in {**launcher.maps, **launcher.spread_variables}:
        return f"{launcher.name} can't be asked to put each next rank on another {place.spread.replace('_', ' ')}"
    if place.per_node and not (launcher.per_node or launcher.map_per_node):
        return f"{launcher.name} can't be asked for a number of ranks on each node"
    if place.hosts and not launcher.hosts:
        return f"{launcher.name} can't be asked to use certain nodes of the job"
    return None


def command(
    launcher: Launcher,
    executable: str,
    library: str,
    ranks: int,
    bind: str,
    variables: Mapping[str, str],
    program: Sequence[str],
    cores: int,
    environ: Mapping[str, str] | None = None,
    place: RankPlacement = ANYWHERE,
) -> Command:
    """The command line that starts `program` on `ranks` ranks.

    Args:    executable: path of the launcher.  library: its name, or unknown.
             bind: one of BINDINGS.  variables: on top of the environment.  cores: those this job may use.
             environ: the caller's environment, for the settings of a batch system that are already there.
    Raises:  UsageError: a binding or place that this launcher can't be asked for.
    """
    reason = unavailable_binding(launcher, bind) or unavailable_place(launcher, place)
    if reason:
        raise UsageError(reason)
    oversubscribed = ranks > cores
    tokens = [*launcher.leading, *(token.format(ranks=ranks) for token in launcher.ranks), *launcher.fixed]
    tokens += launcher.for_caller(library, environ or {})
    tokens += _nodes(launcher, place)
    tokens += _mapping(launcher, place, oversubscribed)
    tokens += launcher.oversubscribe if oversubscribed else ()
    tokens += launcher.oversubscribe_bind.get(bind, launcher.bind[bind]) if oversubscribed else launcher.bind[bind]
    every = {
        **launcher.bind_variables.get(bind, {}),
        **(launcher.placing if place.per_node or place.hosts else {}),
        **(launcher.spread_variables.get(place.spread, {}) if place.spread else {}),
        **variables,
    }
    for name, value in every.items():
        if not name.startswith(launcher.exported or ("\0",)):
            tokens += [token.format(name=name, value=value) for token in launcher.export]
    return Command(argv=(executable, *tokens, *program), variables=every)


def _nodes(launcher: Launcher, place: RankPlacement) -> list[str]:
    tokens: list[str] = []
    if place.per_node:
        tokens += [token.format(nodes=place.nodes, per_node=place.per_node) for token in launcher.per_node]
    if place.hosts:
        hosts = ",".join(launcher.host.format(host=host, per_node=place.per_node) for host in place.hosts)
        tokens += [token.format(hosts=hosts) for token in launcher.hosts]
    return tokens


def _mapping(launcher: Launcher, place: RankPlacement, oversubscribed: bool) -> list[str]:
    """One mapping for all that is asked: a second one would take the place of the first."""
    mapping = launcher.maps.get(place.spread, "") if place.spread else ""
    if place.per_node and launcher.map_per_node and not mapping:
        mapping = launcher.map_per_node.format(per_node=place.per_node)
    mapping += launcher.oversubscribe_map if oversubscribed else ""
    return launcher.mapped(mapping)
