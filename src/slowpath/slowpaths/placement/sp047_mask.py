# SPDX-License-Identifier: Apache-2.0
"""SP047: the processors that a job inherits make it slower than all that it could have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, allowed
from slowpath.findings.observed import Wording, grouped, slowdown_observed, without_times, without_times_observed
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.findings.witness import sides
from slowpath.mpi.launchers import INHERITED, WIDENED
from slowpath.slowpaths.remedies import ALL_PROCESSORS

ABOUT = "inherited processors"
# Cells that are slower, where ranks have processors of their own: a mask slows down all messages. Of 204 diagnoses
# without a slow mask, beside others on one host, 3 had one such cell, at 1.5 to 7 times by the low end.
AGREE = 2


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of launches on the inherited processors against the same on all that the kernel grants."""
    binds = {placement.name: placement.bind for placement in facts.run.placements}
    found = [
        slowdown
        for slowdown in facts.slowdowns("placement", phase="steady")
        if (binds.get(slowdown.slow.placement), binds.get(slowdown.fast.placement)) == (INHERITED, WIDENED)
        and slowdown.ratio.least >= CLEAR_RATIO
    ]
    taken = [facts.processors(one.slow) for one in found]
    if len(found) < AGREE and not any(one is not None and one.shared for one in taken):
        found = []  # a moment in which others ran, in one of three cells
    groups = grouped(found, lambda one: (one.slow.mpi, one.slow.environment, one.slow.experiment))
    seen = [_observation(facts, group) for group in groups]
    too_long = [one for one in without_times(facts, "placement") if binds.get(one.slow.placement) == INHERITED]
    words = "launches where you start them", "those on all processors of this machine"
    if not seen:
        seen = [without_times_observed(facts, one, ABOUT, *words) for one in too_long[:1]]
    return seen or _counted(facts)


def _counted(facts: Facts) -> list[Observation]:
    """Ranks that share a processor where they are started alone: seen in the first launch, however noisy its times."""
    by_bind = {placement.bind: placement for placement in facts.run.placements}
    pair = [(one, allowed(one.observed)) for bind in (INHERITED, WIDENED) if (one := by_bind.get(bind)) is not None]
    if len(pair) < 2 or not all(seen for _, seen in pair):
        return []
    (started, mine), (everywhere, other) = pair
    if mine is None or other is None or not mine.shared or other.shared:
        return []
    slow, fast = (
        tuple(cell.cell for cell in facts.every_cell if cell.placement == place.name) for place in (started, everywhere)
    )
    if not slow or not fast:
        return []
    return [
        Observation(
            about=ABOUT,
            place=facts.place([facts.cells[number] for number in slow]),
            text=f"Your ranks share one core where you start them ({mine.words}), but this machine's processors "
            f"offer one each ({other.words}): they take turns, and each waits for the other.",
            metric="involuntary_switches",
            phase="steady",
            ratio=None,
            interval=None,
            excess_s=None,
            affects_default=True,
            cells=(*slow, *fast),
            axis="placement",
            evidence=(f"allowed processors: {mine.words} as started, {other.words} on all",),
            slow_cells=slow,
            fast_cells=fast,
        )
    ]


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    seen = facts.processors(group[0].slow)
    words = seen.words if seen else "not recorded"
    shared = seen is not None and seen.shared
    what = "calls" if group[0].slow.experiment == "coll" else "{size}messages"
    subject = f"your ranks share one core ({words}), and {what}" if shared else f"{what} where you start them ({words})"
    wording = Wording(subject, "on all processors of this machine", ABOUT, True)
    made = slowdown_observed(facts, group, wording)
    why = "Your ranks have fewer cores than there are ranks" if shared else "Your ranks may not use other processors"
    cause = f"{why} ({words}): what starts them, such as taskset, numactl or a batch script, leaves them no more."
    return replace(made, cause=cause, exports={}, unsets=())


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Ranks that share a processor where it is slow alone."""
    one, other = (facts.processors(cell) for cell in sides(facts, seen))
    if one is None or other is None:
        return Support("missing", "the processors of the ranks were not recorded")
    line = f"allowed processors: {one.words} where it is slow, {other.words} where it is not"
    if one.shared and not other.shared:
        return Support("shown", "ranks share one processor where it is slow", (line,))
    return Support("missing", "ranks have a processor each on both sides", (line,))


_DISTANCE = Rival(
    name="distance",
    cause="The inherited processors are farther apart, or share more of a core, than the kernel's choice.",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP047",
    name="inherited processors",
    title="Your ranks may use fewer processors than they need",
    what="A launcher and its ranks inherit the processors of what starts them: a shell under taskset or numactl, a "
    "service, a batch script.",
    needs="The same messages on the inherited processors and on all that the kernel grants, without any binding. "
    "Explained when ranks share a processor on the slow side alone. Not in a batch job.",
    remedy="Start the job without the mask: drop taskset, numactl or the service's CPUAffinity, or ask for a core "
    "for each rank.",
    observe=observe,
    cause="Your ranks have fewer cores than there are ranks.",
    witnesses=witnesses,
    hypotheses=("ranks share a processor", "the inherited processors are farther apart"),
    needs_law=False,
    kind="fault",
    refinements=("state",),
    rivals=(_DISTANCE,),
    remedies=(ALL_PROCESSORS,),
)
