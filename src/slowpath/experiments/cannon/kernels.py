# SPDX-License-Identifier: Apache-2.0
"""The local multiplication under several sets of compiler options, next to one of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cannon_results import CannonKernel, CannonKernels
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.points import Entries, Measured, compare, rounds_of, steady, value_of
from slowpath.experiments.cannon.variants import CEILING, REFERENCE

BASE = "loop_O3"  # what the others are compared with
METRIC = "dgemm_s"


def kernels(groups: Sequence[CellGroup], measured: Measured, entries: Entries, effect: float) -> list[CannonKernels]:
    """One entry for each n at which groups differ in `kernel` alone: computation time by kernel.

    Args: effect: smallest relative difference that counts.
    """
    alike: dict[tuple[object, ...], list[CellGroup]] = {}
    for group in groups:
        others = tuple(sorted((name, value) for name, value in group.parameters.items() if name != "kernel"))
        alike.setdefault((others, group.mpi, group.environment, group.placement, group.copy), []).append(group)
    found = []
    for members in alike.values():
        by_kernel = {group.parameters["kernel"]: group for group in members if "kernel" in group.parameters}
        for n in sorted({n for group in members for n in group.n}):
            having = {name: group for name, group in by_kernel.items() if (CEILING, n) in group.cells}
            variant = CEILING if having else REFERENCE
            made = _at(by_kernel, variant, n, measured, entries, effect)
            if len(made) > 1:
                first = members[0]
                found.append(
                    CannonKernels(
                        n=n,
                        variant=variant,
                        base=BASE,
                        mpi=first.mpi,
                        environment=first.environment,
                        placement=first.placement,
                        kernels=made,
                    )
                )
    return found


def _at(
    by_kernel: dict[str, CellGroup], variant: str, n: int, measured: Measured, entries: Entries, effect: float
) -> list[CannonKernel]:
    base = by_kernel.get(BASE)
    found = []
    for name, group in by_kernel.items():
        cell = group.cells.get((variant, n))
        time = steady(entries[cell.cell], METRIC) if cell else None
        if cell is None or time is None:
            continue
        ratio = None
        if base is not None and name != BASE:
            ratio = compare(
                rounds_of(measured, group, variant, n, METRIC), rounds_of(measured, base, variant, n, METRIC), effect
            )
        why = f"{BASE} is what the others are compared with" if name == BASE else f"{BASE} was not measured with it"
        found.append(
            CannonKernel(
                kernel=name,
                cell=cell.cell,
                dgemm_s=time,
                over_base=value_of(ratio) if ratio else None,
                over_base_reason=None if ratio else why,
            )
        )
    return found
