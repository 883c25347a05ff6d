# SPDX-License-Identifier: Apache-2.0
"""SP070: what the library chose by itself is slower than another choice that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.findings.facts import INSTEAD, Facts, Slowdown
from slowpath.findings.observed import Wording, grouped, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath

SLOWED_RATIO = 1.25  # of a cell with the choice over the cell as the library is: the choice does harm there


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of the environment as it is against one in which one choice is made otherwise; one for each choice
    whose cells no choice before it has all made faster already. Choices that slow nothing down come before those that
    do, and then the largest effect comes first.
    """
    slowdowns = facts.slowdowns("environment", phase="steady")
    own = [one for one in slowdowns if one.fast.environment.startswith(INSTEAD) and facts.is_default(one.slow)]
    harm = grouped([one for one in slowdowns if one.ratio.value >= SLOWED_RATIO], lambda one: (one.slow.environment,))
    harm_by = {group[0].slow.environment: group for group in harm}
    groups = [(group, harm_by.get(group[0].fast.environment, [])) for group in grouped(own, _choice)]
    groups.sort(key=lambda one: (bool(one[1]), -max(slowdown.ratio.value for slowdown in one[0])))
    seen, made = set[int](), list[Observation]()
    for group, slowed in groups:
        slow = {slowdown.slow.cell for slowdown in group}
        if not slow <= seen:
            made.append(_observation(facts, group, slowed))
        seen |= slow
    return made


def _choice(one: Slowdown) -> tuple[str]:
    return (one.fast.environment,)


def _observation(facts: Facts, group: Sequence[Slowdown], slowed: Sequence[Slowdown]) -> Observation:
    choice = group[0].fast.environment.removeprefix(INSTEAD)
    variables = " ".join(f"{name}={value}" for name, value in facts.variables(group[0].fast).items())
    top = max(group, key=lambda one: one.excess_s)
    calls = {"coll": f"calls of {top.slow.parameters.get('collective', 'collectives')}", "put": "puts"}
    what = calls.get(top.slow.experiment, "{size}messages")
    wording = Wording(f"{what} with what the library chose by itself", f"with {variables}", choice, True)
    # One experiment speaks: a put and a message have no common unit.
    speaking = [slowdown for slowdown in group if slowdown.slow.experiment == top.slow.experiment]
    made = slowdown_observed(facts, speaking, wording)
    harm = tuple(f"with {variables}, {one.slow.group} takes {one.ratio.value:.3g}x as long" for one in slowed)
    return replace(made, unsets=(), evidence=(*made.evidence, *harm))


SLOW_PATH: SlowPath = SlowPath(
    code="SP070",
    name="library default",
    title="The library's own choice is slower than another one that it has",
    what="A library chooses module, transport, way to copy, algorithm and way to wait by defaults that were made "
    "for another machine. A variable makes it choose otherwise.",
    needs="The same cells as the library is and with each alternative, then with those alone that looked faster, in "
    "fresh interleaved launches next to a variable that nothing reads.",
    remedy="Set the variable that the finding names.",
    observe=observe,
    cause="The library's own choice is slower here than another one that it has.",
    hypotheses=("the library's own choice is slower here", "the alternative does less: it leaves something out"),
    needs_law=False,
    kind="opportunity",
    refinements=("alternatives",),
    probes=("control",),
)
