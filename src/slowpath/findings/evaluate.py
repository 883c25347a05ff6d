# SPDX-License-Identifier: Apache-2.0
"""From results.json to findings: all rules are asked, their witnesses are heard, one cause is said once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.shared_processors import folded
from slowpath.findings.evidence.user_state import UserState
from slowpath.findings.finding import Finding, build
from slowpath.findings.merge import merged
from slowpath.findings.registry import RULES
from slowpath.findings.rule import Observation, Rule

WORTH_TELLING_RATIO = 1.25


def findings(results: Any, rules: Sequence[Rule] = RULES, user_state: UserState | None = None) -> list[Finding]:
    """All findings of a run, the strongest first; none of them proven.

    Args: results: as docs/reference/results.md has it; `findings` of it is not read.  rules: to ask.
          user_state: a slow state that the user's variables force, where they are known to.
    """
    evidence = Evidence(results, user_state)
    found = [
        build(rule, observation, rule.witnesses(evidence, observation), _mpi(evidence, observation))
        for rule in rules
        for observation in rule.observe(evidence)
        if _believed(evidence, observation)
    ]
    return folded(evidence, merged(found, {rule.code: rule.stronger for rule in rules}))


def _believed(evidence: Evidence, observation: Observation) -> bool:
    """Not where a cell that was compared with itself came out as different: this machine shows effects of that size.

    What only a state costs that nobody chose is told from WORTH_TELLING_RATIO on.
    """
    interval = observation.interval
    least = max(evidence.control_ratio, WORTH_TELLING_RATIO if observation.usual is False else 1.0)
    return interval is None or interval[0] > least


def _mpi(evidence: Evidence, observation: Observation) -> Mapping[str, Any]:
    """What is known of the library under which it was seen."""
    every: Sequence[Mapping[str, Any]] = evidence.run.get("mpis") or [evidence.run.get("mpi") or {}]
    return next((one for one in every if one.get("mpi") == observation.place.mpi), every[0] if len(every) == 1 else {})
