# SPDX-License-Identifier: Apache-2.0
"""What `slowpath prove` showed on the program itself, in the results of its watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec.structs import replace

from slowpath.analyse.watch.verdict import verdict_of
from slowpath.core.errors import RecordError
from slowpath.core.finding_results import RemedyResult
from slowpath.core.watch_proof import Proof, proof_folders, read_proof
from slowpath.core.watch_results import WatchFinding, WatchResults
from slowpath.findings.remedies.programs import PROGRAM_REMEDIES

Named = tuple[str, Proof]  # name of the folder, and what it holds
Status = Literal["proven", "no effect", "undecided"]
_STATUS: Final[Mapping[str, Status]] = {
    "proven": "proven",
    "no effect": "no effect",
    "slower": "no effect",
    "ignored": "no effect",
}
_TABLE: Final = {one.key: one.table for one in PROGRAM_REMEDIES}


def read_proofs(watch: Path) -> list[Named]:
    """Those of a watch, the first first; damaged ones are left out: the watch's own results don't rest on them."""
    found = []
    for folder in proof_folders(watch):
        try:
            found.append((folder.name, read_proof(folder)))
        except RecordError:
            continue
    return found


def with_proofs(results: WatchResults, proofs: Sequence[Named], watch: str = "WATCH") -> WatchResults:
    """The results with each finding's status, its remedies' verdicts, and a line for each remedy that was tried.

    Args: proofs: of this watch; the last one of a remedy counts.  watch: its folder, for commands to copy.
    """
    latest = {proof.remedy: (name, proof) for name, proof in proofs if proof.runs or proof.verdict == "ignored"}
    if not latest:
        return results
    findings = tuple(_tried(one, latest) for one in results.findings)
    changed = replace(results, findings=findings)
    head, *rest = verdict_of(changed, watch)
    return replace(changed, verdict=(head, *(_line(*row) for row in latest.values()), *rest))


def _tried(finding: WatchFinding, latest: Mapping[str, Named]) -> WatchFinding:
    """By the remedy that the finding names; else by any for its rule that was proven."""
    own = latest.get((finding.prove or "").split(" ")[-1])
    proven = [row for row in latest.values() if finding.rule in row[1].rules and row[1].verdict == "proven"]
    row = proven[0] if proven and (own is None or own[1].verdict != "proven") else own
    if row is None:
        return finding
    status = _STATUS.get(row[1].verdict, "undecided")
    return replace(finding, status=status, remedies=tuple(_remedy(one, row, status) for one in finding.remedies))


def _remedy(remedy: RemedyResult, row: Named, status: Status) -> RemedyResult:
    name, proof = row
    if remedy.name not in _TABLE.get(proof.remedy, ()) or status == "undecided":
        return remedy
    verdict: Literal["proven", "worse", "no effect"] = (
        "worse" if proof.verdict == "slower" else "proven" if status == "proven" else "no effect"
    )
    return replace(remedy, verdict=verdict, reason=f"{name}: {proof.reason}")


def _line(name: str, proof: Proof) -> str:
    """`  proven  keep-freed-memory: 73.5% [54.1%, 84.7%] less time (proof-1)`."""
    word = {"proven": "proven", "slower": "slower", "no effect": "no gain"}.get(proof.verdict, "tried")
    effect = proof.effect
    if proof.verdict in ("proven", "slower") and effect is not None and effect.interval is not None:
        low, high = effect.interval
        less = proof.verdict == "proven"
        ends = (1 - high, 1 - low) if less else (low - 1, high - 1)
        value = f"{abs(1 - effect.ratio):.1%} [{ends[0]:.1%}, {ends[1]:.1%}] {'less' if less else 'more'} time"
    else:
        value = f"{proof.verdict}: {proof.reason}"
    return f"  {word:<6} {proof.remedy}: {value} ({name})"
