# SPDX-License-Identifier: Apache-2.0
"""Settings that a library reads no variable for: misspelt, of another library, or read back as something else. Pure.

Claimed only where it is known: MPICH's MPI_T lists every control variable that it has, but for a few names; Open MPI's
every one of a component that it opened; and UCX warns of variables of its prefix that nothing in the process reads. All
else is "not known to be read".
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from slowpath.core.units import whole_number
from slowpath.mpi.libraries import MPI_LIBRARIES, TITLES, of_another
from slowpath.mpi.own_settings import OwnSetting

Value = bool | int | float | str | Sequence[int | float] | None

_SWITCHES = ({"0", "no", "false", "off", "n", "f"}, {"1", "yes", "true", "on", "y", "t"})
_MPICH = ("MPIR_CVAR_", "MPIR_PARAM_")  # MPICH's maint/extractcvars.in
# MPICH's other names of variables that MPI_T lists by one; None: read by themselves, and never listed.
# Source: names in libmpi.so.12 of MPICH 5.0.2 less those of its MPI_T.
_MPICH_UNLISTED: Mapping[str, str | None] = {
    "NO_LOCAL": "NOLOCAL",
    **dict.fromkeys(("EVEN_ODD_CLIQUES", "INTERFACE_HOSTNAME", "NETWORK_IFACE", "PORTRANGE", "PORT_RANGE")),
    **dict.fromkeys(("CH4_UCC_ENABLE", "CH4_UCC_ENABLE_DEBUG", "CH4_UCC_VERBOSITY_LEVEL", "NAMEPUB_DIR")),
    **dict.fromkeys(("DEBUG_PROGRESS_TIMEOUT", "ALLTOALL_PAIRWISE_NEW", "ALLTOALLW_PAIRWISE_NEW")),
}
_MPI_T_PREFIX = {"mpich": "MPIR_CVAR_", "openmpi": "OMPI_MCA_"}
# "unused environment variable: UCX_TLZ (maybe: UCX_TLS?)", "unused environment variables: UCX_A; UCX_B" of UCX 1.20.
_UNUSED = re.compile(r"unused environment variables?: (.+)")
_ONE_UNUSED = re.compile(r"(UCX_\w+)(?: \(maybe: ([^)]*)\))?")


def unused_by_ucx(output: str) -> dict[str, str]:
    """Return what UCX says that nothing reads, and what it takes each for; "": it has no guess."""
    found: dict[str, str] = {}
    for line in _UNUSED.findall(output):
        found |= {name: (guess or "").rstrip("?") for name, guess in _ONE_UNUSED.findall(line)}
    return found


def why_ignored(
    setting: OwnSetting, library: str, control_variables: Mapping[str, Value], unused: Mapping[str, str]
) -> str | None:
    """Why the library does not do what the setting says; None: that is not known, or it does.

    Args: library: name of the MPI.  control_variables: MPI_T's names and values under the user's environment; empty:
          not read.  unused: as `unused_by_ucx`.
    """
    why = why_unread(setting.name, library, control_variables, unused)
    if why is not None:
        return f"ignored: {why}"
    known, name = _names(library, control_variables), _in_mpi_t(setting.name, library)
    return _read_as(setting.value, known[name]) if name in known else None


def why_unread(name: str, library: str, control_variables: Iterable[str], unused: Mapping[str, str]) -> str | None:
    """Why a variable can change nothing: nobody reads it.  None: that is not known, or somebody does.

    Args: as of `why_ignored`; of control_variables the names.
    """
    if name in unused:
        return f"nothing in UCX reads it here{_nearest_words([unused[name]] if unused[name] else [])}"
    other = of_another(name, library)
    if other is not None:
        return other
    known, asked = _names(library, dict.fromkeys(control_variables)), _in_mpi_t(name, library)
    if not known or asked is None or asked in known or not _is_complete(asked, library, known):
        return None
    near = difflib.get_close_matches(asked, known, n=1, cutoff=0.75)
    return f"{TITLES[library]} has no such variable{_nearest_words(near)}"


def is_unknown(setting: OwnSetting, library: str) -> bool:
    """Whether nobody states that this library, or what lies below it, reads a variable of this prefix."""
    own = next((lib.prefixes for lib in MPI_LIBRARIES if lib.name == library), ())
    of_libraries = {prefix for lib in MPI_LIBRARIES for prefix in lib.prefixes}
    return setting.name.startswith(tuple(of_libraries)) and not setting.name.startswith(own)


def _in_mpi_t(name: str, library: str) -> str | None:
    """The setting's name as MPI_T's variables would be set by; None: its prefix has others as well."""
    prefix = _MPI_T_PREFIX.get(library)
    if prefix is None:
        return None
    if library == "mpich":
        bare = next((name.removeprefix(prefix) for prefix in _MPICH if name.startswith(prefix)), None)
        known = None if bare is None else _MPICH_UNLISTED.get(bare, bare)
        return None if known is None else f"{prefix}{known}"
    return name if name.startswith(prefix) else None


def _names(library: str, control_variables: Mapping[str, Value]) -> dict[str, Value]:
    """MPI_T's variables by the name of the environment variable."""
    more = _MPI_T_PREFIX["openmpi"] if library == "openmpi" else ""
    return {f"{more}{name}": value for name, value in control_variables.items()}


def _is_complete(name: str, library: str, known: Iterable[str]) -> bool:
    """Whether all variables next to this one are listed: MPICH's are; Open MPI's are those of opened components."""
    if library == "mpich":
        return True
    component = "_".join(name.split("_")[:4]) + "_"  # OMPI_MCA_btl_sm_
    return name.count("_") > 3 and any(variable.startswith(component) for variable in known)


def _read_as(given: str | None, value: Value) -> str | None:
    """Return where what MPI_T reads back is a number or a switch and another one than was set."""
    if given is None or isinstance(value, (str, type(None), Sequence)):
        return None
    word = given.strip().lower()
    if isinstance(value, bool) or value in (0, 1):
        known = next((index for index, words in enumerate(_SWITCHES) if word in words), None)
        if known is not None:
            return None if known == int(value) else f"not taken: the library reads it as {value}"
    number = whole_number(given)
    return None if number is None or number == value else f"not taken: the library reads it as {value}"


def _nearest_words(near: Sequence[str]) -> str:
    return f"; nearest: {near[0]}" if near else ""
