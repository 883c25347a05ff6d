# SPDX-License-Identifier: Apache-2.0
"""A proof in a few lines: the verdict with its numbers, the control, the witness, and what to copy. Pure."""

from __future__ import annotations

import shlex

from slowpath.core.clean import line, shell_assignments
from slowpath.watch.proof import Proof, ProofEffect, Verdict

_VERDICTS: dict[Verdict, str] = {
    "proven": "proven",
    "no effect": "no effect",
    "slower": "slower, proven",
    "undecided": "undecided",
    "ignored": "not taken, nothing to prove",
    "failed": "not proven, a run failed",
    "output differs": "not proven, the output differs",
    "control moved": "not proven, the control moved",
    "running": "cut off",
}


def proof_lines(proof: Proof) -> list[str]:
    """The first line is the verdict."""
    lines = [f"{proof.remedy}: {_VERDICTS[proof.verdict]}{_headline(proof)}"]
    lines.append(f"  {proof.text}")
    if proof.effect is not None:
        lines.append(f"  time: {_ratio(proof.effect)} over that as it is; {proof.reason}")
    elif proof.verdict != "ignored":
        lines.append(f"  {proof.reason}")
    if proof.control is not None:
        lines.append(f"  control: {_ratio(proof.control)} over that as it is, with a variable that nothing reads")
    lines.append(f"  witness: {proof.witness.state}: {proof.witness.text}")
    if not proof.runs:
        return [line(one) for one in lines]
    if proof.compared and proof.verdict in ("proven", "no effect", "slower", "undecided"):
        lines.append(f"  output: equal in all runs ({', '.join(proof.compared)})")
    elif not proof.compared:
        lines.append("  output: not compared; name it with --output")
    if proof.verdict == "undecided" and proof.smallest_decidable is not None:
        least = f"{proof.smallest_decidable:.1%}"
        lines.append(f"  the time that was given decides effects of {least} and more; the same command goes on")
    if proof.verdict == "proven":
        lines += [f"  use it: {one}" for one in _use(proof)]
    return [line(one) for one in lines]


def _headline(proof: Proof) -> str:
    if proof.verdict in ("proven", "slower") and proof.effect is not None and proof.effect.interval is not None:
        low, high = proof.effect.interval
        if proof.verdict == "slower":
            return f": {proof.effect.ratio - 1:.1%} [{low - 1:.1%}, {high - 1:.1%}] more time"
        run_s = proof.run_s or 0.0
        saved = f", {run_s * proof.effect.ratio:.3g} s instead of {run_s:.3g} s a run"
        return f": {1 - proof.effect.ratio:.1%} [{1 - high:.1%}, {1 - low:.1%}] less time{saved}"
    if proof.verdict == "no effect" and proof.effect is not None and proof.effect.interval is not None:
        most = max(abs(end - 1) for end in proof.effect.interval)
        return f": less than {most:.1%} of the time, either way"
    return ""


def _ratio(effect: ProofEffect) -> str:
    ends = "no interval yet" if effect.interval is None else f"[{effect.interval[0]:.4f}, {effect.interval[1]:.4f}]"
    return f"{effect.ratio:.4f} {ends} ({effect.blocks} blocks)"


def _use(proof: Proof) -> list[str]:
    lines = [f"unset {name}" for name in proof.unset]
    lines += [f"export {one}" for one in shell_assignments(proof.variables)]
    return [*lines, *([shlex.join(proof.remedied)] if proof.remedied != proof.command else [])]
