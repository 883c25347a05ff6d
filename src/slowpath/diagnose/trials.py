# SPDX-License-Identifier: Apache-2.0
"""Trials of remedies: what is toggled, the campaign, its verdict, and causes that it refutes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import msgspec
import msgspec.structs
import numpy as np

from slowpath.analyse.contrasts import with_estimate
from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, Finding, Leg, RemovedRatio, Results, SideEffect
from slowpath.core.units import format_time, more_words, of_ratio, ratio_words, share_words
from slowpath.diagnose.sides import Condition, LaunchPlace, Sides, named_places
from slowpath.diagnose.tasks import FastSide, TrialTask
from slowpath.experiments.p2p import P2P
from slowpath.experiments.registry import experiment_named
from slowpath.findings.finding import removed_ratio, with_explained
from slowpath.findings.slow_path import Control, Remedy
from slowpath.findings.witness import pages_seen
from slowpath.slowpaths.registry import known
from slowpath.stats.contrast import CONTROL_WITHIN_RATIO, Word, held, judge, paired, removed
from slowpath.stats.estimate import Floats

# What a remedy changes in a cell: one axis, its value as it is and remedied, and the conditions of both.


@dataclass(frozen=True)
class Toggle:
    """axis, slow, remedied: what differs, as it is and with the remedy.  parameters: with the remedy.

    environments: by name, the one as it is first.  placements: the one as it is first.
    """

    axis: str
    slow: str
    remedied: str
    parameters: Mapping[str, str]
    environments: tuple[EnvironmentTable, ...]
    placements: Mapping[str, LaunchPlace]

    def leads_to(self, cell: CellResult, under: Condition) -> bool:
        """Whether the cell with the remedy is this one: the same parameters, variables and binding."""
        here, place = self.environments[-1], list(self.placements.values())[-1]
        mine = (dict(self.parameters), dict(here.variables), set(here.unset), place)
        return mine == (dict(cell.parameters), dict(under.variables), set(under.unset), under.place)


_DOES_NOT_APPLY = "it does not apply, or is set already"


def toggle_of(cell: CellResult, under: Condition, remedy: Remedy, environ: frozenset[str]) -> Toggle | str:
    """What the remedy changes in a cell, or why it changes nothing there.

    Args: environ: names of the user's variables.
    """
    parameters = dict(cell.parameters)
    here = EnvironmentTable(under.environment, under.variables, under.unset)
    places = {under.placement: under.place}
    if remedy.parameter is not None and remedy.change is not None:
        changed = remedy.change(parameters)
        if changed is None:
            return _DOES_NOT_APPLY
        name = remedy.parameter
        return Toggle(name, parameters[name], changed[name], changed, (here,), places)
    if remedy.bind is not None:
        if under.bind == remedy.bind:
            return _DOES_NOT_APPLY
        names = under.placement, f"bound to {remedy.bind}"
        return Toggle(
            "placement", *names, parameters, (here,), {**places, names[1]: replace(under.place, bind=remedy.bind)}
        )
    other = _remedied(under, remedy, environ)
    if other is None:
        return _DOES_NOT_APPLY
    return Toggle("environment", here.name, other.name, parameters, (here, other), places)


def _remedied(under: Condition, remedy: Remedy, environ: frozenset[str]) -> EnvironmentTable | None:
    variables = {k: v for k, v in under.variables.items() if k not in remedy.unset} | dict(remedy.variables)
    unset = tuple(dict.fromkeys([*under.unset, *(name for name in remedy.unset if name in environ)]))
    unset = tuple(name for name in unset if name not in variables)
    if (variables, unset) == (dict(under.variables), under.unset):
        return None
    return EnvironmentTable(f"remedied: {remedy.name}"[:80], variables, unset)


def cells_at(
    name: str,
    experiment: str,
    parameters: Mapping[str, str | list[str]] | Mapping[str, str],
    toggle: Toggle,
    values: Sequence[str],
    copies: int = 1,
) -> CellsTable:
    """Cells at each of `values` of the toggle's axis."""
    environments, placements = [toggle.environments[0].name], [next(iter(toggle.placements))]
    chosen: dict[str, Values] = dict(parameters)
    if toggle.axis == "environment":
        environments = list(values)
    elif toggle.axis == "placement":
        placements = list(values)
    else:
        chosen[toggle.axis] = list(values)
    return CellsTable(name, experiment, chosen, environments, placements, copies)


