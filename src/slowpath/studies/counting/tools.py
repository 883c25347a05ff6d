# SPDX-License-Identifier: Apache-2.0
"""The compiled tools that count: they lie beside an engine, and are the same for every MPI."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.resources import data_folder
from slowpath.run.choose import launcher_in
from slowpath.run.engine.cache import Engine, source_hash
from slowpath.run.engine.describe import answer_of
from slowpath.run.engine.usable import usable_engines
from slowpath.run.libraries import one_library
from slowpath.studies.counting.read import Name, Place

VARIABLE = "SLOWPATH_COUNT_TOOLS"
LIBRARY = "libslowpath-count.so"
TRACER = "slowpath-count-ptrace"
NAMER = "slowpath-count-names"
LIMIT_S = 300.0


@dataclass(frozen=True)
class Tools:
    """Folder that holds the tools which were built; which there are depends on the processor."""

    folder: Path

    def path(self, name: str) -> Path:
        """Return the path of the tool.  Raises: EnvironmentFailure: it was not built."""
        path = self.folder / name
        if not path.is_file():
            other = "ptrace" if name == LIBRARY else "trap"
            raise EnvironmentFailure(
                f"{path} is missing, because it is not built for this processor; use --method {other}"
            )
        return path

    def name_all(self, places: Sequence[Place]) -> dict[Place, Name]:
        """The library and function at each place. Raises EnvironmentFailure if the tool fails."""
        wanted = [place for place in places if "\n" not in place[0]]
        text = "".join(f"{offset} {path}\n" for path, offset in wanted)
        done = answer_of([str(self.path(NAMER))], os.environ, LIMIT_S, text.encode())
        lines = done.stdout.splitlines()
        if done.return_code != 0 or len(lines) != len(wanted):
            raise EnvironmentFailure(f"{NAMER} failed: {done.stderr.decode(errors='replace').strip() or 'no message'}")
        named = [msgspec.json.decode(line, type=dict[str, str]) for line in lines]
        return {place: (name["library"], name["function"]) for place, name in zip(wanted, named, strict=True)}


def find_tools(command: Sequence[str], environ: Mapping[str, str], tell: Callable[[str], None]) -> Tools:
    """The tools beside any engine of this version, else beside one that is built now for the launcher in `command`.

    SLOWPATH_COUNT_TOOLS names their folder where they were built by other means.
    Raises: EnvironmentFailure: there are none, and no MPI to build an engine for.
    """
    if environ.get(VARIABLE):
        return Tools(Path(environ[VARIABLE]).absolute())
    source = source_hash(data_folder("engine"))

    def has_tools(engine: Engine) -> bool:
        return engine.note.source == source and (engine.program.parent / NAMER).is_file()

    for engine in usable_engines(environ, has_tools):
        return Tools(engine.program.parent)
    return Tools(one_library(launcher_in(command), environ, tell).engine.program.parent)
