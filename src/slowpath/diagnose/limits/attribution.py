# SPDX-License-Identifier: Apache-2.0
"""What setting a variable to another value showed about a protocol switch, and what that makes of a finding. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from dataclasses import replace as changed

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import Finding, Leg, LimitBracket, RemedyResult, Results, Snippet
from slowpath.diagnose.limits.break_point import Narrowed, Times, narrow, times_of
from slowpath.diagnose.tasks import AttributeTask
from slowpath.findings.finding import legs_missing
from slowpath.findings.slow_path import EAGER, Remedy, SwitchTimes, modulefile_lines, shell_lines
from slowpath.mpi.libraries import AppliesTo
from slowpath.slowpaths.registry import known
from slowpath.stats.laws.law import Bracket

NEAR = (-64, -16, -4, -2, -1, 0, 1, 2, 4, 16, 64)  # bytes from the expected place at which it is measured
SIDE_EFFECTS = (
    "memory of the library's buffers",
    "messages between the old and the new threshold use the other protocol",
)
AND = " and "  # between variables each of which moves one limit
TOGETHER = " together with "  # between variables that move it only both at once
_BESIDE = 3  # points on either side of a break that its two times are medians of
_REMAINS = 0.5  # of the new jump, in logarithms, from which on a jump at the old place is a switch that stayed


@dataclass(frozen=True)
class Attribution:
    """moved: the switch was seen where it was expected, and not where it had been. One alone is no cause: lowering a
    limit that comes into play later adds a switch and leaves the old one.

    before_s, after_s: times on the two sides of the switch, where the variable put it.
    """

    task: AttributeTask
    moved: bool
    text: str
    before_s: float
    after_s: float

    def applied(self, finding: Finding) -> Finding:
        """The finding with its cause named, or with the variable ruled out; proven is what a trial makes it."""
        finding = self._at_limit(finding)
        if not self.task.is_main_limit:
            return finding
        seen = finding.legs.explained
        seen = replace(seen, evidence=[*seen.evidence, self.text])
        if not self.moved:
            return replace(finding, legs=replace(finding.legs, explained=seen))
        own, before = self._remedy(), {f"set {name}" for name in self.task.also}
        others = [remedy for remedy in finding.remedies if remedy.name not in {own.name, *before}]
        finding = replace(finding, remedies=[own, *others])
        explained = Leg(state="shown", text=self._cause(), evidence=seen.evidence)
        legs = replace(finding.legs, explained=explained)
        return replace(
            finding,
            status="proven" if finding.status == "proven" else "explained",
            legs=legs,
            cause=self._cause(),
            hypotheses=[],
            missing=legs_missing(legs),
            rivals=[],
        )

    def _cause(self) -> str:
        names = names_of(self.task)
        if self.task.together:
            return f"Together, {names} set the length of the protocol switch; neither moves it alone."
        if not self.task.also:
            return f"{names} sets the length at which the library changes its protocol."
        return f"The library changes its protocol at the lower of the limits that {names} set; each moves it."

    def own_finding(self, finding: Finding) -> Finding:
        """A finding of this limit alone, where the one with which it was found is about another."""
        if finding.law is None:
            raise ValueError(f"{finding.id}: has no law, and so no limit")
        task = self.task
        slow_s, fast_s = max(self.before_s, self.after_s), min(self.before_s, self.after_s)
        brackets = [bracket for bracket in finding.law.brackets if bracket.above == task.limit_bytes]
        alone = replace(
            finding,
            id=own_id(finding, task.variable),
            about=f"{finding.about}, {task.variable}",
            text=self._switch_text(finding, f"{slow_s / fast_s:.2f}x"),
            ratio=slow_s / fast_s,
            interval=None,
            excess_s=slow_s - fast_s,
            law=replace(finding.law, brackets=brackets),
            remedies=[],
        )
        return Attribution(
            replace(task, is_main_limit=True), self.moved, self.text, self.before_s, self.after_s
        ).applied(alone)

    def _switch_text(self, finding: Finding, ratio: str) -> str:
        path = known(finding.rule)
        if path is None or path.switch_text is None:
            return finding.text
        times = SwitchTimes(
            above=self.task.limit_bytes,
            up_to=self.task.limit_bytes + 1,
            metric=self.task.metric,
            ratio=ratio,
            before_s=self.before_s,
            after_s=self.after_s,
        )
        return f"{path.switch_text(times)}."

    def _at_limit(self, finding: Finding) -> Finding:
        """The limit carries what moved it, and what was seen with each variable that was set to another value."""
        if finding.law is None:
            return finding
        brackets = [self._attributed(bracket) if self._meant(bracket) else bracket for bracket in finding.law.brackets]
        return replace(finding, law=replace(finding.law, brackets=brackets))

    def _meant(self, limit: LimitBracket) -> bool:
        return limit.above == self.task.limit_bytes

    def _attributed(self, limit: LimitBracket) -> LimitBracket:
        texts = [*([limit.attribution] if limit.attribution else []), self.text]
        limit = replace(limit, attribution=". ".join(texts))
        if not self.moved:
            return limit
        together = bool(self.task.together)
        return replace(limit, attributed_to=names_of(self.task), movers=movers_of(self.task), only_together=together)

    def _remedy(self) -> RemedyResult:
        """The first of `remedies_of` as a finding lists it."""
        remedy = remedies_of(self.task, None)[0]
        shell, modulefile = (lines(remedy.variables, remedy.unset) for lines in (shell_lines, modulefile_lines))
        return RemedyResult(
            name=remedy.name,
            text=remedy.text,
            phrase=remedy.words,
            snippet=Snippet(shell=shell, modulefile=modulefile),
            removed_ratio=None,
            side_effects=list(SIDE_EFFECTS),
            verdict="not tried",
            reason=self.text,
            own_settings=list(remedy.unset),
        )


def own_id(finding: Finding, variable: str) -> str:
    """The id of the finding of one limit of this finding's law, the one that the variable sets."""
    digest = hashlib.sha256(f"{finding.id}\n{variable}".encode()).hexdigest()[:8]
    return f"{finding.rule}:{digest}"