# A trial: a campaign that toggles one remedy and nothing else, in interleaved pairs.
#
# It holds the slow cell as it is and remedied, each twice; the fast side likewise; a negative control; and cells in
# which a side effect would show. The second copies are an A/A control, and the fast side where the remedy leads to it.
# A remedy goes on both sides. What counts is the gap between them as they are and as they would be: one that speeds up
# both alike is worth having and leaves the gap where it was.

ROUNDS = 10
EFFECT, AGAIN = "remedy", "remedy again"
FAST, FAST_AGAIN = "fast side", "fast side again"
CONTROL, ALIKE, SIDE = "negative control", "a/a", "side effect"
Measure = tuple[str, str]  # metric and phase


@dataclass(frozen=True)
class Trial:
    """What a remedy's trial is to decide, and what it measures."""

    task: TrialTask
    campaign: Campaign


def design(
    finding: str,
    sides: Sides,
    remedy: Remedy,
    environ: frozenset[str],
    ranks: int,
    constant_s: float | None = None,
) -> Trial | str:
    """The trial of `remedy` on the slow side of a finding, or why there is none.

    Args: finding: its id.  environ: names of the user's variables.  ranks: of the run in which the finding was
          observed.  constant_s: the law's constant part, seconds; None: it has none.
    """
    if not remedy.is_tried:
        return "no trial can toggle it"
    toggle = toggle_of(sides.slow, sides.slow_under, remedy, environ)
    if isinstance(toggle, str):
        return toggle
    kind, fast = _fast_side(sides, toggle, remedy, environ)
    parts = [_slow_side(sides, toggle), fast, _control(sides, toggle, remedy.control), _side_effects(sides, toggle)]
    campaign = Campaign(
        name="trial",
        title=f"Trial: {remedy.name}"[:80],
        ranks=[ranks],
        rounds=ROUNDS,
        environments=list(
            {environment.name: environment for environment in (*toggle.environments, *fast.environments)}.values()
        ),
        placements=named_places({**fast.placements, **toggle.placements}),
        cells=[group for part in parts for group in part.groups],
        contrasts=[contrast for part in parts for contrast in part.contrasts],
    )
    task = TrialTask(
        finding=finding,
        remedy=remedy.name,
        axis=toggle.axis,
        slow=toggle.slow,
        remedied=toggle.remedied,
        fast_side=kind,
        metric=sides.metric,
        phase=sides.phase,
        constant_s=constant_s,
    )
    return Trial(task, campaign)


@dataclass(frozen=True)
class _Part:
    """What a trial's campaign needs for one purpose, beside what its toggle has."""

    groups: tuple[CellsTable, ...] = ()
    contrasts: tuple[ContrastTable, ...] = ()
    environments: tuple[EnvironmentTable, ...] = ()
    placements: Mapping[str, LaunchPlace] = field(default_factory=dict)


def _pair(
    name: str, group: str, toggle: Toggle, of: Measure, copy: str | None = None, explains: bool = True
) -> ContrastTable:
    """The remedied cell as `a` and the one as it is as `b`."""
    where = {"copy": copy} if copy else {}
    values = toggle.axis, toggle.remedied, toggle.slow
    return ContrastTable(name, name, group, *values, *of, where, explains=explains)


