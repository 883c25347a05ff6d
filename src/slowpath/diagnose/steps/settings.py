# SPDX-License-Identifier: Apache-2.0
"""Steps about the user's own state: settings, and what carries messages. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from slowpath.analyse.contrasts import with_estimate
from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.result import Phase
from slowpath.core.results import MOST_ACTIONS, ContrastResult, Finding, MessagePath, Results, Verdict
from slowpath.core.units import plural
from slowpath.diagnose.own_settings import (
    CLEARLY_RATIO,
    MOST_TRIES,
    OWN_WITNESSED,
    Again,
    Outcome,
    Responsible,
    Set,
    Share,
    ToTry,
    again,
    is_about_settings,
    is_by_far,
    named,
    only_words,
    responsible,
    rounds_for,
    search,
    share,
    suspected,
)
from slowpath.diagnose.sides import LaunchPlace, condition, named_places
from slowpath.diagnose.state import MeasuredStep, Proposal, State, settings_of
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind, judged, unchanged
from slowpath.diagnose.tasks import PathTask, SettingsCell, SettingsTask, StateTask, SurveyTask
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of, kinds_words
from slowpath.findings.facts import CLEAR_RATIO, DECIDED, WITHOUT_USER
from slowpath.mpi.launchers import INHERITED
from slowpath.mpi.own_settings import LAYER_TITLES, OwnSetting, idle_settings, removable, what_chooses, without
from slowpath.run.schedule import Against
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.slowpaths.sp035_own_settings import CAMPAIGN, GIVEN_UP_RATIO
from slowpath.stats.contrast import within_launch
from slowpath.stats.estimate import Floats

# State: a dozen short cells as the user has them against a clean state, before any survey. Some seconds.
#
# The user's settings are taken away, in interleaved launches that ask the launcher for nothing. A launch that takes
# many times as long as a clean one is ended: that it does is the evidence, and no bad luck.

AS_IT_IS = "default"
STARTED = "as started"
ROUNDS = (5, 4, 3)  # as many as fit, by how long a job took to start here; four are enough where there are many states
FEWEST_RANKED = 4  # pairs, so that launches that lie apart are an interval
MOST_S = 20.0  # of the whole step, where launches take many times as long as clean ones
LEAST_S, UNKNOWN_S = 2.0, 6.0  # of a launch, where no clean one has ended yet

_BRIEF: dict[str, Values] = {"time_limit_s": 0.02, "warmup_s": 0.002}
_PING: dict[str, Values] = {**_BRIEF, "pattern": "ping_pong"}
_FRESH: dict[str, Values] = {"pattern": "one_way", "message_bytes": "1MiB", "allocations": 2, "messages": 3}
_LATENCY, _WORK = "half_round_trip_latency_s", "collective_work_s"


@dataclass(frozen=True)
class StateCell:
    """phases: that are compared, of a metric."""

    cells: CellsTable
    metric: str = _LATENCY
    phases: tuple[Phase, ...] = ("steady",)


# Enough where others take processors, which slows down all calls: more cells would only be more chances for noise.
FEW_CELLS = (
    StateCell(CellsTable("short messages", "p2p", {**_PING, "message_bytes": "8", "samples": 60})),
    StateCell(CellsTable("long messages", "p2p", {**_PING, "message_bytes": "1MiB", "samples": 20})),
    StateCell(
        CellsTable("barrier", "coll", {**_BRIEF, "collective": "barrier", "message_bytes": "0", "samples": 40}), _WORK
    ),
)
MORE_CELLS = (
    StateCell(CellsTable("medium messages", "p2p", {**_PING, "message_bytes": ["2KiB", "64KiB"], "samples": 20})),
    StateCell(CellsTable("fresh buffers", "p2p", _FRESH), "one_way_s", ("first",)),
    StateCell(
        CellsTable("allreduce", "coll", {**_BRIEF, "collective": "allreduce", "message_bytes": "8", "samples": 20}),
        _WORK,
    ),
    StateCell(
        CellsTable("puts", "put", {**_BRIEF, "design": "mpi", "instructions": 0, "puts": 10, "samples": 20}),
        "time_per_put_s",
    ),
)


def _of_gpus(gpus: int) -> tuple[StateCell, ...]:
    """Messages from a buffer that is used again, and the first ones from fresh buffers.  Args: gpus: 1 or more."""
    device: dict[str, Values] = {"memory": "device", "device": "0:1" if gpus > 1 else "0"}
    again_table = CellsTable("GPU memory", "p2p", {**_PING, **device, "message_bytes": ["8", "1MiB"], "samples": 20})
    fresh = CellsTable("fresh GPU buffers", "p2p", {**_FRESH, **device})
    return StateCell(again_table), StateCell(fresh, "one_way_s", ("first", "steady"))


def propose_own_state(state: State) -> Iterator[Proposal]:
    """Where nothing was measured yet and there is something to take away, or others take the cores of the ranks."""
    settings = removable(state.settings)
    is_asked = not state.asked or bool(state.asked.rules & codes_refined_by("state"))
    if state.measured or not is_asked or not (settings or state.is_loaded):
        return
    task = StateTask(
        settings=list(state.settings),
        ranks=state.job.ranks,
        others=state.others if state.is_loaded else None,
    )
    for rounds in ROUNDS:
        campaign = state_campaign(settings, state.job.timed_ranks, state.gpus, rounds, state.is_loaded)
        if state.estimate is None or state.estimate(campaign) <= MOST_S:
            break
    words = f"with and without {plural(len(settings), 'setting')} of yours"
    yield Proposal(task, campaign, words if settings else "the load of other processes")


def state_campaign(
    settings: Sequence[OwnSetting],
    ranks: int,
    gpus: int = 0,
    rounds: int = ROUNDS[0],
    is_loaded: bool = False,
) -> Campaign:
    """The campaign.

    Args: gpus: whose memory messages are asked about.  is_loaded: others slow down all launches.
    """
    environments = [EnvironmentTable(AS_IT_IS)]
    if settings:
        bare = without(settings, settings)
        environments.append(EnvironmentTable(WITHOUT_USER, bare.variables, bare.unset))
    more = MORE_CELLS if settings and not is_loaded else ()
    asked = (*FEW_CELLS, *more, *(_of_gpus(gpus) if settings and gpus else ()))
    names = [environment.name for environment in environments]
    return Campaign(
        name=CAMPAIGN,
        title="Your settings",
        ranks=[ranks],
        rounds=rounds,
        environments=environments,
        placements=[PlacementTable(STARTED, INHERITED)],
        cells=[replace(cell.cells, environment=names, placement=[STARTED]) for cell in asked],
        contrasts=[contrast for cell in asked for contrast in _contrasts(cell, names[-1])],
        why="Written by slowpath diagnose.",
    )


def _contrasts(state_cell: StateCell, clean: str) -> Iterator[ContrastTable]:
    name = state_cell.cells.name
    for phase in state_cell.phases if clean != AS_IT_IS else ():
        title = f"{name}, settings{', first' * (phase == 'first')}"
        question = title
        yield ContrastTable(title, question, name, "environment", clean, AS_IT_IS, state_cell.metric, phase)


def against(task: StateTask) -> Against | None:
    """What launches are compared with; None: there is no clean state."""
    return Against(WITHOUT_USER, STARTED, GIVEN_UP_RATIO, LEAST_S, UNKNOWN_S) if removable(task.settings) else None


def apply_own_state(before: StepConclusion, task: StateTask, results: Results, history: StepHistory) -> StepConclusion:
    """What is slower by a clear margin. The only setting is the responsible one where it slows calls down by far; less
    than that is a suspicion until launches of its own show it again: of a dozen contrasts noise makes one slower now
    and then (tests/unit/diagnose/test_settings_noise.py).
    """
    settings, codes = removable(task.settings), codes_refined_by("state")
    contrasts = [only_clear(by_ranks(contrast)) for contrast in results.contrasts]
    if contrasts == list(results.contrasts):
        seen = judged(results, history)
    else:
        seen = findings(replace(results, contrasts=contrasts), ROLES)
    fresh = [finding for finding in seen if finding.rule in codes and _is_clear(finding)]
    fresh = [_about_settings(finding, settings) if is_about_settings(finding) else finding for finding in fresh]
    return before.with_findings([replace(finding, run=history.step.folder) for finding in fresh])


def _about_settings(finding: Finding, settings: Sequence[OwnSetting]) -> Finding:
    if len(settings) == 1 and is_by_far(finding):
        return named(finding, [settings], [only_words(settings[0])])
    return replace(suspected(finding, settings), needs_cause=not is_by_far(finding))


def by_ranks(contrast: ContrastResult) -> ContrastResult:
    """A contrast that its pairs leave open, decided by ranks where its sides lie apart; else as it is.

    On a busy machine some clean launches take a thousand times as long as others, and an interval that takes logarithms
    for normal reaches from here to nowhere. That all of one side lie beyond all of the other is no chance even so.
    """
    if contrast.verdict in DECIDED or len(contrast.pairs) < FEWEST_RANKED:
        return contrast
    clean_s, own_s = zip(*contrast.pairs, strict=True)
    estimate = within_launch(clean_s, own_s, contrast.minimum_effect)
    if estimate.interval is None or estimate.interval[0] < CLEAR_RATIO:
        return contrast
    ranked = with_estimate(contrast, estimate, estimate.p)
    return replace(ranked, interval_kind="rank-sum 95 %, launches not paired")


def only_clear(contrast: ContrastResult) -> ContrastResult:
    """A contrast that is slower without a margin is left open: where several are one finding, that of the largest
    excess speaks, and a long message that is 1.1 times slower would hide a barrier that takes 14 times as long.
    """
    if contrast.verdict != "slower" or contrast.interval is None or contrast.interval[0] >= CLEAR_RATIO:
        return contrast
    return replace(contrast, verdict="undecided", reason="no clear margin")


def _is_clear(finding: Finding) -> bool:
    return finding.ratio is None or (finding.interval is not None and finding.interval[0] >= CLEAR_RATIO)


def summary_own_state(task: StateTask, _: StepConclusion, after: StepConclusion) -> str:
    """`2 faults (SP048, SP035)`, whose sentences stand before it, or that nothing differs."""
    if after.findings:
        return kinds_words(after.findings)
    if task.others is not None and against(task) is None:
        return f"ranks kept their cores beside {task.others.cores:.1f} busy ones"
    return f"no call is {CLEAR_RATIO:g}x slower than without your settings"


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
        placements=[PlacementTable(STARTED, INHERITED)],
        cells=[
            CellsTable(experiment, experiment, parameters, [OWN_WITNESSED], [STARTED])
            for experiment, parameters in _PATH_CELLS
        ],
        contrasts=[],
        why="Written by slowpath diagnose.",
    )


PATH = StepKind(
    PathTask,
    unchanged,
    lambda *_: "",  # `numbers` says it
    most_s=MOST_PATH_S,
    numbers=lambda results: "; ".join(path.words for path in paths_in(results)) or "not reported",
)


def paths_in(results: Results) -> Sequence[MessagePath]:
    """What carries messages in the user's own environment, as a run recorded it."""
    return [path for path in results.run.mpi.paths or () if path.environment == OWN_WITNESSED]


