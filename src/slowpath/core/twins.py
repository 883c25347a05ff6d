# SPDX-License-Identifier: Apache-2.0
"""Witnessed cells and the timed cells that they count for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.plan import Plan


@dataclass(frozen=True)
class Twins:
    """witnessed: cells whose launches count calls and take no times.  counted_by: timed cell -> its witnessed twins."""

    witnessed: frozenset[int]
    counted_by: Mapping[int, tuple[int, ...]]

    @property
    def stand_alone(self) -> frozenset[int]:
        """Witnessed cells that no timed cell of the run speaks for."""
        return self.witnessed - {number for numbers in self.counted_by.values() for number in numbers}


def twins_of(plan: Plan) -> Twins:
    """The twins of a plan: cells of one key and placement, one of them witnessed.

    A key is experiment, parameters, variables, binding, copy, ranks and MPI; to be witnessed is none of them.
    """
    environments = {(e.name, e.mpi) for e in plan.environments if e.witness}
    counting: dict[tuple[str, str], list[int]] = {}
    timed = []
    for cell in plan.cells:
        if environments & {(cell.environment, None), (cell.environment, cell.mpi)}:
            counting.setdefault((cell.key, cell.placement), []).append(cell.cell)
        else:
            timed.append(cell)
    counted_by = {
        cell.cell: tuple(found) for cell in timed if (found := counting.get((cell.key, cell.placement))) is not None
    }
    return Twins(frozenset(number for numbers in counting.values() for number in numbers), counted_by)
