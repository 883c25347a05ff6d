# SPDX-License-Identifier: Apache-2.0
"""What a witnessed launch gets on top of its environment: the library that counts, UCX's own tables, and what makes the
MPI say what carries its messages. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from slowpath.mpi.message_path import LOG_FILE, QUESTIONS, VARIABLES
from slowpath.record.witness import UCX_LOGS

LIBRARY = "libslowpath-witness.so"  # next to the engine in the cache
PRELOAD = "LD_PRELOAD"


def witness_variables(
    engine: Path, folder: Path, variables: Mapping[str, str], environ: Mapping[str, str], library: str
) -> dict[str, str]:
    """Variables of a witnessed launch, those of its environment included.

    Args: engine: the program.  folder: of the launch, for UCX's tables.  variables: of the environment.
          environ: the user's own, whose preloaded libraries stay, in front: what they do is counted, too.
          library: name of the MPI.
    """
    there = variables.get(PRELOAD, environ.get(PRELOAD, ""))
    counting = str(engine.parent / LIBRARY)
    # Asked of any library: one without UCX does not look.
    tables = {**VARIABLES, LOG_FILE: str(folder / UCX_LOGS.replace("*", "%h-%p"))}
    asked = {**tables, **QUESTIONS.get(library, {})}
    return {**asked, **variables, PRELOAD: f"{there}:{counting}" if there else counting}


def unavailable(engine: Path) -> str | None:
    """Why calls can't be counted with this engine; None if they can."""
    library = engine.parent / LIBRARY
    if not library.is_file():
        return f"{library} is missing; build the engine anew with: slowpath mpi build --force"
    if any(letter in str(library) for letter in " :"):
        # ld.so(8): both separate the libraries of LD_PRELOAD, and neither can be escaped.
        return f"{library}: a path with a blank or a colon can't be preloaded; set SLOWPATH_CACHE_DIR to another"
    return None