def _slow_side(sides: Sides, toggle: Toggle) -> _Part:
    values, of = [toggle.slow, toggle.remedied], (sides.metric, sides.phase)
    group = cells_at(EFFECT, sides.slow.experiment, sides.slow.parameters, toggle, values, copies=2)
    effect = _pair(EFFECT, EFFECT, toggle, of, "1", explains=False)
    where = {toggle.axis: toggle.slow}
    alike = ContrastTable(ALIKE, ALIKE, EFFECT, "copy", "1", "2", *of, where, control=True)
    return _Part((group,), (effect, _pair(AGAIN, EFFECT, toggle, of, "2"), alike))


def _fast_side(sides: Sides, toggle: Toggle, remedy: Remedy, environ: frozenset[str]) -> tuple[FastSide, _Part]:
    """How the fast side is measured in the trial of this remedy, and the cells for it; where the remedy changes
    nothing there, two copies.  Args: environ: names of the user's variables.
    """
    cell, under = sides.fast, sides.fast_under
    if cell is None or under is None:
        return "none", _Part()
    of = sides.metric, sides.fast_phase
    copies = ((FAST, "1"), (FAST_AGAIN, "2"))
    if sides.axis == "phase":
        return "toggled", _Part((), tuple(_pair(name, EFFECT, toggle, of, copy) for name, copy in copies))
    if toggle.leads_to(cell, under):
        return "remedied", _Part()
    there = toggle_of(cell, under, remedy, environ)
    if isinstance(there, str):
        here = _own_name(EnvironmentTable(under.environment, under.variables, under.unset), toggle.environments)
        group = CellsTable(FAST, cell.experiment, dict(cell.parameters), [here.name], [under.placement], copies=2)
        alike = ContrastTable(FAST, FAST, FAST, "copy", "1", "2", *of, explains=True)
        return "unchanged", _Part((group,), (alike,), (here,), {under.placement: under.place})
    renamed = {environment.name: _own_name(environment, toggle.environments) for environment in there.environments}
    there = replace(there, environments=tuple(renamed.values()))
    if there.axis == "environment":
        there = replace(there, slow=renamed[there.slow].name, remedied=renamed[there.remedied].name)
    group = cells_at(FAST, cell.experiment, cell.parameters, there, [there.slow, there.remedied], copies=2)
    pairs = tuple(_pair(name, FAST, there, of, copy) for name, copy in copies)
    return "toggled", _Part((group,), pairs, there.environments, there.placements)


def _own_name(environment: EnvironmentTable, taken: Sequence[EnvironmentTable]) -> EnvironmentTable:
    """Equal environments share a name, others never do."""
    for other in taken:
        if (dict(environment.variables), set(environment.unset)) == (dict(other.variables), set(other.unset)):
            return other
    names = {other.name for other in taken}
    own = f"{environment.name[:70]} (fast side)" if environment.name in names else environment.name
    return msgspec.structs.replace(environment, name=own)


def _control(sides: Sides, toggle: Toggle, control: Control | None) -> _Part:
    if control is None:
        return _Part()
    metric = control.metric or sides.metric
    if control.phase is not None:
        return _Part((), (_pair(CONTROL, EFFECT, toggle, (metric, control.phase), "1"),))
    toggle = replace(toggle, slow=control.without or toggle.slow)
    experiment, parameters, phase = sides.slow.experiment, sides.slow.parameters, sides.phase
    if control.parameters is not None:
        experiment, phase = control.experiment, "steady"
        parameters = {**experiment_named(experiment).brief, **control.parameters}
    group = cells_at(CONTROL, experiment, parameters, toggle, [toggle.slow, toggle.remedied])
    return _Part((group,), (_pair(CONTROL, CONTROL, toggle, (metric, phase)),))


