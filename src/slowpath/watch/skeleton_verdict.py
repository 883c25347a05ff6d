# SPDX-License-Identifier: Apache-2.0
"""What a skeleton's launches say in the results of its watch: at the findings that a change takes away. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.watch.results import WatchFinding, WatchResults
from slowpath.watch.skeleton_results import SkeletonChange, SkeletonResults, change_words, skeleton_lines
from slowpath.watch.verdict import verdict_of


def with_measured(results: WatchResults, skeleton: SkeletonResults, watch: str) -> WatchResults:
    """Estimated findings whose change was measured have what it saves; of one rule, the first stands for all.

    Args: watch: its folder, for commands to copy.
    """
    if not skeleton.is_priced:
        return results
    changes = {rule: change for change in skeleton.changes if _is_measured(change) for rule in change.rules}
    findings = []
    for finding in results.findings:
        change = changes.pop(finding.rule, None) if finding.status == "estimated" else None
        findings.append(finding if change is None else _measured(finding, change))
    found = replace(results, findings=tuple(findings))
    return replace(found, verdict=verdict_of(found, watch))


def with_skeleton_lines(results: WatchResults, skeleton: SkeletonResults) -> WatchResults:
    """Results whose verdict says behind its headline what the skeleton showed."""
    head, *rest = results.verdict or ("",)
    return replace(results, verdict=(head, *(f"  {line}" for line in skeleton_lines(skeleton)), *rest))


def _is_measured(change: SkeletonChange) -> bool:
    return change.verdict == "proven" and change.saved_s is not None and change.saved_interval is not None


def _measured(finding: WatchFinding, change: SkeletonChange) -> WatchFinding:
    check = f" Check: {change.check}." if change.check else ""
    return replace(
        finding,
        text=f"{finding.text} At all places together, {change_words(change)}.{check}",
        saved_s=change.saved_s,
        saved_interval=change.saved_interval,
        saved_reason=None,
        status="measured",
    )