def paths_of(measured: Sequence[MeasuredStep]) -> Sequence[MessagePath]:
    """The same of the step that asked; empty: no step did, or its launch failed."""
    return next((paths_in(done.results) for done in measured if isinstance(done.step.task, PathTask)), ())


def without_effect(measured: Sequence[MeasuredStep], findings: Sequence[Finding], library: str) -> list[str]:
    """One sentence for each layer that the user has settings of and that carries no message, with the evidence.

    Nothing where the path was asked for without a setting that was set aside: with it, it may be another one.

    Args: findings: a setting that one of them names as what makes something slower is left out.  library: the MPI.
    """
    tasks = (done.step.task for done in measured)
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
        more = f", or choose {title} ({chosen})" if chosen else ""
        said.append(f"{words} {verb} no effect here, because {title} carries no messages: {ways}. Unset {them}{more}.")
    return said


def with_own_settings(verdict: Verdict, own: Sequence[Finding], idle: Sequence[str] = ()) -> Verdict:
    """The verdict with what the user's settings slow down as its first sentence: number and cost. Those without effect
    cost nothing, so what does comes first, but one of few lines is theirs.

    Args: own: findings of the first step.  idle: as of `without_effect`.
    """
    first = [finding.text for finding in own if is_about_settings(finding) and group_of(finding) == "fault"][:1]
    actions = [*verdict.actions[: MOST_ACTIONS - 1], " ".join(idle)] if idle else verdict.actions
    return replace(verdict, answer=" ".join([*first, verdict.answer]), actions=actions)


