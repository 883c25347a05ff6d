# SPDX-License-Identifier: Apache-2.0
"""A switch that the user's own variable sets, where the survey's lengths are too far apart to show it. Pure.

The variable's value says where to look, and a line that breaks at one place shows a jump of a few percent, which the
survey's octaves do not. What is seen is a finding like any other: its limit is refined, attributed and tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from slowpath.core.units import format_time
from slowpath.diagnose import refine
from slowpath.diagnose.attribute import MOST_HEADER_BYTES
from slowpath.diagnose.campaign_text import Campaign
from slowpath.diagnose.records import Step
from slowpath.diagnose.sides import condition
from slowpath.findings.catalogue.sp013_protocol_switch import RULE
from slowpath.findings.evidence.compared import Ratio, ratio_of
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.finding import build
from slowpath.findings.rule import Leg, Observation
from slowpath.findings.words import memory, ratio_words
from slowpath.mpi.switches import SwitchVariable
from slowpath.stats.inputs import Floats
from slowpath.stats.laws import segments
from slowpath.stats.laws.choose import MINIMUM_EFFECT
from slowpath.stats.laws.found import Bracket

Json = Mapping[str, Any]
METRIC, PHASE = "half_round_trip_latency_s", "steady"
_REACH = 2 * MOST_HEADER_BYTES  # to either side of the value
_BESIDE = 3  # points on either side of a break that its two times are medians of


def own_switches(
    switches: Sequence[SwitchVariable], environ: Mapping[str, str]
) -> Iterator[tuple[SwitchVariable, int]]:
    """Variables that the user set, and their values in bytes."""
    for switch in switches:
        value = switch.value(environ) if switch.variable in environ else None
        if value is not None and value > _REACH:
            yield switch, value


def suspect_campaign(
    switch: SwitchVariable, value: int, results: Json, ranks: int
) -> tuple[dict[str, Any], Campaign] | None:
    """(about, campaign): ping-pongs around the value.

    Args:    results: of the survey, whose ping-pong over lengths is the cell.
    Returns: None where the survey has none, or all of its lengths lie on one side of the value.
    """
    cells = _ping_pongs(results)
    lengths = [int(cell["parameters"]["message_bytes"]) for cell in cells]
    if not lengths or not min(lengths) < value < max(lengths):
        return None
    cell = min(cells, key=lambda one: abs(np.log(int(one["parameters"]["message_bytes"]) / value)))
    bracket = Bracket("message_bytes", value - _REACH, value + _REACH)
    why = f"{switch.variable} is {value} in your environment: does the library change its way there?"
    made = refine.campaign(bracket, cell, condition(cell, results), ranks, why=why, exact=value - 1)
    about = {
        "variable": switch.variable,
        "value": value,
        "covariate": bracket.covariate,
        "above": bracket.above,
        "up_to": bracket.up_to,
        "metric": METRIC,
        "phase": PHASE,
    }
    return about, made


def _ping_pongs(results: Json) -> list[Json]:
    """The survey's line of lengths, as the user has it."""
    found = [
        cell
        for cell in results["cells"]
        if cell["parameters"].get("pattern") == "ping_pong"
        and "message_bytes" in cell["parameters"]
        and cell["metrics"].get(METRIC, {}).get("phases", {}).get(PHASE)
        and condition(cell, results).setting is None
        and not condition(cell, results).variables
    ]
    groups = Counter(cell["group"] for cell in found)
    longest = max(groups, key=lambda name: groups[name], default=None)
    return [cell for cell in found if cell["group"] == longest]


def switch_finding(step: Step, results: Json) -> dict[str, Any] | None:
    """SP013 at the break that the step's times show.  None: they show none, or one too small to matter."""
    about = step.about
    times = refine.times_of(results, about["covariate"], about["metric"], about["phase"])
    if times is None:
        return None
    values, launch_s = times
    found = refine.narrow(Bracket(about["covariate"], about["above"], about["up_to"]), values, launch_s)
    if not found.seen or max(found.jump_ratio, 1 / found.jump_ratio) < 1 + MINIMUM_EFFECT:
        return None
    seen = _observation(about, results, found, np.asarray(values), launch_s)
    witness = Leg("missing", f"the limit is not known to the byte yet, nor whether {about['variable']} moves it")
    mpis = results["run"].get("mpis") or [results["run"].get("mpi") or {}]
    finding = build(RULE, seen, witness, mpis[0])
    entry = {**finding["law"]["brackets"][0], "rising": found.jump_ratio > 1}
    return {**finding, "law": {**finding["law"], "brackets": [entry]}, "run": step.folder}


def _observation(about: Json, results: Json, found: refine.Narrowed, values: Floats, launch_s: Floats) -> Observation:
    bracket, rising = found.bracket, found.jump_ratio > 1
    split = int(np.searchsorted(values, bracket.above, side="right"))
    last = int(np.searchsorted(values, bracket.up_to))
    sides = slice(split - _BESIDE, split), slice(last, last + _BESIDE)
    before, after = (np.median(launch_s[:, side], axis=1) for side in sides)
    slow, fast = (after, before) if rising else (before, after)
    ratio = ratio_of(slow, fast, MINIMUM_EFFECT)
    cells = sorted(results["cells"], key=lambda cell: int(cell["parameters"]["message_bytes"]))
    ends = [cells[min(last, len(cells) - 1)], cells[split - 1]]
    slow_cell, fast_cell = ends if rising else ends[::-1]
    slow_s, fast_s = float(np.median(slow)), float(np.median(fast))
    kinds, where = memory(cells), f"switch between {bracket.above:.0f} and {bracket.up_to:.0f} B"
    law = LawFound(
        "segments", segments.LAW.formula, (), (bracket,), None, None, None, None, (), values.size, len(launch_s)
    )
    return Observation(
        about=f"switch, {kinds}, {about['variable']}",
        place=Evidence(results).place(cells, [f"{kinds} memory", "ping pong", where]),
        text=_text(about, bracket, rising, ratio, (slow_s, fast_s)),
        metric=about["metric"],
        phase=about["phase"],
        ratio=ratio.value,
        interval=ratio.interval,
        excess_s=slow_s - fast_s,
        usual=True,
        cells=tuple(cell["cell"] for cell in cells),
        law=law,
        evidence=(f"a line that breaks once, over {values.size} lengths: a jump to {found.jump_ratio:.3f} times",),
        slow_cells=(slow_cell["cell"],),
        fast_cells=(fast_cell["cell"],),
    )


def _text(about: Json, bracket: Bracket, rising: bool, ratio: Ratio, times_s: tuple[float, float]) -> str:
    slow, fast = (format_time(one) for one in times_s)
    return (
        f"Where {about['variable']}={about['value']} has its value the protocol changes, between {bracket.above:.0f} "
        f"and {bracket.up_to:.0f} B: messages just {'above' if rising else 'below'} take "
        f"{ratio_words(ratio.value, ratio.interval)} as long as those just beyond: {slow} against {fast}."
    )
