# SPDX-License-Identifier: Apache-2.0
"""Trial: one remedy is toggled on a finding's slow cell, in interleaved pairs; a second time where noise hid it.

The second is judged by the pairs of both: every pair is of one round of one run, so pairs of two runs stand next to
each other as those of one run do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from slowpath.core.results import Finding, Results
from slowpath.diagnose.limits import other_protocol_s, remedies_of, switch_of
from slowpath.diagnose.limits import with_cause as with_variables
from slowpath.diagnose.own_settings import remedies_of as own_remedies
from slowpath.diagnose.sides import Sides, sides_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.alternatives import remedies_of as alternative_remedies
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import LeftOut, Task, TrialTask
from slowpath.diagnose.trials import (
    FEWEST_PAIRS,
    TrialOutcome,
    design,
    judge_trial,
    judged_by,
    removes_cause,
    was_applied,
    without_cause,
)
from slowpath.diagnose.tune.files import PRELOAD
from slowpath.findings.finding import untried, with_trial
from slowpath.findings.slow_path import Control, Remedy
from slowpath.mpi.tuning import FILE_VARIABLE, SCHEMA, TuningFile, TuningRow
from slowpath.slowpaths.registry import REMEDIES, codes_refined_by


def same_trial(task: Task, other: Task) -> bool:
    """Whether both try one remedy on one finding."""
    if not isinstance(task, TrialTask) or not isinstance(other, TrialTask):
        return False
    return (task.finding, task.remedy) == (other.finding, other.remedy)


def pooled(results: Results, earlier: Iterable[Results]) -> Results:
    """Results of a trial with the pairs of the same trial in earlier runs."""
    before = defaultdict[tuple[str, str], list[tuple[float, float]]](list)
    for contrast in (contrast for results in earlier for contrast in results.contrasts):
        before[contrast.group, contrast.where] += contrast.pairs
    joined = [
        judged_by(contrast, np.array([*pairs, *contrast.pairs], dtype=np.float64))
        if (pairs := before[contrast.group, contrast.where])
        else contrast
        for contrast in results.contrasts
    ]
    return msgspec.structs.replace(results, contrasts=joined)


def with_outcome(finding: Finding, outcome: TrialOutcome, remedy: Remedy | None, library: str | None) -> Finding:
    """The finding after a trial.

    Args: remedy: that was tried, for a finding that does not list it; None: nothing but its name is known.
          library: whose launcher binds, as "mpich".
    """
    listed = next((remedy for remedy in finding.remedies if remedy.name == outcome.remedy), None) or untried(
        remedy or Remedy(outcome.remedy, outcome.remedy, (), phrase=outcome.remedy), library
    )
    tried = msgspec.structs.replace(
        listed,
        phrase=listed.phrase or listed.name,
        removed_ratio=outcome.removed_ratio,
        side_effects=list(outcome.side_effects),
        verdict=outcome.verdict,
        reason=outcome.reason,
    )
    return _seen_again(with_trial(finding, tried, outcome.leg), outcome)


def _seen_again(finding: Finding, outcome: TrialOutcome) -> Finding:
    """No cause is claimed of what the trial's own pairs could not show again, and it costs what these show."""
    gap = outcome.gap
    if gap is None or outcome.pairs < FEWEST_PAIRS or gap.again != "open" or finding.status == "proven":
        return finding
    excess_s = None if finding.excess_s is None else min(finding.excess_s, max(0.0, gap.excess_s))
    doubt = f"{outcome.pairs} pairs of a trial show no gap"
    return msgspec.structs.replace(without_cause(finding, doubt, "missing"), excess_s=excess_s)


_LONG, _LONGER = 65536, 262144  # bytes: of the control, far from what is replaced
_MULTIPLE: Final = 64  # of it and the length that is replaced, at least


