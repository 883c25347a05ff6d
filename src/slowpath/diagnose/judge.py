# SPDX-License-Identifier: Apache-2.0
"""What a trial says about its remedy. Pure: results in, verdict out; nothing is measured here.

Proven: the remedied cell is faster than the slow one beyond the minimum effect, what was removed of the gap is at least
half at the lower end of its interval, and the negative control stayed: all that its interval leaves open is less than
half of the effect. Anything less says which of these is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slowpath.core.units import format_ratio, format_time
from slowpath.diagnose.trial import AGAIN, ALIKE, CONTROL, EFFECT, SIDE, SLOW_FAST
from slowpath.stats.contrast import paired
from slowpath.stats.verdict import judge

Json = Mapping[str, Any]
FEWEST_PAIRS = 8
LEAST_REMOVED_RATIO = 0.5
CONTROL_WITHIN_RATIO = 0.10
OPEN_RATIO = 1.1  # of slow over remedied, from which on an open trial is worth its time once more
_RESAMPLES = 4000


@dataclass(frozen=True)
class Removed:
    """Share of the gap between slow and fast that the remedy takes away; interval: 95 %, by bootstrap over pairs."""

    value: float
    interval: tuple[float, float]


def removed_ratio(slow_s: Sequence[float], remedied_s: Sequence[float], fast_s: Sequence[float]) -> Removed | None:
    """1 - (remedied - fast) / (slow - fast) of medians over pairs.

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
    return Removed(value, (min(float(low), value), max(float(high), value)))


def judge_trial(about: Json, results: Json) -> dict[str, Any]:
    """The outcome: {remedy, verdict, leg, reason, removed_ratio, ratio, interval, pairs, control, alike, side_effects}.

    Args: about: as Trial.about.  results: of the trial's run.
    leg: {state, text, evidence} of "proven".  verdict: proven, no effect, partial, worse or not tried.
    """
    contrasts = _by_name(results["contrasts"])
    effect = _effect(contrasts)
    outcome: dict[str, Any] = {
        "remedy": about["remedy"],
        "removed_ratio": None,
        "ratio": effect and effect["ratio"],
        "interval": effect and effect["interval"],
        "pairs": effect["launches"] if effect else 0,
        "control": None,
        "alike": None,
        "side_effects": _side_effects(contrasts.get(SIDE, [])),
        "run": results["run"].get("folder"),
    }
    if effect is None or effect["ratio"] is None:
        why = (effect or {}).get("reason") or "the trial measured nothing"
        return outcome | _ended("not tried", "missing", f"the trial gave no pairs: {why}", [])
    control = next(iter(contrasts.get(CONTROL, [])), None)
    alike = next(iter(contrasts.get(ALIKE, [])), None)
    removed = _removed(about, contrasts, effect)
    outcome["removed_ratio"] = removed and {"value": removed.value, "interval": list(removed.interval)}
    outcome["control"] = control and {key: control[key] for key in ("ratio", "interval", "verdict", "where")}
    outcome["alike"] = alike and {key: alike[key] for key in ("ratio", "interval", "verdict")}
    evidence = [_told(about, effect), *([_removed_text(removed)] if removed else [])]
    evidence += [_control_text(about, control, effect)] if control else []
    return outcome | _verdict(about, effect, removed, control, alike, evidence)


def is_open(outcome: Json) -> bool:
    """Whether more pairs may decide what these left open: something looked clear, and noise hid it."""
    control, ratio = outcome["control"], outcome["ratio"]
    if outcome["verdict"] != "partial" or control is None or outcome["pairs"] < FEWEST_PAIRS:
        return False
    removed = outcome["removed_ratio"]
    hopeful = ratio is not None and ratio > OPEN_RATIO and (removed is None or removed["value"] >= LEAST_REMOVED_RATIO)
    return hopeful and control["verdict"] in ("same", "undecided")


def _verdict(
    about: Json, effect: Json, removed: Removed | None, control: Json | None, alike: Json | None, evidence: list[str]
) -> dict[str, Any]:
    low, high = effect["interval"] or (0.0, float("inf"))
    least = effect["minimum_effect"]
    if effect["verdict"] == "faster" and high < 1 / (1 + least):
        return _ended("worse", "refuted", f"{about['remedy']} makes it slower", evidence)
    if effect["verdict"] == "same":
        return _ended("no effect", "refuted", f"{about['remedy']} changes nothing", evidence)
    if effect["verdict"] != "slower" or low <= 1 + least:
        return _ended("partial", "missing", "what it changes is not decided; more rounds would", evidence)
    if effect["launches"] < FEWEST_PAIRS:
        why = f"{effect['launches']} pairs; {FEWEST_PAIRS} are the least that prove anything"
        return _ended("partial", "missing", why, evidence)
    if removed is None:
        return _ended("partial", "missing", "the gap that it should close did not show in the trial", evidence)
    if removed.interval[0] < LEAST_REMOVED_RATIO:
        why = f"it removes {removed.value:.0%} of the gap, at least {removed.interval[0]:.0%}, and half is asked for"
        return _ended("partial", "missing", why, evidence)
    if alike is not None and alike["verdict"] in ("faster", "slower") and not _within(alike):
        return _ended(
            "partial", "missing", "two measurements of the slow cell differ, so that no pair counts", evidence
        )
    if control is None:
        why = about.get("uncontrolled") or "nothing is known that this remedy must leave as it is"
        return _ended("partial", "missing", f"no negative control: {why}", evidence)
    if not stayed(control, low):
        undecided = control["verdict"] == "undecided"
        why = "is undecided; more rounds would tell" if undecided else "did not stay: something else changed, too"
        return _ended("partial", "missing", f"the negative control {why}", evidence)
    return _ended(
        "proven", "shown", f"{about['remedy']}, toggled alone, removes {removed.value:.0%} of the gap", evidence
    )


