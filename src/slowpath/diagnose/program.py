# SPDX-License-Identifier: Apache-2.0
"""The program that a diagnosis is for (`--for WATCH`): which cells of a survey are about what it does, and how much of
its time a finding could save. Pure.

A price is an upper end for these calls themselves: all of the time that the program spends in them shrinks by the upper
end of the finding's ratio. Waits of other ranks that would shorten with them are not in it. `slowpath replay` measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from slowpath.core.machine import PlaceFault
from slowpath.core.result import Name, NotNegative, Whole
from slowpath.core.results import Finding, Results
from slowpath.core.units import format_time
from slowpath.report.format import plural

NEAR = 2.0  # a message is like a cell whose length is within this factor, or between two of its group
LONGEST_BYTES = 4 * 2**20  # of a survey: what is slow up to there is taken to be slow beyond


class ProgramSpent(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of the program that are alike.

    experiment: that measures such calls.  collective: as experiment coll has it; None: of no collective.
    low, high: shortest and longest length, bytes.  memory: as the engine allocates it.
    is_strided: the datatype has gaps.  seconds: of a rank, waiting for others taken off.
    """

    experiment: Literal["p2p", "put", "coll"]
    seconds: NotNegative
    low_bytes: Whole = 0
    high_bytes: Whole = 0
    memory: Name = "host"
    is_first: bool = False
    is_strided: bool = False
    is_nonblocking: bool = False
    collective: Name | None = None


class ProgramUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a watched program does with MPI. span_s, mpi_s: of a rank, seconds.  groups: of the survey's cells that are
    about it -> seconds of a rank that it spends there.  place: what was wrong with where its ranks ran.
    """

    name: Name
    ranks: Whole
    span_s: NotNegative
    mpi_s: NotNegative
    spent: list[ProgramSpent]
    groups: dict[str, NotNegative] = {}
    place: list[PlaceFault] = []


class Point(Protocol):
    """A cell of a plan, or of results."""

    @property
    def group(self) -> str:
        """Of the campaign."""

    @property
    def experiment(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> Mapping[str, str]:
        """All of the engine's."""


def with_groups(program: ProgramUse, cells: Iterable[Point]) -> ProgramUse:
    """The same with the groups of these cells that are about it.  Args: cells: of the whole survey, expanded."""
    groups = dict[str, list[Point]]()
    for cell in cells:
        groups.setdefault(cell.group, []).append(cell)
    found = {
        name: sum(part.seconds for part in program.spent if _is_about(part, cells_of, False, is_exact=False))
        for name, cells_of in groups.items()
    }
    return replace(program, groups={name: seconds for name, seconds in found.items() if seconds > 0})


def with_program(program: ProgramUse | None, own: Iterable[PlaceFault]) -> list[PlaceFault]:
    """Return what is wrong with the place of the program's ranks, and of the diagnosis's own where that is another
    thing: ranks of a program may each be in a container that a diagnosis never enters.
    """
    found = list(program.place) if program is not None else []
    known = {one.check for one in found}
    return [*found, *(one for one in own if one.check not in known)]


def priced(finding: Finding, program: ProgramUse, seen_in: Results) -> Finding:
    """The finding with the seconds that the program could save by it in these calls, at most.

    Args: seen_in: results of the run in which it was observed.
    """
    cells = [seen_in.cell(number) for number in finding.slow_cells or finding.cells]
    stake_s = sum(part.seconds for part in program.spent if _is_about(part, cells, finding.phase == "first", True))
    slower = finding.interval[1] if finding.interval else finding.ratio
    share = 1.0 if slower is None else 1.0 - 1.0 / max(slower, 1.0)
    return replace(finding, program_s=stake_s * share)


def program_words(program: ProgramUse) -> str:
    """`heat (4 ranks, 1.2 s of 3.4 s in MPI a rank)`."""
    times = f"{format_time(program.mpi_s)} of {format_time(program.span_s)} in MPI a rank"
    return f"{program.name} ({plural(program.ranks, 'rank')}, {times})"


def program_line(program: ProgramUse) -> str:
    """What is asked for the program, where it spends most first."""
    groups = ", ".join(sorted(program.groups, key=lambda name: -program.groups[name]))
    return f"For {program_words(program)}, asked about: {groups}."


def _is_about(part: ProgramSpent, cells: Iterable[Point], is_first: bool, is_exact: bool) -> bool:
    """Whether calls of the program are like what these cells measure.

    Args: is_first: of fresh allocations alone.  is_exact: of several lengths, those between them alone.
    """
    alike = [
        cell.parameters for cell in cells if cell.experiment == part.experiment and _is_alike(part, cell, is_first)
    ]
    lengths = [int(given["message_bytes"]) for given in alike if given.get("message_bytes", "").isdigit()]
    if part.experiment == "put" or not lengths:
        return bool(alike)
    low, high = min(lengths), max(lengths)
    if low < high and is_exact:
        return part.high_bytes >= low and (part.low_bytes <= high or high >= LONGEST_BYTES)
    return part.high_bytes >= low / NEAR and part.low_bytes <= high * NEAR


def _is_alike(part: ProgramSpent, cell: Point, is_first: bool) -> bool:
    given = cell.parameters
    if part.experiment == "coll":
        return part.collective in given.get("collective", "").split(":")
    if part.experiment == "put":
        return True
    return (
        part.memory in given.get("memory", part.memory).split(":")
        and (not is_first or part.is_first)
        and (given.get("datatype", "contiguous") == "contiguous" or part.is_strided)
        and (given.get("pattern") != "overlap" or part.is_nonblocking)
    )
