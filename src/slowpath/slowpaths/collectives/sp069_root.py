# SPDX-License-Identifier: Apache-2.0
"""SP069: a collective that is slower for another root than rank 0."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.cell_results import CellResult
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, is_switched_out
from slowpath.findings.slow_path import Observation, SlowPath
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
    what="The same collective takes longer with the last rank as its root: a tree is built for rank 0, or the root "
    "runs on a slower core.",
    needs="Both roots as cells of the same launches, a quarter apart or more, and by over three messages of this "
    "length. Ranks that keep their processors.",
    remedy="Make rank 0 the root where any rank will do. See whether the last rank's core is slower (SP034).",
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
