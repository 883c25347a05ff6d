# SPDX-License-Identifier: Apache-2.0
"""The launchers that are known (launchers.toml), the command line of a launch, and whose a launcher and a wrapper are.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.core.errors import UsageError, unknown
from slowpath.mpi.libraries import read_rows

BINDINGS = ("core", "socket", "numa", "none")
INHERITED = "inherited"  # nothing is asked of the launcher, as by a user who asks for nothing
# What the next rank is moved on by: core, so that ranks are neighbours in one core group, or a whole group of cores.
SPREADS = ("core", "core_group", "numa", "socket")
NOT_RUN = "not run"


@dataclass(frozen=True)
class RankPlacement:
    """Where the ranks of a launch go, besides their binding; everything left out is the launcher's own choice.

    spread: one of SPREADS, ranks of one node.  per_node: ranks on each of `nodes`.  hosts: those nodes by name.
    processors: those of this node that ranks are bound to, one a core, where the caller may not use all of it.
    """

    spread: str | None = None
    nodes: int | None = None
    per_node: int | None = None
    hosts: tuple[str, ...] = ()
    processors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Launcher:
    """How one launcher spells things. Tokens may hold {ranks}, {nodes}, {per_node}, {hosts}, {map}, {name}, {value},
    {processors}.

    library         the MPI library that it comes with; "": it belongs to a batch system, or is not known
    version_line    pattern of how it names itself in `--version`; its group is the library's version
    batch           it is a batch system's: what it starts is the library of the compiler wrapper on the PATH
    rank_variables  in which each rank finds its number
    verified        with what these tokens were run, and how; NOT_RUN: taken from the documentation alone
    leading         tokens before all others, such as a subcommand
    bind            tokens for each of BINDINGS
    bind_variables  variables for each of BINDINGS, for launchers that bind by environment
    within, within_variables  tokens in place of `bind` for core, or variables on top of it, that keep ranks on
                    {processors}: for launchers that bind beyond the mask that they inherit
    per_node        tokens for ranks on each node
    hosts, host     tokens that choose the nodes, and how each is spelled in {hosts}
    placing         variables without which the two above are ignored
    map_by, maps    tokens that take a mapping, and the mapping for each of SPREADS
    spread_variables  variables for each of SPREADS, for launchers that map by environment
    map_per_node    the mapping that puts ranks on each node, where a mapping does it and not `per_node`
    oversubscribe       tokens added when there are more ranks than cores
    oversubscribe_map   suffix of the mapping then
    oversubscribe_bind  tokens for each binding then, where they differ from `bind`
    pmi             tokens by library, for what it must speak with each; pmi_chosen_by: the variable by which the user
                    has chosen already
    where_set       tokens that are needed where the caller's environment has a variable
    export          tokens that pass one variable to ranks on other nodes
    exported        prefixes of variables that the launcher passes on by itself
    """

    name: str
    ranks: tuple[str, ...]
    bind: Mapping[str, tuple[str, ...]]
    verified: str = NOT_RUN
    library: str = ""
    version_line: str = ""
    batch: bool = False
    rank_variables: tuple[str, ...] = ()
    bind_variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    within_variables: Mapping[str, str] = field(default_factory=dict)
    leading: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    per_node: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    host: str = "{host}"
    placing: Mapping[str, str] = field(default_factory=dict)
    map_by: tuple[str, ...] = ()
    maps: Mapping[str, str] = field(default_factory=dict)
    spread_variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    map_per_node: str = ""
    oversubscribe: tuple[str, ...] = ()
    oversubscribe_map: str = ""
    oversubscribe_bind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pmi: Mapping[str, str] = field(default_factory=dict)
    pmi_chosen_by: str = ""
    where_set: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    export: tuple[str, ...] = ()
    exported: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it is a launcher of a library or batch system that Slowpath knows."""
        return self.batch or bool(self.version_line)

    def mapped(self, mapping: str) -> list[str]:
        """Tokens for a mapping; none for an empty one."""
        return [token.format(map=mapping) for token in self.map_by] if mapping else []

    def for_caller(self, library: str, environ: Mapping[str, str]) -> list[str]:
        """Tokens that follow from the library and from where the launcher is called."""
        tokens = [self.pmi[library]] if library in self.pmi and self.pmi_chosen_by not in environ else []
        return tokens + [token for name, more in self.where_set.items() if name in environ for token in more]


