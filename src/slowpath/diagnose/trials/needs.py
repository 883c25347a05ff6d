# SPDX-License-Identifier: Apache-2.0
"""What a trial needs of the machine before its remedy can help at all. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slowpath.diagnose.sides import Sides
from slowpath.findings.remedy import Remedy

_UNBOUND = "unbound"


@dataclass(frozen=True)
class CannotHelp:
    """why: in words, with numbers of this machine."""

    why: str


def where_it_can_help(sides: Sides, remedy: Remedy, ranks: int, cores: int | None) -> Sides | CannotHelp:
    """The sides under a placement in which the remedy has the cores that it takes.

    Args: ranks: of the trial, all on one node, where the slow side's placement states none.  cores: that they can have
          there; None: not known, so nothing is denied.
    """
    need, ranks = remedy.cores_per_rank, sides.slow_under.at.ranks or ranks
    if need is None or cores is None:
        return sides
    if cores < need * ranks:
        what = "a core for each rank" if need == 1 else f"{need} cores for each rank ({need - 1} spare)"
        return CannotHelp(f"it needs {what}: {ranks} ranks have {cores} core{'' if cores == 1 else 's'} here")
    if need > 1 and sides.slow_under.bind == "core":  # its thread would share the core that its rank is bound to
        slow, fast = sides.slow_under, sides.fast_under
        there = None if fast is None else replace(fast, placement=_UNBOUND, bind="none")
        return replace(sides, slow_under=replace(slow, placement=_UNBOUND, bind="none"), fast_under=there)
    return sides
