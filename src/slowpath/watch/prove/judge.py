# SPDX-License-Identifier: Apache-2.0
"""In which order the sides of a proof run, what the budget can decide, and what the runs show. Pure.

A block holds one run as it is, one as a control, and one with the remedy, in random order, so that what drifts slowly
hits all three alike. The control is the program as it is with a variable that nothing reads, as long as those of the
remedy: the length of the environment alone moves a program's stack, and with it its speed (Mytkowicz et al. 2009, doi
10.1145/1508244.1508275).
"""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import msgspec

from slowpath.stats.contrast import half_width, interval
from slowpath.watch.proof import Phase, Proof, ProofEffect, ProofRun, ProofWitness, Side, Verdict

SIDES: Final[Mapping[Phase, tuple[Side, ...]]] = {
    "pilot": ("as it is", "control"),
    "proof": ("as it is", "control", "remedy"),
}
PILOT_BLOCKS = 2
MOST_BLOCKS = 2000
# Aimed at, so that four cases of five are decided: the spread is itself an estimate, which costs a little.
_POWER = 0.87
PLACEBO = "SLOWPATH_PLACEBO"


def order(seed: int, phase: Phase, block: int) -> tuple[Side, ...]:
    """Of the sides of one block."""
    sides = SIDES[phase]
    return tuple(random.Random(f"{seed} {phase} {block}").sample(sides, len(sides)))


def placebo(variables: Mapping[str, str]) -> dict[str, str]:
    """A variable that nothing reads, which makes the environment as long as these do; none where it can't be."""
    length = sum(len(name) + len(value) + 2 for name, value in variables.items())
    return {PLACEBO: "x" * max(0, length - len(PLACEBO) - 2)} if variables else {}


def level_of(questions: int) -> float:
    """Of each interval where several remedies share one question, so that all hold at 95 % (Bonferroni)."""
    return 1.0 - 0.05 / max(1, questions)


