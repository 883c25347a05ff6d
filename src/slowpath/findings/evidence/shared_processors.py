# SPDX-License-Identifier: Apache-2.0
"""Ranks that were to have a core each and share one: the record of what they were allowed says so. Pure.

Times of messages are then turns of the scheduler (0.65 us became 5.3 us, and a put under a lock 46 us), so that no
other finding from that placement can be judged: each is folded into this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slowpath.core.units import format_time
from slowpath.findings.evidence import witness
from slowpath.findings.evidence.cpus import shared
from slowpath.findings.finding import Finding
from slowpath.findings.rule import Leg, Observation
from slowpath.findings.words import SPEAKING

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

CODE = "SP011"
ABOUT = "ranks share a processor"


def shared_placements(evidence: Evidence) -> list[dict[str, Any]]:
    """Placements in which ranks of a node have fewer processors than there are of them.

    [] where one of the run has enough, for then their contrast speaks, and where none asked for a core each: who asks
    for more ranks than cores knows it.
    """
    known = [one for one in evidence.run.get("placements") or () if one.get("observed")]
    if not all(shared(one["observed"]) for one in known):
        return []
    return known if any(one.get("bind") == "core" for one in known) else []


def shared_processors(evidence: Evidence) -> list[Observation]:
    """One observation for each placement that was to give a core to each rank."""
    found = []
    for place in shared_placements(evidence):
        cells = [c for c in evidence.cells.values() if c["placement"] == place["name"] and c["experiment"] == "p2p"]
        timed = [(metric, cell) for cell in cells if (metric := _speaking(cell)) is not None]
        if place.get("bind") == "core" and timed:
            found.append(_observation(evidence, place, timed))
    return found


def _speaking(cell: Any) -> str | None:
    there = (name for name in SPEAKING if "steady" in cell["metrics"].get(name, {}).get("phases", {}))
    return next(there, None)


def _value_s(metric: str, cell: Any) -> float:
    return float(cell["metrics"][metric]["phases"]["steady"]["value"])


def _observation(evidence: Evidence, place: dict[str, Any], timed: Sequence[tuple[str, Any]]) -> Observation:
    metric, fastest = min(timed, key=lambda one: _value_s(*one))
    ranks = ", ".join(f"rank {one['rank']} on {one['cpus_allowed']} of {one['host']}" for one in place["observed"])
    taken = [count for _, cell in timed if (count := witness.total(cell, "steady", "involuntary_switches"))]
    lines = [f"allowed processors: {ranks}"]
    if taken:
        lines.append(f"ranks were taken off their processor {sum(taken):.0f} times in {len(taken)} cells")
    numbers = tuple(cell["cell"] for _, cell in timed)
    return Observation(
        about=ABOUT,
        place=evidence.place([fastest], [f"placement {place['name']}"]),
        text=f"Ranks that were to have a core each share one ({ranks}): they take turns, and nothing else that was "
        f"measured so can be judged. The fastest message takes {format_time(_value_s(metric, fastest))}.",
        metric=metric,
        phase="steady",
        ratio=None,
        interval=None,
        excess_s=None,
        usual=True,
        cells=numbers,
        evidence=tuple(lines),
        slow_cells=numbers,
    )


def witnessed(seen: Observation) -> Leg:
    """The allowed processors are the observation and its witness."""
    return Leg("shown", "ranks that were to have a core each share one", seen.evidence)


def folded(evidence: Evidence, findings: Sequence[Finding]) -> list[Finding]:
    """Findings from placements in which ranks share a processor go into the finding that says so."""
    names = {one["name"] for one in shared_placements(evidence)}
    speaking = next((one for one in findings if one["rule"] == CODE and one["about"] == ABOUT), None)
    if speaking is None:
        return list(findings)
    over = [one for one in findings if one is not speaking and one["placement"] in names]
    whole = {**speaking, "merged": list(dict.fromkeys([*speaking["merged"], *(one["id"] for one in over)]))}
    return [whole if one is speaking else one for one in findings if not any(one is other for other in over)]
