# SPDX-License-Identifier: Apache-2.0
"""The line of the verdict that compares two MPIs over many cells: how often each is faster, and where most. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowpath.core.results import ContrastResult, Line
from slowpath.core.units import format_time, ratio_words


def between_two(contrasts: Sequence[ContrastResult]) -> bool:
    """Whether all of them are between the same two MPIs."""
    return {contrast.axis for contrast in contrasts} == {"mpi"} and len(
        {(contrast.a.value, contrast.b.value) for contrast in contrasts}
    ) == 1


def libraries_line(contrasts: Sequence[ContrastResult]) -> Line:
    """Of one question, whose contrasts are between two MPIs.  It is no slow path: neither MPI is anybody's default."""
    slower = _most_first(contrasts, "slower")
    faster = _most_first(contrasts, "faster")
    total = len(contrasts)
    parts = [f"slower in {len(slower)} of {total}{_most(slower)}"] * bool(slower)
    parts += [f"faster in {len(faster)} of {total}{_most(faster)}"] * bool(faster)
    limit = f"{100 * contrasts[0].minimum_effect:g} %"
    for word, count in (
        (f"the same within {limit}", sum(contrast.verdict == "same" for contrast in contrasts)),
        ("undecided", sum(contrast.verdict == "undecided" for contrast in contrasts)),
        ("not measured", sum(contrast.verdict is None for contrast in contrasts)),
    ):
        parts += [f"{word} in {count} of {total}"] * (count > 0)
    top = next(iter(sorted([*slower, *faster], key=strength, reverse=True)), None)
    text = f"{contrasts[0].group}: {contrasts[0].b.value} is {'; '.join(parts)}."
    return Line(level="info", text=text, contrast=top.id if top else None)


def _most_first(contrasts: Sequence[ContrastResult], verdict: str) -> list[ContrastResult]:
    return sorted((contrast for contrast in contrasts if contrast.verdict == verdict), key=strength, reverse=True)


def strength(contrast: ContrastResult) -> float:
    """How far its ratio is from 1, on a logarithmic scale."""
    return abs(math.log(contrast.ratio)) if contrast.ratio else 0.0


def _most(decided: Sequence[ContrastResult]) -> str:
    """`, most at 8 B: 2.31x [2.20, 2.40] as long, 600 ns vs 260 ns`."""
    top = decided[0] if decided else None
    if top is None or top.ratio is None or top.a_value_s is None or top.b_value_s is None:
        return ""
    times = f"{format_time(top.b_value_s)} vs {format_time(top.a_value_s)}"
    where = f" at {top.where}" if top.where else ""
    return f", most{where}: {ratio_words(top.ratio, top.interval)} as long, {times}"
