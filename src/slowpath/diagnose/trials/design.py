# SPDX-License-Identifier: Apache-2.0
"""A trial: a campaign that toggles one remedy and nothing else, in interleaved pairs. Pure.

It holds the slow cell as it is and remedied, each twice; what it is slow against; a negative control; and cells in
which a side effect would show. The second copies are an A/A control, and the fast side where the remedy is to be on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.diagnose.campaign_text import CampaignText, CellsTable, ContrastTable, EnvironmentTable
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.tasks import TrialTask
from slowpath.experiments.p2p.experiment import P2P
from slowpath.experiments.registry import experiment_named
from slowpath.findings.remedies.remedy import Control, Remedy

ROUNDS = 10
EFFECT, AGAIN, SLOW_FAST = "remedy", "remedy again", "gap"
CONTROL, ALIKE, SIDE = "negative control", "a/a", "side effect"


@dataclass(frozen=True)
class Trial:
    """axis, slow, remedied, fast: what differs and its values; fast None: remedied is the fast side.

    constant_s: the law's constant part, where there is no fast side at all.
    """

    remedy: Remedy
    axis: str
    slow: str
    remedied: str
    fast: str | None
    metric: str
    phase: str
    campaign: CampaignText
    constant_s: float | None = None

    def task(self, finding: str) -> TrialTask:
        """What judging needs besides the results.  Args: finding: its id."""
        return TrialTask(
            finding=finding,
            remedy=self.remedy.name,
            axis=self.axis,
            slow=self.slow,
            remedied=self.remedied,
            fast=self.fast,
            metric=self.metric,
            phase=self.phase,
            constant_s=self.constant_s,
            control=self.remedy.control.why if self.remedy.control else None,
            uncontrolled=self.remedy.uncontrolled,
        )


@dataclass(frozen=True)
class _Toggle:
    """What the remedy changes: the axis, its two values, and the cell's parameters and condition on either side."""

    axis: str
    slow: str
    remedied: str
    environments: tuple[EnvironmentTable, ...]
    placements: Mapping[str, str]


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
    toggle = _toggle(sides, remedy, environ)
    if isinstance(toggle, str):
        return toggle
    fast = _fast_value(sides, toggle)
    groups, contrasts = _main(sides, toggle, fast)
    for made in (_control(sides, toggle, remedy.control), _side_effects(sides, toggle)):
        groups += made[0]
        contrasts += made[1]
    campaign = CampaignText(
        name="trial",
        title=f"Trial: {remedy.name}"[:80],
        ranks=ranks,
        rounds=rounds,
        environments=toggle.environments,
        placements=toggle.placements,
        groups=groups,
        contrasts=contrasts,
        why=why,
    )
    return Trial(
        remedy, toggle.axis, toggle.slow, toggle.remedied, fast, sides.metric, sides.phase, campaign, constant_s
    )


def _toggle(sides: Sides, remedy: Remedy, environ: frozenset[str]) -> _Toggle | str:
    under, slow = sides.slow_under, dict(sides.slow.parameters)
    here = EnvironmentTable(under.environment, under.variables, under.unset)
    places = {under.placement: under.bind}
    if remedy.parameter is not None and remedy.change is not None:
        changed = remedy.change(slow)
        if changed is None:
            return f"it does not apply: {remedy.parameter} is already as it asks, or this experiment has none"
        return _Toggle(remedy.parameter, slow[remedy.parameter], changed[remedy.parameter], (here,), places)
    if remedy.bind is not None:
        if under.bind == remedy.bind:
            return f"it does not apply: ranks are already bound to a {remedy.bind}"
        names = under.placement, f"bound to {remedy.bind}"
        return _Toggle("placement", *names, (here,), {**places, names[1]: remedy.bind})
    other = _remedied(under, remedy, environ)
    if other is None:
        return "it does not apply: the environment is already as it asks"
    return _Toggle("environment", here.name, other.name, (here, other), places)


def _remedied(under: Condition, remedy: Remedy, environ: frozenset[str]) -> EnvironmentTable | None:
    """The slow side's environment with the remedy; None: it would be the same."""
    variables = {k: v for k, v in under.variables.items() if k not in remedy.unset} | dict(remedy.variables)
    unset = tuple(dict.fromkeys([*under.unset, *(name for name in remedy.unset if name in environ)]))
    unset = tuple(name for name in unset if name not in variables)
    if (variables, unset) == (dict(under.variables), under.unset):
        return None
    return EnvironmentTable(f"remedied: {remedy.name}"[:80], variables, unset)


def _fast_value(sides: Sides, toggle: _Toggle) -> str | None:
    """The fast side's value where it lies on the same axis and is neither of the two."""
    if sides.fast is None or sides.axis != toggle.axis or toggle.axis in ("environment", "placement"):
        return None
    value = sides.fast.parameters[toggle.axis]
    return None if value in (toggle.slow, toggle.remedied) else value


def _main(sides: Sides, toggle: _Toggle, fast: str | None) -> tuple[list[CellsTable], list[ContrastTable]]:
    values = [toggle.slow, toggle.remedied, *([fast] if fast is not None else [])]
    group = _group(EFFECT, sides.slow.experiment, sides.slow.parameters, toggle, values, copies=2)
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
    contrasts = [pair(EFFECT, "1"), pair(AGAIN, "2", explains=True), alike]
    if fast is not None:
        gap = ContrastTable(
            SLOW_FAST,
            "How slow is it?",
            EFFECT,
            toggle.axis,
            fast,
            toggle.slow,
            metric,
            phase,
            {"copy": "1"},
            explains=True,
        )
        contrasts.append(gap)
    return [group], contrasts


def _control(sides: Sides, toggle: _Toggle, control: Control | None) -> tuple[list[CellsTable], list[ContrastTable]]:
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
    group = _group(CONTROL, experiment, parameters, toggle, [without, toggle.remedied])
    return [group], [
        ContrastTable(CONTROL, question, CONTROL, toggle.axis, toggle.remedied, without, metric, phase, explains=True)
    ]


def _side_effects(sides: Sides, toggle: _Toggle) -> tuple[list[CellsTable], list[ContrastTable]]:
    values = [toggle.slow, toggle.remedied]
    known = [experiment_named(sides.slow.experiment), P2P]  # a job that is slower sends slower messages too
    found = next(((one, effect) for one in known if (effect := one.side_effect(toggle.axis)) is not None), None)
    if found is None or toggle.remedied in found[1].safe_values:
        return [], []
    experiment, effect = found
    group = _group(SIDE, experiment.name, {**experiment.brief, **effect.parameters}, toggle, values)
    question, metric = "Does it make anything else slower?", effect.metric
    return [group], [
        ContrastTable(SIDE, question, SIDE, toggle.axis, toggle.slow, toggle.remedied, metric, explains=True)
    ]


def _group(
    name: str,
    experiment: str,
    parameters: Mapping[str, str | list[str]] | Mapping[str, str],
    toggle: _Toggle,
    values: Sequence[str],
    copies: int = 1,
) -> CellsTable:
    """Cells at each of `values` of the toggle's axis."""
    environments, placements = [toggle.environments[0].name], [next(iter(toggle.placements))]
    chosen: dict[str, str | Sequence[str]] = dict(parameters)
    if toggle.axis == "environment":
        environments = list(values)
    elif toggle.axis == "placement":
        placements = list(values)
    else:
        chosen[toggle.axis] = list(values)
    return CellsTable(name, experiment, chosen, environments, placements, copies)
