# SPDX-License-Identifier: Apache-2.0
"""What a trial shows of its remedy. Pure: results in, verdict out; nothing is measured here.

Proven: the remedied cell is faster than the slow one beyond the minimum effect, what was removed of the gap is at least
half at the lower end of its interval, and the negative control stayed: all that its interval leaves open is less than
half of the effect. Anything less names which of these is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from slowpath.core.results import ContrastResult, Leg, RemovedRatio, Results, SideEffect
from slowpath.core.units import format_ratio, format_time
from slowpath.diagnose.tasks import TrialTask
from slowpath.diagnose.trials.design import AGAIN, ALIKE, CONTROL, EFFECT, SIDE, SLOW_FAST
from slowpath.diagnose.trials.pairs import judged_by
from slowpath.stats.inputs import Floats

FEWEST_PAIRS = 8
LEAST_REMOVED_RATIO = 0.5
CONTROL_WITHIN_RATIO = 0.10
OPEN_RATIO = 1.1  # of slow over remedied, from which on an open trial is worth its time once more
_RESAMPLES = 4000

TrialVerdict = Literal["proven", "partial", "not tried", "no effect", "worse"]
LegState = Literal["shown", "missing", "refuted"]


@dataclass(frozen=True)
class TrialOutcome:
    """leg: "proven" of the finding.  removed_ratio: share of the gap, interval 95 % by bootstrap over pairs.

    ratio, interval, pairs: slow over remedied.  control, alike: the negative and the A/A control; None: not measured.
    """

    remedy: str
    verdict: TrialVerdict
    leg: Leg
    removed_ratio: RemovedRatio | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    pairs: int = 0
    control: ContrastResult | None = None
    alike: ContrastResult | None = None
    side_effects: Sequence[SideEffect] = ()

    @property
    def reason(self) -> str:
        """Why it is this verdict."""
        return self.leg.text

    @property
    def is_open(self) -> bool:
        """Whether more pairs may decide what these left open: something looked clear, and noise hid it."""
        if self.verdict != "partial" or self.control is None or self.pairs < FEWEST_PAIRS:
            return False
        removed = self.removed_ratio
        closes = removed is None or removed.value >= LEAST_REMOVED_RATIO
        hopeful = self.ratio is not None and self.ratio > OPEN_RATIO and closes
        return hopeful and self.control.verdict in ("same", "undecided")


@dataclass(frozen=True)
class _Effect:
    """contrast: slow over remedied, its pairs the faster ones of `copies`.  copies: of both cells, where both were
    measured, seconds, shape (pairs, 2) each."""

    contrast: ContrastResult
    copies: tuple[Floats, Floats] | None

    @property
    def low(self) -> float:
        """Lower end of its interval; 1 where there is none."""
        return self.contrast.interval[0] if self.contrast.interval else 1.0


def judge_trial(task: TrialTask, results: Results) -> TrialOutcome:
    """The outcome.  Args: results: of the trial's run, or of it pooled with earlier ones."""
    contrasts = _by_name(results.contrasts)
    side_effects = _side_effects(contrasts.get(SIDE, []))
    effect = _effect(contrasts)
    if effect is None or effect.contrast.ratio is None:
        why = effect.contrast.reason if effect and effect.contrast.reason else "the trial measured nothing"
        leg = Leg(state="missing", text=f"the trial gave no pairs: {why}", evidence=[])
        return TrialOutcome(
            task.remedy, "not tried", leg, pairs=effect.contrast.launches if effect else 0, side_effects=side_effects
        )
    removed = _removed(task, contrasts, effect)
    control, alike = _first(contrasts, CONTROL), _first(contrasts, ALIKE)
    verdict, state, reason = _verdict(task, effect, removed, control, alike)
    evidence = [_effect_words(task, effect.contrast), *([_removed_words(removed)] if removed else [])]
    evidence += [_control_words(task, control, effect)] if control else []
    return TrialOutcome(
        remedy=task.remedy,
        verdict=verdict,
        leg=Leg(state=state, text=reason, evidence=evidence),
        removed_ratio=removed,
        ratio=effect.contrast.ratio,
        interval=effect.contrast.interval,
        pairs=effect.contrast.launches,
        control=control,
        alike=alike,
        side_effects=side_effects,
    )


