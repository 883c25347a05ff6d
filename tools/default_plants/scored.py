# SPDX-License-Identifier: Apache-2.0
"""Whether a plant costs anything, and whether a diagnosis named what undoes it. Pure: results in, a judgement out.

What counts as found was written before the first run:

  A diagnosis that is asked for library defaults has a finding of that rule, which it confirmed in fresh launches, whose
  remedy undoes the plant: it sets a variable of the plant to another value, or one of those that the plant's table
  lists as undoing it. A finding that names the same remedy without the plant is no evidence, and the plant is missed.

Proven, by interleaved pairs with a control, is counted apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from default_plants.plants import Plant
from slowpath.core.campaign import Campaign, ContrastTable, EnvironmentTable, PlacementTable
from slowpath.core.results import Finding, Results
from slowpath.diagnose.alternatives import CELLS
from slowpath.slowpaths.registry import codes_refined_by

LEAST_RATIO = 1.25  # what a slow default costs at least in one of the cells: lower end of the interval
ROUNDS = 6
PLANTED, AS_IT_IS = "planted", "default"
RULES = codes_refined_by("alternatives")
_ASSIGNMENT = re.compile(r"([A-Z]\w*)=(\S+)")


@dataclass(frozen=True)
class Answer:
    """What a diagnosis says of one plant.

    named   its finding's text where the remedy undoes the plant; None: none does
    remedy  variables as the finding has them
    proven  by a trial
    others  what was named instead
    ended   status of the diagnosis; budget: a step was left that would have been made with more time
    """

    plant: str
    answer: str
    named: str | None = None
    remedy: str | None = None
    proven: bool = False
    others: Sequence[str] = ()
    ended: str | None = None


def cost_campaign(plant: Plant, mpi: str) -> Campaign:
    """The five cells of a screening with the plant and without it, in interleaved launches."""
    place = PlacementTable("bound", "core")
    cells = [one.cells for one in CELLS]
    return Campaign(
        name="cost-of-a-plant",
        title="Is the planted default slower here?",
        ranks=[2],
        rounds=ROUNDS,
        mpi=[mpi],
        environments=[EnvironmentTable(AS_IT_IS), EnvironmentTable(PLANTED, dict(plant.variables))],
        placements=[place],
        cells=[type(one)(one.name, one.experiment, one.parameters, "*", "*") for one in cells],
        contrasts=[
            ContrastTable(one.cells.name, "Is it slower?", one.cells.name, "environment", AS_IT_IS, PLANTED, one.metric)
            for one in CELLS
        ],
    )


def cost_of(results: Results) -> Mapping[str, tuple[float, float, float]]:
    """Return cell -> ratio of its time with the plant, with its interval; those that could be measured."""
    return {
        one.group: (one.ratio, *one.interval)
        for one in results.contrasts
        if one.ratio is not None and one.interval is not None
    }


def is_slow(cost: Mapping[str, tuple[float, float, float]]) -> bool:
    """Whether some cell is slower with the plant, with certainty, by LEAST_RATIO."""
    return any(low >= LEAST_RATIO for _, low, _ in cost.values())


def judge(plant: Plant, findings: Sequence[Finding], without: Sequence[Finding]) -> Answer:
    """Return whether one of the findings undoes the plant.

    Args: without: findings of a diagnosis of the same library on this machine with nothing planted.
    """
    usual = {remedy.phrase for finding in _asked(without) for remedy in finding.remedies}
    others = list[str]()
    for finding in _asked(findings):
        for remedy in finding.remedies:
            phrase = remedy.phrase or ""
            if plant.is_undone_by(dict(_ASSIGNMENT.findall(phrase))) and phrase not in usual:
                return Answer(plant.label, "found", finding.text, phrase, finding.status == "proven")
            others.append(phrase)
    return Answer(plant.label, "missed", others=others)


def _asked(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.rule in RULES]
