# SPDX-License-Identifier: Apache-2.0
"""What the user's own variables force, and the findings that are therefore the user's own. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from slowpath.core.results import Finding, Results
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import WITHOUT_USER, UserState
from slowpath.mpi.settings import Forced
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import SLOW_PATHS, codes_refined_by

FORCED_STATES = {path.code: path.forced_state for path in SLOW_PATHS if path.forced_state}


def user_state(forced: Sequence[Forced]) -> UserState | None:
    """What rules are given of the user's variables; None: none forces a state."""
    if not forced:
        return None
    return UserState(forced[0].state, {one.name: one.value for one in forced}, WITHOUT_USER)


def findings_under(results: Results, forced: Sequence[Forced]) -> list[Finding]:
    """What the rules see in a run that the user's variables were part of."""
    found = findings(results, ROLES, user_state=user_state(forced))
    return [_as_users_own(one, forced) for one in found]


def is_users_own(finding: Finding) -> bool:
    """Whether it is of settings, or of a state that users can force, and holds for those who change nothing."""
    return bool(finding.affects_default) and finding.rule in (*FORCED_STATES, *codes_refined_by("settings"))


def _as_users_own(finding: Finding, forced: Sequence[Forced]) -> Finding:
    """A finding of the state that the user's variables force is the user's own, and says so."""
    if finding.environment != "default" or finding.rule not in FORCED_STATES:
        return finding
    own = [f"{one.name}={one.value}" for one in forced if FORCED_STATES[finding.rule] == one.state]
    if not own:
        return finding
    text = f"{finding.text.rstrip('.')}; your environment sets {', '.join(own)}."
    return replace(finding, affects_default=True, text=text)