def replaceable(remedy: Remedy, sides: Sides, identity: str, ranks: int, preload: Path | None) -> Remedy:
    """The remedy with its variables and control for these sides; another one, or one that can't be, as it is.

    Args: identity: library and version, as tuning.json has it.  ranks: where the slow side's placement states none.
          preload: libslowpath-coll.so of the engine that measures; None: it is not there.
    """
    slow, fast = sides.slow.parameters, sides.fast.parameters if sides.fast is not None else {}
    if not remedy.replaces_calls or preload is None or slow.get("way") != "library" or "way" not in fast:
        return remedy
    length, count = int(slow["message_bytes"]), sides.slow_under.at.ranks or ranks
    members = slow.get("members", "all")
    row = TuningRow(
        slow["collective"], (count, count) if members == "all" else (int(members),) * 2, (length, length), fast["way"]
    )
    table = msgspec.json.encode(TuningFile(identity, (row,), SCHEMA)).decode()
    return replace(
        remedy,
        variables={PRELOAD: str(preload), FILE_VARIABLE: table},
        is_tried=True,
        control=_control(slow["collective"], length),
    )


def _control(collective: str, length: int) -> Control:
    other = "allreduce" if collective == "barrier" else collective
    far = _LONGER if length * _MULTIPLE > _LONG and length <= _LONG else _LONG
    return Control(
        experiment="coll",
        parameters={"collective": other, "message_bytes": str(far)},
        metric="collective_work_s",
    )


_UNBOUND = "unbound"


def where_it_can_help(sides: Sides, remedy: Remedy, ranks: int, cores: int | None) -> Sides | str:
    """The sides under a placement in which the remedy has the cores that it takes, or why there is none.

    Args: ranks: of the trial, all on one node, where the slow side's placement states none.  cores: that they can have
          there; None: not known, so nothing is denied.
    """
    need, ranks = remedy.cores_per_rank, sides.slow_under.at.ranks or ranks
    if need is None or cores is None:
        return sides
    if cores < need * ranks:
        cores_needed = "a core for each rank" if need == 1 else f"{need} cores for each rank ({need - 1} spare)"
        return f"it needs {cores_needed}, and {ranks} ranks have {cores}"
    if need > 1 and sides.slow_under.bind == "core":  # its thread would share the core that its rank is bound to
        slow, fast = sides.slow_under, sides.fast_under
        there = None if fast is None else replace(fast, placement=_UNBOUND, bind="none")
        return replace(sides, slow_under=replace(slow, placement=_UNBOUND, bind="none"), fast_under=there)
    return sides


def propose(finding: Finding, state: State) -> Iterator[Proposal]:
    """The remedies of the table for its rule, and for the axis in which its sides differ."""
    sides = sides_of(finding, state.seen_in(finding))
    if sides is not None:
        identity = f"{state.library.name}-{state.library.version}"
        for remedy in _offered(finding, sides, state):
            yield from _proposals(
                finding, state, replaceable(remedy, sides, identity, state.ranks, state.preload), sides
            )


def _offered(finding: Finding, sides: Sides, state: State) -> list[Remedy]:
    table = state.library.remedies(finding.rule, finding.axis)
    return [remedy for remedy in table if remedy.fits(sides.slow.parameters)]


def propose_named(finding: Finding, state: State) -> Iterator[Proposal]:
    """What the finding itself names: the variables near its switch, at the slow length next to
    it; the user's own settings, taken away; the library's choice, made otherwise."""
    sides = sides_of(finding, state.seen_in(finding))
    if sides is None:
        return
    for remedy, across in remedies_of(finding, state, sides):
        yield from _proposals(finding, state, remedy, across, other_protocol_s(finding))
    for remedy in own_remedies(finding, state.removable):
        yield from _proposals(finding, state, remedy, sides)
    if finding.rule in codes_refined_by("alternatives") and sides.fast_under is not None:
        for remedy in alternative_remedies(finding, sides.fast_under):
            yield from _proposals(finding, state, remedy, sides)


def propose_again(state: State) -> Iterator[Proposal]:
    """Trials that noise left undecided, once more: the remedies and cells that they had."""
    trials = state.tasks(TrialTask)
    for done in state.measured:
        task = done.step.task
        if not isinstance(task, TrialTask) or sum(same_trial(task, other) for other in trials) > 1:
            continue
        finding = next((f for f in state.findings if f.id == task.finding), None)
        if finding is None or finding.status == "proven" or not judge_trial(task, done.results).is_open:
            continue
        untried = replace(state, measured=[other for other in state.measured if other is not done])
        again = (*propose_named(finding, untried), *propose(finding, untried))
        yield from (proposal for proposal in again if same_trial(proposal.task, task))


