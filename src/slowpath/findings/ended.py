# SPDX-License-Identifier: Apache-2.0
"""Launches that were ended since they took many times as long as clean ones, a difference of which a bound is known;
and launches that do not start at all where clean ones do.

A diagnosis' first step holds launches of the user's own state against clean ones (slowpath.diagnose.steps.own_state).
"""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult
from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation

CAMPAIGN = "state"  # its launches alone are ended for taking long
GIVEN_UP_RATIO = 8.0  # times as long as clean launches, after which one is ended
FEWEST = 3  # launches on either side: one may hang by chance


@dataclass(frozen=True)
class Ended:
    """launches: of the slow cell that were ended.  clean: of the fast one that were measured meanwhile."""

    contrast: ContrastResult
    slow: CellResult
    fast: CellResult
    launches: int
    clean: int


def ended(facts: Facts, axis: str) -> list[Ended]:
    """Contrasts on this axis whose side `b` was ended again and again while `a` was measured."""
    if facts.run.campaign != CAMPAIGN:
        return []
    found = []
    for contrast in facts.contrasts:
        slow, fast = facts.cells.get(contrast.b.cell), facts.cells.get(contrast.a.cell)
        if contrast.axis != axis or contrast.launches >= FEWEST or slow is None or fast is None:
            continue
        rows = (row for row in facts.skipped if row.cell == slow.cell and row.status == "hung")
        launches = sum(row.launches for row in rows)
        measured = fast.estimate(contrast.metric, contrast.a.phase)
        if launches >= FEWEST and measured is not None and measured.launches >= FEWEST:
            found.append(Ended(contrast, slow, fast, launches, measured.launches))
    return found


def ended_observation(facts: Facts, one: Ended, about: str, subject: str, reference: str) -> Observation:
    """The observation of such launches.  Args: subject, reference: of `<subject> take at least 8x as long as ...`."""
    bound = f"{GIVEN_UP_RATIO:g}x"
    return _without_ratio(
        facts,
        one,
        about,
        f"{subject[0].upper()}{subject[1:]} take at least {bound} as long as {reference}: {one.launches} launches "
        f"were stopped after that time, but none of the {one.clean} others.",
        f"{one.launches} launches were stopped after {bound} the time of the longest clean launch",
    )


@dataclass(frozen=True)
class Unstarted:
    """reason: of the last launch that failed.  clean: launches of the fast cell that were measured."""

    contrast: ContrastResult
    slow: CellResult
    fast: CellResult
    reason: str
    clean: int


def unstarted(facts: Facts, axis: str) -> list[Unstarted]:
    """Contrasts on this axis where no cell of side `b`'s environment was measured in any launch, and `a` was."""
    if facts.run.campaign != CAMPAIGN:
        return []
    measured = {(cell.environment, cell.placement) for cell in facts.every_cell if cell.metrics}
    found = []
    for contrast in facts.contrasts:
        slow, fast = facts.cells.get(contrast.b.cell), facts.cells.get(contrast.a.cell)
        if contrast.axis != axis or slow is None or fast is None or (slow.environment, slow.placement) in measured:
            continue
        rows = [row for row in facts.skipped if row.cell == slow.cell and row.status == "failed"]
        clean = fast.estimate(contrast.metric, contrast.a.phase)
        if rows and clean is not None and clean.launches >= FEWEST:
            found.append(Unstarted(contrast, slow, fast, rows[-1].reason, clean.launches))
    return found


def unstarted_observation(facts: Facts, one: Unstarted, about: str, subject: str, reference: str) -> Observation:
    """The observation of such launches.  Args: subject, reference: of `no launch works with <subject>, ...`."""
    return _without_ratio(
        facts,
        one,
        about,
        f"No launch works with {subject}, and {one.clean} {reference} did: {one.reason}",
        f"every launch failed, but {one.clean} clean launches were measured",
    )


def _without_ratio(facts: Facts, one: Ended | Unstarted, about: str, text: str, evidence: str) -> Observation:
    """What is known of a slow side that has no times."""
    return Observation(
        about=about,
        place=facts.place([one.slow]),
        text=text,
        metric=one.contrast.metric,
        phase=one.contrast.b.phase,
        ratio=None,
        interval=None,
        excess_s=None,
        affects_default=True,
        cells=(one.slow.cell, one.fast.cell),
        axis=one.contrast.axis,
        evidence=(evidence,),
        slow_cells=(one.slow.cell,),
        fast_cells=(one.fast.cell,),
    )
