# SPDX-License-Identifier: Apache-2.0
"""Whether the user's own variables put the library into a state that `mpi.settings` knows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.mpi.settings import SETTINGS

_SHARED = frozenset({"posix", "sysv"})
_ALL = _SHARED | {"cma"}
_COMPONENTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("all", "sm", "shm", "vader"), _ALL),
    "mm": _SHARED,
    **{name: frozenset({name}) for name in _ALL},
}
# MPICH and Cray MPICH take the same variable under several names: MPIR_CVAR_X, MPIR_PARAM_X and MPICH_X of each control
# variable (MPICH's maint/extractcvars.in), and this one's alternate name.
_PREFIXES = ("MPIR_CVAR_", "MPIR_PARAM_", "MPICH_")
_ALSO_CALLED = {"NO_LOCAL": ("NO_LOCAL", "NOLOCAL")}
_LISTS = ("UCX_TLS", "OMPI_MCA_btl", "OMPI_MCA_smsc")


@dataclass(frozen=True)
class Forced:
    """A variable in the user's environment that puts the library into a slow state."""

    state: str
    name: str
    value: str


def forced_states(environ: Mapping[str, str], library: str, version: str | None, transport: str | None) -> list[Forced]:
    """The user's own variables that the table knows to force a slow state of this library, in the table's order."""
    found: dict[str, Forced] = {}
    for row in SETTINGS:
        if not row.slow or not row.applies.fits(library, version, transport):
            continue
        for name, value in row.variables.items():
            for given in _names_of(name):
                if given in environ and forces(name, environ[given], value):
                    found.setdefault(given, Forced(row.name, given, environ[given]))
    return list(found.values())


def _names_of(name: str) -> tuple[str, ...]:
    """The names by which the library takes this variable, its own first."""
    bare = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), None)
    if bare is None:
        return (name,)
    others = (prefix + called for called in _ALSO_CALLED.get(bare, (bare,)) for prefix in _PREFIXES)
    return tuple(dict.fromkeys((name, *others)))


def forces(name: str, given: str, slow: str) -> bool:
    """Whether a value does what the table's slow value does: equal as a word, a switch or a list of components."""
    off, on = {"0", "no", "false", "off", "n", "f", "none"}, {"1", "yes", "true", "on", "y", "t"}
    one, other = given.strip().lower(), slow.strip().lower()
    if one == other or any(one in words and other in words for words in (off, on)):
        return True
    return name in _LISTS and _copies(name, one) == _copies(name, other)


def _copies(name: str, components: str) -> int:
    """Return how often a list of components has a message copied inside a node: once (CMA), twice, or 0: not by shared
    memory.

    "^" leaves out what follows (Open MPI and UCX alike). CMA alone carries no short messages.
    """
    named = frozenset().union(
        *(_COMPONENTS.get(component, frozenset()) for component in components.removeprefix("^").split(","))
    )
    left = _ALL - named if components.startswith("^") else named
    if name != "OMPI_MCA_smsc" and not left & _SHARED:
        return 0
    return 1 if "cma" in left else 2