def cannot_help(state: State) -> Iterator[LeftOut]:
    """Remedies of findings that are not tried, since this machine lacks what they need."""
    for finding in state.findings:
        sides = sides_of(finding, state.seen_in(finding))
        if sides is None or finding.status == "proven":
            continue
        for remedy in _offered(finding, sides, state):
            if isinstance(there := where_it_can_help(sides, remedy, state.ranks, state.cores), str):
                yield LeftOut(finding=finding.id, rule=finding.rule, remedy=remedy.name, why=there)


def _proposals(
    finding: Finding, state: State, remedy: Remedy, seen: Sides, fast_s: float | None = None
) -> Iterator[Proposal]:
    tried = {task.remedy for task in state.tasks(TrialTask) if task.finding == finding.id}
    if finding.status == "proven" or remedy.name in tried:
        return
    sides = where_it_can_help(seen, remedy, state.ranks, state.cores)
    if isinstance(sides, str):
        return
    made = design(finding.id, sides, remedy, frozenset(state.environ), state.ranks, fast_s or _constant_s(finding))
    if not isinstance(made, str):
        yield Proposal(made.task, made.campaign, f"try '{remedy.name}' against {finding.rule}")


def _constant_s(finding: Finding) -> float | None:
    terms = finding.law.coefficients if finding.law else ()
    return next((term.value for term in terms if term.per is None), None)


def apply(before: StepConclusion, task: TrialTask, results: Results, history: StepHistory) -> StepConclusion:
    """What it proves of its finding, by the pairs of this trial and of the same one before it."""
    earlier = [
        done.results
        for done in history.measured
        if done.step.number < history.step.number and same_trial(done.step.task, task)
    ]
    outcome = judge_trial(task, pooled(results, earlier))
    finding = before.finding(task.finding)
    is_of_switch = finding is not None and switch_of(finding) is not None
    # Pairs enough for a proof show no gap: few launches showed noise. A switch has its other side in other launches.
    is_gone = outcome.pairs >= FEWEST_PAIRS and outcome.gap is not None and outcome.gap.again == "gone"
    if is_gone and not is_of_switch:
        return before.without(task.finding)
    remedy = next((remedy for remedy in REMEDIES if remedy.name == task.remedy), None) or _as_set(task, results)

    def changed(finding: Finding) -> Finding:
        after = with_outcome(finding, outcome, remedy, results.run.mpi.name)
        if is_of_switch and outcome.verdict == "proven":
            return with_variables(after, task.remedy)
        refutes = outcome.refutes and was_applied(task, results) and removes_cause(finding, task.remedy)
        return without_cause(after, outcome.reason) if refutes else after

    return before.changed(task.finding, changed)


def _as_set(task: TrialTask, results: Results) -> Remedy | None:
    """A remedy of no table, by what the trial's launches set; None: they set nothing."""
    there = next((environment for environment in results.run.environments if environment.name == task.remedied), None)
    if there is None or task.axis != "environment":
        return None
    values = ", ".join(f"{name}={value}" for name, value in there.variables.items())
    text = f"Set {values}." if values else f"Unset {', '.join(there.unset)}."
    return Remedy(task.remedy, text, ("environment",), variables=there.variables, unset=tuple(there.unset))


def summary(task: TrialTask, before: StepConclusion, after: StepConclusion) -> str:
    """`proven: huge pages, toggled alone, removes 98% of the gap`."""
    finding = after.finding(task.finding)
    if finding is None and before.finding(task.finding) is not None:
        return "no gap in the trial's pairs"
    remedy = next((remedy for remedy in finding.remedies if remedy.name == task.remedy), None) if finding else None
    if remedy is None:
        return "no outcome"
    return f"{remedy.verdict}: {'' if task.remedy in remedy.reason else f'{task.remedy}: '}{remedy.reason}"


TRIAL = StepKind(TrialTask, apply, summary)
