# SPDX-License-Identifier: Apache-2.0
"""The finding that stands in results.json and diagnosis.json, made from an observation and its rule. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec.structs import replace

from slowpath.core.result import Interval
from slowpath.core.results import (
    Finding,
    LawCoefficient,
    LawResult,
    Leg,
    Legs,
    LimitBracket,
    MpiResult,
    RemedyResult,
    RemovedRatio,
    Snippet,
)
from slowpath.findings.slow_path import (
    LEAST_COVERED,
    Observation,
    Parameters,
    Remedy,
    SlowPath,
    Support,
    fitting,
    snippet,
)
from slowpath.stats.laws.law import Coefficient, FittedLaw, formula_words

_AFFECTED = {True: 2, None: 1, False: 0}


def cost(finding: Finding) -> tuple[int, float]:
    """What it costs the user at least: larger is worse. Seconds of the user's program, or of an operation times the
    ratio, at the lower end of its interval: a cost that may be nearly nothing does not speak first.
    """
    affected = _AFFECTED[finding.affects_default]
    if finding.program_s is not None:
        return affected, finding.program_s
    if finding.ratio is None or finding.excess_s is None:
        return affected, float("inf")
    if finding.interval is None or finding.ratio <= 1:
        return affected, finding.excess_s * finding.ratio
    least = max(finding.interval[0], 1.0)
    return affected, finding.excess_s * (least - 1) / (finding.ratio - 1) * least


def by_cost(findings: Iterable[Finding]) -> list[Finding]:
    """The one that costs most first; those that rest on neither contrast nor law as they come, the clearest first."""
    ordered = sorted(findings := list(findings), key=cost, reverse=True)
    outside = [
        finding for finding in findings if finding.ratio and not (finding.contrasts or finding.law or finding.program_s)
    ]
    clearest = iter(outside)
    return [next(clearest) if finding in outside else finding for finding in ordered]


# The finding that stands in results.json and diagnosis.json, made from an observation and its rule.
#
# docs/reference/findings.md has the fields. A finding is *observed* by its contrast or law, *explained* only where law
# and witness agree, *proven* only by a trial.


def removed_ratio(share: float, interval: Interval, gap_s: float | None = None) -> RemovedRatio:
    """Of a share that may exceed 1: no more than all of a gap can go, and the rest is a second effect.

    Args: gap_s: seconds, what it is a share of; None: not known.
    """
    beyond_s = (share - 1) * gap_s if gap_s is not None and interval[0] > 1 else None
    return RemovedRatio(value=min(1.0, share), interval=(min(1.0, interval[0]), interval[1]), beyond_s=beyond_s)


UNTRIED = "run slowpath diagnose"
_OWN = ("environment",)
_NO_LAW = "measure 5 or more lengths"


def finding_id(rule: str, observation: Observation) -> str:
    """`SP001:` and 8 hex digits of what it is about: the same question on the same machine has the same one."""
    place = observation.place
    about = "\n".join(str(part) for part in (rule, place.mpi, place.environment, place.placement, observation.about))
    return f"{rule}:{hashlib.sha256(about.encode()).hexdigest()[:8]}"


def build(
    path: SlowPath,
    seen: Observation,
    support: Support,
    mpi: MpiResult | None,
    sides: tuple[Parameters, Parameters] | None = None,
) -> Finding:
    """One finding without a trial.

    Args: support: what the rule's witness shows; it explains only together with a law, where the rule asks for one.
          mpi: the entry of run.mpis of the library that it was seen under.
          sides: parameters of the slow and of the fast cell; a remedy that changes nothing in the slow one is none.
          None: not known.
    """
    explained = _explained(path, seen, support)
    shown = explained.state == "shown"
    legs = Legs(
        observed=Leg(state="shown", text="a difference beyond the minimum effect", evidence=_observed(seen)),
        explained=explained,
        proven=Leg(state="missing", text=UNTRIED, evidence=[], untried=True),
    )
    return Finding(
        id=finding_id(path.code, seen),
        rule=path.code,
        title=path.title,
        text=seen.text,
        about=seen.about,
        where=seen.place.words,
        mpi=seen.place.mpi,
        environment=seen.place.environment,
        placement=seen.place.placement,
        status="explained" if shown else "observed",
        affects_default=seen.affects_default,
        ratio=seen.ratio,
        interval=seen.interval,
        excess_s=seen.excess_s,
        metric=seen.metric,
        phase=seen.phase,
        law=law_result(seen.law) if seen.law else None,
        legs=legs,
        missing=legs_missing(legs),
        cause=path.summary if shown else None,
        contrasts=list(seen.contrasts),
        cells=list(seen.cells),
        slow_cells=list(seen.slow_cells),
        fast_cells=list(seen.fast_cells),
        merged=[],
        doubts=list(seen.doubts),
        remedies=_remedies(path, seen, mpi, sides),
        next=_next(path, seen),
        axis=seen.axis,
        kind="fault" if seen.is_sure_fault else path.kind,
        concerns=path.concerns,
    )


def with_explained(finding: Finding, leg: Leg, cause: str | None) -> Finding:
    """The finding with another leg "explained"."""
    legs = replace(finding.legs, explained=leg)
    return replace(finding, cause=cause, legs=legs, missing=legs_missing(legs))


def legs_missing(legs: Legs) -> list[str]:
    """Which legs are not shown, and what would supply them."""
    return [f"{name}: {leg.text}" for name, leg in legs.named() if leg.state != "shown"]


def law_result(law: FittedLaw) -> LawResult:
    """As docs/reference/findings.md has it."""
    return LawResult(
        name=law.name,
        formula=law.formula,
        coefficients=[_coefficient(coefficient) for coefficient in law.coefficients],
        brackets=[LimitBracket(covariate=b.covariate, above=b.above, up_to=b.up_to) for b in law.brackets],
        residual_ratio=law.residual_ratio,
        runner_up=law.runner_up,
        refused=law.refused,
        points=law.points,
        launches=law.launches,
        text=formula_words(law),
        drawn=law.drawn,
    )


def _coefficient(coefficient: Coefficient) -> LawCoefficient:
    return LawCoefficient(
        name=coefficient.name,
        per=coefficient.per.unit if coefficient.per else None,
        unit=coefficient.unit,
        value=coefficient.value,
        interval=coefficient.interval,
        interval_kind=coefficient.kind,
    )


def _observed(seen: Observation) -> list[str]:
    law = seen.law
    if law is None or law.name is None:
        return list(seen.evidence)
    return [*seen.evidence, f"law {law.name}: {formula_words(law)}"]


def _explained(path: SlowPath, seen: Observation, support: Support) -> Leg:
    law, evidence = seen.law, list(support.evidence)
    if support.state == "shown" and support.covers is not None and support.covers < LEAST_COVERED:
        part = f"only partly explained: {support.text}, which covers {support.covers:.2%} of the extra time"
        return Leg(state="missing", text=part, evidence=evidence)
    if support.state == "refuted" or not path.needs_law or (law is not None and law.name is not None):
        return Leg(state=support.state, text=support.text, evidence=evidence)
    why = f"no law: {law.refused}" if law is not None and law.refused else f"no law; {_NO_LAW}"
    text = why if support.state == "shown" else f"{why}; {support.text}"
    return Leg(state="missing", text=text, evidence=evidence)


def _remedies(
    path: SlowPath, seen: Observation, mpi: MpiResult | None, sides: tuple[Parameters, Parameters] | None
) -> list[RemedyResult]:
    """Those of the table that fit the axis of the contrast and change the slow cell: first what sets or unsets the
    variables in which the two sides differ, then what leads to the fast side's own value, then what else may help, what
    takes spare cores last.
    """
    library = (mpi.name or "", mpi.version, mpi.transport) if mpi else ("", None, None)
    table = fitting(path.remedies, seen.axis, *library)
    if sides is not None:
        slow, fast = sides
        changing = [remedy for remedy in table if remedy.fits(slow)]
        table = tuple(
            sorted(changing, key=lambda remedy: (not remedy.leads(slow, fast), (remedy.cores_per_rank or 1) > 1))
        )
    names = ", ".join(seen.exports or seen.unsets)
    own: list[Remedy] = []
    if seen.exports:
        own = [Remedy(f"set {names}", f"Set {names}.", _OWN, variables=seen.exports)]
        table = tuple(remedy for remedy in table if not remedy.unset)
    elif seen.unsets:
        table = tuple(remedy for remedy in table if set(remedy.unset) <= set(seen.unsets))
        if not any(remedy.unset for remedy in table):
            own = [Remedy(f"unset {names}", f"Unset {names}.", _OWN, unset=seen.unsets)]
    return [untried(remedy, mpi.name if mpi else None) for remedy in (*own, *table)]


def untried(remedy: Remedy, library: str | None, why: str | None = None) -> RemedyResult:
    """A remedy as a finding lists it.  Args: library: whose launcher binds, as "mpich".  why: it was not tried."""
    return RemedyResult(
        name=remedy.name,
        text=remedy.text,
        phrase=remedy.words,
        snippet=Snippet(**snippet(remedy, library)),
        removed_ratio=None,
        side_effects=[],
        verdict="not tried",
        reason=why or "no trial was run",
    )


def _next(path: SlowPath, seen: Observation) -> list[str]:
    law = seen.law
    steps = []
    if path.needs_law and (law is None or law.name is None):
        steps.append(_NO_LAW)
    return [*steps, "try each remedy: slowpath diagnose"]


_RANK = {"missing": 0, "refuted": 1, "shown": 2}


def with_trial(finding: Finding, remedy: RemedyResult, leg: Leg) -> Finding:
    """The finding after a trial of one remedy; a remedy of the same name is replaced.

    Args:    remedy: with its verdict.  leg: what the trial showed of `proven`.
    Returns: a new finding. It is proven when any remedy's leg is shown; a refuted leg stands only while none is.
    """
    others = [listed for listed in finding.remedies if listed.name != remedy.name]
    before = finding.legs.proven
    kept = leg if _RANK[leg.state] >= _RANK[before.state] else before
    evidence = list(dict.fromkeys([*before.evidence, *leg.evidence]))
    legs = replace(finding.legs, proven=replace(kept, evidence=evidence))
    proven = legs.proven.state == "shown"
    return replace(
        finding,
        status="proven" if proven else finding.status,
        legs=legs,
        missing=legs_missing(legs),
        remedies=sorted([remedy, *others], key=lambda tried: _ORDER.get(tried.verdict, len(_ORDER))),
        next=[] if proven else finding.next,
    )


_ORDER = {
    name: number for number, name in enumerate(("proven", "partial", "not tried", "both sides", "no effect", "worse"))
}
