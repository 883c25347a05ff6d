# SPDX-License-Identifier: Apache-2.0
"""What a trial's outcome makes of its finding. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.core.results import Finding, RemedyResult, SideEffect, Snippet
from slowpath.diagnose.trials.verdict import FEWEST_PAIRS, TrialOutcome
from slowpath.findings.finding import with_trial
from slowpath.findings.remedy import Remedy
from slowpath.findings.snippet import snippet


def with_outcome(finding: Finding, outcome: TrialOutcome, remedy: Remedy | None, library: str | None) -> Finding:
    """The finding after a trial.

    Args: remedy: that was tried, for a finding that does not list it; None: nothing but its name is known.
          library: whose launcher binds, as "mpich".
    """
    listed = next((remedy for remedy in finding.remedies if remedy.name == outcome.remedy), None)
    text, phrase, lines, watched = outcome.remedy, outcome.remedy, Snippet(), list[str | SideEffect]()
    if listed is not None:
        text, phrase = listed.text, listed.phrase or listed.name
        lines, watched = listed.snippet, listed.side_effects
    elif remedy is not None:
        text, phrase = remedy.text, remedy.words
        lines, watched = Snippet(**snippet(remedy, library)), [*remedy.side_effects]
    tried = RemedyResult(
        name=outcome.remedy,
        text=text,
        phrase=phrase,
        snippet=lines,
        removed_ratio=outcome.removed_ratio,
        side_effects=[*outcome.side_effects, *watched],
        verdict=outcome.verdict,
        reason=outcome.reason,
    )
    return _seen_again(with_trial(finding, tried, outcome.leg), outcome)


def is_gone(outcome: TrialOutcome) -> bool:
    """Whether a trial's own pairs, enough for a proof, show that there is no gap: few launches showed noise."""
    return outcome.pairs >= FEWEST_PAIRS and outcome.gap is not None and outcome.gap.again == "gone"


def _seen_again(finding: Finding, outcome: TrialOutcome) -> Finding:
    """No cause is claimed of what the trial's own pairs could not show again, and it costs what these show."""
    gap = outcome.gap
    if gap is None or outcome.pairs < FEWEST_PAIRS or gap.again != "open" or finding.status == "proven":
        return finding
    doubt = f"{outcome.pairs} pairs of a trial did not show the gap again"
    explained = replace(finding.legs.explained, state="missing", text=doubt)
    legs = replace(finding.legs, explained=explained)
    return replace(
        finding,
        status="observed",
        cause=None,
        claim=None,
        hypotheses=finding.hypotheses or ([finding.cause] if finding.cause else []),
        legs=legs,
        missing=[f"{name}: {leg.text}" for name, leg in legs.named() if leg.state != "shown"],
        doubts=list(dict.fromkeys([*finding.doubts, doubt])),
        excess_s=None if finding.excess_s is None else min(finding.excess_s, max(0.0, gap.excess_s)),
    )
