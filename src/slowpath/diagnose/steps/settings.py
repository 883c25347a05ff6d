# SPDX-License-Identifier: Apache-2.0
"""Steps about the user's own state: settings, inherited processors, and what carries messages. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.results import MOST_ACTIONS, ContrastResult, Finding, MessagePath, Results, Verdict
from slowpath.diagnose.own_settings import (
    MOST_TRIES,
    OWN_WITNESSED,
    Again,
    Responsible,
    Set,
    Sets,
    Share,
    ToTry,
    again,
    findings_under,
    named,
    named_if_only,
    only_words,
    responsible,
    rounds_for,
    search,
    share,
    suspected,
    unread,
    without_twins,
    without_unread,
)
from slowpath.diagnose.sides import LaunchPlace, condition, named_places
from slowpath.diagnose.state import MeasuredStep, Proposal, State, settings_of
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind, judged, unchanged
from slowpath.diagnose.tasks import PathTask, SettingsCell, SettingsTask, StateTask, SurveyTask
from slowpath.findings.conclude import kinds_words
from slowpath.findings.facts import CLEAR_RATIO, DECIDED, WITHOUT_USER
from slowpath.findings.observed import CAMPAIGN, GIVEN_UP_RATIO
from slowpath.mpi.launchers import INHERITED, WIDENED
from slowpath.mpi.own_settings import LAYER_TITLES, OwnSetting, idle_settings, removable, what_chooses, without
from slowpath.run.schedule import Against
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.stats.contrast import rank_sum_p as p_value
from slowpath.stats.contrast import rank_sum_shift as shift
from slowpath.stats.estimate import Floats

# State: three short cells as the user has them against a clean state, before any survey. Some seconds.
#
# The user's settings, and the processors that a launcher inherits, are taken away one at a time, in interleaved
# launches that ask the launcher for nothing. A launch that takes many times as long as a clean one is ended: that it
# does is the evidence, and no bad luck.

AS_IT_IS = "default"
STARTED, EVERYWHERE = "as you start it", "all processors"
ROUNDS, ROUNDS_OF_MANY = 5, 4  # of two states, and of more
FEWEST_RANKED, LEVEL = 4, 0.95  # pairs, so that launches that lie apart are an interval at this level
MOST_S = 16.0  # of the whole step, where launches take many times as long as clean ones
LEAST_S, UNKNOWN_S = 2.0, 4.0  # of a launch, where no clean one has ended yet

_EFFORT: dict[str, Values] = {"time_limit_s": 0.02, "warmup_s": 0.002}
_CELLS = (
    CellsTable("short messages", "p2p", {**_EFFORT, "pattern": "ping_pong", "message_bytes": "8", "samples": 60}),
    CellsTable("long messages", "p2p", {**_EFFORT, "pattern": "ping_pong", "message_bytes": "1MiB", "samples": 20}),
    CellsTable("barrier", "coll", {**_EFFORT, "collective": "barrier", "message_bytes": "0", "samples": 40}),
)
_METRICS = {"p2p": "half_round_trip_latency_s", "coll": "collective_work_s"}


def propose_own_state(state: State) -> Iterator[Proposal]:
    """Where nothing was measured yet and there is something to take away, or others take the cores of the ranks."""
    settings, processors = removable(state.settings), state.processors
    is_masked = processors is not None and processors.is_narrowed
    if state.measured or state.asked or not (settings or is_masked or state.is_loaded):
        return
    task = StateTask(
        settings=list(state.settings),
        ranks=state.job.ranks,
        inherited=processors.inherited if processors and is_masked else None,
        granted=processors.granted if processors and is_masked else None,
        others=state.others if state.is_loaded else None,
    )
    yield Proposal(task, state_campaign(settings, is_masked, state.job.timed_ranks, state.gpus > 0), _why(task))


def _why(task: StateTask) -> str:
    count = len(removable(task.settings))
    found = [f"{count} setting{'s' * (count > 1)} of yours"] if count else []
    found += [f"processors {task.inherited} of {task.granted}"] if task.inherited else []
    if not found:
        return "do other processes take the ranks' cores?"
    return f"is it slower with {' and '.join(found)} than in a clean state?"


def state_campaign(settings: Sequence[OwnSetting], is_masked: bool, ranks: int, with_gpus: bool = False) -> Campaign:
    """The campaign. Each contrast differs in one thing, with all else as in the clean state.

    Args: with_gpus: launches of an MPI that takes GPU memory start slowly, and time is to be left for a trial.
    """
    environments, placements = [EnvironmentTable(AS_IT_IS)], [PlacementTable(STARTED, INHERITED)]
    if settings:
        bare = without(settings, settings)
        environments.append(EnvironmentTable(WITHOUT_USER, bare.variables, bare.unset))
    if is_masked:
        placements.append(PlacementTable(EVERYWHERE, WIDENED))
    return Campaign(
        name=CAMPAIGN,
        title="Is it slower with your settings than in a clean state?",
        ranks=[ranks],
        rounds=ROUNDS if len(environments) + len(placements) < 4 and not with_gpus else ROUNDS_OF_MANY,
        environments=environments,
        placements=placements,
        cells=[
            replace(one, environment=[e.name for e in environments], placement=[p.name for p in placements])
            for one in _CELLS
        ],
        contrasts=list(_contrasts(len(settings), environments[-1].name, placements[-1].name)),
        why="Written by slowpath diagnose.",
    )


def _contrasts(settings: int, clean: str, everywhere: str) -> Iterator[ContrastTable]:
    """Args: clean, everywhere: environment and placement of the clean state."""
    for name, metric in ((cells.name, _METRICS[cells.experiment]) for cells in _CELLS):
        if clean != AS_IT_IS:
            what = f"your {settings} settings" if settings > 1 else "your setting"
            yield ContrastTable(
                f"{name}, settings",
                f"Is it slower than without {what}?",
                name,
                "environment",
                clean,
                AS_IT_IS,
                metric,
                where={"placement": everywhere},
            )
        if everywhere != STARTED:
            yield ContrastTable(
                f"{name}, processors",
                "Is it slower than on all processors?",
                name,
                "placement",
                everywhere,
                STARTED,
                metric,
                where={"environment": clean},
            )


def against(task: StateTask) -> Against | None:
    """What launches are held against; None: there is no clean state."""
    if not removable(task.settings) and task.inherited is None:
        return None
    clean = WITHOUT_USER if removable(task.settings) else AS_IT_IS
    everywhere = EVERYWHERE if task.inherited is not None else STARTED
    return Against(clean, everywhere, GIVEN_UP_RATIO, LEAST_S, UNKNOWN_S)


def apply_own_state(before: StepConclusion, task: StateTask, results: Results, history: StepHistory) -> StepConclusion:
    """What is slower by a clear margin; the only setting is the responsible one."""
    settings, codes = removable(task.settings), codes_refined_by("state")
    contrasts = [only_clear(by_ranks(one)) for one in results.contrasts]
    decided = contrasts != list(results.contrasts)
    every = (
        findings_under(replace(results, contrasts=contrasts), history.forced) if decided else judged(results, history)
    )
    found = [one for one in every if one.rule in codes and _is_clear(one)]
    if settings:
        found = [named_if_only(one, settings) for one in found]
    return before.with_findings([replace(one, run=history.step.folder) for one in found])


def by_ranks(contrast: ContrastResult) -> ContrastResult:
    """A contrast that its pairs leave open, decided by ranks where its sides lie apart; else as it is.

    On a busy machine some clean launches take a thousand times as long as others, and an interval that takes logarithms
    for normal reaches from here to nowhere. That all of one side lie beyond all of the other is no chance even so.
    """
    if contrast.verdict in DECIDED or len(contrast.pairs) < FEWEST_RANKED:
        return contrast
    logs = np.log(np.array(contrast.pairs, dtype=np.float64))
    found = shift(logs[:, 0], logs[:, 1], LEVEL)
    interval = found.interval.exp() if found.interval else None
    if interval is None or interval.low < CLEAR_RATIO:
        return contrast
    return replace(
        contrast,
        ratio=float(np.exp(found.value)),
        interval=(interval.low, interval.high),
        interval_kind="rank-sum 95 %, launches not paired",
        level=interval.level,
        verdict="slower",
        reason="the interval lies above 1 and the minimum effect",
        p=p_value(logs[:, 0], logs[:, 1]),
    )


def only_clear(contrast: ContrastResult) -> ContrastResult:
    """A contrast that is slower without a margin is left open: where several are one finding, that of the largest
    excess speaks, and a long message that is 1.1 times slower would hide a barrier that takes 14 times as long.
    """
    if contrast.verdict != "slower" or contrast.interval is None or contrast.interval[0] >= CLEAR_RATIO:
        return contrast
    return replace(contrast, verdict="undecided", reason="the interval leaves no clear margin")


def _is_clear(finding: Finding) -> bool:
    """Whether its interval leaves a margin; what has no ratio at all was counted, or ended."""
    return finding.ratio is None or (finding.interval is not None and finding.interval[0] >= CLEAR_RATIO)


def summary_own_state(task: StateTask, _: StepConclusion, after: StepConclusion) -> str:
    """`2 faults (SP048, SP035)`, whose sentences stand before it, or that nothing differs."""
    if after.findings:
        return kinds_words(after.findings)
    if task.others is not None and against(task) is None:
        return f"others keep {task.others.cores:.1f} cores busy, but the ranks kept theirs"
    return f"nothing takes {CLEAR_RATIO:g} times as long as in a clean state"


STATE = StepKind(StateTask, apply_own_state, summary_own_state, most_s=MOST_S, against=against)


# Path: one launch, never timed, in which the library says what carries messages: module, transport and device.
#
# And which of the user's settings are for another layer.

WHY = "what carries the messages: module, transport, device"
MOST_PATH_S = 10.0  # of its launch, which takes less than one of the survey
# All ranks send to all, since a library may choose for each pair, and only at the first message.
_PATH_EFFORT: dict[str, Values] = {"time_limit_s": 0.01, "warmup_s": 0.001, "samples": 10}
_PATH_CELLS = (
    ("p2p", {**_PATH_EFFORT, "pattern": "ping_pong", "message_bytes": ["8", "1MiB"]}),
    ("coll", {**_PATH_EFFORT, "collective": "alltoall", "message_bytes": "8"}),
)


def propose_path(state: State) -> Iterator[Proposal]:
    """Once, where the engine's library that counts can be preloaded: its launches are those that are asked."""
    if state.is_witnessed and not state.tasks(PathTask):
        yield Proposal(PathTask(), path_campaign(state.job.timed_ranks), WHY)


