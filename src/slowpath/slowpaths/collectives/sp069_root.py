# SPDX-License-Identifier: Apache-2.0
"""SP069: a collective that is slower for another root than rank 0."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cell_results import CellResult
from slowpath.findings.difference import CLEAR_RATIO, Slowdown
from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation
from slowpath.findings.slow_path import SlowPath
from slowpath.findings.words import is_switched_out
from slowpath.slowpaths.collectives.under import collective, contrast_observed, groups, of_collectives

ROOT, LAST = "root", "last"
# A library may do all from rank 0, and send once between it and the root. Assumed; what is measured is in `needs`.
FORWARDED = 3.0  # messages of this length; what a root costs beyond them is no forwarding
MESSAGE_METRIC = "half_round_trip_latency_s"
_WORDS = ("whose root is the last rank", "with rank 0 as its root")


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of two roots, the last rank's side being slower by a quarter or more, and by more than forwarding."""
    found = [slowdown for slowdown in of_collectives(facts, ROOT) if slowdown.slow.parameters.get(ROOT) == LAST]
    clear = [
        slowdown for slowdown in found if slowdown.ratio.least >= CLEAR_RATIO and _is_beyond_forwarding(facts, slowdown)
    ]
    return [
        contrast_observed(facts, group, f"{collective(group[0])}, root", _WORDS)
        for group in groups(clear, "collective")
    ]


def _is_beyond_forwarding(facts: Facts, one: Slowdown) -> bool:
    """Not known without a message of this length in the same place, or where ranks lost their processors."""
    if is_switched_out(one.slow) or is_switched_out(one.fast):
        return False
    message_s = [time_s for cell in facts.cells.values() if (time_s := _message_s(cell, one.slow)) is not None]
    return bool(message_s) and one.excess_s > FORWARDED * max(message_s)


def _message_s(cell: CellResult, like: CellResult) -> float | None:
    """Of a plain message of the collective's length."""
    place = (cell.mpi, cell.environment, cell.placement, cell.parameters.get("message_bytes"))
    if place != (like.mpi, like.environment, like.placement, like.parameters.get("message_bytes")):
        return None
    estimate = cell.estimate(MESSAGE_METRIC, "steady")
    return estimate.value if estimate is not None else None


SLOW_PATH: SlowPath = SlowPath(
    code="SP069",
    name="root",
    title="A collective is slower for another root than rank 0",
    what="A collective does the same work whichever rank is its root.",
    shows="The same collective takes clearly longer with the last rank as its root than with rank 0.",
    why="A tree is built for rank 0 and its result sent on; a fast path is open to rank 0 alone; the root runs on a "
    "slower core.",
    needs="Both roots as cells of the same launches, a quarter apart or more, and by over three messages of this "
    "length between two ranks: on a quiet machine without any fault the last rank as root took 3.00x [2.75, 3.28] as "
    "long under MPICH 5.0.2, 1.29x [1.24, 1.34] under Open MPI 5.0.11. Ranks that keep their processors.",
    remedy="Make rank 0 the root where any rank will do. See whether the last rank's core is slower (SP034).",
    false_alarms="With ranks on several nodes a root on another node is further away for other reasons.",
    sources=("MPI-4.1 section 6.4", "docs/reference/engine-interface.md, root"),
    observe=observe,
    cause="The library treats a root other than rank 0 in another way.",
    hypotheses=(
        "the library's fast path is for rank 0 as the root",
        "the root's core or memory is slower",
    ),
    needs_law=False,
    kind="fault",
    probes=("collectives: roots", "lengths"),
)
