# SPDX-License-Identifier: Apache-2.0
"""A reproducer as one source file: what a vendor compiles with one line, made of the sources that the engine has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from slowpath.core.errors import UsageError
from slowpath.core.resources import data_folder
from slowpath.core.version import __version__

# Name -> the source of its main(). The second name of a program says how its authors called it between nodes.
REPRODUCERS = {
    "gpudirect_p2p_overalloc": "gpudirect_p2p_overalloc",
    "intranode_pinned_host_comm": "intranode_pinned_host_comm",
    "internode_pinned_host_comm": "intranode_pinned_host_comm",
}
_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
_LEFT_OUT = re.compile(r"^(// SPDX-License-Identifier: .*|#pragma once)\n", re.MULTILINE)
_WHOLE_PART = "memory"  # its kinds are reached by a registry, not by headers of their own


def single_file(name: str, engine: Path | None = None) -> str:
    """C++20 source of a reproducer.

    Args: name: of REPRODUCERS.  engine: folder of the engine's source; None: the one that came with the program.
    Raises: UsageError: there is no reproducer of that name.
    """
    if name not in REPRODUCERS:
        raise UsageError(f"no reproducer '{name}'; there are {', '.join(REPRODUCERS)}")
    root = engine or data_folder("engine")
    main = root / "reproducers" / f"{REPRODUCERS[name]}.cpp"
    headers: dict[Path, None] = {}
    sources: dict[Path, None] = {}
    _collect(root, main, headers, sources)
    parts = [_head(name)]
    for path in [*headers, *(source for source in sources if source != main), main]:
        parts.append(f"\n// ---- {path.relative_to(root)}\n{_own_lines(path)}")
    return "".join(parts)


def _head(name: str) -> str:
    return (
        "// SPDX-License-Identifier: Apache-2.0\n"
        f"// {name} of Slowpath {__version__} in one file. It needs an MPI and a C++20 compiler; GPU drivers are\n"
        "// loaded at run time.\n"
        "//\n"
        f"//     mpicxx -std=c++20 -O2 {name}.cpp -o {name} -ldl -pthread\n"
        f"//     mpiexec -n 2 ./{name} --help\n"
    )


def _collect(root: Path, path: Path, headers: dict[Path, None], sources: dict[Path, None]) -> None:
    """Headers in an order in which each follows what it includes, and the sources that define what they declare."""
    if path in headers or path in sources:
        return
    if path.suffix == ".cpp":
        sources[path] = None  # before its headers, which lead back to it
    for other in _included(root, path):
        _collect(root, other, headers, sources)
    if path.suffix == ".hpp":
        headers[path] = None
        for source in _defining(root, path):
            _collect(root, source, headers, sources)


def _included(root: Path, path: Path) -> Iterator[Path]:
    for found in _INCLUDE.findall(path.read_text(encoding="utf-8")):
        yield root / found


def _defining(root: Path, header: Path) -> list[Path]:
    if header.parent == root / _WHOLE_PART:
        return sorted(header.parent.glob("*.cpp"))
    source = header.with_suffix(".cpp")
    return [source] if source.exists() else []


def _own_lines(path: Path) -> str:
    return _LEFT_OUT.sub("", _INCLUDE.sub("", path.read_text(encoding="utf-8"))).strip("\n") + "\n"