def path_campaign(ranks: int) -> Campaign:
    """The campaign of one launch."""
    return Campaign(
        name="path",
        title="What carries the messages?",
        ranks=[ranks],
        rounds=1,
        environments=[EnvironmentTable(OWN_WITNESSED, {}, [], witness=True)],
        placements=[PlacementTable("as you start it", INHERITED)],
        cells=[
            CellsTable(experiment, experiment, parameters, [OWN_WITNESSED], ["as you start it"])
            for experiment, parameters in _PATH_CELLS
        ],
        contrasts=[],
        why="Written by slowpath diagnose.",
    )


def summary_path(_: PathTask, __: StepConclusion, ___: StepConclusion) -> str:
    """Nothing of its own: `numbers` says it."""
    return ""


PATH = StepKind(
    PathTask,
    unchanged,
    summary_path,
    most_s=MOST_PATH_S,
    numbers=lambda results: (
        "; ".join(path.words for path in paths_in(results)) or "the launch that was asked said nothing"
    ),
)


def paths_in(results: Results) -> Sequence[MessagePath]:
    """What carries messages in the user's own environment, as a run recorded it."""
    return [path for path in results.run.mpi.paths or () if path.environment == OWN_WITNESSED]


def paths_of(measured: Sequence[MeasuredStep]) -> Sequence[MessagePath]:
    """The same of the step that asked; empty: no step did, or its launch failed."""
    return next((paths_in(one.results) for one in measured if isinstance(one.step.task, PathTask)), ())