def spread(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Standard deviation of one run's log time, from pairs (as it is, control) of wall times; None: no pair."""
    if not pairs:
        return None
    squares = [math.log(control / as_it_is) ** 2 for as_it_is, control in pairs]
    return math.sqrt(sum(squares) / len(squares) / 2.0)


def blocks_within(budget_s: float, run_s: float) -> int:
    """Whole blocks of a proof that a time holds."""
    return min(MOST_BLOCKS, int(budget_s / (len(SIDES["proof"]) * run_s))) if run_s > 0 else MOST_BLOCKS


def smallest_decidable(sd: float, blocks: int, level: float, least: float) -> float | None:
    """The effect, as a ratio, that so many blocks decide in four cases of five; None: too few blocks for any.

    Args: sd: of one run's log time.  least: a smaller effect does not count.
    Three things have to hold. A block's value, the remedy's less the mean of the other two, has 1.5 times the variance
    of one run; its interval must not contain 0, and it must be `least` at least. The control's value, a difference of
    two, has twice that variance, and its interval must not contain the effect: this asks for more than the first.
    """
    if blocks < 1:
        return None
    half = half_width(blocks, math.sqrt(2.0) * sd, max(level, 0.95))
    if not math.isfinite(half):
        return None
    z, error = NormalDist().inv_cdf(_POWER), sd / math.sqrt(blocks)
    by_control, by_least = half + z * math.sqrt(1.5 + 2.0) * error, math.log1p(least) + z * math.sqrt(1.5) * error
    return math.expm1(min(50.0, max(by_control, by_least)))


Block = dict[Side, float]
CONTROL_LEVEL = 0.95


@dataclass(frozen=True)
class RunVerdict:
    """verdict with its reason, one line."""

    verdict: Verdict
    reason: str


def whole_blocks(runs: Sequence[ProofRun], phase: str) -> list[Block]:
    """Wall times of the blocks of which each side ran and counts, in order."""
    blocks: dict[int, Block] = defaultdict(dict)
    for run in runs:
        if run.phase == phase and run.failed is None:
            blocks[run.block][run.side] = run.wall_s
    wanted = set(SIDES["pilot" if phase == "pilot" else "proof"])
    return [blocks[number] for number in sorted(blocks) if set(blocks[number]) == wanted]


def control_pairs(runs: Sequence[ProofRun]) -> list[tuple[float, float]]:
    """(as it is, control) of every block, the pilot's as well."""
    blocks = [*whole_blocks(runs, "pilot"), *whole_blocks(runs, "proof")]
    return [(block["as it is"], block["control"]) for block in blocks]


def effect_of(runs: Sequence[ProofRun], level: float) -> ProofEffect | None:
    """Remedy over the geometric mean of as it is and control; None: no whole block."""
    blocks = whole_blocks(runs, "proof")
    logs = [
        math.log(block["remedy"]) - (math.log(block["as it is"]) + math.log(block["control"])) / 2 for block in blocks
    ]
    return _effect(logs, level)


def _effect(logs: Sequence[float], level: float) -> ProofEffect | None:
    if not logs:
        return None
    bounds = interval(logs, level)
    ends = None if bounds is None else (math.exp(bounds.low), math.exp(bounds.high))
    return ProofEffect(ratio=math.exp(statistics.fmean(logs)), interval=ends, blocks=len(logs))


def concluded(proof: Proof) -> Proof:
    """The proof with effect, control and verdict of its runs."""
    effect = effect_of(proof.runs, proof.level)
    control = _effect([math.log(control / as_is) for as_is, control in control_pairs(proof.runs)], CONTROL_LEVEL)
    judged = _judged(proof, effect, control)
    usual = [run.wall_s for run in proof.runs if run.side != "remedy" and run.failed is None]
    run_s = statistics.median(usual) if usual else None
    saved = saved_interval = None
    if judged.verdict == "proven" and effect is not None and effect.interval is not None and run_s is not None:
        low, high = effect.interval
        saved, saved_interval = run_s * (1 - effect.ratio), (run_s * (1 - high), run_s * (1 - low))
    return msgspec.structs.replace(
        proof,
        effect=effect,
        control=control,
        verdict=judged.verdict,
        reason=judged.reason,
        run_s=run_s,
        spent_s=math.fsum(run.wall_s for run in proof.runs),
        saved_s=saved,
        saved_interval=saved_interval,
    )


_OPEN = RunVerdict("undecided", "the runs do not exclude chance")


def _judged(proof: Proof, effect: ProofEffect | None, control: ProofEffect | None) -> RunVerdict:
    if proof.witness.state == "ignored":
        return RunVerdict("ignored", proof.witness.text)
    failed = next((run for run in proof.runs if run.failed is not None), None)
    if failed is not None:
        side = "with the remedy" if failed.side == "remedy" else "as it is"
        return RunVerdict("failed", f"run {failed.number}, {side}: {failed.failed}")
    if (differing := _differing(proof.runs)) is not None:
        return RunVerdict("output differs", differing)
    if effect is None or effect.interval is None:
        return _OPEN
    return _of_times(proof, effect, control)


def _of_times(proof: Proof, effect: ProofEffect, control: ProofEffect | None) -> RunVerdict:
    assert effect.interval is not None
    least, (low, high) = proof.minimum_effect, effect.interval
    if 1 - least < low and high < 1 + least:
        return RunVerdict("no effect", f"the effect is smaller than {least:.3g}")
    if low <= 1.0 <= high:
        return _OPEN
    if control is None or control.interval is None:
        return _OPEN
    if not (control.interval[0] <= 1.0 <= control.interval[1] or _is_beyond(effect, control, least)):
        words = f"{control.ratio:.4f} [{control.interval[0]:.4f}, {control.interval[1]:.4f}]"
        return RunVerdict("control moved", f"a variable that nothing reads changed the run as well: {words}")
    if abs(effect.ratio - 1) < least or control.interval[0] <= effect.ratio <= control.interval[1]:
        return _OPEN
    return RunVerdict(
        "slower" if effect.ratio > 1 else "proven", "the interval excludes 1, and the control's excludes the effect"
    )


def _is_beyond(effect: ProofEffect, control: ProofEffect, least: float) -> bool:
    """Whether a control moved by less than counts, and leaves an effect that counts if all of its move is taken off.

    At 95 %, looked at after each block, one control in twenty moves by a fraction of the run's own spread.
    """
    if effect.interval is None or control.interval is None or abs(control.ratio - 1) >= least:
        return False
    move = max(abs(math.log(end)) for end in control.interval)
    nearest = min(abs(math.log(end)) for end in effect.interval)
    return nearest > move and abs(math.log(effect.ratio)) - move >= math.log1p(least)


def _differing(runs: Sequence[ProofRun]) -> str | None:
    """Where an output with the remedy is none of those as it is; None: all are, or nothing is compared."""
    usual = {run.output_sha256 for run in runs if run.side != "remedy" and run.output_sha256 is not None}
    if len(usual) > 1:
        return "the program's output differs between unchanged runs; name the lines that change with --ignore"
    other = next((run for run in runs if run.side == "remedy" and run.output_sha256 not in (*usual, None)), None)
    if usual and other is not None:
        return f"run {other.number}, with the remedy, has different output"
    return None


def by_faults(runs: Sequence[ProofRun]) -> ProofWitness | None:
    """Whether the remedy took page faults away, from runs of both sides; None: too few runs to tell."""
    usual = [run.minor_faults for run in runs if run.side != "remedy" and run.minor_faults is not None]
    with_it = [run.minor_faults for run in runs if run.side == "remedy" and run.minor_faults is not None]
    if len(usual) < 4 or len(with_it) < 2:
        return None
    before, after = statistics.median(usual), statistics.median(with_it)
    words = f"page faults of a run: {before:,.0f} as it is, {after:,.0f} with the remedy"
    if max(with_it) < min(usual) and after < 0.99 * before:
        return ProofWitness(state="taken", text=words)
    return ProofWitness(state="ignored", text=words)
