# SPDX-License-Identifier: Apache-2.0
"""SP035: messages are slower with the user's own settings than without any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.finding_results import SettingsWords
from slowpath.findings.facts import WITHOUT_USER, Facts, Slowdown
from slowpath.findings.observed import (
    Wording,
    ended,
    ended_observation,
    grouped,
    slowdown_observed,
    unstarted,
    unstarted_observation,
)
from slowpath.findings.slow_path import Observation, SlowPath

ABOUT = "your settings"
WORDS = SettingsWords(title="Your own settings", text=ABOUT)


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of the user's environment against the same without all settings, where it is the slow side."""
    phases = ("steady", "first")
    found = [
        slowdown
        for phase in phases
        for slowdown in facts.slowdowns("environment", phase=phase)
        if (slowdown.fast.environment == WITHOUT_USER and facts.is_default(slowdown.slow))
    ]
    steady = {_where(one) for one in found if one.slow_phase == "steady"}
    kept = [one for one in found if one.slow_phase == "steady" or _where(one) not in steady]
    seen = [_observation(facts, group) for group in grouped(kept, lambda one: (*_where(one), one.slow_phase))]
    too_long = [one for one in ended(facts, "environment") if one.fast.environment == WITHOUT_USER]
    about, subject, reference = f"{ABOUT}, host", f"launches with {ABOUT}", f"those without any of {ABOUT}"
    seen += [ended_observation(facts, one, about, subject, reference) for one in too_long[:1] if not seen]
    fail = [one for one in unstarted(facts, "environment") if one.fast.environment == WITHOUT_USER]
    more = (about, ABOUT, "without them")
    seen += [unstarted_observation(facts, one, *more) for one in fail[:1] if not seen]
    return [replace(one, settings_words=WORDS) for one in seen]


def _where(one: Slowdown) -> tuple[str | None, ...]:
    return one.slow.mpi, one.slow.placement, one.slow.parameters.get("memory"), one.slow.parameters.get("device")


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    memory = group[0].slow.parameters.get("memory", "host")
    messages = [slowdown for slowdown in group if slowdown.slow.experiment != "coll"]
    what = "{size}first messages" if group[0].slow_phase == "first" else "{size}messages"
    what = what if messages else f"calls of {group[0].slow.parameters.get('collective', 'collectives')}"
    of = "" if memory == "host" else f" from {memory} memory"
    wording = Wording(f"{what}{of} with {ABOUT}", f"without any of {ABOUT}", f"{ABOUT}, {memory}", True)
    return replace(slowdown_observed(facts, group, wording), exports={}, unsets=())


SLOW_PATH: SlowPath = SlowPath(
    code="SP035",
    name="own settings",
    title=f"{WORDS.title} make messages slower",
    what="A variable or parameter file was set for another machine, another version, a mended bug or a benchmark, "
    "and stayed.",
    needs="The same messages in your environment and without all settings, in interleaved launches. Explained when "
    "taking sets of settings away leaves the fewest without which the whole difference is gone.",
    remedy="Unset the variable, or delete the line of the file, that the finding names.",
    observe=observe,
    cause="One of your settings makes messages slower.",
    hypotheses=("one of your settings makes messages slower", "several of your settings do so together"),
    needs_law=False,
    kind="fault",
    refinements=("settings", "state"),
    probes=("paths", "short messages", "your settings", "your settings, GPU memory"),
)
