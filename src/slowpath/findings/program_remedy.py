# SPDX-License-Identifier: Apache-2.0
"""What a remedy for a program as it is consists of: `slowpath prove` tries it without compiling again. Pure.

A state of a library is named here; its variables stand in slowpath.mpi. What a `Remedy` does in the engine, a
`ProgramRemedy` does to a whole program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from slowpath.mpi.applies import AppliesTo

TUNABLES = "GLIBC_TUNABLES"  # values of several remedies are joined, and the user's own stand in front
PAD_LIBRARY = "libslowpath-pad.so"
COLL_LIBRARY = "libslowpath-coll.so"
COLLECTIVES = "collectives"  # key of the remedy whose tuning file is made for each watch
EAGER_BYTES = 65536
# What has to hold on the machine (diagnose.prove.machine looks).
Need = Literal["glibc 2.35", "huge pages by madvise", "reserved huge pages", "GPU"]
# What else than time shows that it was taken: MPI_T reads the value back; page faults become fewer; affinity of the
# ranks changes; the preloaded library reports what it padded, or which collectives it replaced.
Witness = Literal["control variable", "faults", "affinity", "pad report", "collectives report"]


@dataclass(frozen=True)
class Way:
    """How one library is asked."""

    applies: AppliesTo
    variables: Mapping[str, str]


@dataclass(frozen=True)
class ProgramRemedy:
    """One thing that may help a program.

    key      as after --remedy.  text: what it does, one sentence
    table    names of the remedies that it stands for
    ways     by library, the first that fits counts
    state    of a library, as mpi.settings names it: its rows there are the ways
    variables  of every library.  preload: library that is preloaded.  bind: of the launcher
    witness  what shows that it was taken
    source   where to read on
    screened whether --screen tries it: cheap, and nothing that may break the program
    when_crowded  whether it is for ranks that have to share processors: --screen tries it first there
    """

    key: str
    text: str
    witness: Witness
    source: str
    table: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    state: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    preload: str | None = None
    bind: str | None = None
    needs: tuple[Need, ...] = ()
    screened: bool = True
    when_crowded: bool = False
