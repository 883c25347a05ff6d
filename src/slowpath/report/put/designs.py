# SPDX-License-Identifier: Apache-2.0
"""Who puts, in the words of a report: the designs of the experiment put, in the order in which people compare them.

The ladder's pieces are those of engine/studies/layers/ladder.cpp; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["library", "layer", "limit", "ladder"]
EMPTY_CALLS = {8: "empty_call", 5: "empty_call_5"}  # by the number of arguments


@dataclass(frozen=True, slots=True)
class Design:
    """One value of the parameter `design`.

    arguments: of its call, which decides the empty call it is compared with.  meaning: of a layer, for the legend.
    """

    name: str
    words: str
    kind: Kind
    arguments: int
    meaning: str = ""


DESIGNS: tuple[Design, ...] = (
    Design("mpi", "MPI_Put", "library", 8),
    Design("openshmem_put", "OpenSHMEM put", "library", 5),
    Design("openshmem_p", "OpenSHMEM p", "library", 5),
    Design("openshmem_put_nbi", "OpenSHMEM put_nbi", "library", 5),
    Design("openshmem_ptr", "OpenSHMEM ptr and store", "library", 5),
    Design("complex", "complex", "layer", 8, "both datatypes are decoded in every call"),
    Design("simple", "simple", "layer", 8, "the basic datatype's properties are in its handle"),
    Design("small_args", "small_args", "layer", 5, "no datatypes in the call"),
    Design("shmem_put", "shmem_put", "layer", 5, "a put of OpenSHMEM: address, source, length, target"),
    Design("shmem_p", "shmem_p", "layer", 5, "one value, given in a register"),
    Design("empty_call", "empty call, 8 arguments", "limit", 8),
    Design("empty_call_5", "empty call, 5 arguments", "limit", 5),
    Design("memcpy", "memcpy", "limit", 5),
    Design("load_store", "load and store", "limit", 5),
    Design("store", "store", "limit", 5),
    Design("unrolled_stores", "unrolled stores", "limit", 5),
    Design("fenced_store", "store and fence", "limit", 5),
    Design("ladder", "ladder", "ladder", 8),
)
BY_NAME = {design.name: design for design in DESIGNS}
KINDS: dict[Kind, str] = {"library": "Libraries", "layer": "Reference layers", "limit": "Limits"}

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


def design_of(name: str) -> Design:
    """The design of this name; one that a newer engine has is shown under its own name, among the layers."""
    return BY_NAME.get(name) or Design(name, name.replace("_", " "), "layer", 8)


def piece(rung: int) -> str:
    """What rung number `rung` adds."""
    return PIECES[rung] if rung < len(PIECES) else f"piece {rung}"
