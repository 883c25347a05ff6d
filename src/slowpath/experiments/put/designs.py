# SPDX-License-Identifier: Apache-2.0
"""Who puts: the designs of the experiment put, in the order in which people compare them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slowpath.core.engine_description import recorded_roles
from slowpath.core.roles import Roles

Kind = Literal["library", "layer", "limit"]
EMPTY_CALLS = {8: "empty_call", 5: "empty_call_5"}  # by the number of arguments


@dataclass(frozen=True, slots=True)
class Design:
    """One value of the parameter `design`. arguments: of its call, which decide the empty call it is compared with."""

    name: str
    kind: Kind
    arguments: int


DESIGNS: tuple[Design, ...] = (
    Design("mpi", "library", 8),
    Design("openshmem_put", "library", 5),
    Design("openshmem_p", "library", 5),
    Design("complex", "layer", 8),
    Design("simple", "layer", 8),
    Design("small_args", "layer", 5),
    Design("shmem_put", "layer", 5),
    Design("shmem_p", "layer", 5),
    Design("empty_call", "limit", 8),
    Design("empty_call_5", "limit", 5),
    Design("memcpy", "limit", 5),
    Design("load_store", "limit", 5),
    Design("store", "limit", 5),
    Design("unrolled_stores", "limit", 5),
    Design("fenced_store", "limit", 5),
)
ORDER = {design.name: place for place, design in enumerate(DESIGNS)}
_BY_NAME = {design.name: design for design in DESIGNS}


def design_of(name: str) -> Design:
    """The design of this name; one that a newer engine has stands among the layers."""
    return _BY_NAME.get(name) or Design(name, "layer", 8)


ROLES: Roles = recorded_roles("put")
