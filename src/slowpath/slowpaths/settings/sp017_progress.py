# SPDX-License-Identifier: Apache-2.0
"""SP017: messages that do not move while the program computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.findings.facts import (
    Difference,
    Facts,
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

LITTLE = 0.5  # of the communication that stays exposed; more is no overlap worth the name
FEWEST_S = 5e-6  # shorter messages have nothing to hide
_TIMES = ("communication_s", "compute_s", "overlapped_s", "exposed_s", "exposed_communication_ratio")
_WORDING = Wording("{size}messages behind a computation without MPI_Test", "with MPI_Test in between", "progress")


def observe(facts: Facts) -> Sequence[Observation]:
    """Messages that hide little of their time behind a computation, and such that calls of MPI_Test help."""
    groups = grouped([one for one in facts.slowdowns("progress", phase="steady") if _test_helps(one)], _place)
    asked = [cell for cell in facts.every_cell if parameter(cell, "pattern") == "overlap"]
    quiet = [cell for cell in asked if parameter(cell, "progress", "none") == "none"]
    exposed = [seen for cell in quiet if (seen := _exposed(facts, cell)) is not None]
    return [*exposed, *(slowdown_observed(facts, group, _WORDING) for group in groups)]


def _test_helps(one: Slowdown) -> bool:
    return one.slow_value == "none" and one.fast_value == "test"


def _place(one: Slowdown) -> tuple[object, ...]:
    return place_key(one.slow)


def _exposed(facts: Facts, cell: CellResult) -> Observation | None:
    """A message that a computation as long as itself does not hide: both at once against the longer one alone. None:
    the exposed part does not lie above a half with its whole interval.
    """
    alone, compute, both, exposed, part = (cell.estimate(name, "steady") for name in _TIMES)
    if alone is None or compute is None or both is None or exposed is None or part is None:
        return None
    longer = np.maximum(alone.launch_values, compute.launch_values)
    ratio = ratio_of(both.launch_values, longer, facts.minimum_effect)
    if not part.interval or part.interval[0] <= LITTLE or not ratio.beyond or exposed.value < FEWEST_S:
        return None
    one = Difference(
        slow=cell, fast=cell, metric=_TIMES[2], slow_s=both.value, fast_s=float(np.median(longer)), ratio=ratio
    )
    length, share = sizes([cell]), fraction_words(part.value, part.interval)
    return observed(
        one,
        about="progress",
        place=facts.place([cell], [f"{memory([cell])} memory", f"messages of {length}"]),
        text=f"A computation as long as a {length} message leaves {share} of the message exposed: together they "
        f"take {ratio_words(ratio)} as long as the longer one alone: {times_words(one)}.",
        affects_default=facts.is_default(cell),
        cells=(cell.cell,),
        evidence=(f"exposed share {share}, {part.interval_kind}",),
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
