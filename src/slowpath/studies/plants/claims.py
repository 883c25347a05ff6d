# SPDX-License-Identifier: Apache-2.0
"""What a finding claims, in the words of the grammar: the one place that knows what rules say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.results import Finding
from slowpath.slowpaths.registry import SLOW_PATHS
from slowpath.studies.plants.grammar import Side

# Code -> axes of the grammar, and what no clause has (a memory kind, pages), on which a finding claims that the time
# depends. A slow path that is not here claims nothing that a plant could contradict.
DEPENDS: Mapping[str, frozenset[str]] = {path.code: path.depends for path in SLOW_PATHS if path.depends}
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
