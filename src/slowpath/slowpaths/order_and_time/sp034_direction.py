# SPDX-License-Identifier: Apache-2.0
"""SP034: messages that are slower one way than the other."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.difference import Slowdown
from slowpath.findings.facts import Facts as Facts
from slowpath.findings.observation import Observation
from slowpath.findings.observed import Wording, alone_or_screened, levels
from slowpath.findings.screened import Screened
from slowpath.findings.slow_path import SlowPath

DIRECTION = "direction"
_WAYS = {"forward": "from rank 0 to the other", "reverse": "from the other rank to rank 0"}


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts between messages of the two ranks to each other."""
    return alone_or_screened(facts, (DIRECTION,), _wording)


def _wording(one: Slowdown | Screened) -> Wording:
    slow, fast = (_WAYS.get(value, value) for value in levels(one))
    return Wording(f"{{size}}messages {slow}", f"those {fast}", "direction", affects_default=True)


SLOW_PATH: SlowPath = SlowPath(
    code="SP034",
    name="direction",
    title="Messages are slower in one direction than in the other",
    what="Two ranks send to each other over the same path.",
    shows="The same message takes longer from one of two ranks to the other than back.",
    why="One core or one side's memory is slower, a core has other work (interrupts land on core 0), the path is not "
    "the same both ways, or one rank's environment differs.",
    needs="A screening design that varies the direction with other things, then the direction by itself over four "
    "lengths.",
    remedy="Find out which rank's core, memory or network is slower: move the rank, and see whether the slow side "
    "moves.",
    false_alarms="On a machine with other work either side may be disturbed for the length of a run.",
    sources=("docs/reference/engine-interface.md, direction",),
    observe=observe,
    cause="One side sends or receives more slowly than the other.",
    hypotheses=(
        "one rank's core or memory is slower, or has other work",
        "the path between the two is not the same both ways",
        "one rank's library is set up in another way",
    ),
    needs_law=False,
    kind="fault",
    probes=("screening", "screening of short messages", "screening of long messages"),
    depends=frozenset({"rank"}),
    factors=("direction",),
)