# Settings: which of the user's own makes messages slower? Sets of them are taken away, in interleaved launches.
#
# Nothing is named before these launches, which hold the same cells with and without the settings, show the slowdown
# again: what was seen first may be noise, but from CLEARLY_RATIO on, where launches without sets stand beside those.

MOST_STEPS = 8
FEWEST_SETS = 2  # of a campaign
_ALL = "without all"


@dataclass
class Searched:
    """What all steps of the search measured of one contrast of a finding; pairs as of `share`.

    every: without all settings.  gone: without a set; empty: no launch worked.  tries: of a set; None: of all settings.
    cells: of all findings, that were looked at.
    """

    every: list[Floats] = field(default_factory=list)
    gone: dict[Set, list[Floats]] = field(default_factory=dict)
    tries: Counter[Set | None] = field(default_factory=Counter)
    cells: int = 0

    @property
    def again(self) -> Again | None:
        """Whether the slowdown itself was seen again; None: no launch was measured."""
        return again(np.concatenate(self.every), self.cells) if self.every else None

    @property
    def shares(self) -> dict[Set, Share]:
        """What went with each set."""
        if not self.every:
            return {}
        whole = np.concatenate(self.every)
        made = {some: share(np.concatenate(pairs), whole) for some, pairs in self.gone.items() if pairs}
        return {some: share for some, share in made.items() if share is not None}

    def answer(self, count: int) -> Responsible | ToTry:
        """Which of so many settings it is, or what to take away next."""
        seen: dict[Set, Outcome] = {some: "failed" for some, pairs in self.gone.items() if not pairs}
        return search(count, seen | {some: share.outcome for some, share in self.shares.items()})