def _side_effects(sides: Sides, toggle: Toggle) -> _Part:
    for experiment in (experiment_named(sides.slow.experiment), P2P):  # a job that is slower sends slower messages too
        effect = experiment.side_effect(toggle.axis)
        if effect is not None:
            break
    if effect is None or toggle.remedied in effect.safe_values:
        return _Part()
    values = toggle.slow, toggle.remedied
    group = cells_at(SIDE, experiment.name, {**experiment.brief, **effect.parameters}, toggle, values)
    slower = ContrastTable(SIDE, SIDE, SIDE, toggle.axis, *values, effect.metric, explains=True)
    return _Part((group,), (slower,))


# What a trial shows of its remedy. Pure: results in, verdict out; nothing is measured here.
#
# The gap that counts is slow minus fast, as both are and as both would be with the remedy (`Gap`). Proven: the remedied
# cell is faster than the slow one beyond the minimum effect, what was removed of the gap is at least half at the lower
# end of its interval, and the negative control stayed: all that its interval leaves open is less than half of the
# effect. A remedy that speeds up the fast side as much is named as a gain for both. Anything less names what is
# missing.

_LEAST_GAIN = 0.03  # of the fast side: less is no speed-up of its own
Again = Literal["shown", "gone", "open"]


@dataclass(frozen=True)
class Gap:
    """Times of rounds, seconds, shape (pairs,) each; the i-th values belong to one round.

    fast_remedied: the fast side with the remedy; the same as `fast` where it changes nothing there.
    """

    slow: Floats
    remedied: Floats
    fast: Floats
    fast_remedied: Floats

    @cached_property
    def removed(self) -> RemovedRatio | None:
        """1 - (remedied - fast_remedied) / (slow - fast) of medians over pairs; 95 % interval by bootstrap over pairs.

        None where slow is not slower than fast in nearly every resample: there is no gap then.
        """
        share = removed(self.slow, self.remedied, self.fast, self.fast_remedied)
        return None if share is None else removed_ratio(share.value, share.interval, share.excess_s)

    @property
    def again(self) -> Again:
        """Whether the trial's own pairs show the gap that the finding is about: beyond the least gain, surely within
        it, or neither.
        """
        estimate = paired(self.fast, self.slow, _LEAST_GAIN)
        words: Mapping[Word, Again] = {"slower": "shown", "faster": "gone", "same": "gone", "undecided": "open"}
        return words[judge(estimate, estimate.p).word]

    @property
    def excess_s(self) -> float:
        """Of the medians; negative: slow was faster."""
        return float(np.median(self.slow) - np.median(self.fast))

    @property
    def fast_gains(self) -> bool:
        """Whether the remedy speeds up the fast side, too: its interval lies beyond the least gain."""
        estimate = paired(self.fast_remedied, self.fast, _LEAST_GAIN)
        return estimate.level is not None and estimate.low is not None and estimate.low > 1 + _LEAST_GAIN

    @property
    def fast_words(self) -> str:
        """`the fast side takes 18.9 ns in place of 36.5 ns`."""
        fast, there = (format_time(float(np.median(times_s))) for times_s in (self.fast, self.fast_remedied))
        return f"fast side {there} instead of {fast}"


FEWEST_PAIRS = 8
LEAST_REMOVED_RATIO = 0.5  # of the excess, at the lower end of the interval: what a proof needs
OPEN_RATIO = 1.1  # of slow over remedied, from which on an open trial is worth its time once more

TrialVerdict = Literal["proven", "partial", "both sides", "not tried", "no effect", "worse"]
LegState = Literal["shown", "missing", "refuted"]


