# SPDX-License-Identifier: Apache-2.0
"""SP034: messages that are slower one way than the other."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.findings.witness import total

DIRECTION = "direction"
_WAYS = {"forward": "from rank 0 to the other", "reverse": "from the other rank to rank 0"}


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts between messages of the two ranks to each other."""
    return alone_or_screened(facts, (DIRECTION,), _wording)


def _wording(one: Slowdown | Screened) -> Wording:
    slow, fast = (_WAYS.get(value, value) for value in levels(one))
    return Wording(f"{{size}}messages {slow}", f"those {fast}", "direction", affects_default=True)


MOST_LOST = 2  # times that ranks lose their processors in all cells of it: a quiet machine has none or two


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Both ranks kept their processors, so that no other process made one side slow."""
    if not seen.slow_cells:
        return Support("missing", "it was shown only with other things varied at the same time")
    cells = [facts.cells[number] for number in (*seen.slow_cells, *seen.fast_cells)]
    lost = [total(cell, seen.phase, "involuntary_switches") for cell in cells]
    counted = [count for count in lost if count is not None]
    if len(counted) < len(lost):
        return Support("missing", "how often ranks lost their processors was not counted")
    line = f"{sum(counted):.0f} involuntary switches in {len(cells)} cells of both directions"
    if sum(counted) > MOST_LOST:
        return Support("missing", "other processes took a rank's processor, which looks the same", (line,))
    return Support("shown", "both ranks kept their processors", (line,))


_OTHER_WORK = Rival(name="other work", cause="Another process runs on the processor of one rank.")

SLOW_PATH: SlowPath = SlowPath(
    code="SP034",
    name="direction",
    title="Messages are slower in one direction than in the other",
    what="The same message takes longer from one of two ranks to the other than back: a slower core or memory, "
    "interrupts, or another path.",
    needs="A screening design, then the direction by itself over four lengths, in six launches. A fault only where "
    "both ranks kept their processors.",
    remedy="Move the slow rank, and see whether the slow side moves.",
    observe=observe,
    cause="One side sends or receives more slowly than the other.",
    witnesses=witnesses,
    hypotheses=(
        "another process runs on the processor of one rank",
        "one rank's core or memory is slower",
        "the path between the two ranks differs by direction",
        "one rank's library is set up in another way",
    ),
    needs_law=False,
    needs_cause=True,
    rivals=(_OTHER_WORK,),
    kind="fault",
    probes=("screening", "screening of short messages", "screening of long messages"),
    factors=("direction",),
)
