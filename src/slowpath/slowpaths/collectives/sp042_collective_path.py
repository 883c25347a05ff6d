# SPDX-License-Identifier: Apache-2.0
"""SP042: a collective that does not take its library's fast path, for the thread level, the op or how it is started."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, variable_words
from slowpath.findings.slow_path import Observation, Remedy, SlowPath, Support, Tried, all_stayed_words, set_to
from slowpath.slowpaths.collectives.under import (
    CLOSED,
    Share,
    collective,
    contrast_observed,
    excess_words,
    groups,
    of_collectives,
    toggled,
    unders_of,
)
from slowpath.slowpaths.remedies import THREAD_LEVEL_FUNNELED

LEVEL = "SLOWPATH_THREAD_LEVEL"
LEAST_LOST = 0.5  # of the excess that the fast side takes on where the path is closed
ALL_OF_IT = 0.9  # less leaves a rest that is not the path's
OPEN = "the cause is unknown; that the other side is fast proves nothing by itself"
# Axis -> what leads from the slow side to the fast one; the campaign measures both in the same rounds.
_REMEDIES = {"op": "op that commutes", "start": "blocking call", "environment": "thread level funneled"}
_WORDS = {
    ("op", "user_ordered"): ("with a user's op that does not commute", "with one that does"),
    ("start", "nonblocking"): ("as a nonblocking call and its MPI_Wait", "the blocking call"),
    ("start", "persistent"): ("as MPI_Start and MPI_Wait", "the blocking call"),
}


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of op, start and thread level alone, the special side being slower by a quarter or more."""
    found = [
        slowdown for axis in ("op", "start") for slowdown in of_collectives(facts, axis) if _key(slowdown) in _WORDS
    ]
    found += [slowdown for slowdown in of_collectives(facts, "environment") if _is_level(facts, slowdown)]
    clear = [slowdown for slowdown in found if slowdown.ratio.least >= CLEAR_RATIO]
    return [_observation(facts, group) for group in groups(clear, "collective")]


def _key(one: Slowdown) -> tuple[str, str]:
    return one.axis, one.slow_value


def _is_level(facts: Facts, one: Slowdown) -> bool:
    slow, fast = (facts.variables(cell) for cell in (one.slow, one.fast))
    changed = {name for name, _ in set(slow.items()) ^ set(fast.items())}
    return changed == {LEVEL} and slow.get(LEVEL) == "multiple"


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    top = max(group, key=lambda one: one.ratio.least)
    words = _WORDS.get(_key(top), ("under MPI_THREAD_MULTIPLE", "under a lower level"))
    about = "thread level" if top.axis == "environment" else f"{top.axis} {top.slow_value}"
    contrasts = list(dict.fromkeys(slowdown.contrast for slowdown in [top, *group]))
    tried = _tried(facts, top.axis, contrasts)
    return contrast_observed(facts, group, f"{collective(top)}, {about}", words, tried)


