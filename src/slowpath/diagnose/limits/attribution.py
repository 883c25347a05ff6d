# SPDX-License-Identifier: Apache-2.0
"""What setting a variable to another value showed about a protocol switch, and what that makes of a finding. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import Finding, Leg, LimitBracket, RemedyResult, Results, Snippet
from slowpath.core.units import format_bytes, format_time
from slowpath.diagnose.limits.break_point import Narrowed, narrow, times_of
from slowpath.diagnose.tasks import AttributeTask
from slowpath.findings.remedies.remedy import Remedy
from slowpath.findings.remedies.snippet import modulefile_lines, shell_lines
from slowpath.findings.remedies.variables import EAGER
from slowpath.mpi.applies import AppliesTo
from slowpath.stats.laws.found import Bracket

NEAR = (-64, -16, -4, -2, -1, 0, 1, 2, 4, 16, 64)  # bytes from the expected place at which it is measured
SIDE_EFFECTS = (
    "memory of the library's buffers",
    "messages between the old and the new threshold use the other protocol",
)
_BESIDE = 3  # points on either side of a break that its two times are medians of


@dataclass(frozen=True)
class Attribution:
    """moved: the switch was seen where it was expected, and not where it had been.

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
        own = self._remedy()
        finding = replace(finding, remedies=[own, *(one for one in finding.remedies if one.name != own.name)])
        if not self.moved:
            return finding
        evidence = [*finding.legs.explained.evidence, self.text]
        explained = Leg(state="shown", text=self.text, evidence=evidence)
        return replace(
            finding,
            status="proven" if finding.status == "proven" else "explained",
            legs=replace(finding.legs, explained=explained),
            cause=f"{self.task.variable} sets the length at which the library changes its protocol.",
            hypotheses=[],
            missing=[text for text in finding.missing if not text.startswith("explained")],
        )

    def own_finding(self, finding: Finding) -> Finding:
        """A finding of this limit alone, where the one with which it was found is about another."""
        if finding.law is None:
            raise ValueError(f"{finding.id}: has no law, and so no limit")
        task = self.task
        digest = hashlib.sha256(f"{finding.id}\n{task.variable}".encode()).hexdigest()[:8]
        slow_s, fast_s = max(self.before_s, self.after_s), min(self.before_s, self.after_s)
        brackets = [one for one in finding.law.brackets if one.above == task.limit_bytes]
        alone = replace(
            finding,
            id=f"{finding.rule}:{digest}",
            about=f"{finding.about}, {task.variable}",
            text=switch_words(task.limit_bytes, self.before_s, self.after_s),
            ratio=slow_s / fast_s,
            interval=None,
            excess_s=slow_s - fast_s,
            law=replace(finding.law, brackets=brackets),
            remedies=[],
        )
        return Attribution(
            replace(task, is_main_limit=True), self.moved, self.text, self.before_s, self.after_s
        ).applied(alone)

    def _at_limit(self, finding: Finding) -> Finding:
        """The limit carries what moved it, or what did not."""
        if finding.law is None:
            return finding
        brackets = [self._attributed(one) if self._meant(one) else one for one in finding.law.brackets]
        return replace(finding, law=replace(finding.law, brackets=brackets))

    def _meant(self, limit: LimitBracket) -> bool:
        return limit.above == self.task.limit_bytes

    def _attributed(self, limit: LimitBracket) -> LimitBracket:
        variable = self.task.variable if self.moved else limit.attributed_to
        return replace(limit, attribution=self.text, attributed_to=variable)

    def _remedy(self) -> RemedyResult:
        """The first of `remedies_of` as a finding lists it."""
        remedy = remedies_of(self.task, None)[0]
        shell, modulefile = (lines(remedy.variables, remedy.unset) for lines in (shell_lines, modulefile_lines))
        return RemedyResult(
            name=remedy.name,
            text=remedy.text,
            snippet=Snippet(shell=shell, modulefile=modulefile),
            removed_ratio=None,
            side_effects=list(SIDE_EFFECTS),
            verdict="not tried" if self.moved else "no effect",
            reason=self.text,
        )


def attribution(task: AttributeTask, results: Results) -> Attribution | None:
    """None when the run has no times to judge by."""
    times = times_of(results, "message_bytes", task.metric, task.phase)
    if times is None:
        return None
    found = narrow(Bracket("message_bytes", times.values[2], times.values[-3]), times.values, times.launch_s)
    low, high = found.bracket.above, found.bracket.up_to
    split = int(np.searchsorted(times.values, low, side="right"))
    return Attribution(
        task=task,
        moved=found.seen and low <= task.expected_bytes < high and high - low <= 2 * max(NEAR),
        text=_words(task, found),
        before_s=float(np.median(times.low_s[max(0, split - _BESIDE) : split])),
        after_s=float(np.median(times.low_s[split : split + _BESIDE])),
    )


def switch_words(limit_bytes: float, before_s: float, after_s: float) -> str:
    """`At the 8 KiB protocol switch latency jumps 2.58x: 1.18 us below, 3.04 us above.`"""
    change, ratio = ("jumps", after_s / before_s) if after_s > before_s else ("falls", before_s / after_s)
    return (
        f"At the {format_bytes(int(limit_bytes))} protocol switch latency {change} {ratio:.2f}x: "
        f"{format_time(before_s)} below, {format_time(after_s)} above."
    )


def _words(task: AttributeTask, found: Narrowed) -> str:
    low, high = found.bracket.above, found.bracket.up_to
    changed = f"Setting {task.variable} from {task.value_bytes} ({task.value_source}) to {task.moved_bytes}"
    if not found.seen:
        return f"{changed}: no switch shows between {task.limit_bytes} and {task.expected_bytes} B"
    where = f"{low:.0f} B" if high - low <= 1 else f"a place between {low:.0f} and {high:.0f} B"
    if low <= task.expected_bytes < high and high - low <= 2 * max(NEAR):
        return f"{changed} moves the switch from {task.limit_bytes} B to {where}; expected: {task.expected_bytes} B"
    return f"{changed} leaves the switch at {where}, not at the expected {task.expected_bytes} B"


def remedies_of(task: AttributeTask, library: str | None) -> list[Remedy]:
    """What a trial can toggle: the user's own setting of the variable taken away first, then the variable moved."""
    name = task.variable
    moved = Remedy(
        name=f"set {name}",
        text=f"Set {name}: {task.effect}. {task.moved_bytes} was tried.",
        rules=("SP013",),
        axes=("environment",),
        control=EAGER,
        side_effects=SIDE_EFFECTS,
        applies=AppliesTo(library),
        variables={name: str(task.moved_bytes)},
    )
    if not task.set_by_user:
        return [moved]
    unset = Remedy(
        name=f"unset {name}",
        text=f"Unset {name}, which is {task.value_bytes} in your environment: {task.effect}.",
        rules=("SP013",),
        axes=("environment",),
        control=EAGER,
        side_effects=SIDE_EFFECTS,
        applies=AppliesTo(library),
        unset=(name,),
    )
    return [unset, moved]
