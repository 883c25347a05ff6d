# SPDX-License-Identifier: Apache-2.0
"""Observations out of contrasts: those that ask the same thing in the same place become one. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowpath.core.units import format_time
from slowpath.findings.evidence.compared import Cell, Compared
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.rule import Observation, Place
from slowpath.findings.words import SPEAKING, compared_words, memory, ratio_words, sizes

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

MOST_EVIDENCE = 6  # lines of one finding
Key = tuple[object, ...]
LawOf = Callable[[Sequence[Compared]], LawFound | None]


@dataclass(frozen=True)
class Said:
    """subject: what is slow ("Messages from small pages").  reference: against what ("the same from huge pages").
    about: as Observation.about.  usual: None: as the contrasts say, else what the rule knows better.
    """

    subject: str
    reference: str
    about: str
    usual: bool | None = None


def grouped(found: Iterable[Compared], key: Callable[[Compared], Key]) -> list[list[Compared]]:
    """Groups in the order of their first members."""
    groups: dict[Key, list[Compared]] = defaultdict(list)
    for one in found:
        groups[key(one)].append(one)
    return list(groups.values())


def setting_key(cell: Cell, *without: str) -> Key:
    """Library, environment, placement, memory and pages of a cell, less what is compared."""
    parts = {name: cell.get(name) for name in ("mpi", "environment", "placement")}
    parts |= {name: cell["parameters"].get(name) for name in ("memory", "pages", "experiment")}
    return tuple(value for name, value in parts.items() if name not in without)


def observation(evidence: Evidence, group: Sequence[Compared], said: Said, law_of: LawOf | None = None) -> Observation:
    """One observation of contrasts that show one thing: the one with the largest excess speaks for all of them."""
    speaks = [one for one in group if one.metric == _first_metric(group)]
    top = max(speaks, key=lambda one: one.excess_s)
    law = law_of(speaks) if law_of else None
    cells = [cell for one in group for cell in (one.slow, one.fast)]
    lengths = sizes(one.slow for one in group)
    span = f" at {lengths}" if lengths else ""
    also = f"; {len(speaks)} contrasts{span} show it" if len(speaks) > 1 else ""
    at = f" of {sizes([top.slow])}" if sizes([top.slow]) else ""
    text = (
        f"{said.subject}{at} takes {ratio_words(top.ratio, top.interval)} as long as {said.reference}: "
        f"{format_time(top.slow_s)} against {format_time(top.fast_s)}{also}."
    )
    usual = said.usual if said.usual is not None else _usual(group)
    return Observation(
        about=said.about,
        place=_place(evidence, group, lengths),
        text=text,
        metric=top.metric,
        phase=top.slow_phase,
        ratio=top.ratio,
        interval=top.interval,
        excess_s=top.excess_s,
        usual=usual,
        cells=tuple(dict.fromkeys(cell["cell"] for cell in cells)),
        contrasts=tuple(dict.fromkeys(one.contrast for one in group if one.contrast)),
        law=law,
        evidence=tuple(compared_words(one) for one in _strongest(speaks)),
        exports=evidence.variables(top.fast) if evidence.as_found(top.slow) else {},
        unsets=tuple(evidence.variables(top.slow)) if evidence.as_found(top.fast) else (),
        doubts=tuple(dict.fromkeys(text for one in group for text in one.suspect)),
        slow_cells=tuple(dict.fromkeys(one.slow["cell"] for one in [top, *speaks])),
        fast_cells=tuple(dict.fromkeys(one.fast["cell"] for one in [top, *speaks])),
    )


def _first_metric(group: Sequence[Compared]) -> str:
    there = {one.metric for one in group}
    return next((name for name in SPEAKING if name in there), group[0].metric)


def _strongest(group: Sequence[Compared]) -> list[Compared]:
    return sorted(group, key=lambda one: one.excess_s, reverse=True)[:MOST_EVIDENCE]


def _usual(group: Sequence[Compared]) -> bool | None:
    told = {one.usual for one in group}
    return told.pop() if len(told) == 1 else (True if True in told else None)


def _place(evidence: Evidence, group: Sequence[Compared], lengths: str) -> Place:
    slow = [one.slow for one in group]
    kinds = memory(slow)
    return evidence.place(slow, listed_words(kinds, lengths))


def listed_words(kinds: str, lengths: str) -> list[str]:
    """Words of a place: the memory, the lengths of messages."""
    return [f"{kinds} memory", *([f"messages of {lengths}"] if lengths else [])]