@dataclass(frozen=True)
class TrialOutcome:
    """leg: "proven" of the finding.  removed_ratio: share of the gap, interval 95 % by bootstrap over pairs.

    ratio, interval, pairs: slow over remedied.  control: the negative one; None: not measured.
    gap: between slow and fast; None: no fast side was measured.  copies_agree: of the slow cell.
    """

    remedy: str
    verdict: TrialVerdict
    leg: Leg
    removed_ratio: RemovedRatio | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    pairs: int = 0
    control: ContrastResult | None = None
    side_effects: Sequence[SideEffect] = ()
    gap: Gap | None = None
    copies_agree: bool = True

    @property
    def reason(self) -> str:
        """Why it is this verdict."""
        return self.leg.text

    @property
    def refutes(self) -> bool:
        """Whether it contradicts a cause that the remedy removes: nothing changes, where the gap is there again."""
        is_shown = self.gap is not None and self.gap.again == "shown"
        return self.verdict == "no effect" and self.pairs >= FEWEST_PAIRS and self.copies_agree and is_shown

    @property
    def is_open(self) -> bool:
        """Whether more pairs may decide what these left open: something looked clear, and noise hid it."""
        if self.verdict != "partial" or self.control is None or self.pairs < FEWEST_PAIRS:
            return False
        removed = self.removed_ratio
        closes = removed is None or removed.value >= LEAST_REMOVED_RATIO
        hopeful = self.ratio is not None and self.ratio > OPEN_RATIO and closes
        return hopeful and self.control.verdict in ("same", "undecided")


Copies = tuple[Floats, Floats]  # both cells' measurements, remedied and slow, seconds, shape (pairs, 2) each
By = Mapping[str, ContrastResult]


def judge_trial(task: TrialTask, results: Results) -> TrialOutcome:
    """The outcome.  Args: results: of the trial's run, or of it pooled with earlier ones."""
    by = {contrast.group: contrast for contrast in reversed(results.contrasts)}
    side_effects = [
        SideEffect(where=contrast.where, ratio=contrast.ratio, interval=contrast.interval, verdict=contrast.verdict)
        for contrast in results.contrasts
        if contrast.group == SIDE and contrast.verdict in ("faster", "slower") and contrast.ratio is not None
    ]
    effect, copies = _effect(by)
    if effect is None or effect.ratio is None:
        why = effect.reason if effect and effect.reason else "the trial measured nothing"
        leg = Leg(state="missing", text=f"the trial gave no pairs: {why}", evidence=[])
        pairs = effect.launches if effect else 0
        return TrialOutcome(task.remedy, "not tried", leg, pairs=pairs, side_effects=side_effects)
    gap, control = _gap(task, by, effect, copies), by.get(CONTROL)
    removed = gap.removed if gap else None
    verdict, state, reason = _verdict(task, effect, gap, control, by.get(ALIKE))
    slow, remedied = map(format_time, of_ratio(effect.b_value_s or 0.0, effect.a_value_s or 0.0, effect.ratio))
    times = f"{ratio_words(effect.ratio, effect.interval)} the time: {slow} vs {remedied}"
    evidence = [f"without '{task.remedy}' it takes {times}, {effect.launches} pairs"]
    if removed:
        share = share_words(removed.value, removed.interval)
        evidence.append(f"{share} of the gap is removed{more_words(removed.beyond_s)}")
    evidence += [f"with '{task.remedy}' {gap.fast_words}"] if gap and task.fast_side == "toggled" else []
    evidence += [_control_words(control, effect)] if control else []
    return TrialOutcome(
        remedy=task.remedy,
        verdict=verdict,
        leg=Leg(state=state, text=reason, evidence=evidence),
        removed_ratio=removed,
        ratio=effect.ratio,
        interval=effect.interval,
        pairs=effect.launches,
        control=control,
        side_effects=side_effects,
        gap=gap,
        copies_agree=_agree(by.get(ALIKE)),
    )


