# SPDX-License-Identifier: Apache-2.0
"""Library-neutral settings, tunings and protocol switches -> environment variables, per library and version, from
settings.toml; and whether the user's own variables force such a state. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from slowpath.core.errors import unknown
from slowpath.core.units import whole_number
from slowpath.mpi.libraries import AppliesTo, read_rows, words_of

Resolved = tuple[dict[str, str], str | None]


@dataclass(frozen=True)
class Setting:
    """One way to put a library into one state.

    run: whether it was run with this library.
    networked: the library refuses to start in this state where no network but the loopback is up.
    of_gpus: it is the same as any other state where there is no GPU's driver.
    """

    name: str
    applies: AppliesTo
    variables: Mapping[str, str]
    run: bool = True
    networked: bool = False
    of_gpus: bool = False


@dataclass(frozen=True)
class Refusal:
    """A state that a library can't be put into, and why."""

    name: str
    applies: AppliesTo
    reason: str


@dataclass(frozen=True)
class Tuning:
    """One library's way.

    name     for people, unique
    purpose  what it is for, as findings.remedies.variables knows it: the same for every library that has it
    source   where the library documents the variables
    only     parameter -> values of the cells that it is for; empty: any
    phrase   what stands after "Use"; None: the variables themselves
    """

    name: str
    purpose: str
    applies: AppliesTo
    variables: Mapping[str, str]
    source: str
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    phrase: str | None = None


@dataclass(frozen=True)
class SwitchVariable:
    """One variable. control_variable: what MPI_T calls it; None: as the variable.

    default_bytes: what holds where the library's own value can't be read; None: not fixed.  documented: the version of
    which it is the default, and who states it; other versions have others.
    multiple_bytes: other values than multiples of it make the library fail.
    """

    variable: str
    applies: AppliesTo
    does: str
    control_variable: str | None = None
    default_bytes: int | None = None
    documented: str = ""
    multiple_bytes: int = 1

    def value(self, environ: Mapping[str, str]) -> int | None:
        """Bytes that hold now: the user's own, else the default; None: not known."""
        given = environ.get(self.variable, "")
        return whole_number(given) if given else self.default_bytes


SETTINGS = read_rows("settings", "settings", Setting)
REFUSALS = read_rows("settings", "refusals", Refusal)
TUNINGS = read_rows("settings", "tunings", Tuning)
SWITCHES = read_rows("settings", "switches", SwitchVariable)
NAMES = tuple(dict.fromkeys(setting.name for setting in SETTINGS))


def resolve(
    name: str, library: str, version: str | None, transport: str | None = None, network: bool = True, gpus: bool = True
) -> Resolved:
    """Variables that put `library` into the state `name`, and None; or no variables and why there are none.

    network: whether a network other than the loopback is up (mpi.network).  gpus: whether a GPU's driver is there.
    """
    if name not in NAMES:
        return {}, str(unknown("setting", name, NAMES))
    for refusal in REFUSALS:
        if refusal.name == name and refusal.applies.fits(library, version, transport):
            return {}, refusal.reason
    rows = [row for row in SETTINGS if row.name == name and row.applies.is_for(library, transport)]
    for row in rows:
        if row.applies.holds(version):
            if (row.networked and not network) or (row.of_gpus and not gpus):
                return {}, f"{name} needs {'a GPU driver' if row.of_gpus else 'a network besides lo'} on this node"
            return dict(row.variables), None
    ranges = "; ".join(words_of(row.applies) for row in rows) or "no version of this library"
    return {}, f"no variables are known that give {library} {version or 'of unknown version'} {name}; known: {ranges}"


def resolver(
    library: str, version: str | None, transport: str | None = None, network: bool = True, gpus: bool = True
) -> Callable[[str], Resolved]:
    """`resolve` for one library, as the planner wants it."""
    return lambda name: resolve(name, library, version, transport, network, gpus)


def switches_of(library: str | None, version: str | None, transport: str | None = None) -> tuple[SwitchVariable, ...]:
    """Return the switches that this library has."""
    return tuple(switch for switch in SWITCHES if switch.applies.fits(library, version, transport))


def variable_named(control_variable: str, library: str) -> str:
    """The environment variable of an MPI_T control variable: MPICH's have one name, Open MPI's a prefix more."""
    return f"OMPI_MCA_{control_variable}" if library == "openmpi" else control_variable
