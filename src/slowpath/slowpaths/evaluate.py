# SPDX-License-Identifier: Apache-2.0
"""From the facts of a run to its findings: every slow path observes, one cause is reported once. Pure.

Metrics, sizes and environments of the same excess become one finding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from slowpath.core.plan import Roles
from slowpath.core.results import Finding, Results
from slowpath.findings.facts import CLEAR_RATIO, Facts, crowded
from slowpath.findings.finding import build, by_cost
from slowpath.findings.slow_path import Observation, Parameters, SlowPath
from slowpath.findings.witness import library, without_waits
from slowpath.slowpaths.registry import SLOW_PATHS


def findings(
    results: Results,
    roles: Roles,
    paths: Sequence[SlowPath] = SLOW_PATHS,
) -> list[Finding]:
    """All findings of a run, the strongest first; none of them proven.

    Args: results: `findings` of it is not read.  roles: of the parameters of its cells.  paths: slow paths to look for.
    """
    evidence = Facts(results.run, results.cells, results.contrasts, roles, skipped=results.skipped)
    concluded = [
        _finding(evidence, path, observation)
        for path in paths
        for observation in path.observe(evidence)
        if _is_reported(evidence, observation)
    ]
    # Where ranks share a processor the times of messages are turns of the scheduler (0.65 us became 5.3 us, and a put
    # under a lock 46 us): no finding of such a placement can be judged. That it is so stands first in the verdict.
    spoilt = {placement.name for placement in crowded(results.run.placements)}
    return merged([finding for finding in concluded if finding.placement not in spoilt])


def _finding(facts: Facts, path: SlowPath, observation: Observation) -> Finding:
    support = without_waits(facts, observation, path.witnesses(facts, observation))
    mpi = library(facts.run, observation.place.mpi)
    return build(path, observation, support, mpi, _parameters(facts, observation))


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


_STATUS = {"observed": 0, "explained": 1, "proven": 2}
Rank = tuple[bool, int, bool, bool, float]


def merged(findings: Sequence[Finding]) -> list[Finding]:
    """Fewer findings, the one that costs most first (findings.order)."""
    same = [_folded(group) for group in _grouped(findings, lambda f: (f.id,))]
    return by_cost([_folded(group) for group in _grouped(same, lambda f: (f.rule, f.mpi, f.about))])


def _grouped(findings: Iterable[Finding], key: Callable[[Finding], tuple[object, ...]]) -> list[list[Finding]]:
    groups: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[key(finding)].append(finding)
    return list(groups.values())


def _rank(finding: Finding) -> Rank:
    """What speaks for those that it is folded with: what is the user's own, what has a law, what costs most."""
    law = finding.law is not None and finding.law.name is not None
    own = finding.affects_default is not False
    return (own, _STATUS[finding.status], law, finding.interval is not None, finding.excess_s or 0.0)


def _unsure_ratio(finding: Finding) -> float:
    """How wide the interval of the cost that the law adds last is, over the cost; infinite where none is known."""
    terms = finding.law.coefficients if finding.law else []
    if not terms or terms[-1].interval is None or not terms[-1].value:
        return float("inf")
    low, high = terms[-1].interval
    return (high - low) / abs(terms[-1].value)


def _folded(group: Sequence[Finding]) -> Finding:
    """The strongest of a group, with what the others rest on.

    Where several follow the same law the one that is known best speaks: long messages vary by more than it adds.
    """
    ranked = sorted(group, key=_rank, reverse=True)
    named = _law(ranked[0])
    alike = [
        finding for finding in ranked if named is not None and _law(finding) == named and finding.rule == ranked[0].rule
    ]
    first = min(alike, key=_unsure_ratio) if alike else ranked[0]
    return _with(first, [finding for finding in ranked if finding is not first])


def _law(finding: Finding) -> str | None:
    return finding.law.name if finding.law else None


def _with(first: Finding, others: Sequence[Finding]) -> Finding:
    if not others:
        return first
    every = (first, *others)
    ids = [other.id for other in others if other.id != first.id]
    evidence = list(dict.fromkeys(text for finding in every for text in finding.legs.observed.evidence))
    return replace(
        first,
        contrasts=list(dict.fromkeys(name for finding in every for name in finding.contrasts)),
        cells=_numbers(finding.cells for finding in every),
        slow_cells=_numbers(finding.slow_cells for finding in every),
        fast_cells=_numbers(finding.fast_cells for finding in every),
        doubts=list(dict.fromkeys(text for finding in every for text in finding.doubts)),
        merged=list(dict.fromkeys([*(name for finding in every for name in finding.merged), *ids])),
        legs=replace(first.legs, observed=replace(first.legs.observed, evidence=evidence)),
    )


def _numbers(cells: Iterable[Sequence[int]]) -> list[int]:
    return list(dict.fromkeys(number for some in cells for number in some))
