# SPDX-License-Identifier: Apache-2.0
"""SP064: messages that are started and completed by two calls, and slower than by one."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import Observation, SlowPath

COMPLETION = "completion"
BLOCKING = "blocking"
_CALLS = {"wait": "MPI_Wait", "waitall": "MPI_Waitall", "test": "MPI_Test until they are complete"}


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of calls that complete a message, those of MPI_Send and MPI_Recv being the faster side."""
    return alone_or_screened(facts, (COMPLETION,), _wording, which=_is_slower)


def _is_slower(one: Slowdown | Screened) -> bool:
    slow, fast = levels(one)
    return fast == BLOCKING and slow in _CALLS


def _wording(one: Slowdown | Screened) -> Wording:
    calls = _CALLS[levels(one)[0]]
    return Wording(
        f"{{size}}messages by MPI_Isend, MPI_Irecv and {calls}", "by MPI_Send and MPI_Recv", calls.split(" ")[0], True
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP064",
    name="completion",
    title="Messages that are started and completed apart are slower than blocking ones",
    what="A call that completes requests gives the processor away before it looks, takes a lock, or asks all "
    "transports in turn.",
    needs="A screening design that varies the calls with other things, then the calls alone over four lengths.",
    remedy="Take blocking calls where nothing is done meanwhile. Look for a progress thread, MPI_THREAD_MULTIPLE, "
    "settings that yield when idle, a tool in between.",
    observe=observe,
    cause="The calls that complete requests are slow.",
    hypotheses=(
        "the call gives up its processor before it looks",
        "it takes a lock that a progress thread or another thread holds",
        "a tool or an error handler is between the program and the library",
    ),
    needs_law=False,
    kind="fault",
    probes=("screening", "screening of short messages", "screening of long messages"),
    factors=(COMPLETION,),
)