def without_effect(measured: Sequence[MeasuredStep], findings: Sequence[Finding], library: str) -> list[str]:
    """One sentence for each layer that the user has settings of and that carries no message, with the evidence.

    Nothing where the path was asked for without a setting that was set aside: with it, it may be another one.

    Args: findings: a setting that one of them names as what makes something slower is left out.  library: the MPI.
    """
    tasks = (one.step.task for one in measured)
    if any(isinstance(task, SurveyTask) and task.aside for task in tasks):
        return []
    paths = paths_of(measured)
    blamed = {name for finding in findings for name in responsible(finding)}
    said = []
    for layer, settings in idle_settings(settings_of(measured), paths, blamed).items():
        words, title = " and ".join(setting.words for setting in settings), LAYER_TITLES[layer]
        verb, them = ("have", "them") if len(settings) > 1 else ("has", "it")
        ways = "; ".join(path.words for path in paths)
        chosen = what_chooses(library, layer)
        more = f", or have {title} carry messages ({chosen})" if chosen else ""
        said.append(
            f"{words} {verb} no effect on messages here, because {title} carries none: {ways}. Unset {them}{more}."
        )
    return said


def with_settings_without_effect(verdict: Verdict, said: Sequence[str]) -> Verdict:
    """The verdict that names them. They cost nothing, so what does comes first, but one of few lines is theirs."""
    if not said:
        return verdict
    return replace(verdict, actions=[*verdict.actions[: MOST_ACTIONS - 1], " ".join(said)])


# Settings: which of the user's own makes messages slower? Sets of them are taken away, in interleaved launches.
#
# Nothing is named before these launches, which hold the same cells with and without the settings, show the slowdown
# again: what a survey saw may be noise of the one contrast in ten that was looked at for being slow.

MOST_STEPS = 8
FEWEST_SETS = 2  # of a campaign
_ALL = "without all"

Shares = Mapping[Set, Share]


def propose_settings(state: State) -> Iterator[Proposal]:
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
        yield Proposal(task, campaign, _settings_why(settings))


def _settings_why(settings: Sequence[OwnSetting]) -> str:
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


def apply_settings(before: StepConclusion, _: SettingsTask, results: Results, history: StepHistory) -> StepConclusion:
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


def summary_settings(_: SettingsTask, before: StepConclusion, after: StepConclusion) -> str:
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


SETTINGS = StepKind(SettingsTask, apply_settings, summary_settings)
