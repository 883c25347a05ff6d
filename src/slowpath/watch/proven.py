# SPDX-License-Identifier: Apache-2.0
"""What `slowpath prove` showed on the program itself, in the results of its watch. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from slowpath.core.finding_results import RemedyResult
from slowpath.slowpaths.registry import PROGRAM_REMEDIES
from slowpath.watch.proof import Proof
from slowpath.watch.results import WatchFinding, WatchResults
from slowpath.watch.verdict import verdict_of

Status = Literal["priced", "proven", "no effect", "undecided"]
# Of a verdict that says nothing of the remedy (a run failed, the setting was not taken) the finding is as it was.
_STATUS: Final[Mapping[str, Status]] = {
    "proven": "proven",
    "no effect": "no effect",
    "slower": "no effect",
    "undecided": "undecided",
    "running": "undecided",
}
_TABLE: Final = {one.key: one.table for one in PROGRAM_REMEDIES}


def with_proofs(results: WatchResults, proofs: Sequence[Proof], watch: str = "WATCH") -> WatchResults:
    """Findings whose remedy was tried say so, and the verdict has a line for each remedy that was.

    Args: proofs: of this watch, in order; of a remedy the last one that decided counts.  watch: its folder, for
          commands to copy.
    """
    latest = _latest([one for one in proofs if one.runs or one.verdict == "ignored"])
    if not latest:
        return results
    changed = replace(results, findings=tuple(_tried(one, latest) for one in results.findings))
    head, *rest = verdict_of(changed, watch)
    return replace(changed, verdict=(head, *(proof_line(one) for one in latest.values()), *rest))


def proves(proof: Proof, finding: WatchFinding) -> bool:
    """Whether the proof is of the remedy that the finding suggests, and of its rule."""
    asked = (finding.prove or "").split()
    return finding.rule in proof.rules and asked[-2:] == ["--remedy", proof.remedy]


def _latest(proofs: Sequence[Proof]) -> dict[str, Proof]:
    found: dict[str, Proof] = {}
    for proof in proofs:
        before = found.get(proof.remedy)
        is_open = _STATUS.get(proof.verdict, "undecided") == "undecided"
        if before is None or not is_open or _STATUS.get(before.verdict, "undecided") == "undecided":
            found[proof.remedy] = proof
    return found


def _tried(finding: WatchFinding, latest: Mapping[str, Proof]) -> WatchFinding:
    proof = next((one for one in latest.values() if proves(one, finding) and one.verdict in _STATUS), None)
    if proof is None:
        return finding
    remedies = tuple(_remedy(one, proof) for one in finding.remedies)
    return replace(finding, status=_STATUS[proof.verdict], remedies=remedies)


def _remedy(remedy: RemedyResult, proof: Proof) -> RemedyResult:
    """Of the table of remedies, where the proof's stands for it."""
    status = _STATUS[proof.verdict]
    if remedy.name not in _TABLE.get(proof.remedy, ()) or status == "undecided":
        return remedy
    usual: Literal["proven", "no effect"] = "proven" if status == "proven" else "no effect"
    return replace(remedy, verdict="worse" if proof.verdict == "slower" else usual, reason=proof.reason)


def proof_line(proof: Proof) -> str:
    """`  proven  keep-freed-memory: 73.5% [54.1%, 84.7%] less time`."""
    word = {"proven": "proven", "slower": "slower", "no effect": "no gain"}.get(proof.verdict, "tried")
    effect = proof.effect
    if proof.verdict in ("proven", "slower") and effect is not None and effect.interval is not None:
        low, high = effect.interval
        less = proof.verdict == "proven"
        ends = (1 - high, 1 - low) if less else (low - 1, high - 1)
        value = f"{abs(1 - effect.ratio):.1%} [{ends[0]:.1%}, {ends[1]:.1%}] {'less' if less else 'more'} time"
    else:
        value = f"{proof.verdict}: {proof.reason}"
    return f"  {word:<6} {proof.remedy}: {value}"
