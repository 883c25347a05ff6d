# SPDX-License-Identifier: Apache-2.0
"""SP066: messages that are slower while their sender has a receive of its own open."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import Observation, SlowPath

OPEN = "open_receive"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of sends with and without a receive of the sender that is open."""
    return alone_or_screened(facts, (OPEN,), _wording, which=lambda one: levels(one)[0] == "on")


def _wording(_one: Slowdown | Screened) -> Wording:
    return Wording(
        "{size}messages whose sender has a receive open", "those of a sender without one", "open receive", True
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP066",
    name="open receive",
    title="Messages are slower while their sender has a receive open",
    what="While a rank sends with a receive open, the library polls for that receive, splits its copies, or takes a "
    "slower path for both directions.",
    needs="A screening design that varies the open receive with other things, then the receive by itself over four "
    "lengths.",
    remedy="Send first, where the length allows it, or by MPI_Isend before MPI_Irecv; try MPI_Sendrecv, or another "
    "transport.",
    observe=observe,
    cause="While a receive is open, sends take another path.",
    hypotheses=(
        "the library polls for the open receive while it copies",
        "it takes a path for both directions at once",
    ),
    needs_law=False,
    kind="fault",
    probes=("screening of long messages",),
    factors=(OPEN,),
)
