# SPDX-License-Identifier: Apache-2.0
"""Which BLAS the engine's build may find: an engine is kept for each.

CMake chooses (engine/studies/blas/CMakeLists.txt): the system's first, else that of the PyPI package scipy-openblas32.
Asking CMake before every run would take seconds, so what it could choose from stands in for its choice.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PLUGIN = "libslowpath-blas.so"
PACKAGED = "libscipy_openblas.so"
PACKAGE = "scipy-openblas32"
# Libraries that CMake's FindBLAS knows, by a part of the name; more than it takes does no harm.
_NAME = re.compile(r"lib\w*(blas|blis|flame|mkl_rt|mkl_core|armpl|nvpl|atlas|essl|goto|acml)[\w-]*\.(so|a)")
# What the choice follows besides the libraries themselves.
_CHOOSING = ("BLA_VENDOR", "BLA_STATIC", "BLAS_ROOT", "CMAKE_PREFIX_PATH", "CMAKE_LIBRARY_PATH", "MKLROOT")
_FOLDER_LISTS = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "LIB", "CMAKE_LIBRARY_PATH")
_MULTIARCH = f"{platform.machine()}-linux-gnu"


@dataclass(frozen=True)
class BlasInSight:
    """What a build may choose from.

    libraries: files of the system, each once.  package: folder of scipy_openblas32, None if this Python has none.
    identity: the same text as long as the same BLAS is chosen.
    """

    libraries: tuple[Path, ...]
    package: Path | None
    identity: str

    @property
    def cmake_arguments(self) -> list[str]:
        """Arguments of CMake's configuration."""
        return [f"-DSLOWPATH_SCIPY_OPENBLAS={self.package or ''}"]


def blas_in_sight(environ: Mapping[str, str], package: Path | None = None) -> BlasInSight:
    """Return all that CMake could find with this environment.

    package: in place of the running Python's own scipy_openblas32.
    """
    libraries = tuple(sorted({file.resolve() for folder in _folders(environ) for file in _libraries(folder)}))
    package = package or packaged_openblas()
    facts = [f"{name}={environ.get(name, '')}" for name in _CHOOSING]
    facts += [_file_facts(path) for path in libraries]
    facts += [_file_facts(package / "lib" / PACKAGED, named=False)] if package else []
    return BlasInSight(libraries, package, hashlib.sha256("\n".join(facts).encode()).hexdigest())


def packaged_openblas() -> Path | None:
    """Folder of the running Python's scipy_openblas32, None if it is not installed whole."""
    spec = importlib.util.find_spec("scipy_openblas32")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "lib" / PACKAGED).is_file():
            return Path(place)
    return None


def package_version() -> str | None:
    """Version of the installed scipy-openblas32, None if there is none."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor_features() -> str:
    """Return what -march=native stands for here: an engine kept in a shared home folder must not meet another
    processor.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.partition(":")[0].strip() in ("flags", "Features")), "")
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:16]}"


def _folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield where CMake's find_library looks: next to every bin on the PATH, in the listed folders, in the system's."""
    prefixes = [Path(place) for place in _places(environ, "CMAKE_PREFIX_PATH")]
    prefixes += [Path(environ[name]) for name in ("BLAS_ROOT", "MKLROOT") if environ.get(name)]
    for place in _places(environ, "PATH"):
        prefixes.append(Path(place).parent if Path(place).name in ("bin", "sbin") else Path(place))
    for prefix in [*prefixes, Path("/usr/local"), Path("/usr"), Path("/")]:
        yield from (prefix / inner for inner in ("lib", "lib64", f"lib/{_MULTIARCH}", "lib/intel64"))
    for name in _FOLDER_LISTS:
        yield from map(Path, _places(environ, name))


def _places(environ: Mapping[str, str], name: str) -> list[str]:
    return [place for place in environ.get(name, "").replace(";", ":").split(":") if place]


def _libraries(folder: Path) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in names if _NAME.fullmatch(name)]


def _file_facts(path: Path, named: bool = True) -> str:
    """Another file of the same name is another BLAS."""
    try:
        status = path.stat()
    except OSError:
        return f"{path} is gone"
    return f"{path if named else path.name} {status.st_size} {status.st_mtime_ns if named else package_version()}"
