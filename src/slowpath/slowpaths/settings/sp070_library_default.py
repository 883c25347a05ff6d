# SPDX-License-Identifier: Apache-2.0
"""SP070: what the library chose by itself is slower than another choice that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.findings.difference import INSTEAD, Slowdown
from slowpath.findings.facts import Facts as Facts
from slowpath.findings.observation import Observation
from slowpath.findings.observed import Wording, grouped, slowdown_observed
from slowpath.findings.slow_path import SlowPath


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of the environment as it is against one in which one choice is made otherwise; one for each choice
    whose cells no choice with a larger effect has all made faster already.
    """
    found = [slowdown for slowdown in facts.slowdowns("environment", phase="steady") if _is_own(facts, slowdown)]
    groups = grouped(found, lambda one: (one.fast.environment,))
    groups.sort(key=lambda group: max(slowdown.ratio.value for slowdown in group), reverse=True)
    seen, made = set[int](), list[Observation]()
    for group in groups:
        slow = {slowdown.slow.cell for slowdown in group}
        if not slow <= seen:
            made.append(_observation(facts, group))
        seen |= slow
    return made


def _is_own(facts: Facts, one: Slowdown) -> bool:
    return one.fast.environment.startswith(INSTEAD) and facts.is_default(one.slow)


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    choice = group[0].fast.environment.removeprefix(INSTEAD)
    variables = " ".join(f"{name}={value}" for name, value in facts.variables(group[0].fast).items())
    top = max(group, key=lambda one: one.excess_s)
    what = {
        "coll": f"calls of {top.slow.parameters.get('collective', 'collectives')}",
        "put": "puts",
    }.get(top.slow.experiment, "{size}messages")
    wording = Wording(f"{what} with what the library chose by itself", f"with {variables}", choice, True)
    # One experiment speaks: a put and a message have no common unit.
    speaking = [slowdown for slowdown in group if slowdown.slow.experiment == top.slow.experiment]
    return replace(slowdown_observed(facts, speaking, wording), unsets=())


SLOW_PATH: SlowPath = SlowPath(
    code="SP070",
    name="library default",
    title="The library's own choice is slower than another one that it has",
    what="A library chooses by itself what carries messages: module, transport, way to copy, algorithm of collectives, "
    "how ranks wait. Nobody set it, and a variable makes it choose otherwise.",
    shows="Messages, a collective or puts take longer as the library is than with one of its alternatives.",
    why="Defaults are made for another machine; a build brings a module with a higher priority; a file of the site "
    "forces one.",
    needs="The same cells as the library is and with each alternative of [the table](../alternatives.md), then with "
    "those alone that looked faster, in fresh interleaved launches next to a variable that nothing reads.",
    remedy="Set the variable that the finding names.",
    false_alarms="A choice that is better for one length may be worse for another, or with more ranks: side effects "
    "of a trial are three lengths between two ranks. An alternative that crashes is no slower choice, and is listed as "
    "such.",
    sources=("docs/reference/alternatives.md", "docs/reference/diagnose.md"),
    observe=observe,
    cause="The library's own choice is slower here than another one that it has.",
    hypotheses=("the library's own choice is slower here", "the alternative does less: it leaves something out"),
    needs_law=False,
    kind="opportunity",
    refinements=("alternatives",),
    probes=("control",),
    depends=frozenset({"environment"}),
)