@dataclass(frozen=True)
class Command:
    """What to start: argv, and the variables to set on top of the caller's environment."""

    argv: tuple[str, ...]
    variables: Mapping[str, str]


LAUNCHERS = read_rows("launchers", "launchers", Launcher)
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
    raise unknown("launcher", name, (launcher.name for launcher in LAUNCHERS))


def binding_line(library: str, bind: str) -> str | None:
    """Return how ranks are bound under this library, as a line for a shell; None: its launcher is not known."""
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
    if bind in (*launcher.bind, INHERITED):
        return None
    return _cannot(launcher, f"bind ranks to a {bind}")


def unavailable_place(launcher: Launcher, place: RankPlacement) -> str | None:
    """Why `launcher` can't be asked to put ranks there; None if it can."""
    if place.spread and place.spread not in {**launcher.maps, **launcher.spread_variables}:
        return _cannot(launcher, f"spread ranks by {place.spread.replace('_', ' ')}")
    if place.per_node and not (launcher.per_node or launcher.map_per_node):
        return _cannot(launcher, "place ranks by node")
    if place.hosts and not launcher.hosts:
        return _cannot(launcher, "use certain nodes")
    return None


def _cannot(launcher: Launcher, action: str) -> str:
    return f"no option of {launcher.name} is known to {action}"


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
             bind: one of BINDINGS or INHERITED.  variables: on top of the environment.  cores: those this job may use.
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
    tokens += _binding(launcher, bind, place, oversubscribed)
    every = {
        **launcher.bind_variables.get(bind, {}),
        **_within(launcher, bind, place),
        **(launcher.placing if place.per_node or place.hosts else {}),
        **(launcher.spread_variables.get(place.spread, {}) if place.spread else {}),
        **variables,
    }
    for name, value in every.items():
        if not name.startswith(launcher.exported or ("\0",)):
            tokens += [token.format(name=name, value=value) for token in launcher.export]
    return Command(argv=(executable, *tokens, *program), variables=every)


def _binding(launcher: Launcher, bind: str, place: RankPlacement, oversubscribed: bool) -> Sequence[str]:
    if bind == "core" and place.processors and launcher.within:
        return [token.format(processors=_listed(place)) for token in launcher.within]
    usual = launcher.bind.get(bind, ())
    return launcher.oversubscribe_bind.get(bind, usual) if oversubscribed else usual


def _within(launcher: Launcher, bind: str, place: RankPlacement) -> dict[str, str]:
    if bind != "core" or not place.processors:
        return {}
    return {name: value.format(processors=_listed(place)) for name, value in launcher.within_variables.items()}


def _listed(place: RankPlacement) -> str:
    return ",".join(map(str, place.processors))


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


@dataclass(frozen=True)
class MpiIdentity:
    """What `mpiexec --version` reports: library (its name in libraries, or unknown), its version, its launcher."""

    name: str
    version: str | None
    launcher: str
    line: str


def identify(version_text: str, called: str = "") -> MpiIdentity:
    """The library whose launcher printed `version_text`; `unknown` with launcher `mpiexec` if nothing matches.

    called: the launcher's file name, by which those of batch systems are known that print no version.
    """
    first = next((line.strip() for line in version_text.splitlines() if line.strip()), "")
    for launcher in LAUNCHERS:
        match = re.search(launcher.version_line, version_text) if launcher.version_line else None
        if match:
            version = match.group(1) if launcher.library else None
            return MpiIdentity(launcher.library or "unknown", version, launcher.name, first.rstrip(":"))
    return MpiIdentity("unknown", None, called if called in BATCH_NAMES else "mpiexec", first)


def include_folders(show_text: str) -> list[str]:
    """Folders of headers in what a wrapper prints of itself (-I and -isystem), in order, each once."""
    return _folders(r"(?:-I|-isystem)\s*\"?([^\s\",]+)", show_text)


def link_folders(show_text: str) -> list[str]:
    """Folders of libraries in what a wrapper prints of itself (-L and -rpath), in order, each once."""
    return _folders(r"(?:-L|-rpath[=,\s]\s*(?:-Wl,|-Xlinker\s+)?)\"?([^\s\",]+)", show_text)


def _folders(option: str, show_text: str) -> list[str]:
    folders = re.findall(option, show_text)
    return list(dict.fromkeys(folder for folder in folders if folder.startswith("/")))