def attribution(task: AttributeTask, results: Results) -> Attribution | None:
    """None when the run has no times to judge by."""
    times = times_of(results, "message_bytes", task.metric, task.phase)
    if times is None:
        return None
    found = narrow(Bracket("message_bytes", times.values[2], times.values[-3]), times.values, times.launch_s)
    split = int(np.searchsorted(times.values, found.bracket.above, side="right"))
    place = _expected(task, found)
    remains = place is not None and _remains(task, times, found)
    return Attribution(
        task=task,
        moved=place is not None and not remains,
        text=_words(task, found, place, remains),
        before_s=float(np.median(times.low_s[max(0, split - _BESIDE) : split])),
        after_s=float(np.median(times.low_s[split : split + _BESIDE])),
    )


def stopped_at(task: AttributeTask, results: Results) -> float | None:
    """Where the switch was seen, if neither at the old place nor at an expected one: another limit holds it there."""
    times = times_of(results, "message_bytes", task.metric, task.phase)
    if times is None:
        return None
    found = narrow(Bracket("message_bytes", times.values[2], times.values[-3]), times.values, times.launch_s)
    low, high = found.bracket.above, found.bracket.up_to
    if not found.seen or _expected(task, found) is not None or low <= task.limit_bytes < high:
        return None
    return low


def names_of(task: AttributeTask) -> str:
    """What a limit that the task moves is attributed to, in words."""
    return (TOGETHER if task.together else AND).join(movers_of(task))


def movers_of(task: AttributeTask) -> tuple[str, ...]:
    """The variables that a limit is attributed to if the task moves it."""
    return (task.variable, *task.together) if task.together else (*task.also, task.variable)


def places(task: AttributeTask) -> tuple[int, ...]:
    """Last lengths before the switch that the new value may give: as far from it as from the old one, or, where another
    limit nearly coincides, at the value itself.
    """
    found = [task.expected_bytes, task.moved_bytes - 1, task.moved_bytes]
    for one in task.together.values():
        found += [task.limit_bytes + one.moved_bytes - one.value_bytes, one.moved_bytes - 1, one.moved_bytes]
    return tuple(dict.fromkeys(found))


def _expected(task: AttributeTask, found: Narrowed) -> int | None:
    """The place among those expected at which the switch was seen."""
    low, high = found.bracket.above, found.bracket.up_to
    if not found.seen or high - low > 2 * max(NEAR):
        return None
    return next((place for place in places(task) if low <= place < high), None)


def _remains(task: AttributeTask, times: Times, found: Narrowed) -> bool:
    """Whether a switch still shows at the old place, next to the one at the new place below it."""
    kept = [i for i, value in enumerate(times.values) if value > found.bracket.up_to + max(NEAR)]
    values = [times.values[i] for i in kept]
    old = Bracket("message_bytes", task.limit_bytes - 1, task.limit_bytes + 2)
    if min(sum(value <= old.above for value in values), sum(value >= old.up_to for value in values)) < _BESIDE:
        return False
    there = narrow(old, values, times.launch_s[:, kept])
    is_near = there.bracket.above <= task.limit_bytes < there.bracket.up_to
    return there.seen and is_near and abs(np.log(there.jump_ratio)) > _REMAINS * abs(np.log(found.jump_ratio))


def _words(task: AttributeTask, found: Narrowed, place: int | None, remains: bool) -> str:
    low, high = found.bracket.above, found.bracket.up_to
    changed = f"Setting {task.variable} from {task.value_bytes} ({task.value_source}) to {task.moved_bytes}"
    for name, one in task.together.items():
        changed += f", together with {name} from {one.value_bytes} to {one.moved_bytes},"
    if not found.seen:
        return f"{changed}: no switch shows between {task.expected_bytes} and {task.limit_bytes} B"
    where = f"{low:.0f} B" if high - low <= 1 else f"a place between {low:.0f} and {high:.0f} B"
    if remains:
        return f"{changed} adds a switch at {where} but leaves the old one at {task.limit_bytes} B"
    if place is not None:
        return f"{changed} moves the switch from {task.limit_bytes} B to {where}; expected: {place} B"
    if low <= task.limit_bytes < high:
        return f"{changed} leaves the switch at {where}; expected: {task.expected_bytes} B"
    return f"{changed} moves the switch from {task.limit_bytes} B to {where}, not to {task.expected_bytes} B"


def remedies_of(task: AttributeTask, library: str | None) -> list[Remedy]:
    """What a trial can toggle: the user's own setting of the variable taken away first, then the variable moved."""
    name, variables = task.variable, task.remedy_variables
    joined = AND.join(variables)
    values = AND.join(f"{one}={value}" for one, value in variables.items())
    moved = Remedy(
        name=f"set {joined}",
        text=f"Set {values}: {task.effect}.",
        axes=("environment",),
        control=EAGER,
        side_effects=SIDE_EFFECTS,
        applies=AppliesTo(library),
        variables=variables,
    )
    if not task.set_by_user or task.also or task.together:
        return [moved]
    unset = changed(
        moved,
        name=f"unset {name}",
        text=f"Unset {name}, which is {task.value_bytes} in your environment: {task.effect}.",
        variables={},
        unset=(name,),
    )
    return [unset, moved]