def _tried(facts: Facts, axis: str, contrasts: Sequence[str]) -> tuple[Tried, ...]:
    """The remedy at each length of the finding: that of the least effect speaks, and each control has to stay."""
    found = [one for one in toggled(facts) if one.contrast in contrasts]
    if len(found) < len(contrasts):
        return ()
    least = min(found, key=lambda one: one.removed[1])
    controlled = all(one.stayed for one in found)
    every = [other for one in found for other in one.stayed]
    return (
        Tried(
            remedy=_REMEDIES[axis],
            removed=least.removed,
            control=all_stayed_words(every) if controlled else None,
            held=all(one.held for one in every),
            launches=min(one.launches for one in found),
            open=None if _closed(facts, contrasts).state == "shown" else OPEN,
        ),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The fast side with its path kept closed: it then takes what the slow side takes."""
    return _closed(facts, seen.contrasts)


def _closed(facts: Facts, contrasts: Sequence[str]) -> Support:
    """Args: contrasts: of one finding; each has to take on most of its excess."""
    every = [one for one in unders_of(facts, contrasts) if one.setting == CLOSED]
    closed = [(one, one.lost) for one in sorted(every, key=lambda one: contrasts.index(one.contrast)) if one.lost]
    if not every:
        return Support("missing", "no run kept the library's fast path closed; slowpath run coll does so where it "
                       "knows a variable")  # fmt: skip
    lines = tuple(
        (
            f"{one.length}: with the fast path closed ({variable_words(one.variables)}), the fast side slows down "
            f"by {excess_words(lost)} of the excess{_rest(lost)}"
        )
        for one, lost in closed
    )
    if {one.contrast for one, _ in closed} != set(contrasts):
        return Support("missing", "not every length was measured with the fast path closed in as many launches", lines)
    shares = [lost for _, lost in closed]
    if any(high < LEAST_LOST for _, _, high in shares):
        return Support(
            "missing", "with the fast path closed, a fast side is still faster: something else differs", lines
        )
    if any(low < LEAST_LOST for _, low, _ in shares):
        return Support(
            "missing",
            "with the fast path closed, the fast side may slow down by less than half of the excess at some length",
            lines,
        )
    return Support("shown", "with the fast path closed, the fast side slows down by most of the excess", lines)


def _rest(lost: Share) -> str:
    """What the path does not account for."""
    return "; the rest remains with the path closed" if lost[2] < ALL_OF_IT else ""


PATHS = (Rival(name="cost of each call", cause="Each call takes locks or prepares a schedule on any path."),)

OP_THAT_COMMUTES = Remedy(
    "op that commutes",
    "Tell MPI_Op_create that the op commutes (second argument) if it does.",
    ("op",),
    side_effects=("the library then chooses the order in which ranks are combined, and so the rounding",),
    sources=("MPI-4.1 section 6.9.5",),
    parameter="op",
    change=set_to("op", "user"),
    uncontrolled="collectives without an op refuse one, and collectives with one pay for the op; slowpath run coll "
    "compares it with a scan",
    code="MPI_Op_create(function, 1, &op);  /* 1: it commutes */",
    phrase="an op that commutes",
)

BLOCKING_CALL = Remedy(
    "blocking call",
    "Call the blocking collective where there is nothing to do meanwhile.",
    ("start",),
    sources=("MPI-4.1 section 6.12",),
    parameter="start",
    change=set_to("start", "blocking"),
    uncontrolled="every collective is started in some way and may gain by another; slowpath run coll compares one "
    "without a fast path",
    phrase="blocking collectives where nothing overlaps",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP042",
    name="collective path",
    title="A collective leaves the library's fast path",
    what="MPICH's collectives through shared memory open only below MPI_THREAD_MULTIPLE, and for ops that commute. "
    "Nonblocking and persistent collectives know neither shared memory nor the tuned algorithms (MPICH, Open "
    "MPI).",
    needs="Both cases as cells of the same launches. Explained when the fast side, with its path closed by a "
    "variable, takes on half of the excess or more. Proven when a collective without such a path does not "
    "follow.",
    remedy="Ask for the thread level that you need, say MPI_Op_create that an op commutes where it does, and take "
    "blocking calls where nothing is to be overlapped.",
    observe=observe,
    cause="The library's fast path for this collective is closed to it.",
    witnesses=witnesses,
    hypotheses=(
        "the library's fast path for this collective is closed to it",
        "each call takes locks, or prepares a schedule, whatever its path",
    ),
    needs_law=False,
    kind="property",
    rivals=PATHS,
    probes=(
        "collectives: thread level",
        "collectives: ops",
        "collectives: starts",
    ),
    remedies=(
        THREAD_LEVEL_FUNNELED,
        OP_THAT_COMMUTES,
        BLOCKING_CALL,
    ),
    removes_cause=(OP_THAT_COMMUTES, BLOCKING_CALL, THREAD_LEVEL_FUNNELED),
)
