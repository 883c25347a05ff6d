# SPDX-License-Identifier: Apache-2.0
"""First uses of GPU libraries as the page shows them: bars of steps, a row each, what NCCL says of its init below."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.core.results import Results
from slowpath.report.figure import Figure
from slowpath.report.nccl.first_uses import HEAD, first_uses, inside_words, row
from slowpath.report.nccl.picture import figures_of, legend_of


@dataclass(frozen=True, slots=True)
class NcclView:
    """The section. inside: (whose init, its parts).  legend: class of a part, its name, what it is."""

    head: list[str]
    rows: list[list[str]]
    inside: list[tuple[str, str]]
    figures: list[Figure]
    legend: list[tuple[str, str, str]]


def nccl_view(results: Results) -> NcclView | None:
    """None in a run without a first use."""
    found = first_uses(results)
    if not found:
        return None
    inside = [(f"{one.library}, {one.environment}", words) for one in found if (words := inside_words(one))]
    return NcclView(list(HEAD), [row(one) for one in found], inside, figures_of(found), legend_of(found))
