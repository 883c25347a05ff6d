# SPDX-License-Identifier: Apache-2.0
"""What `slowpath prove` showed of a watch's findings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from slowpath.analyse.watch.verdict import verdict_of
from slowpath.core.watch_proof import Proof
from slowpath.core.watch_results import WatchFinding, WatchResults

Status = Literal["priced", "proven", "no effect", "undecided"]
# Of a verdict that says nothing of the remedy (a run failed, the setting was not taken) the finding is as it was.
_STATUS: Final[Mapping[str, Status]] = {
    "proven": "proven",
    "no effect": "no effect",
    "slower": "no effect",
    "undecided": "undecided",
    "running": "undecided",
}
_STRONGEST: Final[tuple[Status, ...]] = ("proven", "no effect", "undecided")


def with_proofs(results: WatchResults, proofs: Sequence[Proof], watch: str = "WATCH") -> WatchResults:
    """Findings whose first remedy was tried say so, and the verdict is made anew.

    Args: watch: its folder, for commands to copy.
    """
    found = tuple(replace(one, status=_status(one, proofs)) for one in results.findings)
    if found == results.findings:
        return results
    changed = replace(results, findings=found)
    return replace(changed, verdict=verdict_of(changed, watch))


def proves(proof: Proof, finding: WatchFinding) -> bool:
    """Whether the proof is of the remedy that the finding suggests, and of its rule."""
    asked = (finding.prove or "").split()
    return finding.rule in proof.rules and asked[-2:] == ["--remedy", proof.remedy]


def _status(finding: WatchFinding, proofs: Sequence[Proof]) -> Status:
    """The strongest of what its proofs show."""
    shown = {_STATUS[one.verdict] for one in proofs if one.verdict in _STATUS and proves(one, finding)}
    return next((one for one in _STRONGEST if one in shown), finding.status)
