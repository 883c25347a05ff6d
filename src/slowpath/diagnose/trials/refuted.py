# SPDX-License-Identifier: Apache-2.0
"""A remedy that changes nothing is evidence against the cause that it removes. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.core.results import Finding, Results
from slowpath.core.units import ratio_words
from slowpath.diagnose.tasks import TrialTask
from slowpath.diagnose.trials.fast_side import EFFECT
from slowpath.diagnose.trials.verdict import FEWEST_PAIRS, LEAST_REMOVED_RATIO, TrialOutcome
from slowpath.findings.finding import legs_missing
from slowpath.findings.witness import pages_seen
from slowpath.slowpaths.registry import known


def removes_cause(finding: Finding, remedy: str) -> bool:
    """Whether the cause of a finding can't be there with this remedy, by its slow path.

    Args: remedy: its name.
    """
    path = known(finding.rule)
    return path is not None and any(one.name == remedy for one in path.removes_cause)


def was_applied(task: TrialTask, results: Results) -> bool:
    """Whether the remedied cells were as the trial asked. The kernel may not give the pages that it is asked for; all
    other parameters are the engine's own to set.
    """
    if task.axis != "pages":
        return True
    effect = [contrast for contrast in results.contrasts if contrast.group == EFFECT]
    remedied = {contrast.a.cell for contrast in effect}
    found = [cell for cell in results.cells if cell.cell in remedied]
    return bool(found) and all(pages_seen(cell, (task.remedied,)) is True for cell in found)


def refutation(outcome: TrialOutcome) -> str | None:
    """Return why a trial contradicts the cause that its remedy removes; None: it does not, or it is undecided.

    The trial's own pairs have to show the gap, so that there is something to remove, and the interval of the effect
    lies around 1, or is the same as 1, and leaves out the gain of half of the gap: the least that a proof needs.
    """
    gap = outcome.gap
    if outcome.interval is None or outcome.ratio is None or outcome.pairs < FEWEST_PAIRS or not outcome.copies_agree:
        return None
    if gap is None or gap.again != "shown" or (slow := gap.least_ratio) is None:
        return None
    low, high = outcome.interval
    gain = 1 / (1 - LEAST_REMOVED_RATIO * (1 - 1 / slow))
    if high >= gain or not (low <= 1 <= high or outcome.verdict == "no effect"):
        return None
    without = ratio_words(outcome.ratio, outcome.interval)
    return (
        f"'{outcome.remedy}' was tried and did not help: without it, the time is {without} of that with it; "
        f"removing half of the gap would make it {gain:.3g}x"
    )


def without_cause(finding: Finding, why: str) -> Finding:
    """The finding as it is observed, without the cause that a trial refuted; a proven one as it is.

    Args: why: as of `refutation`.
    """
    if finding.status == "proven":
        return finding
    path = known(finding.rule)
    explained = replace(finding.legs.explained, state="refuted", text=why)
    legs = replace(finding.legs, explained=explained)
    return replace(
        finding,
        status="observed",
        cause=None,
        hypotheses=finding.hypotheses or (list(path.hypotheses) if path else []),
        legs=legs,
        missing=legs_missing(legs),
        doubts=list(dict.fromkeys([*finding.doubts, why])),
    )
