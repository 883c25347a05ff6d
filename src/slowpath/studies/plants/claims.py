# SPDX-License-Identifier: Apache-2.0
"""What a finding claims, in the words of the grammar: the one place that knows what rules say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.results import Finding
from slowpath.studies.plants.grammar import Side

# Rule -> what a finding of it says that the time depends on: axes of the grammar, and what no clause has (a memory
# kind, pages). A rule that is not here claims nothing that a plant could contradict.
DEPENDS: Mapping[str, frozenset[str]] = {
    "SP001": frozenset({"use", "allocation"}),
    "SP002": frozenset({"use", "allocation"}),
    "SP003": frozenset({"others"}),
    "SP004": frozenset({"use"}),
    "SP005": frozenset({"use", "others"}),
    "SP006": frozenset({"use", "bytes"}),
    "SP007": frozenset({"memory"}),
    "SP008": frozenset({"pages"}),
    "SP009": frozenset({"setting"}),
    "SP010": frozenset({"setting"}),
    "SP011": frozenset({"binding"}),
    "SP012": frozenset({"use", "touch"}),
    "SP013": frozenset({"bytes"}),
    "SP014": frozenset({"memory"}),
    "SP015": frozenset({"block"}),
    "SP016": frozenset({"threads"}),
    "SP017": frozenset({"progress"}),
    "SP018": frozenset({"call"}),
    "SP019": frozenset({"window"}),
    "SP020": frozenset({"queue", "posted"}),
    "SP021": frozenset({"queue"}),
    "SP022": frozenset({"rank"}),
    "SP023": frozenset({"use", "allocation"}),
    "SP024": frozenset({"use", "others"}),
    "SP026": frozenset({"index", "chance", "time"}),
    "SP027": frozenset({"index"}),
    "SP028": frozenset({"chance"}),
    "SP029": frozenset({"launch"}),
    "SP030": frozenset({"index", "time"}),
    "SP031": frozenset({"start"}),
    "SP032": frozenset({"idle_s"}),
    "SP033": frozenset({"others", "index"}),
    "SP034": frozenset({"rank"}),
    "SP035": frozenset({"environment", "setting"}),
    "SP036": frozenset({"call"}),
    "SP037": frozenset({"bytes"}),
    "SP038": frozenset({"block"}),
    "SP039": frozenset({"call"}),
    "SP040": frozenset({"index"}),
    "SP041": frozenset({"index"}),
    "SP042": frozenset({"call", "threads"}),
    "SP043": frozenset({"use", "rank"}),
    "SP044": frozenset({"window"}),
    "SP045": frozenset({"rank"}),
    "SP046": frozenset({"binding"}),
}
# Where a claim says that the time goes; "path", another way through the library, says nothing of it. No clause copies.
_ROOM_OF: Mapping[str, str] = {
    "kernel": "kernel",
    "user": "user",
    "waiting": "waiting",
    "cold cache": "cold",
    "copy": "copy",
}
_SIDES_OF: Mapping[str, frozenset[Side]] = {
    "sender": frozenset({"send"}),
    "receiver": frozenset({"receive"}),
    "both": frozenset({"send", "receive"}),
}
# What a claim says that the cost follows -> the axis.
_AXIS_OF: Mapping[str, str] = {
    "pages": "allocation",
    "allocation": "allocation",
    "message": "bytes",
    "bytes": "bytes",
    "buffers": "others",
    "uses": "use",
    "blocks": "block",
    "queue": "queue",
}


@dataclass(frozen=True)
class Claims:
    """depends: empty: it does not say.  room, sides: where the time goes and who pays; None: it does not say.
    by: the axis that the cost follows; "nothing": each pays the same; None: it does not say."""

    explained: bool
    depends: frozenset[str]
    room: str | None = None
    sides: frozenset[Side] | None = None
    by: str | None = None


def claims_of(finding: Finding) -> Claims:
    """Where the time goes is claimed by an explanation alone; that it depends on something, by each finding."""
    depends = DEPENDS.get(finding.rule, frozenset())
    if finding.status not in ("explained", "proven"):
        return Claims(False, depends)
    said = finding.claim
    if said is None:
        return Claims(True, depends)
    return Claims(
        True,
        depends,
        _ROOM_OF.get(said.time or ""),
        _SIDES_OF.get(said.side or ""),
        "nothing" if said.by == "nothing" else _AXIS_OF.get(said.by or ""),
    )
