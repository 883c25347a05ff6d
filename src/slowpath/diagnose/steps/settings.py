# SPDX-License-Identifier: Apache-2.0
"""Settings: which of the user's own makes messages slower? Sets of them are taken away, in interleaved launches.

Nothing is named before these launches, which hold the same cells with and without the settings, show the slowdown
again: what a survey saw may be noise of the one contrast in ten that was looked at for being slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable
from slowpath.core.results import ContrastResult, Finding, Results
from slowpath.diagnose.own_settings.listing import unread
from slowpath.diagnose.own_settings.named import (
    Sets,
    named,
    only_words,
    suspected,
    without_twins,
    without_unread,
)
from slowpath.diagnose.own_settings.search import Responsible, Set, ToTry, search
from slowpath.diagnose.own_settings.shares import MOST_TRIES, Again, Share, again, rounds_for, share
from slowpath.diagnose.places import LaunchPlace, named_places
from slowpath.diagnose.sides import condition
from slowpath.diagnose.state import MeasuredStep, Proposal, State, settings_of
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.tasks import SettingsCell, SettingsTask
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import OwnSetting, removable, without
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.stats.estimate import Floats

AS_IT_IS = "default"
MOST_STEPS = 8
FEWEST_SETS = 2  # of a campaign
_ALL = "without all"

Shares = Mapping[Set, Share]


def propose(state: State) -> Iterator[Proposal]:
    """What the search asks for, of all findings that name no setting yet, in one campaign."""
    settings = state.removable
    steps = [one for one in state.measured if isinstance(one.step.task, SettingsTask)]
    if not settings or len(steps) >= MOST_STEPS:
        return
    cells: list[tuple[SettingsCell, ContrastResult, Results]] = []
    wanted: dict[Set, None] = {}
    for finding in state.findings:
        if finding.rule not in codes_refined_by("settings") or finding.cause is not None:
            continue
        results = state.seen_in(finding)
        for contrast in _speaking(finding, results):
            asked = _asked(finding, contrast, len(settings), steps)
            if asked is not None:
                group = f"cell {len(cells) + 1}"
                metric, phase = contrast.metric, contrast.b.phase
                cell = SettingsCell(finding=finding.id, contrast=contrast.id, group=group, metric=metric, phase=phase)
                cells.append((cell, contrast, results))
                wanted |= dict.fromkeys(asked.sets)
    # All sets at once take the fewest launches; where these do not fit the budget, the first ones do at least.
    for sets in dict.fromkeys((tuple(wanted), tuple(wanted)[:FEWEST_SETS])) if cells else ():
        task, campaign = _campaign(cells, sets, settings, state.ranks)
        yield Proposal(task, campaign, _why(settings))


def _why(settings: Sequence[OwnSetting]) -> str:
    if len(settings) == 1:
        return f"does {settings[0].name} make messages slower in separate launches, too?"
    return f"which of your {len(settings)} settings makes messages slower?"


def _asked(finding: Finding, contrast: ContrastResult, count: int, steps: Sequence[MeasuredStep]) -> ToTry | None:
    """What the search needs next; None: it is over, or noise hides what it needs."""
    answer, whole = _answer(finding.id, contrast.id, count, steps), _again(finding.id, contrast.id, steps)
    if whole is not None and whole.seen == "gone":
        return None
    if not isinstance(answer, ToTry):
        if whole is not None and whole.seen == "shown":
            return None
        answer = ToTry((), again=whole is not None)
    tries = max(_tries(finding.id, contrast.id, one, steps) for one in answer.sets or (None,))
    return None if tries >= MOST_TRIES else answer


def _speaking(finding: Finding, results: Results) -> list[ContrastResult]:
    """The clearest contrasts of the shorter and of the longer messages: one setting may slow either."""
    found = [
        contrast
        for contrast in results.contrasts
        if contrast.id in set(finding.contrasts) and contrast.ratio and contrast.interval
    ]
    found.sort(key=lambda one: int(results.cell(one.b.cell).parameters.get("message_bytes", "0")))
    half = (len(found) + 1) // 2
    return [max(some, key=lambda one: one.ratio or 0.0) for some in (found[:half], found[half:]) if some]


def _campaign(
    cells: Sequence[tuple[SettingsCell, ContrastResult, Results]],
    wanted: Sequence[Set],
    settings: Sequence[OwnSetting],
    ranks: int,
) -> tuple[SettingsTask, Campaign]:
    taken = {f"without set {number}": some for number, some in enumerate(wanted, start=1)}
    bare = without(settings, settings)
    environments = [EnvironmentTable(AS_IT_IS), EnvironmentTable(WITHOUT_USER, bare.variables, bare.unset)]
    for name, some in taken.items():
        less = without(settings, [settings[number] for number in sorted(some)])
        environments.append(EnvironmentTable(name, less.variables, less.unset))
    groups, contrasts, placements = list[CellsTable](), list[ContrastTable](), dict[str, LaunchPlace]()
    for cell, contrast, results in cells:
        slow = results.cell(contrast.b.cell)
        under = condition(slow, results)
        placements[under.placement] = under.place
        names = [environment.name for environment in environments]
        groups.append(CellsTable(cell.group, slow.experiment, slow.parameters, names, [under.placement]))
        contrasts += [
            ContrastTable(
                f"{cell.group}, {name}",
                "Is it faster without these settings?",
                cell.group,
                "environment",
                environment,
                AS_IT_IS,
                cell.metric,
                cell.phase,
                explains=True,
            )
            for name, environment in ((_ALL, WITHOUT_USER), *((one, one) for one in taken))
        ]
    least = min(contrast.ratio or 1.0 for _, contrast, _ in cells)
    campaign = Campaign(
        name="settings",
        title="Which of the user's settings makes messages slower",
        ranks=[ranks],
        rounds=rounds_for(least),
        environments=environments,
        placements=named_places(placements),
        cells=groups,
        contrasts=contrasts,
        why="\n".join(
            f"{name}: {', '.join(settings[number].name for number in sorted(some))}" for name, some in taken.items()
        ),
    )
    numbers = {name: sorted(some) for name, some in taken.items()}
    return SettingsTask(cells=[cell for cell, _, _ in cells], taken=numbers), campaign


def apply(before: StepConclusion, _: SettingsTask, results: Results, history: StepHistory) -> StepConclusion:
    """Findings name their settings as soon as the search of all their cells is over."""
    steps = [
        one
        for one in history.measured
        if isinstance(one.step.task, SettingsTask) and one.step.number <= history.step.number
    ]
    settings = removable(settings_of(history.measured))
    findings: list[Finding] = []
    for finding in before.findings:
        findings += (
            _named(finding, settings, steps)
            if finding.rule in codes_refined_by("settings") and finding.cause is None
            else [finding]
        )
    read = without_unread(findings, unread(history.measured), settings)
    return StepConclusion(without_twins(read, history.forced))


def _named(finding: Finding, settings: Sequence[OwnSetting], steps: Sequence[MeasuredStep]) -> list[Finding]:
    """One finding for each set of settings that some of its cells name; itself where none does yet, or none where these
    launches show no slowdown of any of them.
    """
    tried = {cell.contrast for step in steps for cell in _task(step).cells if cell.finding == finding.id}
    seen = {one: _again(finding.id, one, steps) for one in finding.contrasts if one in tried}
    if not seen:
        return [finding]
    shown = {contrast: one for contrast, one in seen.items() if one is not None and one.seen == "shown"}
    if not shown:
        is_gone = all(one is not None and one.seen == "gone" for one in seen.values())
        return [] if is_gone else [suspected(finding, settings)]
    found: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for contrast, one in shown.items():
        answer = _answer(finding.id, contrast, len(settings), steps)
        if isinstance(answer, ToTry):
            return [replace(suspected(finding, settings), needs_cause=False)]
        shares = _shares(finding.id, contrast, steps)
        evidence = [only_words(settings[0])] if len(settings) == 1 else []
        evidence += [_evidence(settings, some, share) for some, share in shares.items() if _matters(some, answer)]
        found.setdefault(answer.sets, []).extend([*evidence, one.words])
    named_findings = []
    for number, (sets, evidence) in enumerate(found.items()):
        own: Sets = [[settings[index] for index in some] for some in sets]
        named_findings.append(named(finding, own, list(dict.fromkeys(evidence)), own_id=number == 0))
    return named_findings


def _matters(some: Set, answer: Responsible) -> bool:
    """Whether a set is, or lacks exactly, what is responsible: the lines that a reader wants."""
    return any(set(one) <= some for one in answer.sets) or len(some) == 1


def _evidence(settings: Sequence[OwnSetting], some: Set, seen: Share) -> str:
    names = ", ".join(settings[number].name for number in sorted(some))
    return f"without {names}, all others kept: {seen.words}"


def _again(finding: str, contrast: str, steps: Sequence[MeasuredStep]) -> Again | None:
    """What all steps show of the slowdown itself; None: no launch of theirs was measured."""
    every = _every(finding, contrast, steps)
    asked = {(cell.finding, cell.contrast) for one in steps for cell in _task(one).cells}
    return again(every, len(asked)) if every is not None else None


def _every(finding: str, contrast: str, steps: Sequence[MeasuredStep]) -> Floats | None:
    """Without all settings and as it is, seconds, shape (pairs, 2), over all steps."""
    tests = (
        _pairs(one.results, f"{cell.group}, {name}")
        for one in steps
        for cell, name, some in _tests(finding, contrast, one)
        if some is None
    )
    found = [pairs for pairs in tests if pairs is not None]
    return np.concatenate(found) if found else None


def _answer(finding: str, contrast: str, count: int, steps: Sequence[MeasuredStep]) -> Responsible | ToTry:
    seen = {some: one.outcome for some, one in _shares(finding, contrast, steps).items()}
    failed = {some: "failed" for some in _failed(finding, contrast, steps) if some not in seen}
    return search(count, {**failed, **seen})  # type: ignore[dict-item]


def _shares(finding: str, contrast: str, steps: Sequence[MeasuredStep]) -> Shares:
    """What went with each set, over all steps that took it away."""
    whole = _every(finding, contrast, steps)
    if whole is None:
        return {}
    gone: dict[Set, list[Floats]] = {}
    for one in steps:
        for cell, name, some in _tests(finding, contrast, one):
            pairs = None if some is None else _pairs(one.results, f"{cell.group}, {name}")
            if some is not None and pairs is not None:
                gone.setdefault(some, []).append(pairs)
    made = {some: share(np.concatenate(pairs), whole) for some, pairs in gone.items()}
    return {some: one for some, one in made.items() if one is not None}


def _failed(finding: str, contrast: str, steps: Sequence[MeasuredStep]) -> Iterator[Set]:
    for step in steps:
        for cell, name, some in _tests(finding, contrast, step):
            if some is not None and _pairs(step.results, f"{cell.group}, {name}") is None:
                yield some


def _tries(finding: str, contrast: str, some: Set | None, steps: Sequence[MeasuredStep]) -> int:
    return sum(some == taken for step in steps for _, _, taken in _tests(finding, contrast, step))


def _tests(finding: str, contrast: str, step: MeasuredStep) -> Iterator[tuple[SettingsCell, str, Set | None]]:
    """Cell, environment and set of each test of this contrast in a step; the set is None where all settings go."""
    task = _task(step)
    for cell in task.cells:
        if (cell.finding, cell.contrast) == (finding, contrast):
            yield cell, _ALL, None
            yield from ((cell, name, frozenset(numbers)) for name, numbers in task.taken.items())


def _task(step: MeasuredStep) -> SettingsTask:
    if not isinstance(step.step.task, SettingsTask):
        raise TypeError(f"step {step.step.number} takes no settings away")
    return step.step.task


def _pairs(results: Results, name: str) -> Floats | None:
    """Without and with, seconds, shape (pairs, 2)."""
    found = next((contrast for contrast in results.contrasts if contrast.group == name), None)
    if found is None or not found.pairs:
        return None
    return np.array(found.pairs, dtype=np.float64)


def summary(_: SettingsTask, before: StepConclusion, after: StepConclusion) -> str:
    """`MPIR_CVAR_CH4_CMA_ENABLE=0 makes messages slower`."""
    known = {finding.id: finding.cause for finding in before.findings}
    fresh = [
        finding
        for finding in after.findings
        if finding.rule in codes_refined_by("settings") and finding.cause and known.get(finding.id) != finding.cause
    ]
    folded = [
        name
        for finding in after.findings
        for name in finding.merged
        if name.partition(":")[0] in codes_refined_by("settings") and name in known
    ]
    left = {name for finding in after.findings for name in (finding.id, *finding.merged)}
    gone = [finding for finding in before.findings if finding.id not in left]
    reported = [
        *(one.cause or "" for one in fresh),
        *(f"taken back: {one.text}" for one in gone),
        *(f"{len(folded)} named by another rule already" for _ in folded[:1]),
    ]
    return " ".join(reported) or "not down to one yet"


SETTINGS = StepKind(SettingsTask, apply, summary)