def _verdict(
    task: TrialTask,
    effect: ContrastResult,
    gap: Gap | None,
    control: ContrastResult | None,
    alike: ContrastResult | None,
) -> tuple[TrialVerdict, LegState, str]:
    low, high = effect.interval or (0.0, float("inf"))
    if effect.verdict == "faster" and high < 1 / (1 + effect.minimum_effect):
        return "worse", "refuted", f"{task.remedy} makes it slower"
    if effect.verdict == "same":
        return "no effect", "refuted", f"{task.remedy} changes nothing"
    share = _share(gap)
    if task.fast_side == "toggled" and gap is not None and share is not None and gap.fast_gains:
        _, least, most = share
        if least < LEAST_REMOVED_RATIO and _why_open(effect, low) is None:
            why = f"speeds up both sides: {gap.fast_words}"
            return "both sides", "refuted" if most < LEAST_REMOVED_RATIO else "missing", f"{task.remedy} {why}"
    why_not = _why_open(effect, low) or _why_gap(gap, share) or _why_control(control, alike, low)
    if why_not is not None:
        return "partial", "missing", why_not
    removed = gap.removed if gap else None
    how_much = f"{removed.value:.0%} of the gap{more_words(removed.beyond_s)}" if removed else "all of the gap"
    return "proven", "shown", f"{task.remedy}, toggled alone, removes {how_much}"


def _share(gap: Gap | None) -> tuple[float, float, float] | None:
    removed = gap.removed if gap else None
    return (removed.value, *removed.interval) if removed is not None and removed.interval is not None else None


_OPEN = "undecided; measure more rounds"


def _why_open(effect: ContrastResult, low: float) -> str | None:
    """Why the pairs decide nothing.  Args: low: end of their interval."""
    if effect.verdict != "slower" or low <= 1 + effect.minimum_effect:
        return _OPEN
    return _OPEN if effect.launches < FEWEST_PAIRS else None


def _why_gap(gap: Gap | None, share: tuple[float, float, float] | None) -> str | None:
    """Why what is left of the gap is no proof; None: enough of it is gone."""
    if gap is None:
        return "nothing fast was measured to compare with"
    if share is None:
        return "the trial shows no gap"
    value, low, high = share
    if low >= LEAST_REMOVED_RATIO:
        return None
    return f"it removes {value:.0%} [{low:.0%}, {high:.0%}] of the gap; a proof needs 50%"


def _why_control(control: ContrastResult | None, alike: ContrastResult | None, low: float) -> str | None:
    """Why the controls leave it open.  Args: low: lower end of the effect's interval."""
    if not _agree(alike):
        return "two measurements of the slow cell differ"
    if control is None:
        return "no control known"
    if stayed(control, low):
        return None
    if control.verdict == "undecided":
        return _OPEN
    return "the control changed as well"


def stayed(control: ContrastResult, least_effect: float) -> bool:
    """Whether a negative control is "same", or within 10 % with half of the effect outside of its interval.

    A control that changed a little stays in this sense, too: what made 4 % of difference there did not make 20-fold.

    Args: least_effect: lower end of the effect's interval, slow over remedied; its root is half of it in logarithms.
    """
    if control.verdict == "same":
        return True
    if control.ratio is None or control.interval is None:
        return False
    return held(control.ratio, control.interval, least_effect)


def _agree(alike: ContrastResult | None) -> bool:
    if alike is None or alike.verdict not in ("faster", "slower"):
        return True
    return alike.ratio is not None and 1 / CONTROL_WITHIN_RATIO <= alike.ratio <= CONTROL_WITHIN_RATIO


def _effect(by: By) -> tuple[ContrastResult | None, Copies | None]:
    """Slow over remedied: of the two copies that each side has in a round the faster one, on both sides alike. The
    copies; None: they were not both measured.

    What disturbs a measurement lengthens it, and seldom both copies; `a` is remedied, `b` slow, as `design` has them.
    """
    first, second = by.get(EFFECT), by.get(AGAIN)
    if first is None or first.ratio is None or second is None or len(second.pairs) != len(first.pairs):
        return first, None
    copies = np.array(first.pairs, dtype=np.float64), np.array(second.pairs, dtype=np.float64)
    judged = judged_by(first, np.minimum(*copies))
    if judged.level is None:  # a range: nothing can be concluded from it
        judged = msgspec.structs.replace(judged, interval=None)
    return judged, copies


