# SPDX-License-Identifier: Apache-2.0
"""What a trial's outcome makes of its finding. Pure."""

from __future__ import annotations

from slowpath.core.results import Finding, RemedyResult, Snippet
from slowpath.diagnose.trials.verdict import TrialOutcome
from slowpath.findings.finding import with_trial


def with_outcome(finding: Finding, outcome: TrialOutcome) -> Finding:
    """The finding after a trial of one of its remedies, or of one that it does not list."""
    listed = next((one for one in finding.remedies if one.name == outcome.remedy), None)
    tried = RemedyResult(
        name=outcome.remedy,
        text=listed.text if listed else outcome.remedy,
        snippet=listed.snippet if listed else Snippet(),
        removed_ratio=outcome.removed_ratio,
        side_effects=[*outcome.side_effects, *(listed.side_effects if listed else ())],
        verdict=outcome.verdict,
        reason=outcome.reason,
    )
    return with_trial(finding, tried, outcome.leg)
