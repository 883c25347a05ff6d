# SPDX-License-Identifier: Apache-2.0
"""Which MPI library, which versions of it and which transport a row of a table is for: the one way to say so. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

Version = tuple[int, ...]

_VERSIONS = re.compile(r"(?:>=(?P<first>\d+(?:\.\d+)*))?,?(?:<(?P<below>\d+(?:\.\d+)*))?")


@dataclass(frozen=True)
class AppliesTo:
    """A library, versions of it, and what all its messages go through.

    library    mpich, openmpi or intelmpi; None: every library, of whatever version
    versions   ">=4.2", ">=2,<5", "<5"; "": every version that is known
    transport  as mpi.Mpi.transport: "ucx" where all messages go through UCX; None: where the library goes its own way,
               or wherever messages go in a row for every library
    """

    library: str | None = None
    versions: str = ""
    transport: str | None = None

    def __post_init__(self) -> None:
        if not _VERSIONS.fullmatch(self.versions):
            raise ValueError(f"'{self.versions}' is no range of versions; write >=4.2 or >=2,<5")

    @cached_property
    def first(self) -> Version:
        """The first version; (0,): from the beginning."""
        return self._bound("first") or (0,)

    @cached_property
    def below(self) -> Version | None:
        """The first version for which it holds no longer; None: it holds to this day."""
        return self._bound("below")

    def fits(self, library: str | None, version: str | None, transport: str | None = None) -> bool:
        """Whether a row is for this library; of an unknown version none is that is for one library alone."""
        return self.is_for(library, transport) and (self.library is None or self.holds(version))

    def is_for(self, library: str | None, transport: str | None = None) -> bool:
        """Whether it is this library by this transport, whatever its version."""
        if self.library is None:
            return self.transport in (None, transport)
        return self.library == library and (self.transport or None) == (transport or None)

    def holds(self, version: str | None) -> bool:
        """Whether this version of the library is among them."""
        number = version_tuple(version)
        return number is not None and number >= self.first and (self.below is None or number < self.below)

    @property
    def range_text(self) -> str:
        """`openmpi from 2 below 5`."""
        return f"{self.library} from {version_text(self.first)}" + (
            f" below {version_text(self.below)}" if self.below else ""
        )

    def _bound(self, name: str) -> Version | None:
        found = _VERSIONS.fullmatch(self.versions)
        return version_tuple(found[name]) if found else None


EVERYWHERE = AppliesTo()


def version_tuple(version: str | None) -> Version | None:
    """ "5.0.2rc1" -> (5, 0, 2); None if it does not begin with a number."""
    found = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in found.group().split(".")) if found else None


def version_text(number: Version) -> str:
    """`5.0.2` of (5, 0, 2)."""
    return ".".join(map(str, number))