def _searched(state: Iterable[MeasuredStep]) -> dict[tuple[str, str], Searched]:
    searches = defaultdict[tuple[str, str], Searched](Searched)
    known: dict[str, Floats] = {}  # of steps before, by contrast
    for step in state:
        task = step.step.task
        known |= {c.id: np.array(c.pairs, dtype=np.float64) for c in step.results.contrasts if c.pairs}
        if not isinstance(task, SettingsTask):
            continue
        pairs = {c.group: known[c.id] for c in step.results.contrasts if c.pairs}
        for cell in task.cells:
            seen = searches[cell.finding, cell.contrast]
            seen.tries[None] += 0 if task.is_by_far else 1
            seen.every += [pairs[name]] if (name := f"{cell.group}, {_ALL}") in pairs else []
            if task.is_by_far and not seen.every:
                seen.every = [known[cell.contrast]]
            for environment, numbers in task.taken.items():
                some = frozenset(numbers)
                seen.tries[some] += 1
                measured = [pairs[name]] if (name := f"{cell.group}, {environment}") in pairs else []
                if task.is_by_far:
                    measured = _beside(known[cell.contrast], step.results, cell, environment)
                seen.gone.setdefault(some, []).extend(measured)
    for seen in searches.values():
        seen.cells = len(searches)
    return searches