def removed_ratio(slow_s: Sequence[float], remedied_s: Sequence[float], fast_s: Sequence[float]) -> RemovedRatio | None:
    """1 - (remedied - fast) / (slow - fast) of medians over pairs; interval: 95 %, by bootstrap over pairs.

    Args:    shape (pairs,) each, seconds; the i-th values belong to one round.
    Returns: None where slow is not slower than fast in nearly every resample: there is no gap then.
    """
    times = np.array([slow_s, remedied_s, fast_s], dtype=np.float64)
    generator = np.random.default_rng(0)
    chosen = generator.integers(0, times.shape[1], size=(_RESAMPLES, times.shape[1]))
    slow, remedied, fast = np.median(times[:, chosen], axis=2)
    gap = slow - fast
    if np.mean(gap <= 0) > 0.005:
        return None
    found = 1 - (remedied - fast)[gap > 0] / gap[gap > 0]
    centre = np.median(times, axis=1)
    value = 1 - float((centre[1] - centre[2]) / (centre[0] - centre[2]))
    low, high = np.quantile(found, [0.025, 0.975])
    return RemovedRatio(value=value, interval=(min(float(low), value), max(float(high), value)))


def _verdict(
    task: TrialTask,
    effect: _Effect,
    removed: RemovedRatio | None,
    control: ContrastResult | None,
    alike: ContrastResult | None,
) -> tuple[TrialVerdict, LegState, str]:
    """The remedy's verdict, the state of the leg, and why."""
    contrast = effect.contrast
    low, high = contrast.interval or (0.0, float("inf"))
    least = contrast.minimum_effect
    if contrast.verdict == "faster" and high < 1 / (1 + least):
        return "worse", "refuted", f"{task.remedy} makes it slower"
    if contrast.verdict == "same":
        return "no effect", "refuted", f"{task.remedy} changes nothing"
    if contrast.verdict != "slower" or low <= 1 + least:
        return "partial", "missing", "its effect is undecided; more rounds would tell"
    if contrast.launches < FEWEST_PAIRS:
        return "partial", "missing", f"{contrast.launches} pairs; a proof needs {FEWEST_PAIRS}"
    if removed is None or removed.interval is None:
        return "partial", "missing", "the gap that it should close did not show in the trial"
    if removed.interval[0] < LEAST_REMOVED_RATIO:
        why = f"it removes {removed.value:.0%} of the gap, at least {removed.interval[0]:.0%}; a proof needs half"
        return "partial", "missing", why
    if alike is not None and alike.verdict in ("faster", "slower") and not _within(alike):
        return "partial", "missing", "two measurements of the slow cell differ, so its pairs prove nothing"
    if control is None:
        why = task.uncontrolled or "nothing is known that this remedy must leave unchanged"
        return "partial", "missing", f"no negative control: {why}"
    if not stayed(control, low):
        undecided = control.verdict == "undecided"
        why = "is undecided; more rounds would tell" if undecided else "did not stay: something else changed, too"
        return "partial", "missing", f"the negative control {why}"
    return "proven", "shown", f"{task.remedy}, toggled alone, removes {removed.value:.0%} of the gap"


def stayed(control: ContrastResult, least_effect: float) -> bool:
    """Whether a negative control is "same", or undecided within 10 % with half of the effect outside of its interval.

    Args: least_effect: lower end of the effect's interval, slow over remedied; its root is half of it in logarithms.
    """
    if control.verdict == "same":
        return True
    if control.verdict != "undecided" or control.ratio is None or not control.interval:
        return False
    low, high = control.interval
    return _within(control) and max(high, 1 / low) < least_effect**0.5


def _within(contrast: ContrastResult) -> bool:
    ratio = contrast.ratio
    return ratio is not None and 1 / (1 + CONTROL_WITHIN_RATIO) <= ratio <= 1 + CONTROL_WITHIN_RATIO


