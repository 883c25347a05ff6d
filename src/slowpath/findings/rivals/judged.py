# SPDX-License-Identifier: Apache-2.0
"""A rule's cause held against its rivals: what became of each, and what may be said. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed

from msgspec.structs import replace

from slowpath.core.results import Claim, Leg, Rival
from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation, Support, hypothesis_text
from slowpath.findings.remedy import Remedy
from slowpath.findings.rivals.kinds import SIDE
from slowpath.findings.rivals.rival import Judged, RivalKind
from slowpath.findings.slow_path import SlowPath
from slowpath.findings.witness import work_of

# What a cost follows, by the law that holds.
_FOLLOWS: Mapping[str, str] = {
    "granules": "pages",
    "pages": "pages",
    "allocation": "allocation",
    "bytes": "message",
    "constant": "nothing",
    "live buffers": "buffers",
    "repetition": "uses",
    "blocks": "blocks",
    "queue": "queue",
}


@dataclass(frozen=True)
class Contest:
    """rivals: as results have them.  claim: of the cause that is left, were it explained.  cause: its sentence.

    hypotheses: of the rule that no experiment refuted.  is_over: there is no slow path at all.  title: of the rival
    that is true, in place of the rule's; empty: the rule's holds.  remedies: then, in place of the rule's.
    """

    rivals: tuple[Rival, ...]
    claim: Claim | None
    cause: str
    hypotheses: tuple[str, ...]
    is_over: bool
    title: str = ""
    remedies: tuple[Remedy, ...] = ()

    @property
    def winner(self) -> Rival | None:
        """The rival that was found to be true."""
        return next((rival for rival in self.rivals if rival.state == "true"), None)

    @property
    def standing(self) -> list[Rival]:
        """Those that nothing refuted yet."""
        return [rival for rival in self.rivals if rival.state == "standing"]


def contest(path: SlowPath, facts: Facts, seen: Observation, support: Support) -> Contest:
    """The rule's cause against all of its rivals."""
    kinds = _kinds(path, seen)
    judged = [(kind, kind.judge(facts, seen, support)) for kind in kinds]
    rivals = tuple(_rival(kind, found) for kind, found in judged)
    gone = {kind.name for kind, found in judged if found.state == "refuted"}
    all_of_them = seen.hypotheses or path.hypotheses
    standing = [one for one in all_of_them if isinstance(one, str) or one.rival not in gone]
    won = next((rival for rival in rivals if rival.state == "true"), None)
    true = [kind for kind, found in judged if found.state == "true"]
    others = [kind for kind in true if kind.title_of_finding]
    return Contest(
        rivals=rivals,
        claim=_claim(path, seen, support, [found for _, found in judged], won),
        cause=won.cause if won else seen.cause or path.cause,
        hypotheses=tuple(map(hypothesis_text, standing)) or (path.cause,),
        is_over=any(kind.ends for kind in true),
        title=others[0].title_of_finding if others else "",
        remedies=tuple(remedy for kind in others for remedy in kind.remedies),
    )


def with_side(path: SlowPath, facts: Facts, seen: Observation, support: Support) -> Support:
    """What was witnessed, with the side that an experiment showed where processor time alone did not."""
    if support.state != "missing" and not (support.state == "shown" and support.time == "user" and not support.side):
        return support
    for kind in _kinds(path, seen):
        found = kind.judge(facts, seen, support) if kind is SIDE else None
        if found is not None and found.side is not None:
            text = f"{support.text}; {found.text}"
            reported = changed(support, text=text, evidence=(*support.evidence, *found.evidence))
            return work_of(facts, seen, found.side, found.text) or reported
    return support


def _kinds(path: SlowPath, seen: Observation) -> tuple[RivalKind, ...]:
    return path.rivals if seen.slow_cells and seen.fast_cells else ()


def uncontested(path: SlowPath, seen: Observation) -> Contest:
    """The rule's cause by itself, where no rival of it can be looked at."""
    hypotheses = tuple(map(hypothesis_text, seen.hypotheses or path.hypotheses)) or (path.cause,)
    return Contest((), path.claim, seen.cause or path.cause, hypotheses, is_over=False)


def _rival(kind: RivalKind, found: Judged) -> Rival:
    return Rival(
        name=kind.name,
        cause=found.cause or kind.cause,
        claim=found.claim or kind.claim,
        experiment=kind.experiment,
        state=found.state,
        text=found.text,
        evidence=list(found.evidence),
    )


def _claim(
    path: SlowPath, seen: Observation, support: Support, judged: Sequence[Judged], won: Rival | None
) -> Claim | None:
    """Time and side as they were measured, the rest as law and rule have it."""
    base = won.claim if won else path.claim
    if base is None:
        return None
    side = next((one.side for one in judged if one.side), support.side)
    law = _FOLLOWS.get(seen.law.name or "") if seen.law else None
    return replace(
        base,
        time=base.time if won else support.time or base.time,
        side=base.side or side,
        by=base.by if won and base.by else law or base.by or (path.claim.by if path.claim else None),
    )


def held_against(leg: Leg, found: Contest, *, has_law: bool) -> Leg:
    """The leg `explained` of law and witness, once the cause is held against its rivals.

    Args: has_law: a law is named, or none is needed: then an experiment that shows a rival explains by itself.
    """
    won = found.winner
    if won is not None and (leg.state == "shown" or has_law):
        evidence = list(dict.fromkeys([*won.evidence, *leg.evidence]))
        return Leg(state="shown", text=f"another cause than the rule's: {won.text}", evidence=evidence)
    if leg.state != "shown" or not found.standing:
        return leg
    others = " or: ".join(rival.cause.rstrip(".") for rival in found.standing)
    needs = "; ".join(f"{rival.name}: {rival.text}" for rival in found.standing)
    return replace(leg, state="missing", text=f"either: {found.cause.rstrip('.')}, or: {others} ({needs})")
