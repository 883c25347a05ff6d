# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis made of a plant. Pure: findings in, a verdict out. docs/results/plants.md has the rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from slowpath.core.results import Finding, LawCoefficient, Results
from slowpath.experiments.registry import ROLES
from slowpath.studies.plants.own_cost import own_cost
from slowpath.studies.plants.plant import Measured, Truth

NEAR = 0.10  # of a coefficient
GROWN = 2.0  # a finding of the clean machine that is so many times larger is another one
Key = tuple[str, ...]
Verdict = Literal["right", "wrong", "abstained"]


@dataclass(frozen=True)
class Score:
    """why: one line.  beside: findings that are true neither of the plant nor of the clean machine."""

    verdict: Verdict
    why: str
    beside: tuple[str, ...]


class Baseline:
    """Findings that are true of the machine and its library without any plant."""

    def __init__(self, runs: Iterable[Measured]) -> None:
        self._runs = list(runs)
        self._excess_s: dict[Key, float] = {}
        self._seen: dict[Key, int] = {}
        self._texts: dict[Key, str] = {}
        for one in (finding for run in self._runs for finding in run.findings):
            key = key_of(one)
            self._excess_s[key] = max(self._excess_s.get(key, 0.0), (one.excess_s or 0.0))
            self._seen[key] = self._seen.get(key, 0) + 1
            self._texts.setdefault(key, f"{one.rule} {one.where}: {one.text}")

    @property
    def texts(self) -> list[str]:
        """Each finding once, and in how many of the runs."""
        runs = len(self._runs)
        return [f"in {self._seen[key]} of {runs}: {text}" for key, text in self._texts.items()]

    def lists(self, one: Finding) -> bool:
        """Whether a finding was named before anything was planted, of whatever size: machines have phases."""
        return key_of(one) in self._seen

    def holds(self, one: Finding) -> bool:
        """Whether it was named before anything was planted, and was about as large."""
        return self.lists(one) and (one.excess_s or 0.0) <= GROWN * self._excess_s[key_of(one)]

    def cost_s(self, one: Finding, planted: Results, per: str | None) -> float:
        """What the library takes by the finding's law anyway: median over the runs, 0 where none knows."""
        known = [own_cost(one, planted, run.results, per, ROLES) for run in self._runs]
        found = [value for value in known if value is not None]
        return float(median(found)) if found else 0.0


def _terms(one: Finding) -> Sequence[LawCoefficient]:
    return one.law.coefficients if one.law else ()


def key_of(one: Finding) -> Key:
    """What a finding is about, without its numbers."""
    return one.rule, str(one.mpi), str(one.environment), str(one.placement), one.about


def false_alarms(measured: Measured, baseline: Baseline) -> tuple[str, ...]:
    """Of a run without a plant: what it names beyond the baseline."""
    return tuple(f"{one.rule}: {one.text}" for one in measured.findings if not baseline.lists(one))


def score(truth: Truth, measured: Measured, baseline: Baseline) -> Score:
    """Right: the rule is named, its coefficient within 10 %, its limit inside the bracket. Wrong: the rule is named
    with other numbers, or only another rule is. Abstained: nothing is named beyond the baseline."""
    findings, results = measured.findings, measured.results
    new = [one for one in findings if not baseline.lists(one)]
    of_rule = [one for one in findings if one.rule == truth.rule]
    misses = [(one, _miss(truth, one, results, baseline)) for one in of_rule]
    beside = tuple(f"{one.rule}: {one.text}" for one in new if one.rule not in (truth.rule, *truth.also))
    if any(miss is None for _, miss in misses):
        return Score("right", f"{truth.rule}", beside)
    named = [(one, miss) for one, miss in misses if not baseline.holds(one)]
    undecided = [miss for _, miss in named if miss is not None and miss.startswith("no ")]
    if named and len(undecided) < len(named):
        why = next(miss for _, miss in named if miss is not None and not miss.startswith("no "))
        return Score("wrong", f"{truth.rule}, but {why}", beside)
    if beside:
        return Score("wrong", f"{truth.rule} is not named, but {beside[0][:5]}", beside)
    why = f"{truth.rule} with {undecided[0]}" if undecided else f"{truth.rule} is not named"
    return Score("abstained", why, beside)


def _miss(truth: Truth, one: Finding, results: Results, baseline: Baseline) -> str | None:
    """What is not right about a finding of the right rule; it begins with "no" where the finding does not say."""
    if truth.limit is not None and (why := _limit_miss(truth.limit, one)) is not None:
        return why
    return None if truth.cost is None else _cost_miss(truth.cost, one, results, baseline)


def _limit_miss(limit: tuple[str, float], one: Finding) -> str | None:
    covariate, last = limit
    brackets = [b for b in (one.law.brackets if one.law else ()) if b.covariate == covariate]
    if not brackets:
        return f"no limit of {covariate}"
    if any(b.above <= last < b.up_to for b in brackets):
        return None
    limits = ", ".join(f"({b.above:.12g}, {b.up_to:.12g}]" for b in brackets)
    return f"its limit lies in {limits}, planted after {last:.12g}"


def _cost_miss(cost: tuple[str | None, float], one: Finding, results: Results, baseline: Baseline) -> str | None:
    """A cost adds to what the library takes there anyway, which is taken off."""
    per, planted = cost
    terms = [term for term in _terms(one) if term.per == per]
    if len(terms) > 1:  # what every operation costs stands next to what the law adds
        terms = [term for term in terms if term.name != "constant"]
    if not terms:
        return f"no cost per {per or 'use'}"
    own = baseline.cost_s(one, results, per)
    near = min((term.value - own for term in terms), key=lambda value: abs(value / planted - 1))
    if abs(near / planted - 1) <= NEAR:
        return None
    return f"a cost of {near:.3g} s, planted {planted:.3g} s"
