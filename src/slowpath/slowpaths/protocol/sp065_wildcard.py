# SPDX-License-Identifier: Apache-2.0
"""SP065: receives from any source that are slower than receives that name their sender."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import Observation, SlowPath

SOURCE = "source"
ANY = "any"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of MPI_ANY_SOURCE with a named sender."""
    return alone_or_screened(facts, (SOURCE,), _wording, which=lambda one: levels(one)[0] == ANY)


def _wording(_one: Slowdown | Screened) -> Wording:
    return Wording("{size}messages received from MPI_ANY_SOURCE", "from a named source", "MPI_ANY_SOURCE", True)


SLOW_PATH: SlowPath = SlowPath(
    code="SP065",
    name="wildcard receive",
    title="Receives from any source are slower than receives that name their sender",
    what="A receive with MPI_ANY_SOURCE may be matched by each rank and each transport: the library asks all, or "
    "locks all queues.",
    needs="A screening design that varies the source with other things, then the source by itself over four lengths.",
    remedy="Name the source where it is known. MPI_Info keys mpi_assert_no_any_source and mpi_assert_no_any_tag "
    "help the other communicators.",
    observe=observe,
    cause="A receive without a source is matched in another way.",
    hypotheses=(
        "every transport is asked instead of one",
        "hardware matching, or the queue of one source, can't be used",
    ),
    needs_law=False,
    kind="fault",
    probes=("screening of short messages",),
    factors=(SOURCE,),
)