def _beside(known: Floats, results: Results, cell: SettingsCell, environment: str) -> list[Floats]:
    """Launches without a set beside earlier ones as it is, pairs as of `share`."""
    (taken,) = (c for c in results.cells if (c.group, c.environment) == (cell.group, environment))
    estimate = taken.estimate(cell.metric, cell.phase)
    return [np.array(list(zip(estimate.launch_values, known[:, 1], strict=False)))] if estimate else []


def propose_settings(state: State) -> Iterator[Proposal]:
    """What the search asks for, of all findings that name no setting yet, in one campaign."""
    settings = state.removable
    if not settings or len(state.tasks(SettingsTask)) >= MOST_STEPS:
        return
    searched = _searched(state.measured)
    cells: list[tuple[SettingsCell, ContrastResult, Results]] = []
    wanted: dict[Set, None] = {}
    for finding in state.findings:
        if not is_about_settings(finding) or finding.cause is not None:
            continue
        results = state.seen_in(finding)
        for contrast in _speaking(finding, results):
            asked = _asked(searched.get((finding.id, contrast.id), Searched()), len(settings))
            if asked is not None:
                group = f"cell {len(cells) + 1}"
                metric, phase = contrast.metric, contrast.b.phase
                cell = SettingsCell(finding=finding.id, contrast=contrast.id, group=group, metric=metric, phase=phase)
                cells.append((cell, contrast, results))
                wanted |= dict.fromkeys(asked.sets)
    # All sets at once take the fewest launches; where these do not fit the budget, the first ones do at least.
    for sets in dict.fromkeys((tuple(wanted), tuple(wanted)[:FEWEST_SETS])) if cells else ():
        task, campaign = _campaign(cells, sets, settings, state.ranks)
        count = len(settings)
        yield Proposal(task, campaign, f"{count} settings one by one" if count > 1 else f"{settings[0].name} once more")


def _asked(searched: Searched, count: int) -> ToTry | None:
    """What the search needs next; None: it is over, or noise hides what it needs."""
    answer, whole = searched.answer(count), searched.again
    if whole is not None and (whole.seen == "gone" or (whole.seen == "shown" and not isinstance(answer, ToTry))):
        return None
    asked = answer if isinstance(answer, ToTry) else ToTry((), again=whole is not None)
    return None if max(searched.tries[settings] for settings in asked.sets or (None,)) >= MOST_TRIES else asked


def _speaking(finding: Finding, results: Results) -> list[ContrastResult]:
    """The clearest contrasts of the shorter and of the longer messages: one setting may slow either."""
    contrasts = [
        contrast
        for contrast in results.contrasts
        if contrast.id in set(finding.contrasts) and contrast.ratio and contrast.interval
    ]
    contrasts.sort(key=lambda contrast: int(results.cell(contrast.b.cell).parameters.get("message_bytes", "0")))
    half = (len(contrasts) + 1) // 2
    return [
        max(some, key=lambda contrast: contrast.ratio or 0.0) for some in (contrasts[:half], contrasts[half:]) if some
    ]


