# SPDX-License-Identifier: Apache-2.0
"""From the facts of a run to its findings: every slow path observes, one cause is reported once. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from slowpath.core.engine_description import Roles
from slowpath.core.results import Finding, MpiResult, PlacementResult, Results
from slowpath.findings.control_variables import library
from slowpath.findings.difference import CLEAR_RATIO
from slowpath.findings.facts import Facts as Facts
from slowpath.findings.facts import Later, UserState
from slowpath.findings.finding import build
from slowpath.findings.merge import merged
from slowpath.findings.observation import Observation
from slowpath.findings.processors import crowded
from slowpath.findings.remedy import Parameters
from slowpath.findings.rivals.judged import contest, with_side
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.expected import held_against_range
from slowpath.slowpaths.registry import SLOW_PATHS


def findings(
    results: Results,
    roles: Roles,
    paths: Sequence[SlowPath] = SLOW_PATHS,
    user_state: UserState | None = None,
    experiments: Sequence[Results] = (),
    later: Later | None = None,
) -> list[Finding]:
    """All findings of a run, the strongest first; none of them proven.

    Args: results: `findings` of it is not read.  roles: of the parameters of its cells.  paths: slow paths to look for.
          user_state: a slow state that the user's variables force, where they are known to.
          experiments: further runs, made to tell causes apart, the newest first.
          later: what laws predicted and was measured in another run.
    """
    evidence = Facts(results, roles, user_state, experiments, later)
    made = (
        _finding(evidence, path, observation)
        for path in paths
        for observation in path.observe(evidence)
        if _is_reported(evidence, observation)
    )
    found = [one for one in made if one is not None]
    stronger = {path.code: path.stronger for path in paths}
    return _without_crowded(merged(found, stronger), crowded(results.run.placements), paths)


def _finding(facts: Facts, path: SlowPath, observation: Observation) -> Finding | None:
    """None where an experiment showed that there is no slow path."""
    support = with_side(path, facts, observation, path.witnesses(facts, observation))
    against = contest(path, facts, observation, support)
    if against.is_over:
        return None
    sides, mpi = _parameters(facts, observation), _mpi(facts, observation)
    return held_against_range(build(path, observation, support, mpi, sides, against), mpi)


def _is_reported(facts: Facts, observation: Observation) -> bool:
    """Not where a cell that was compared with itself came out as different: this machine shows effects of that size.

    What only a state costs that nobody chose is reported from CLEAR_RATIO on.
    """
    interval = observation.interval
    least = max(facts.control_ratio, CLEAR_RATIO if observation.affects_default is False else 1.0)
    return interval is None or interval[0] > least


def _parameters(facts: Facts, observation: Observation) -> tuple[Parameters, Parameters] | None:
    """Of the slow and of the fast cell that the observation speaks of; None: it names no slow one."""
    slow, fast = (
        next((facts.cells[number].parameters for number in numbers), None)
        for numbers in (observation.slow_cells, observation.fast_cells)
    )
    return None if slow is None else (slow, fast or {})


def _mpi(facts: Facts, observation: Observation) -> MpiResult | None:
    """What is known of the library under which it was seen."""
    return library(facts.run, observation.place.mpi)


def _without_crowded(
    findings: Sequence[Finding], placements: Sequence[PlacementResult], paths: Sequence[SlowPath]
) -> list[Finding]:
    """Where ranks share a processor the times of messages are turns of the scheduler (0.65 us became 5.3 us, and a put
    under a lock 46 us): no other finding of such a placement can be judged, so each is folded into the one about it.
    """
    spoilers = {(path.code, path.spoils) for path in paths if path.spoils}
    speaking = next((finding for finding in findings if (finding.rule, finding.about) in spoilers), None)
    if speaking is None:
        return list(findings)
    names = {placement.name for placement in placements}
    over = [finding for finding in findings if finding is not speaking and finding.placement in names]
    whole = replace(speaking, merged=list(dict.fromkeys([*speaking.merged, *(one.id for one in over)])))
    return [
        whole if finding is speaking else finding for finding in findings if not any(finding is other for other in over)
    ]
