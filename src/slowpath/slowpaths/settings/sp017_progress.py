# SPDX-License-Identifier: Apache-2.0
"""SP017: messages that do not move while the program computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.core.result import Interval
from slowpath.findings.facts import (
    Difference,
    Facts,
    Ratio,
    Slowdown,
    fraction_words,
    memory,
    parameter,
    ratio_of,
    ratio_words,
    sizes,
    times_words,
)
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import Control, Observation, Remedy, SlowPath, Support, observed, set_to
from slowpath.slowpaths.remedies import ASYNCHRONOUS_PROGRESS, PROGRAM_ASYNCHRONOUS_PROGRESS


@dataclass(frozen=True, kw_only=True)
class ExposedMessage(Difference):
    """A message that a computation as long as itself does not hide: both at once against the longer one alone.

    share: of the message that stays exposed.
    """

    share: float
    share_interval: Interval
    share_interval_kind: str


EXPOSED_RATIO = "exposed_communication_ratio"

EXPOSED = "exposed_s"

COMMUNICATION = "communication_s"

COMPUTE = "compute_s"

BOTH = "overlapped_s"

LITTLE = 0.5  # of the communication that stays exposed; more is no overlap worth the name

FEWEST_S = 5e-6  # shorter messages have nothing to hide


def exposed_messages(facts: Facts) -> list[ExposedMessage]:
    """Cells whose exposed part lies above a half with its whole interval, MPI_Test not being called."""
    asked = (cell for cell in facts.every_cell if parameter(cell, "pattern") == "overlap")
    quiet = (cell for cell in asked if parameter(cell, "progress", "none") == "none")
    return [found for cell in quiet if (found := _exposed(cell, facts.minimum_effect)) is not None]


def _exposed(cell: CellResult, minimum_effect: float) -> ExposedMessage | None:
    part, exposed = cell.estimate(EXPOSED_RATIO, "steady"), cell.estimate(EXPOSED, "steady")
    alone, compute, both = (cell.estimate(name, "steady") for name in (COMMUNICATION, COMPUTE, BOTH))
    if part is None or exposed is None or alone is None or compute is None or both is None:
        return None
    if not part.interval or part.interval[0] <= LITTLE:
        return None
    longer = np.maximum(alone.launch_values, compute.launch_values)
    ratio: Ratio = ratio_of(both.launch_values, longer, minimum_effect)
    if not ratio.beyond or exposed.value < FEWEST_S:
        return None
    return ExposedMessage(
        slow=cell,
        fast=cell,
        metric=BOTH,
        slow_s=both.value,
        fast_s=float(np.median(longer)),
        ratio=ratio,
        share=part.value,
        share_interval=part.interval,
        share_interval_kind=part.interval_kind,
    )


_WORDING = Wording("{size}messages behind a computation without MPI_Test", "with MPI_Test in between", "progress")


def observe(facts: Facts) -> Sequence[Observation]:
    """Messages that hide little of their time behind a computation, and such that calls of MPI_Test help."""
    found = [slowdown for slowdown in facts.slowdowns("progress", phase="steady") if _test_helps(slowdown)]
    groups = grouped(found, lambda one: place_key(one.slow))
    exposed = [_observation(facts, message) for message in exposed_messages(facts)]
    return [*exposed, *(slowdown_observed(facts, group, _WORDING) for group in groups)]


def _test_helps(one: Slowdown) -> bool:
    return one.slow_value == "none" and one.fast_value == "test"


def _observation(facts: Facts, one: ExposedMessage) -> Observation:
    length, share = sizes([one.slow]), fraction_words(one.share, one.share_interval)
    return observed(
        one,
        about="progress",
        place=facts.place([one.slow], [f"{memory([one.slow])} memory", f"messages of {length}"]),
        text=f"A computation as long as a {length} message leaves {share} of the message exposed: together they "
        f"take {ratio_words(one.ratio)} as long as the longer one alone: {times_words(one)}.",
        affects_default=facts.is_default(one.slow),
        cells=(one.slow.cell,),
        evidence=(f"exposed share {share}, {one.share_interval_kind}",),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The same message with calls of MPI_Test in the computation moves: then it lacked progress."""
    slow = facts.cells[seen.slow_cells[0]]
    for slowdown in facts.slowdowns("progress", phase="steady"):
        if _test_helps(slowdown) and slowdown.slow is slow:
            left = f"{1 / slowdown.ratio.value:.2f}x"
            line = f"MPI_Test in the computation reduces it to {left} of its time, at {sizes([slow])}"
            return Support("shown", "calls into the library make the message progress", (line,))
    return Support("missing", "adding MPI_Test to the computation (progress=test) was not found to be faster")


_BANDWIDTH = Rival(name="shared bandwidth", cause="Message and computation slow each other down.")

TEST_WHILE_COMPUTING = Remedy(
    "test while computing",
    "Call MPI_Test now and then while computing, so the library makes progress.",
    ("progress",),
    Control("the computation by itself calls no MPI", phase="steady", metric="compute_s"),
    ("each call takes time from the computation",),
    ("MPI-4.1 section 3.7.4",),
    parameter="progress",
    change=set_to("progress", "test"),
    code="MPI_Test(&request, &done, MPI_STATUS_IGNORE);  /* between pieces of work */",
    phrase="MPI_Test now and then while computing",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP017",
    name="missing progress",
    title="Messages make no progress while the program computes",
    what="Most libraries make progress inside MPI calls only, so MPI_Isend, a computation and MPI_Wait take as long "
    "as one after the other.",
    needs="The message alone, the computation alone and both at once (pattern=overlap). Explained when calls of "
    "MPI_Test in the computation let the message move.",
    remedy="Call MPI_Test now and then, or turn on the library's progress thread if a core is free for it.",
    observe=observe,
    cause="The library moves messages only inside MPI calls.",
    witnesses=witnesses,
    needs_law=False,
    kind="property",
    rivals=(_BANDWIDTH,),
    probes=("overlap",),
    remedies=(
        *ASYNCHRONOUS_PROGRESS,
        TEST_WHILE_COMPUTING,
    ),
    removes_cause=(TEST_WHILE_COMPUTING,),
    program_remedies=(PROGRAM_ASYNCHRONOUS_PROGRESS,),
)
