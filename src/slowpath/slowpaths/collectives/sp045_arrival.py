# SPDX-License-Identifier: Apache-2.0
"""SP045: a collective whose own work grows when its ranks do not arrive together."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown
from slowpath.findings.slow_path import Observation, SlowPath
from slowpath.slowpaths.collectives.under import contrast_observed, groups, of_collectives

_WORDS = {
    "one_late": "with one rank late",
    "linear": "with ranks that arrive in turn",
    "random": "with random arrivals",
}


def observe(facts: Facts) -> Sequence[Observation]:
    """T_work (from the last entry to the last exit) of an arrival pattern against ranks together."""
    found = [collective for collective in of_collectives(facts, "arrival") if collective.fast_value == "together"]
    clear = [slowdown for slowdown in found if slowdown.ratio.least >= CLEAR_RATIO and slowdown.slow_value in _WORDS]
    return [_observation(facts, group) for group in groups(clear)]


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    slow = group[0].slow_value
    words = (f"{_WORDS[slow]} (after the last one is there)", "together")
    return contrast_observed(facts, group, f"arrival {slow}", words)


SLOW_PATH: SlowPath = SlowPath(
    code="SP045",
    name="arrival pattern",
    title="A collective is slower when its ranks arrive at different times",
    what="In a tree or a ring in which the late rank stands early all others wait for it in turn; ranks that wait "
    "may sleep, or lose their caches.",
    needs="The same collective with all ranks together and with late ones (parameter arrival), from the last entry "
    "to the last exit.",
    remedy="Another algorithm, or another order of ranks; a nonblocking collective with work behind it.",
    observe=observe,
    cause="The algorithm serialises behind the late rank.",
    hypotheses=(
        "the algorithm serialises behind the late rank",
        "waiting ranks have gone to sleep or lost their caches",
    ),
    needs_law=False,
    kind="property",
    probes=("collectives: arrivals",),
)
