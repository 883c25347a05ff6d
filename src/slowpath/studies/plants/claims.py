# SPDX-License-Identifier: Apache-2.0
"""What a finding claims, in the words of the grammar: the one place that knows what rules say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.results import Finding
from slowpath.studies.plants.grammar import Room, Side

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
    "SP009": frozenset({"environment"}),
    "SP010": frozenset({"environment"}),
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
    "SP035": frozenset({"environment"}),
}
# In these words a leg says where the time goes, and on which side.
_ROOMS: tuple[tuple[str, Room], ...] = (
    ("the time goes to the kernel", "kernel"),
    ("page faults per operation", "kernel"),
    ("the time goes to user space", "user"),
    ("the time goes to waiting", "waiting"),
    ("the cache is cold", "cold"),
)
_SIDES: tuple[tuple[str, Side], ...] = (("of the sender grows", "send"), ("of the receiver grows", "receive"))


@dataclass(frozen=True)
class Claims:
    """depends: empty: it does not say.  rooms, sides: where the time goes and who pays; None: it does not say."""

    explained: bool
    depends: frozenset[str]
    rooms: frozenset[Room] | None
    sides: frozenset[Side] | None


def claims_of(finding: Finding) -> Claims:
    """Where the time goes is claimed by an explanation alone; that it depends on something, by each finding."""
    explained = finding.status in ("explained", "proven")
    said = " ".join([finding.cause or "", *finding.legs.explained.evidence]) if explained else ""
    rooms = frozenset(room for words, room in _ROOMS if words in said)
    sides = frozenset(side for words, side in _SIDES if words in said)
    return Claims(explained, DEPENDS.get(finding.rule, frozenset()), rooms or None, sides or None)
