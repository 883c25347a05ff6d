# SPDX-License-Identifier: Apache-2.0
"""What one launcher's row in the tables holds, and where ranks are asked to go. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

BINDINGS = ("core", "socket", "numa", "none")
# Nothing is asked of the launcher, as by a user who asks for nothing. WIDENED: and it may use all processors that the
# kernel grants, whatever mask it would inherit.
INHERITED, WIDENED = "inherited", "widened"
UNASKED = (INHERITED, WIDENED)
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
    version_line    how it names itself in `--version`; its group is the library's version
    batch           it is a batch system's: what it starts is the library of the compiler wrapper on the PATH
    rank_variables  in which each rank finds its number
    traps           what users fall into with this launcher, and what the row does about it
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
    traps: tuple[str, ...]
    verified: str = NOT_RUN
    library: str = ""
    version_line: re.Pattern[str] | None = None
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
        return self.batch or self.version_line is not None

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
