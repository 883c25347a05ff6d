# SPDX-License-Identifier: Apache-2.0
"""Cells of cannon that belong together: equal but for variant and n. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.plan import Cell
from slowpath.core.roles import Roles, is_effort
from slowpath.experiments.cannon.observed import EXPERIMENT

ROLES: Roles = {
    "pattern": "setting",
    "variant": "setting",
    "n": "covariate",
    "grid": "setting",
    "skew": "setting",
    "window": "setting",
    "memory": "setting",
    "numbers": "setting",
    "kernel": "setting",
    "source": "setting",
    "repetitions": "effort",
    "warmups": "effort",
    "piece": "covariate",
    "quiet_wait_s": "effort",
    "validate": "effort",
}


_AXES = ("variant", "n")


@dataclass(frozen=True)
class CellGroup:
    """parameters: what its cells share.  cells: (variant, n) -> cell, in the order of the plan."""

    label: str
    parameters: dict[str, str]
    mpi: str | None
    environment: str
    placement: str
    copy: int
    cells: dict[tuple[str, int], Cell]

    @property
    def n(self) -> list[int]:
        return sorted({n for _, n in self.cells})

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(variant for variant, _ in self.cells))


def groups(cells: Sequence[Cell]) -> list[CellGroup]:
    """Cells of this experiment, in the order of the plan; of two equal ones, copies included, the first is taken.

    A copy asks whether the same twice is the same, which is a contrast's question, and no other thing to multiply.
    """
    found: dict[tuple[tuple[str, str], ...], dict[tuple[str, int], Cell]] = {}
    for cell in cells:
        if cell.experiment != EXPERIMENT or not {*_AXES} <= cell.parameters.keys():
            continue
        key = tuple(_facts(cell).items())
        found.setdefault(key, {}).setdefault((cell.parameters["variant"], int(cell.parameters["n"])), cell)
    labels = _labels([dict(key) for key in found])
    return [_group(members, label) for members, label in zip(found.values(), labels, strict=True)]


def _group(members: dict[tuple[str, int], Cell], label: str) -> CellGroup:
    first = next(iter(members.values()))
    return CellGroup(label, _shared(first), first.mpi, first.environment, first.placement, first.copy, members)


def _shared(cell: Cell) -> dict[str, str]:
    """Effort may differ between sizes, and makes a cell no other thing."""
    return {name: value for name, value in cell.parameters.items() if name not in _AXES and not is_effort(ROLES, name)}


def _facts(cell: Cell) -> dict[str, str]:
    """All that two cells of one group share, by name."""
    about = {"mpi": cell.mpi or "", "environment": cell.environment, "placement": cell.placement}
    return {**_shared(cell), **about}


def _labels(keys: Sequence[Mapping[str, str]]) -> list[str]:
    """What sets each group apart from the others; `cannon` where there is but one."""
    names = dict.fromkeys(name for key in keys for name in key)
    varying = [name for name in names if len({key.get(name) for key in keys}) > 1]
    return [", ".join(_words(name, key.get(name)) for name in varying) or EXPERIMENT for key in keys]


def _words(name: str, value: str | None) -> str:
    if name in ("mpi", "environment", "placement"):
        return value or f"{name} not recorded"
    return f"{name}={value}"
