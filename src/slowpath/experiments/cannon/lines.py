# SPDX-License-Identifier: Apache-2.0
"""What cannon adds to the verdict: advice, and whether the machine was too busy for a verdict. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cannon_results import CannonGroup, CannonResults
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Level, Line
from slowpath.experiments.cannon.observed import EXPERIMENT

_SWITCHED, _LOADED = "by a lost processor", "by other load on the node"


def cannon_lines(cannon: CannonResults | None, cells: Sequence[CellResult]) -> list[Line]:
    """Lines of the verdict: the advice of the group with most variants under each MPI, environment and placement,
    and a warning where launches stand for disturbed repetitions.
    """
    if cannon is None:
        return []
    main: dict[tuple[str | None, str, str], CannonGroup] = {}
    for group in cannon.groups:
        key = (group.mpi, group.environment, group.placement)
        if key not in main or _measured(group) > _measured(main[key]):
            main[key] = group
    lines = [_line("info", f"{_name(group)}: {group.advice}") for group in main.values() if group.advice]
    return lines + _disturbed(cells)


def _measured(group: CannonGroup) -> int:
    return sum(bool(variant.points) for variant in group.variants)


def _name(group: CannonGroup) -> str:
    name = EXPERIMENT if group.label == EXPERIMENT else f"{EXPERIMENT}, {group.label}"
    ranks = f"{group.ranks} rank{'s' * (group.ranks > 1)}"
    return name if name.endswith(ranks) else f"{name}, {ranks}"


def _disturbed(cells: Sequence[CellResult]) -> list[Line]:
    """One line where not all repetitions were clean; a warning where some launches had too few clean ones."""
    reported = [one for cell in cells if (one := cell.repetitions) and one.clean is not None]
    every, clean = sum(one.all for one in reported), sum(one.clean or 0 for one in reported)
    if every == clean:
        return []
    launches, by_clean = sum(one.launches for one in reported), sum(one.launches_of_clean for one in reported)
    counts = {_SWITCHED: [one.switched for one in reported], _LOADED: [one.loaded for one in reported]}
    known = {cause: [one for one in each if one is not None] for cause, each in counts.items()}
    causes = ", ".join(f"{sum(each)} {cause}" for cause, each in known.items() if each)
    text = f"{EXPERIMENT}: {every - clean} of {every} repetitions were disturbed ({causes})"
    if by_clean == launches:
        return [_line("ok", f"{text}; every value is of clean ones alone.")]
    rest = launches - by_clean
    return [
        _line(
            "warning",
            f"{text}; {rest} of {launches} values of cells in launches had fewer than 3 clean ones and are of all. "
            "Repeat on a quiet machine.",
        )
    ]


def _line(level: Level, text: str) -> Line:
    return Line(level=level, text=text, contrast=None)
