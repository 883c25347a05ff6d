# SPDX-License-Identifier: Apache-2.0
"""A trial: a campaign that toggles one remedy and nothing else, in interleaved pairs. Pure.

It holds the slow cell as it is and remedied, each twice; the fast side likewise (trials.fast_side); a negative control;
and cells in which a side effect would show. The second copies are an A/A control, and the fast side where the remedy
leads to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable
from slowpath.diagnose.places import named_places
from slowpath.diagnose.sides import Sides
from slowpath.diagnose.tasks import FastSide, TrialTask
from slowpath.diagnose.trials.fast_side import EFFECT, fast_cells
from slowpath.diagnose.trials.toggle import Toggle, cells_at, toggle_of
from slowpath.experiments.p2p import P2P
from slowpath.experiments.registry import experiment_named
from slowpath.findings.slow_path import Control, Remedy

ROUNDS = 10
AGAIN = "remedy again"
CONTROL, ALIKE, SIDE = "negative control", "a/a", "side effect"


@dataclass(frozen=True)
class Trial:
    """axis, slow, remedied: what differs and its values.  fast_side: as TrialTask has it.

    constant_s: the law's constant part, where there is no fast side at all.
    """

    remedy: Remedy
    axis: str
    slow: str
    remedied: str
    fast_side: FastSide
    metric: str
    phase: str
    campaign: Campaign
    constant_s: float | None = None

    def task(self, finding: str) -> TrialTask:
        """What judging needs besides the results.  Args: finding: its id."""
        return TrialTask(
            finding=finding,
            remedy=self.remedy.name,
            axis=self.axis,
            slow=self.slow,
            remedied=self.remedied,
            fast_side=self.fast_side,
            metric=self.metric,
            phase=self.phase,
            constant_s=self.constant_s,
            control=self.remedy.control.why if self.remedy.control else None,
            uncontrolled=self.remedy.uncontrolled,
        )


def design(
    sides: Sides,
    remedy: Remedy,
    environ: frozenset[str],
    ranks: int,
    rounds: int = ROUNDS,
    constant_s: float | None = None,
    why: str = "",
) -> Trial | str:
    """The trial of `remedy` on the slow side, or why there is none.

    Args: environ: names of the user's variables.  ranks: of the run in which the finding was observed.
          constant_s: the law's constant part, seconds; None: it has none.
    """
    if remedy.untried is not None:
        return remedy.untried
    toggle = toggle_of(sides.slow, sides.slow_under, remedy, environ)
    if isinstance(toggle, str):
        return toggle
    fast = fast_cells(sides, toggle, remedy, environ)
    groups, contrasts = _main(sides, toggle)
    groups += fast.groups
    contrasts += fast.contrasts
    for made in (_control(sides, toggle, remedy.control), _side_effects(sides, toggle)):
        groups += made[0]
        contrasts += made[1]
    campaign = Campaign(
        name="trial",
        title=f"Trial: {remedy.name}"[:80],
        ranks=[ranks],
        rounds=rounds,
        environments=list({one.name: one for one in (*toggle.environments, *fast.environments)}.values()),
        placements=named_places({**dict(fast.placements), **toggle.placements}),
        cells=groups,
        contrasts=contrasts,
        why=why,
    )
    return Trial(
        remedy, toggle.axis, toggle.slow, toggle.remedied, fast.kind, sides.metric, sides.phase, campaign, constant_s
    )


def _main(sides: Sides, toggle: Toggle) -> tuple[list[CellsTable], list[ContrastTable]]:
    values = [toggle.slow, toggle.remedied]
    group = cells_at(EFFECT, sides.slow.experiment, sides.slow.parameters, toggle, values, copies=2)
    metric, phase = sides.metric, sides.phase
    question = "Does the remedy make it faster?"

    def pair(name: str, copy: str, explains: bool = False) -> ContrastTable:
        where = {"copy": copy}
        return ContrastTable(
            name, question, EFFECT, toggle.axis, toggle.remedied, toggle.slow, metric, phase, where, explains=explains
        )

    alike = ContrastTable(
        ALIKE,
        "Do two measurements of the slow cell agree?",
        EFFECT,
        "copy",
        "1",
        "2",
        metric,
        phase,
        {toggle.axis: toggle.slow},
        control=True,
    )
    return [group], [pair(EFFECT, "1"), pair(AGAIN, "2", explains=True), alike]


def _control(sides: Sides, toggle: Toggle, control: Control | None) -> tuple[list[CellsTable], list[ContrastTable]]:
    if control is None:
        return [], []
    question = f"Does it leave the rest unchanged? {control.why[:1].upper()}{control.why[1:]}."[:390]
    metric, phase = control.metric or sides.metric, "steady"
    if control.phase is not None:
        where = {"copy": "1"}
        made = ContrastTable(
            CONTROL,
            question,
            EFFECT,
            toggle.axis,
            toggle.remedied,
            toggle.slow,
            metric,
            control.phase,
            where,
            explains=True,
        )
        return [], [made]
    without = control.without or toggle.slow
    if control.parameters is not None:
        experiment = control.experiment
        parameters = {**experiment_named(experiment).brief, **control.parameters}
    else:
        experiment, parameters = sides.slow.experiment, sides.slow.parameters
        phase = sides.phase
    group = cells_at(CONTROL, experiment, parameters, toggle, [without, toggle.remedied])
    return [group], [
        ContrastTable(CONTROL, question, CONTROL, toggle.axis, toggle.remedied, without, metric, phase, explains=True)
    ]


def _side_effects(sides: Sides, toggle: Toggle) -> tuple[list[CellsTable], list[ContrastTable]]:
    values = [toggle.slow, toggle.remedied]
    known = [experiment_named(sides.slow.experiment), P2P]  # a job that is slower sends slower messages too
    found = next(((one, effect) for one in known if (effect := one.side_effect(toggle.axis)) is not None), None)
    if found is None or toggle.remedied in found[1].safe_values:
        return [], []
    experiment, effect = found
    group = cells_at(SIDE, experiment.name, {**experiment.brief, **effect.parameters}, toggle, values)
    question, metric = "Does it make anything else slower?", effect.metric
    return [group], [
        ContrastTable(SIDE, question, SIDE, toggle.axis, toggle.slow, toggle.remedied, metric, explains=True)
    ]
