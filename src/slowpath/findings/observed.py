# SPDX-License-Identifier: Apache-2.0
"""Observations of slow paths, from slowdowns and launches that were ended. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.findings.facts import (
    SPEAKING,
    Facts,
    Slowdown,
    memory,
    ratio_words,
    sizes,
    slowdown_words,
    times_words,
)
from slowpath.findings.slow_path import Observation, observed

# Facts become observations: contrasts that ask the same thing in one place.


MOST_EVIDENCE = 6  # lines of one finding

Key = tuple[object, ...]


@dataclass(frozen=True)
class Wording:
    """subject, reference: of a sentence "<subject> are 2.0x slower than <reference>"; {size} stands for the length of
    the messages ("{size}messages from small pages", "from huge pages").  about: as Observation.about.
    affects_default: None: as the contrasts have it, else what the rule knows better.
    """

    subject: str
    reference: str
    about: str
    affects_default: bool | None = None


def grouped(slowdowns: Iterable[Slowdown], key: Callable[[Slowdown], Key]) -> list[list[Slowdown]]:
    """Groups in the order of their first members."""
    groups: dict[Key, list[Slowdown]] = defaultdict(list)
    for slowdown in slowdowns:
        groups[key(slowdown)].append(slowdown)
    return list(groups.values())


def place_key(cell: CellResult, *without: str) -> Key:
    """Library, environment, placement, memory and pages of a cell, less what is compared."""
    parts = {"mpi": cell.mpi, "environment": cell.environment, "placement": cell.placement}
    parts |= {name: cell.parameters.get(name) for name in ("memory", "pages", "experiment")}
    return tuple(value for name, value in parts.items() if name not in without)


def slowdown_observed(facts: Facts, group: Sequence[Slowdown], wording: Wording) -> Observation:
    """One observation of contrasts that show one thing: the one with the largest excess speaks for all of them, of
    those that begin at what users have who change nothing, where there are such.
    """
    speaks = [slowdown for slowdown in group if slowdown.metric == _first_metric(group)]
    top = max(speaks, key=lambda slowdown: (slowdown.affects_default is True, slowdown.excess_s))
    lengths = sizes(slowdown.slow for slowdown in group)
    size = sizes([top.slow])
    subject = wording.subject.format(size=f"{size} " if size else "")
    span = f" ({lengths})" if lengths else ""
    also = f"; {len(speaks)} contrasts{span} agree" if len(speaks) > 1 else ""
    text = (
        f"{subject[0].upper()}{subject[1:]} are {ratio_words(top.ratio)} slower than {wording.reference}: "
        f"{times_words(top)}{also}."
    )
    strongest = sorted(speaks, key=lambda slowdown: slowdown.excess_s, reverse=True)[:MOST_EVIDENCE]
    return observed(
        top,
        about=wording.about,
        place=facts.place([slowdown.slow for slowdown in group], _group_words(group, lengths)),
        text=text,
        phase=top.slow_phase,
        affects_default=_default_side(group) if wording.affects_default is None else wording.affects_default,
        cells=tuple(dict.fromkeys(cell.cell for slowdown in group for cell in (slowdown.slow, slowdown.fast))),
        contrasts=tuple(dict.fromkeys(slowdown.contrast for slowdown in group)),
        axis=top.axis,
        evidence=tuple(slowdown_words(slowdown) for slowdown in strongest),
        exports=facts.variables(top.fast) if facts.as_found(top.slow) else {},
        unsets=tuple(facts.variables(top.slow)) if facts.as_found(top.fast) else (),
        doubts=tuple(dict.fromkeys(text for slowdown in group for text in slowdown.suspect)),
        slow_cells=tuple(dict.fromkeys(slowdown.slow.cell for slowdown in [top, *speaks])),
        fast_cells=tuple(dict.fromkeys(slowdown.fast.cell for slowdown in [top, *speaks])),
    )


def _group_words(group: Sequence[Slowdown], lengths: str) -> list[str]:
    return [f"{memory(slowdown.slow for slowdown in group)} memory", *([f"messages of {lengths}"] if lengths else [])]


def _first_metric(group: Sequence[Slowdown]) -> str:
    there = {slowdown.metric for slowdown in group}
    return next((name for name in SPEAKING if name in there), group[0].metric)


def _default_side(group: Sequence[Slowdown]) -> bool | None:
    sides = {slowdown.affects_default for slowdown in group}
    return sides.pop() if len(sides) == 1 else (True if True in sides else None)
