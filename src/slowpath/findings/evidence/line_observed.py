# SPDX-License-Identifier: Apache-2.0
"""Observations out of lines: a law over one number, with its most and its least expensive point. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowpath.core.units import format_time
from slowpath.findings.evidence.compared import LAW_RATIO, Ratio
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.evidence.lines import Line
from slowpath.findings.rule import Observation
from slowpath.findings.words import SPEAKING, cost_words, memory, ratio_words, sizes
from slowpath.stats.laws import constant, live_buffers
from slowpath.stats.laws.law import Law

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence


@dataclass(frozen=True)
class StepSaid:
    """covariate: what is swept. about: as Observation.about. slow, fast: sentences with the places {slow}, {fast}."""

    covariate: str
    about: str
    slow: str
    fast: str


def steps_observed(
    evidence: Evidence, said: StepSaid, *, phase: str, laws: Sequence[Law] = (constant.LAW, live_buffers.LAW)
) -> list[Observation]:
    """Lines over a covariate that follow another law than a constant, beyond the minimum effect."""
    found = []
    for line in evidence.lines(said.covariate, phase=phase, metrics=(*SPEAKING, "receive_s")):
        slow, fast = line.slowest, _cheapest(line, said.covariate)
        ratio = line.picked_ratio(slow, fast)
        if not ratio.beyond or ratio.least < LAW_RATIO or (law := line.among(laws)).name in (None, "constant"):
            continue
        found.append(_observation(evidence, line, said, ratio, law, (slow, fast)))
    return found


def _cheapest(line: Line, covariate: str) -> int:
    """The point with the least of what is swept: what a user would compare with."""
    return int(line.sweep.covariates[covariate].argmin())


def _observation(
    evidence: Evidence, line: Line, said: StepSaid, ratio: Ratio, law: LawFound, ends: tuple[int, int]
) -> Observation:
    slow, fast = (line.cells[end] for end in ends)
    values = [line.sweep.covariates[said.covariate][end] for end in ends]
    times = [float(line.centre_s[end]) for end in ends]
    kinds, lengths = memory(line.cells), sizes(line.cells)
    subject = said.slow.format(slow=f"{values[0]:g}")
    reference = said.fast.format(fast=f"{values[1]:g}")
    limits = "; ".join(f"the step lies above {b.above:g}, up to {b.up_to:g}" for b in law.brackets)
    text = (
        f"{subject} takes {ratio_words(ratio.value, ratio.interval)} as long as {reference}: "
        f"{format_time(times[0])} against {format_time(times[1])}; it costs {cost_words(law)}"
        + (f"; {limits}." if limits else ".")
    )
    return Observation(
        about=said.about,
        place=evidence.place(line.cells, [f"{kinds} memory", *([f"messages of {lengths}"] if lengths else [])]),
        text=text,
        metric=line.sweep.metric,
        phase=line.sweep.phase,
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=times[0] - times[1],
        usual=None,
        cells=tuple(cell["cell"] for cell in line.cells),
        law=law,
        evidence=(f"{ratio_words(ratio.value, ratio.interval)}: pairs of launches of two cells",),
        slow_cells=(slow["cell"],),
        fast_cells=(fast["cell"],),
    )
