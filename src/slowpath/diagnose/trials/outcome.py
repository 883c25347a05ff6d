# SPDX-License-Identifier: Apache-2.0
"""What a trial's outcome makes of its finding. Pure."""

from __future__ import annotations

from slowpath.core.results import Finding, RemedyResult, SideEffect, Snippet
from slowpath.diagnose.trials.verdict import TrialOutcome
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
    return with_trial(finding, tried, outcome.leg)
