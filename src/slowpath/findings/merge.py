# SPDX-License-Identifier: Apache-2.0
"""Findings with one cause become one: metrics, sizes, environments and weaker names of the same excess. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from slowpath.core.results import Finding
from slowpath.findings.order import by_cost

_STATUS = {"observed": 0, "explained": 1, "proven": 2}
Rank = tuple[bool, int, bool, bool, float]


def merged(findings: Sequence[Finding], stronger: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Fewer findings, the one that costs most first (findings.order).

    Args: stronger: rule -> the rules into which it is folded where both name the same excess in one place.
    """
    same = [_folded(group) for group in _grouped(findings, lambda f: (f.id,))]
    places = [_folded(group) for group in _grouped(same, lambda f: (f.rule, f.mpi, f.about))]
    return by_cost(_without_weaker(places, stronger))


def _grouped(findings: Iterable[Finding], key: Callable[[Finding], tuple[object, ...]]) -> list[list[Finding]]:
    groups: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[key(finding)].append(finding)
    return list(groups.values())


def _rank(one: Finding) -> Rank:
    """What speaks for those that it is folded with: what is the user's own, what has a law, what costs most."""
    law = one.law is not None and one.law.name is not None
    own = one.affects_default is not False
    return (own, _STATUS[one.status], law, one.interval is not None, one.excess_s or 0.0)


def _unsure_ratio(one: Finding) -> float:
    """How wide the interval of the cost that the law adds last is, over the cost; infinite where none is known."""
    terms = one.law.coefficients if one.law else []
    if not terms or terms[-1].interval is None or not terms[-1].value:
        return float("inf")
    low, high = terms[-1].interval
    return (high - low) / abs(terms[-1].value)


def _folded(group: Sequence[Finding]) -> Finding:
    """The strongest of a group, with what the others rest on.

    Where several follow the same law the one that is known best speaks: what long messages cost otherwise varies more
    than what the law adds.
    """
    ranked = sorted(group, key=_rank, reverse=True)
    named = _law(ranked[0])
    alike = [one for one in ranked if named is not None and _law(one) == named and one.rule == ranked[0].rule]
    first = min(alike, key=_unsure_ratio) if alike else ranked[0]
    return _with(first, [one for one in ranked if one is not first])


def _law(one: Finding) -> str | None:
    return one.law.name if one.law else None


def _with(first: Finding, others: Sequence[Finding]) -> Finding:
    if not others:
        return first
    every = (first, *others)
    ids = [other.id for other in others if other.id != first.id]
    evidence = list(dict.fromkeys(text for one in every for text in one.legs.observed.evidence))
    return replace(
        first,
        contrasts=list(dict.fromkeys(name for one in every for name in one.contrasts)),
        cells=_numbers(one.cells for one in every),
        slow_cells=_numbers(one.slow_cells for one in every),
        fast_cells=_numbers(one.fast_cells for one in every),
        doubts=list(dict.fromkeys(text for one in every for text in one.doubts)),
        merged=list(dict.fromkeys([*(name for one in every for name in one.merged), *ids])),
        legs=replace(first.legs, observed=replace(first.legs.observed, evidence=evidence)),
    )


def _numbers(cells: Iterable[Sequence[int]]) -> list[int]:
    return list(dict.fromkeys(number for some in cells for number in some))


def _without_weaker(findings: Sequence[Finding], stronger: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Folds each finding into one of a stronger rule that shares a cell with it, or its place."""
    kept = list(findings)
    for finding in findings:
        over = [f for f in kept if f is not finding and f.rule in stronger.get(finding.rule, ()) and _alike(f, finding)]
        if over:
            target = max(over, key=_rank)
            index = next(i for i, f in enumerate(kept) if f is target)
            kept[index] = _with(target, [finding])
            kept = [f for f in kept if f is not finding]
    return kept


def _alike(one: Finding, other: Finding) -> bool:
    """The same library and memory, or a cell in common."""
    if set(one.slow_cells) & set(other.slow_cells):
        return True
    return (one.mpi, one.about) == (other.mpi, other.about)
