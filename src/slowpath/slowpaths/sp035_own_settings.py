# SPDX-License-Identifier: Apache-2.0
"""SP035: messages are slower with the user's own settings than without any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.results import ContrastResult
from slowpath.findings.facts import WITHOUT_USER, Facts, Slowdown, slowdown_words
from slowpath.findings.observed import Wording, grouped, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath
from slowpath.slowpaths.remedies import page_of

ABOUT = "your settings"  # in sentences, until those that are responsible stand in their place


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of the user's environment against the same without all settings, where it is the slow side."""
    slowdowns = [
        slowdown
        for phase in ("steady", "first")
        for slowdown in facts.slowdowns("environment", phase=phase)
        if slowdown.fast.environment == WITHOUT_USER and facts.as_found(slowdown.slow)
    ]
    steady = {_where(slowdown) for slowdown in slowdowns if slowdown.slow_phase == "steady"}
    kept = [slowdown for slowdown in slowdowns if slowdown.slow_phase == "steady" or _where(slowdown) not in steady]
    seen = [_observation(facts, group) for group in grouped(kept, _where)]
    ended = (_without_times(facts, contrast) for contrast in facts.contrasts)
    return seen or [observation for observation in ended if observation is not None][:1]


def _where(slowdown: Slowdown) -> tuple[str | None, ...]:
    cell = slowdown.slow
    return cell.mpi, cell.placement, cell.parameters.get("memory", "host"), cell.parameters.get("device", "0")


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    """The kind of call with the largest ratio speaks: those of several kinds have no common unit."""
    top = max(group, key=lambda slowdown: slowdown.ratio.least)
    calls = {"coll": f"MPI_{top.slow.parameters.get('collective', '').capitalize()} calls", "put": "puts"}
    messages = calls.get(top.slow.experiment, "{size}first messages" if top.slow_phase == "first" else "{size}messages")
    memory = top.slow.parameters.get("memory", "host")
    of = "" if memory == "host" else f" from {memory} memory"
    wording = Wording(f"with {ABOUT}, {messages}{of}", "without", f"{ABOUT}, {memory}", True)
    kind = top.slow.experiment, top.metric
    speaking = [slowdown for slowdown in group if (slowdown.slow.experiment, slowdown.metric) == kind]
    others = tuple(slowdown_words(slowdown) for slowdown in group if slowdown not in speaking)
    seen = slowdown_observed(facts, speaking, wording)
    return replace(seen, exports={}, unsets=(), evidence=(*seen.evidence, *others))


# Launches that were ended since they took many times as long as clean ones, a difference of which a bound is known;
# and launches that do not start at all where clean ones do.

CAMPAIGN = "state"  # a diagnosis' first step: its launches alone are ended for taking long
GIVEN_UP_RATIO = 8.0  # times as long as clean launches, after which one is ended
FEWEST = 3  # launches on either side: one may hang by chance


def _without_times(facts: Facts, contrast: ContrastResult) -> Observation | None:
    """Of a contrast whose side with the settings has no times while the clean one was measured again and again: its
    launches were ended, or none starts in its environment and placement.
    """
    slow, fast = facts.cells.get(contrast.b.cell), facts.cells.get(contrast.a.cell)
    if facts.run.campaign != CAMPAIGN or contrast.axis != "environment" or slow is None or fast is None:
        return None
    clean = fast.estimate(contrast.metric, contrast.a.phase)
    if fast.environment != WITHOUT_USER or clean is None or clean.launches < FEWEST:
        return None
    rows = [row for row in facts.skipped if row.cell == slow.cell]
    ended = sum(row.launches for row in rows if row.status == "hung")
    failed = [row.reason for row in rows if row.status == "failed"]
    bound, others = f"{GIVEN_UP_RATIO:g}x", "those without any of them"
    if ended >= FEWEST and contrast.launches < FEWEST:
        words = f"take at least {bound} as long as {others}: {ended} were stopped, and none of {clean.launches} others."
        why = f"{ended} launches stopped after {bound}"
    elif failed and not any(
        cell.metrics and (cell.environment, cell.placement) == (slow.environment, slow.placement)
        for cell in facts.every_cell
    ):
        words = f"never start, while {others} do ({clean.launches} did): {failed[-1]}"
        why = f"no launch, {clean.launches} clean ones"
    else:
        return None
    return Observation(
        about=f"{ABOUT}, host",
        place=facts.place([slow]),
        text=f"Launches with {ABOUT} {words}",
        metric=contrast.metric,
        phase=contrast.b.phase,
        ratio=None,
        interval=None,
        excess_s=None,
        affects_default=True,
        cells=(slow.cell, fast.cell),
        axis=contrast.axis,
        evidence=(why,),
        slow_cells=(slow.cell,),
        fast_cells=(fast.cell,),
    )


SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    needs_law=False,
    kind="fault",
    refinements=("settings", "state"),
    probes=("short messages",),
    **page_of("SP035"),
)
