# SPDX-License-Identifier: Apache-2.0
"""Who puts, in the words of a report.

The ladder's pieces are those of the engine's ladder.cpp; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.experiments.put.designs import Kind

KINDS: dict[Kind, str] = {"library": "Libraries", "layer": "Reference layers", "limit": "Limits"}


@dataclass(frozen=True, slots=True)
class Wording:
    """What a design is called. meaning: of a layer, for the legend."""

    words: str
    meaning: str = ""


WORDINGS: dict[str, Wording] = {
    "mpi": Wording("MPI_Put"),
    "openshmem_put": Wording("OpenSHMEM put"),
    "openshmem_p": Wording("OpenSHMEM p"),
    "openshmem_put_nbi": Wording("OpenSHMEM put_nbi"),
    "openshmem_ptr": Wording("OpenSHMEM ptr and store"),
    "complex": Wording("complex", "both datatypes are decoded in every call"),
    "simple": Wording("simple", "the basic datatype's properties are in its handle"),
    "small_args": Wording("small_args", "no datatypes in the call"),
    "shmem_put": Wording("shmem_put", "a put of OpenSHMEM: address, source, length, target"),
    "shmem_p": Wording("shmem_p", "one value, passed in a register"),
    "empty_call": Wording("empty call, 8 arguments"),
    "empty_call_5": Wording("empty call, 5 arguments"),
    "memcpy": Wording("memcpy"),
    "load_store": Wording("load and store"),
    "store": Wording("store"),
    "unrolled_stores": Wording("unrolled stores"),
    "fenced_store": Wording("store and fence"),
    "ladder": Wording("ladder"),
}

# What each rung adds to the one below.
PIECES: tuple[str, ...] = (
    "bare store",
    "signature",
    "argument checks",
    "error handler",
    "thread level",
    "window handle",
    "target lookup",
    "datatype decode",
    "GPU pointer query",
    "operation counters",
    "dispatch",
    "generic copy",
    "request per put",
)


def piece(rung: int) -> str:
    """What rung number `rung` adds."""
    return PIECES[rung] if rung < len(PIECES) else f"piece {rung}"


def design_words(name: str) -> str:
    """A design; one that a newer engine has is shown under its own name."""
    return WORDINGS[name].words if name in WORDINGS else name.replace("_", " ")


def row_words(name: str, kind: Kind, parameters: Mapping[str, str]) -> str:
    """A design, and of a layer how it is called: `complex, inlined, unchecked`."""
    if kind != "layer":
        return design_words(name)
    called = "called" if parameters.get("call", "library") == "library" else "inlined"
    return f"{design_words(name)}, {called}, {'checked' if parameters.get('checks', 'on') == 'on' else 'unchecked'}"
