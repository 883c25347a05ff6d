# SPDX-License-Identifier: Apache-2.0
"""What rules about contrasts of collectives say of one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowpath.core.units import share_words
from slowpath.findings.evidence.collectives import Under
from slowpath.findings.evidence.evidence import Evidence, Slowdown
from slowpath.findings.evidence.words import ratio_words, sizes, slowdown_words, times_words
from slowpath.findings.observation import Observation, Tried

EXPERIMENT = "coll"
MOST_EVIDENCE = 6


def of_collectives(evidence: Evidence, axis: str) -> list[Slowdown]:
    """Decided contrasts of collectives on one axis, later calls, in the user's own environment or against it."""
    found = [one for one in evidence.slowdowns(axis, phase="steady") if one.slow.experiment == EXPERIMENT]
    return [one for one in found if axis == "environment" or evidence.is_default(one.slow)]


def collective(one: Slowdown) -> str:
    """`allreduce`."""
    return one.slow.parameters.get("collective", "")


def groups(found: Iterable[Slowdown], *more: str) -> list[list[Slowdown]]:
    """Contrasts of the same two values in one place, and of the same further parameters."""
    made: dict[tuple[object, ...], list[Slowdown]] = {}
    for one in found:
        place = (one.slow.mpi, one.slow.placement, one.slow_value, one.fast_value)
        made.setdefault((*place, *(one.slow.parameters.get(name) for name in more)), []).append(one)
    return list(made.values())


def contrast_observed(
    evidence: Evidence, group: Sequence[Slowdown], about: str, words: tuple[str, str], tried: tuple[Tried, ...] = ()
) -> Observation:
    """The one with the largest ratio speaks. words: after the collective, and after "as long as"."""
    top = max(group, key=lambda one: one.ratio.least)
    names = ", ".join(dict.fromkeys(collective(one) for one in group))
    span = sizes(one.slow for one in group)
    also = f"; {len(group)} contrasts agree ({names}; {span})" if len(group) > 1 else ""
    size = sizes([top.slow])
    length = f" of {size}" if size and collective(top) != "barrier" else ""
    defaults = {one.affects_default for one in group}
    return Observation(
        about=about,
        place=evidence.place([one.slow for one in group], [names]),
        text=f"{collective(top).capitalize()}{length} {words[0]} takes {ratio_words(top.ratio)} as long as {words[1]}: "
        f"{times_words(top)}{also}.",
        metric=top.metric,
        phase="steady",
        ratio=top.ratio.value,
        interval=top.ratio.interval,
        excess_s=top.excess_s,
        affects_default=defaults.pop() if len(defaults) == 1 else None,
        cells=tuple(dict.fromkeys(cell.cell for one in group for cell in (one.slow, one.fast))),
        contrasts=tuple(dict.fromkeys(one.contrast for one in [top, *group])),
        axis=top.axis,
        evidence=tuple(
            slowdown_words(one) for one in sorted(group, key=lambda one: one.ratio.value, reverse=True)[:MOST_EVIDENCE]
        ),
        slow_cells=tuple(dict.fromkeys(one.slow.cell for one in [top, *group])),
        fast_cells=tuple(dict.fromkeys(one.fast.cell for one in [top, *group])),
        tried=tried,
    )


def unders(evidence: Evidence, contrasts: Iterable[str]) -> list[Under]:
    """Of these contrasts."""
    wanted = set(contrasts)
    return [one for one in evidence.facts(Under) if one.contrast in wanted]


def excess_words(share: tuple[float, float, float]) -> str:
    """`92 % [88, 95]`.  Args: share: value and interval."""
    return share_words(share[0], share[1:])
