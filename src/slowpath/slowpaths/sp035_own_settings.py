# SPDX-License-Identifier: Apache-2.0
"""SP035: messages are slower with the user's own settings than without any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.findings.facts import WITHOUT_USER, Facts, Slowdown, slowdown_words
from slowpath.findings.observed import (
    Wording,
    grouped,
    slowdown_observed,
    without_times,
    without_times_observed,
)
from slowpath.findings.slow_path import Observation, SlowPath

ABOUT = "your settings"  # in sentences, until those that are responsible stand in their place


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of the user's environment against the same without all settings, where it is the slow side."""
    found = [
        slowdown
        for phase in ("steady", "first")
        for slowdown in facts.slowdowns("environment", phase=phase)
        if slowdown.fast.environment == WITHOUT_USER and facts.as_found(slowdown.slow)
    ]
    steady = {_where(one) for one in found if one.slow_phase == "steady"}
    kept = [one for one in found if one.slow_phase == "steady" or _where(one) not in steady]
    seen = [_observation(facts, group) for group in grouped(kept, _where)]
    if not seen:
        none = [one for one in without_times(facts, "environment") if one.fast.environment == WITHOUT_USER]
        words = f"{ABOUT}, host", f"launches with {ABOUT}", "those without any of them"
        seen = [without_times_observed(facts, one, *words) for one in none[:1]]
    return seen


def _where(one: Slowdown) -> tuple[str | None, ...]:
    cell = one.slow
    return cell.mpi, cell.placement, cell.parameters.get("memory", "host"), cell.parameters.get("device", "0")


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    """The kind of call with the largest ratio speaks: those of several kinds have no common unit."""
    top = max(group, key=lambda one: one.ratio.least)
    calls = {"coll": f"MPI_{top.slow.parameters.get('collective', '').capitalize()} calls", "put": "puts"}
    what = calls.get(top.slow.experiment, "{size}first messages" if top.slow_phase == "first" else "{size}messages")
    memory = top.slow.parameters.get("memory", "host")
    of = "" if memory == "host" else f" from {memory} memory"
    wording = Wording(f"with {ABOUT}, {what}{of}", "without", f"{ABOUT}, {memory}", True)
    speaking = [one for one in group if (one.slow.experiment, one.metric) == (top.slow.experiment, top.metric)]
    others = tuple(slowdown_words(one) for one in group if one not in speaking)
    seen = slowdown_observed(facts, speaking, wording)
    return replace(seen, exports={}, unsets=(), evidence=(*seen.evidence, *others))


SLOW_PATH: SlowPath = SlowPath(
    code="SP035",
    name="own settings",
    title="Your own settings make messages slower",
    what="A variable or parameter file was set for another machine, another version, a mended bug or a benchmark, "
    "and stayed.",
    needs="The same messages in your environment and without all settings, in interleaved launches. Explained when "
    "taking sets of settings away leaves the fewest without which the whole difference is gone.",
    remedy="Unset the variable, or delete the line of the file, that the finding names.",
    observe=observe,
    cause="One of your settings makes messages slower.",
    hypotheses=("several of your settings do so together",),
    needs_law=False,
    kind="fault",
    refinements=("settings", "state"),
    probes=("short messages",),
)