def _campaign(
    cells: Sequence[tuple[SettingsCell, ContrastResult, Results]],
    wanted: Sequence[Set],
    settings: Sequence[OwnSetting],
    ranks: int,
) -> tuple[SettingsTask, Campaign]:
    taken = {f"without set {number}": sorted(some) for number, some in enumerate(wanted, start=1)}
    lows = [contrast.interval[0] if contrast.interval else 0.0 for _, contrast, _ in cells]
    is_by_far = bool(taken) and min(lows) >= CLEARLY_RATIO
    bare = {} if is_by_far else {WITHOUT_USER: without(settings, settings)}
    bare |= {name: without(settings, [settings[number] for number in some]) for name, some in taken.items()}
    environments = [] if is_by_far else [EnvironmentTable(AS_IT_IS)]
    environments += [EnvironmentTable(name, less.variables, less.unset) for name, less in bare.items()]
    names, question = [environment.name for environment in environments], "without these settings"
    groups, contrasts, placements = list[CellsTable](), list[ContrastTable](), dict[str, LaunchPlace]()
    for cell, contrast, results in cells:
        slow = results.cell(contrast.b.cell)
        under = condition(slow, results)
        placements[under.placement] = under.place
        groups.append(CellsTable(cell.group, slow.experiment, slow.parameters, names, [under.placement]))
        for name in names[1:] if not is_by_far else ():
            title, sides = f"{cell.group}, {_ALL if name == WITHOUT_USER else name}", ("environment", name, AS_IT_IS)
            contrasts.append(ContrastTable(title, question, cell.group, *sides, cell.metric, cell.phase, explains=True))
    campaign = Campaign(
        name="settings",
        title="Settings one by one",
        ranks=[ranks],
        rounds=rounds_for(min(contrast.ratio or 1.0 for _, contrast, _ in cells)),
        environments=environments,
        placements=named_places(placements),
        cells=groups,
        contrasts=contrasts,
        why="\n".join(
            f"{name}: {', '.join(settings[position].name for position in some)}" for name, some in taken.items()
        ),
    )
    return SettingsTask(cells=[cell for cell, _, _ in cells], taken=taken, is_by_far=is_by_far), campaign


def apply_settings(before: StepConclusion, _: SettingsTask, __: Results, history: StepHistory) -> StepConclusion:
    """Findings name their settings as soon as the search of all their cells is over."""
    searched = _searched(done for done in history.measured if done.step.number <= history.step.number)
    settings = removable(settings_of(history.measured))
    findings: list[Finding] = []
    for finding in before.findings:
        of_finding = {contrast: search for (name, contrast), search in searched.items() if name == finding.id}
        is_open = is_about_settings(finding) and finding.cause is None and of_finding
        findings += _named(finding, settings, list(of_finding.values())) if is_open else [finding]
    return StepConclusion(findings)


def _named(finding: Finding, settings: Sequence[OwnSetting], searched: Sequence[Searched]) -> list[Finding]:
    """One finding for each set of settings that some of its cells name; itself where none does yet, or none where these
    launches show no slowdown of any of them. What is enough for two cells is named for both.
    """
    shown = [(tried, whole) for tried in searched if (whole := tried.again) is not None and whole.seen == "shown"]
    if not shown:
        return [] if all(tried.again is not None and tried.again.seen == "gone" for tried in searched) else [finding]
    answers: list[tuple[set[tuple[int, ...]], list[str]]] = []
    for tried, whole in shown:
        answer = tried.answer(len(settings))
        if isinstance(answer, ToTry):
            return [replace(finding, needs_cause=False)]
        evidence = [only_words(settings[0])] if len(settings) == 1 else []
        evidence += [
            f"without {', '.join(settings[number].name for number in sorted(some))}, all others kept: {seen.words}"
            for some, seen in tried.shares.items()
            if len(some) == 1 or any(set(enough) <= some for enough in answer.sets)
        ]
        sets, said = next((row for row in answers if row[0] & set(answer.sets)), (set(answer.sets), []))
        if not said:
            answers.append((sets, said))
        sets &= set(answer.sets)
        said += [*evidence, whole.words]
    return [
        named(finding, [[settings[n] for n in some] for some in sorted(sets)], list(dict.fromkeys(said)), number == 0)
        for number, (sets, said) in enumerate(answers)
    ]


def summary_settings(_: SettingsTask, before: StepConclusion, after: StepConclusion) -> str:
    """`MPIR_CVAR_CH4_CMA_ENABLE=0 makes messages slower`."""
    known, left = {finding.id: finding.cause for finding in before.findings}, {finding.id for finding in after.findings}
    fresh = [
        finding.cause
        for finding in after.findings
        if is_about_settings(finding) and finding.cause != known.get(finding.id)
    ]
    gone = [f"taken back: {finding.text}" for finding in before.findings if finding.id not in left]
    return " ".join([*filter(None, fresh), *gone]) or "not narrowed down to one setting yet"


SETTINGS = StepKind(SettingsTask, apply_settings, summary_settings)