def _gap(task: TrialTask, by: By, effect: ContrastResult, copies: Copies | None) -> Gap | None:
    """From the rounds that have all of it; None: no fast side was measured."""
    remedied, slow = np.array(effect.pairs, dtype=np.float64).T
    if task.fast_side == "remedied" and copies is not None:
        # The remedied cell is the fast side: its second copy stands for that, and the remedy changes nothing there.
        first, second = (copy[:, 0] for copy in copies)
        return Gap(slow, first, second, second)
    sides = [np.array(by[name].pairs, dtype=np.float64) for name in (FAST, FAST_AGAIN) if name in by]
    sides = [pairs for pairs in sides if len(pairs) == slow.size]
    if sides and task.fast_side == "unchanged":
        there = sides[0].min(axis=1)  # two copies of one cell
        return Gap(slow, remedied, there, there)
    if sides:
        fast_remedied, fast = np.minimum(sides[0], sides[-1]).T
        return Gap(slow, remedied, fast, fast_remedied)
    if task.fast_side == "none" and task.constant_s is not None:
        constant = np.full(slow.size, task.constant_s)
        return Gap(slow, remedied, constant, constant)
    return None


def _control_words(control: ContrastResult, effect: ContrastResult) -> str:
    if control.ratio is None:
        return f"negative control: not measured: {control.reason}"
    if stayed(control, effect.interval[0] if effect.interval else 1.0):
        word = "hardly changed" if control.verdict in ("slower", "faster") else "unchanged"
    else:
        word = "undecided" if control.verdict == "undecided" else "may have changed"
    return f"negative control: {ratio_words(control.ratio, control.interval)}, {word}"


def judged_by(contrast: ContrastResult, pairs_s: Floats) -> ContrastResult:
    """The contrast with all that rests on its pairs; by itself, since nothing else is judged with these pairs.

    Args: pairs_s: of a and b, shape (pairs, 2), seconds, at least one.
    """
    estimate = paired(pairs_s[:, 0], pairs_s[:, 1], contrast.minimum_effect)
    measured = msgspec.structs.replace(
        contrast,
        pairs=tuple((float(a_s), float(b_s)) for a_s, b_s in pairs_s),
        launches=len(pairs_s),
        a_value_s=float(np.median(pairs_s[:, 0])),
        b_value_s=float(np.median(pairs_s[:, 1])),
        family=contrast.id,
        family_size=1,
    )
    return with_estimate(measured, estimate, estimate.p)


# A remedy that changes nothing is evidence against the cause that it removes.


def removes_cause(finding: Finding, remedy: str) -> bool:
    """Whether the cause of a finding can't be there with this remedy, by its slow path.

    Args: remedy: its name.
    """
    path = known(finding.rule)
    return path is not None and any(removing.name == remedy for removing in path.removes_cause)


def was_applied(task: TrialTask, results: Results) -> bool:
    """Whether the remedied cells were as the trial asked. The kernel may not give the pages that it is asked for; all
    other parameters are the engine's own to set.
    """
    if task.axis != "pages":
        return True
    effect = [contrast for contrast in results.contrasts if contrast.group == EFFECT]
    remedied = {contrast.a.cell for contrast in effect}
    remedied_cells = [cell for cell in results.cells if cell.cell in remedied]
    return bool(remedied_cells) and all(pages_seen(cell, (task.remedied,)) is True for cell in remedied_cells)


def without_cause(finding: Finding, why: str, state: LegState = "refuted") -> Finding:
    """The finding as it is observed, without the cause that a trial refuted, or did not show again; a proven one as it
    is.  Args: why: one sentence.
    """
    if finding.status == "proven":
        return finding
    leg = msgspec.structs.replace(finding.legs.explained, state=state, text=why)
    observed = with_explained(finding, leg, None)
    doubts = list(dict.fromkeys([*finding.doubts, why]))
    return msgspec.structs.replace(observed, status="observed", doubts=doubts)
