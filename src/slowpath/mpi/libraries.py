# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries that Slowpath knows by name. Pure.

What else is known of a library is in the other tables of this part, each row for the library, versions and transport
that it states: settings, tunings, switches and launchers, as TOML.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

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

    def _bound(self, name: str) -> Version | None:
        match = _VERSIONS.fullmatch(self.versions)
        return version_tuple(match[name]) if match else None


EVERYWHERE = AppliesTo()


def version_tuple(version: str | None) -> Version | None:
    """ "5.0.2rc1" -> (5, 0, 2); None if it does not begin with a number."""
    match = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in match.group().split(".")) if match else None


def version_text(number: Version) -> str:
    """`5.0.2` of (5, 0, 2)."""
    return ".".join(map(str, number))


Row = TypeVar("Row")


def read_rows(file: str, table: str, kind: type[Row], part: str = "mpi") -> tuple[Row, ...]:
    """Return the rows of a table of PART/FILE.toml, which may be headed by their first field, each or several."""
    given, first = content(file, part)[table], next(iter(kind.__annotations__))
    if isinstance(given, dict):
        of_key = [(key, each if isinstance(each, list) else [each]) for key, each in given.items()]
        given = [{first: key, **row} for key, every in of_key for row in every]
    return tuple(msgspec.convert(row, kind) for row in given)


@cache
def content(file: str, part: str = "mpi") -> dict[str, Any]:
    """Tables of PART/FILE.toml."""
    return tomllib.loads(files(f"slowpath.{part}").joinpath(f"{file}.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class MpiLibrary:
    """One MPI library.

    name           as everywhere in Slowpath, and in campaigns (core.plan.LIBRARIES)
    title          as it calls itself
    abi            binary interface of the library that programs link, where no file name shows it
    prefixes       of environment variables that steer it
    text           pattern of what MPI_Get_library_version returns; its group is the version, where the text has one
    run            versions that it was run with; "": none
    base           name of the library that it was made from; "": it is one of its own. Rows for that one do not hold
                   for this one: each library has rows of its own
    version_variable, prefix_variables  variables of its environment module: the version, the folder that holds lib
    """

    name: str
    title: str
    abi: str
    prefixes: tuple[str, ...]
    text: str
    run: str = ""
    base: str = ""
    version_variable: str = ""
    prefix_variables: tuple[str, ...] = ()

    def is_loaded(self, environ: Mapping[str, str]) -> bool:
        """Whether its environment module is loaded."""
        return bool(self.version_variable and environ.get(self.version_variable))


MPI_LIBRARIES = read_rows("libraries", "libraries", MpiLibrary)
# Variables of what lies below the libraries: UCX, libfabric and its providers.
TRANSPORT_PREFIXES = ("UCX_", "FI_")
# Of what else lies on a message's way: the provider's and the card's libraries, the GPU's runtime, the C library.
BELOW_PREFIXES = (
    *("UCC_", "HCOLL_", "SHARP_", "PSM2_", "PSM3_", "RDMAV_", "MLX4_", "MLX5_", "GDRCOPY_", "NCCL_", "RCCL_"),
    *("CUDA_", "HSA_", "HIP_", "ROCR_", "MALLOC_", "GLIBC_TUNABLES"),
)

TITLES = {library.name: library.title for library in MPI_LIBRARIES}
PREFIXES = tuple(
    dict.fromkeys((*(prefix for library in MPI_LIBRARIES for prefix in library.prefixes), *TRANSPORT_PREFIXES))
)

# SONAME of the library that programs link: an engine runs under every library that provides the same one.
ABI_OF_SONAME = {
    "libmpi.so.12": "mpich",  # MPICH ABI initiative: MPICH, Intel MPI, MVAPICH, ParaStation MPI
    "libmpich.so.12": "mpich-debian",  # Debian renames the library, so its programs run with no other
    "libmpi.so.40": "openmpi",
    "libmpi.so.80": "openmpi6",
}
# Cray MPICH has one for each compiler (libmpi_gnu_123.so.12, libmpi_cray.so.12); programs that were linked with
# libmpi.so.12 run with those of the module cray-mpich-abi alone.
CRAY_SONAME = re.compile(r"libmpi_(?:allinea|amd|aocc|cray|gnu|intel|nvidia|pgi)\w*\.so\.12")
STANDARD_SONAME = "libmpi_abi.so.1"  # MPI-5.0, chapter 20


def library_named(name: str) -> MpiLibrary | None:
    """The library of this name; None for one that is not known."""
    return next((library for library in MPI_LIBRARIES if library.name == name), None)


def named_in(library_text: str) -> tuple[MpiLibrary, str | None] | None:
    """The library that returned `library_text` from MPI_Get_library_version, and its version; None: not known."""
    for library in MPI_LIBRARIES:
        if match := re.search(library.text, library_text):
            return library, match.group(1)
    return None


def abi_of_soname(soname: str) -> str | None:
    """Name of the binary interface that a program asks for which needs this library; None: it is no MPI's."""
    return "mpich-cray" if CRAY_SONAME.fullmatch(soname) else ABI_OF_SONAME.get(soname)


def abi_of(file_names: Iterable[str], library: str) -> str:
    """Name of the binary interface, from the file names in the library folders; by library if none shows it."""
    names = set(file_names)
    for soname, abi in ABI_OF_SONAME.items():
        if soname in names:
            return abi
    known = library_named(library)
    return known.abi if known else "unknown"


def words_of(applies: AppliesTo) -> str:
    """`Open MPI from 2, below 5, over UCX`."""
    name, transport = applies.library, applies.transport
    if name is None:
        return "every library" + (f" over {transport.upper()}" if transport else "")
    words = [TITLES.get(name, name) + (f" from {version_text(applies.first)}" if any(applies.first) else "")]
    words += [f"below {version_text(applies.below)}"] if applies.below else []
    words += [f"over {transport.upper()}"] if transport else []
    return ", ".join(words)


_ONE_READER: Mapping[str, str] = {
    "I_MPI_": "intelmpi",
    "OMPI_MCA_": "openmpi",
    "MPIR_": "mpich",
    "MV2_": "mvapich",
    "MVP_": "mvapich",
    "PSP_": "parastation",
}


def of_another(name: str, library: str) -> str | None:
    """`Open MPI reads it, and this is MPICH`; None: this library, or what was made from it, may read the variable.

    Args: library: name of the MPI; "unknown": it may read anything.
    """
    reader = next((reader for prefix, reader in _ONE_READER.items() if name.startswith(prefix)), None)
    if reader is None or _reads(library, reader):
        return None
    return f"only {TITLES[reader]} reads it, and this is {TITLES.get(library, library)}"


def _reads(library: str, reader: str) -> bool:
    known = library_named(library)
    return known is None or reader in (known.name, known.base) or known.abi.startswith(reader)