def stayed(control: Json, least_effect: float) -> bool:
    """Whether a negative control is "same", or undecided within 10 % with half of the effect outside of its interval.

    Args: least_effect: lower end of the effect's interval, slow over remedied; its root is half of it in logarithms.
    """
    if control["verdict"] == "same":
        return True
    if control["verdict"] != "undecided" or control["ratio"] is None or not control["interval"]:
        return False
    low, high = control["interval"]
    return _within(control) and max(high, 1 / low) < least_effect**0.5


def _within(contrast: Json) -> bool:
    return bool(1 / (1 + CONTROL_WITHIN_RATIO) <= contrast["ratio"] <= 1 + CONTROL_WITHIN_RATIO)


def _effect(contrasts: Mapping[str, Sequence[Json]]) -> Json | None:
    """Slow over remedied: of the two copies that each side has in a round the faster one, on both sides alike.

    What disturbs a measurement lengthens it, and seldom both copies; `a` is remedied, `b` slow, as `trial` writes them.
    """
    first, second = (next(iter(contrasts.get(name, [])), None) for name in (EFFECT, AGAIN))
    if first is None or first["ratio"] is None or second is None or len(second["pairs"]) != len(first["pairs"]):
        return first
    pairs = np.minimum(np.array(first["pairs"]), np.array(second["pairs"]))
    found = paired(pairs[:, 0], pairs[:, 1], first["minimum_effect"])
    verdict = judge(found, found.p)
    times = {f"{side}_value_s": float(np.median(pairs[:, i])) for i, side in enumerate("ab")}
    interval = list(found.interval) if found.interval and found.level is not None else None
    changed = {"ratio": found.ratio, "interval": interval, "verdict": verdict.word, "reason": verdict.reason}
    return {**first, **changed, **times, "pairs": pairs.tolist(), "one": first["pairs"], "other": second["pairs"]}


def _removed(about: Json, contrasts: Mapping[str, Sequence[Json]], effect: Json) -> Removed | None:
    """From the rounds that have all three; where the remedy is the fast side, its second copy stands for that."""
    slow = np.array(effect["pairs"])[:, 1]
    gap = next(iter(contrasts.get(SLOW_FAST, [])), None)
    if gap is not None and len(gap["pairs"]) == slow.size:
        remedied, fast = np.array(effect["pairs"])[:, 0], np.array(gap["pairs"])[:, 0]
    elif "other" in effect and about.get("fast") is None:
        remedied, fast = np.array(effect["one"])[:, 0], np.array(effect["other"])[:, 0]
    elif about.get("constant_s") is not None:
        remedied, fast = np.array(effect["pairs"])[:, 0], np.full(slow.size, about["constant_s"])
    else:
        return None
    return removed_ratio(slow.tolist(), remedied.tolist(), fast.tolist())


def _side_effects(contrasts: Sequence[Json]) -> list[dict[str, Any]]:
    """Cells that the remedy made slower or faster: `b` over `a` is remedied over slow."""
    kept = ("where", "ratio", "interval", "verdict")
    return [{key: c[key] for key in kept} for c in contrasts if c["verdict"] in ("faster", "slower")]


def _by_name(contrasts: Sequence[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for contrast in contrasts:
        found.setdefault(contrast["group"], []).append(contrast)
    return found


def _ended(verdict: str, state: str, text: str, evidence: list[str]) -> dict[str, Any]:
    return {"verdict": verdict, "reason": text, "leg": {"state": state, "text": text, "evidence": evidence}}


def _told(about: Json, effect: Json) -> str:
    span = effect["interval"]
    between = f" [{format_ratio(span[0])}, {format_ratio(span[1])}]" if span else ""
    return (
        f"as it is, it takes {format_ratio(effect['ratio'])} times as long{between} as with '{about['remedy']}': "
        f"{format_time(effect['b_value_s'])} against {format_time(effect['a_value_s'])}, {effect['launches']} pairs"
    )


def _removed_text(removed: Removed) -> str:
    low, high = removed.interval
    return f"{removed.value:.0%} of the gap is removed [{low:.0%}, {high:.0%}]"


def _control_text(about: Json, control: Json, effect: Json) -> str:
    if control["ratio"] is None:
        return f"negative control: not measured: {control['reason']}"
    span = control["interval"]
    between = f" [{format_ratio(span[0])}, {format_ratio(span[1])}]" if span else ""
    least = (effect["interval"] or (1.0,))[0]
    word = "stayed" if stayed(control, least) else "did not stay" if control["verdict"] != "undecided" else "undecided"
    return f"negative control: {format_ratio(control['ratio'])}{between}, {word} ({about.get('control') or ''})"