def _effect(contrasts: Mapping[str, Sequence[ContrastResult]]) -> _Effect | None:
    """Slow over remedied: of the two copies that each side has in a round the faster one, on both sides alike.

    What disturbs a measurement lengthens it, and seldom both copies; `a` is remedied, `b` slow, as `design` has them.
    """
    first, second = _first(contrasts, EFFECT), _first(contrasts, AGAIN)
    if first is None:
        return None
    if first.ratio is None or second is None or len(second.pairs) != len(first.pairs):
        return _Effect(first, None)
    copies = np.array(first.pairs, dtype=np.float64), np.array(second.pairs, dtype=np.float64)
    judged = judged_by(first, np.minimum(*copies))
    if judged.level is None:  # a range: nothing can be concluded from it
        judged = msgspec.structs.replace(judged, interval=None)
    return _Effect(judged, copies)


def _removed(
    task: TrialTask, contrasts: Mapping[str, Sequence[ContrastResult]], effect: _Effect
) -> RemovedRatio | None:
    """From the rounds that have all three; where the remedy is the fast side, its second copy stands for that."""
    faster = np.array(effect.contrast.pairs, dtype=np.float64)
    slow = faster[:, 1]
    gap = _first(contrasts, SLOW_FAST)
    if gap is not None and len(gap.pairs) == slow.size:
        remedied, fast = faster[:, 0], np.array(gap.pairs, dtype=np.float64)[:, 0]
    elif effect.copies is not None and task.fast is None:
        remedied, fast = (copy[:, 0] for copy in effect.copies)
    elif task.constant_s is not None:
        remedied, fast = faster[:, 0], np.full(slow.size, task.constant_s)
    else:
        return None
    return removed_ratio(slow.tolist(), remedied.tolist(), fast.tolist())


def _side_effects(contrasts: Sequence[ContrastResult]) -> list[SideEffect]:
    """Cells that the remedy made slower or faster: `b` over `a` is remedied over slow."""
    return [
        SideEffect(where=one.where, ratio=one.ratio, interval=one.interval, verdict=one.verdict)
        for one in contrasts
        if one.verdict in ("faster", "slower") and one.ratio is not None
    ]


def _first(contrasts: Mapping[str, Sequence[ContrastResult]], name: str) -> ContrastResult | None:
    return next(iter(contrasts.get(name, ())), None)


def _by_name(contrasts: Sequence[ContrastResult]) -> dict[str, list[ContrastResult]]:
    found: dict[str, list[ContrastResult]] = {}
    for contrast in contrasts:
        found.setdefault(contrast.group, []).append(contrast)
    return found


def _effect_words(task: TrialTask, effect: ContrastResult) -> str:
    slow, remedied = (format_time(value) for value in (effect.b_value_s or 0.0, effect.a_value_s or 0.0))
    return (
        f"without '{task.remedy}' it takes {ratio_words(effect.ratio, effect.interval)} the time: {slow} against "
        f"{remedied}, {effect.launches} pairs"
    )


def ratio_words(ratio: float | None, interval: tuple[float, float] | None) -> str:
    """`3.02x [2.91, 3.15]`; a bare ratio without an interval."""
    between = f" [{format_ratio(interval[0])}, {format_ratio(interval[1])}]" if interval else ""
    return f"{format_ratio(ratio or 0.0)}x{between}"


def _removed_words(removed: RemovedRatio) -> str:
    low, high = removed.interval or (0.0, 0.0)
    return f"{removed.value:.0%} of the gap is removed [{low:.0%}, {high:.0%}]"


def _control_words(task: TrialTask, control: ContrastResult, effect: _Effect) -> str:
    if control.ratio is None:
        return f"negative control: not measured: {control.reason}"
    undecided = control.verdict == "undecided"
    word = "stayed" if stayed(control, effect.low) else "undecided" if undecided else "did not stay"
    return f"negative control: {ratio_words(control.ratio, control.interval)}, {word} ({task.control or ''})"
