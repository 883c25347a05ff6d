# SPDX-License-Identifier: Apache-2.0
"""What tells rivals apart: cells measured again with one change, counted waits, laws, how cells were made. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Claim
from slowpath.core.units import format_time, share_words
from slowpath.findings.facts import Facts, Variation
from slowpath.findings.observation import Observation, Support
from slowpath.findings.rivals.rival import Judge, Judged, Varied
from slowpath.findings.witness import MANY_WAITS, ROLES, SAMPLED, is_counted, is_sampled, sides, spent
from slowpath.stats.removed_share import Removed, removed

GONE = 0.75
SURELY = 0.5  # of the excess, that has to be gone in the middle and at the interval's near end
NOT_MADE = "not made: {}"


def by_variation(varied: Varied, words: str, *, true_when_gone: bool = True) -> Judge:
    """Whether the excess goes when both sides are changed.  Args: words: of the change, "on huge pages"."""

    def judge(facts: Facts, seen: Observation, _: Support) -> Judged:
        slow, fast = sides(facts, seen)
        if not (varied.applies(slow) and varied.applies(fast)):
            return Judged("standing", "these cells can't be measured so")
        made = variation_of(facts, seen, varied)
        if made is None:
            return Judged("standing", NOT_MADE.format(f"the same {words}"))
        found = removed(*made.times_s)
        if found is None:
            return Judged("standing", f"measured again {words}: this time there was no excess")
        state = _state(found)
        line = _gone_words(found, words)
        if state == "open":
            return Judged("standing", f"{line}: a part of it", (line,))
        return Judged("true" if (state == "gone") == true_when_gone else "refuted", line, (line,))

    return judge


def variation_of(facts: Facts, seen: Observation, varied: Varied) -> Variation | None:
    """Both sides of an observation as they are and changed; None: that was not measured."""
    slow, fast = sides(facts, seen)
    phases = (seen.phase, "steady" if slow is fast and seen.phase == "first" else seen.phase)
    return facts.variation((slow, fast), varied.changes(slow, fast), varied.metric or seen.metric, phases)


def _state(found: Removed) -> str:
    """gone, stays or open."""
    if found.value >= GONE and found.interval[0] >= SURELY:
        return "gone"
    return "stays" if found.value <= 1 - GONE and found.interval[1] <= 1 - SURELY else "open"


def _gone_words(found: Removed, words: str) -> str:
    gone = f"{share_words(found.value, found.interval)} of it is gone"
    if found.left_s < 0:
        return (
            f"{words}, the excess of {format_time(found.excess_s)} disappears: {gone}, and the slow side is now "
            f"{format_time(-found.left_s)} faster than the other"
        )
    return f"{words}, the excess of {format_time(found.excess_s)} is {format_time(found.left_s)}: {gone}"


def by_waiting(facts: Facts, seen: Observation, support: Support) -> Judged:
    """Whether the processor time of the witness may be that of a side that waits in calls, as sched_yield."""
    if support.state == "shown" and not support.is_processor_time:
        return Judged("refuted", "the witness counts operations, not their time")
    slow, fast = sides(facts, seen)
    slow_phase, fast_phase = _phases(seen, slow, fast)
    if not (is_counted(slow, slow_phase) and is_counted(fast, fast_phase)):
        return Judged("standing", "waiting calls were not counted; needs a launch with witness = true")
    more = [spent(role, slow, slow_phase, fast, fast_phase) for role in ROLES]
    if is_sampled(slow):
        return Judged("standing", SAMPLED)
    if all(one.waiting is not None for one in more):
        waits = " and ".join(
            f"{format_time(max(0.0, one.waiting or 0.0))} of the {side}"
            for one, side in zip(more, ("sender", "receiver"), strict=True)
        )
        return Judged("refuted", f"time in waiting calls was subtracted: it grows by {waits}")
    if any(one.is_waiting for one in more):
        return Judged("refuted", f"a side with {MANY_WAITS:.0f} or more waiting calls was left out")
    return Judged("refuted", "too few waiting calls were counted to matter")


def _phases(seen: Observation, slow: CellResult, fast: CellResult) -> tuple[str, str]:
    return seen.phase, "steady" if slow is fast and seen.phase == "first" else seen.phase


def by_processor_time(facts: Facts, seen: Observation, support: Support) -> Judged:
    """Whether the library's own work in user space, or its sleep, takes the excess, where the cause is the kernel's."""
    if support.time == "kernel":
        return Judged("refuted", "the kernel accounts for the excess", support.evidence)
    if support.time is None or support.side is None:
        return Judged("standing", "processor time does not show which side works, or where")
    does = "works in user space" if support.time == "user" else "sleeps"
    by = f" for each {_unit(seen)}" if _unit(seen) else ""
    claim = Claim(time=support.time, side=support.side, by=None)
    return Judged("true", support.evidence[-1], support.evidence, f"The {support.side} {does}{by}.", claim)


def _unit(seen: Observation) -> str | None:
    per = [coefficient.per.one for coefficient in seen.law.coefficients if coefficient.per] if seen.law else []
    return per[-1] if per else None


def by_side(varied: Varied) -> Judge:
    """Which side works, where processor time does not tell: a receiver that comes late finds a sender's work done."""

    def judge(facts: Facts, seen: Observation, support: Support) -> Judged:
        if support.side is not None or support.time not in ("user", None):
            return Judged("refuted", "the witness tells the sides apart")
        made = variation_of(facts, seen, varied)
        found = removed(*made.times_s) if made is not None else None
        if found is None:
            return Judged("standing", NOT_MADE.format("the same with a receiver that comes late"))
        state, line = _state(found), _gone_words(found, "with a receiver that comes late")
        if state == "gone":
            return Judged("refuted", f"{line}: the sender does it before", (line,), side="sender")
        if state == "stays":
            return Judged("refuted", f"{line}: the work is done once the receiver is there", (line,), side="receiver")
        return Judged("standing", line, (line,))

    return judge


def by_law(named: Collection[str], words: str, true_of: Collection[str] = ()) -> Judge:
    """Refuted where a law of these names predicted new points, and the rival's own law was not chosen.

    Args: true_of: the rival's own.
    """

    def judge(_: Facts, seen: Observation, __: Support) -> Judged:
        law = seen.law
        if law is None or law.name not in {*named, *true_of}:
            return Judged("standing", "no law tells them apart")
        if not law.is_predicted:
            return Judged("standing", f"'{law.name}' fits, and has not predicted a new point")
        if law.name in named:
            return Judged("refuted", words.format(law=law.name))
        return Judged("true", f"law '{law.name}'")

    return judge


def by_design(condition: Callable[[Facts, Observation], bool], words: str, otherwise: str) -> Judge:
    """Refuted where the cells were made so that it can't be."""

    def judge(facts: Facts, seen: Observation, _: Support) -> Judged:
        return Judged("refuted", words) if condition(facts, seen) else Judged("standing", otherwise)

    return judge


def by_witness(words: str, missing: str = "the witness that would distinguish them is missing") -> Judge:
    """Refuted where the rule's own witness, which the rival would not give, is shown.  Args: missing: else said."""

    def judge(_: Facts, __: Observation, support: Support) -> Judged:
        if support.state == "shown":
            return Judged("refuted", words, support.evidence)
        return Judged("standing", missing)

    return judge


def never(why: str) -> Judge:
    """No experiment of this program tells it apart: the finding stays observed."""
    return lambda _, __, ___: Judged("standing", why)
