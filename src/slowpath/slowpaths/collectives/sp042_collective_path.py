# SPDX-License-Identifier: Apache-2.0
"""SP042: a collective that does not take its library's fast path, for the thread level, the op or how it is started."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.core.units import share_words
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, parameter, sizes, variable_words
from slowpath.findings.observed import Wording, grouped, slowdown_observed
from slowpath.findings.slow_path import Observation, Remedy, SlowPath, Support, set_to
from slowpath.slowpaths.remedies import THREAD_LEVEL_FUNNELED
from slowpath.stats.contrast import Removed, removed

EXPERIMENT = "coll"
CLOSED = "collectives_never_open"  # of mpi.settings: the library's fast path for collectives stays closed
LEVEL = "SLOWPATH_THREAD_LEVEL"
LEAST_LOST = 0.5  # of the excess that the fast side takes on where the path is closed
_AXES = ("op", "start", "environment")
_WORDS = {
    "user_ordered": ("with a user's op that does not commute", "with one that does"),
    "nonblocking": ("as a nonblocking call and its MPI_Wait", "the blocking call"),
    "persistent": ("as MPI_Start and MPI_Wait", "the blocking call"),
}
_MULTIPLE = ("under MPI_THREAD_MULTIPLE", "under a lower level")


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of op, start and thread level alone, the special side being slower by a quarter or more."""
    found = [
        slowdown
        for slowdown in facts.slowdowns(*_AXES, phase="steady")
        if slowdown.slow.experiment == EXPERIMENT
        and slowdown.ratio.least >= CLEAR_RATIO
        and (_is_level(facts, slowdown) or (facts.is_default(slowdown.slow) and slowdown.slow_value in _WORDS))
    ]
    groups = grouped(found, lambda one: (one.slow.mpi, one.slow.placement, one.slow_value, _collective(one)))
    return [_observation(facts, group) for group in groups]


def _collective(one: Slowdown) -> str:
    return parameter(one.slow, "collective")


def _is_level(facts: Facts, one: Slowdown) -> bool:
    slow, fast = (facts.variables(cell) for cell in (one.slow, one.fast))
    changed = {name for name, _ in set(slow.items()) ^ set(fast.items())}
    return changed == {LEVEL} and slow.get(LEVEL) == "multiple"


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    one, name = group[0], _collective(group[0])
    slow, fast = _WORDS.get(one.slow_value, _MULTIPLE)
    about = "thread level" if one.axis == "environment" else f"{one.axis} {one.slow_value}"
    return slowdown_observed(facts, group, Wording(f"calls of {name} {slow}", fast, f"{name}, {about}"))


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The fast side with its path kept closed: it then takes what the slow side takes."""
    lost = [
        (slowdown, closed, share)
        for slowdown in facts.slowdowns(*_AXES, phase="steady")
        if slowdown.contrast in seen.contrasts
        for closed in _closed(facts, slowdown.fast)
        if (share := _lost(slowdown, closed)) is not None
    ]
    if not lost:
        return Support("missing", "no run kept the library's fast path closed; slowpath run coll does so where it "
                       "knows a variable")  # fmt: skip
    lines = tuple(
        f"{sizes([slowdown.slow])}: with the fast path closed ({variable_words(facts.variables(closed))}), the fast "
        f"side slows down by {share_words(share.value, share.interval)} of the excess"
        for slowdown, closed, share in lost
    )
    if {slowdown.contrast for slowdown, *_ in lost} != set(seen.contrasts):
        return Support("missing", "not every length was measured with the fast path closed in as many launches", lines)
    if any(share.interval[0] < LEAST_LOST for *_, share in lost):
        return Support(
            "missing",
            "with the fast path closed, the fast side may slow down by less than half of the excess at some length",
            lines,
        )
    return Support("shown", "with the fast path closed, the fast side slows down by most of the excess", lines)


def _closed(facts: Facts, cell: CellResult) -> list[CellResult]:
    """The same cell where the library's fast path stays closed."""
    return [
        other
        for other in facts.cells_of(EXPERIMENT)
        if facts.setting(other) == CLOSED
        and (other.parameters, other.mpi, other.placement) == (cell.parameters, cell.mpi, cell.placement)
    ]


def _lost(one: Slowdown, closed: CellResult) -> Removed | None:
    """Share of the excess that the fast side takes on; None where a side was not measured in as many launches."""
    found = [cell.estimate(one.metric, "steady") for cell in (one.slow, one.fast, closed)]
    times = [np.array(estimate.launch_values) for estimate in found if estimate is not None]
    if len(times) < len(found) or len({launches.size for launches in times}) > 1:
        return None
    slow, fast, changed = times
    return removed(slow, slow, fast, changed)


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
    "variable, takes on half of the excess or more.",
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
