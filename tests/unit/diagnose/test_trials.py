# SPDX-License-Identifier: Apache-2.0
"""Trials: their verdict, causes that they refute, order and replaced collectives."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import made_results
import numpy as np
import pytest
from made_results import cell, contrast, finding, leg, planted_contrast, remedy, results, step
from msgspec.structs import replace
from planted_switch import state

from slowpath.core.campaign import recorded
from slowpath.core.cell_results import CallCounts, CellResult, RoleWitness
from slowpath.core.results import ContrastResult, Finding, Legs, MessagePath, Results
from slowpath.diagnose.own_settings import OWN_WITNESSED
from slowpath.diagnose.session import replaced_words
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.state import MeasuredStep, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, with_counts
from slowpath.diagnose.steps.order import KINDS, advance, conclude, proposals
from slowpath.diagnose.steps.settings import PATH, paths_of, without_effect
from slowpath.diagnose.steps.trial import apply, pooled, replaceable
from slowpath.diagnose.tasks import FastSide, PathTask, SurveyTask, Task, TrialTask
from slowpath.diagnose.trials import Gap, TrialOutcome, design, judge_trial
from slowpath.findings.finding import cost
from slowpath.mpi.message_path import Layer
from slowpath.mpi.own_settings import own_settings
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import decode
from slowpath.plan.expand import MpiInUse, expand
from slowpath.slowpaths.registry import SLOW_PATHS, known
from support.remedies import find_remedy

TASK = TrialTask(
    finding="SP009:00000000", remedy="unset X", axis="environment", slow="default", remedied="without X",
    metric="one_way_s", phase="steady", fast_side="remedied",
)  # fmt: skip


def outcome(
    slow: float = 3e-3,
    remedied: float = 1e-3,
    fast: float = 1e-3,
    control: float | None = 1.0,
    pairs: int = 10,
    alike: float = 1.0,
    fast_remedied: float | None = None,
) -> TrialOutcome:
    """fast_remedied: None: the remedy changes nothing on the fast side."""
    contrasts = [
        planted_contrast("remedy", remedied, slow, pairs),
        planted_contrast("remedy again", remedied, slow, pairs, seed=2),
        planted_contrast("a/a", slow, slow * alike, pairs, seed=3),
    ]
    kind: FastSide = "remedied" if fast == remedied else "unchanged"
    if fast_remedied is not None:
        kind = "toggled"
        contrasts.append(planted_contrast("fast side", fast_remedied, fast, pairs, seed=1))
        contrasts.append(planted_contrast("fast side again", fast_remedied, fast, pairs, seed=5))
    elif fast != remedied:
        contrasts.append(planted_contrast("fast side", fast, fast, pairs, seed=1))
    if control is not None:
        contrasts.append(planted_contrast("negative control", 1e-6, control * 1e-6, pairs, seed=4))
    return judge_trial(replace(TASK, fast_side=kind), results(contrasts=contrasts))


def test_a_remedy_that_removes_the_gap_while_the_control_stays_is_proven() -> None:
    judged = outcome()
    assert judged.verdict == "proven"
    assert judged.leg.state == "shown"
    assert judged.removed_ratio.value == pytest.approx(1.0, abs=0.05)
    low, high = judged.removed_ratio.interval
    assert low <= judged.removed_ratio.value <= high


def test_a_control_that_changed_by_a_few_percent_does_not_hide_a_large_effect() -> None:
    contrasts = [
        planted_contrast("remedy", 1e-7, 5e-6),
        planted_contrast("remedy again", 1e-7, 5e-6, seed=2),
        planted_contrast("negative control", 1e-6, 1.04e-6, seed=4),
    ]
    contrasts[2] = replace(contrasts[2], verdict="slower", ratio=1.038, interval=(1.003, 1.049))
    judged = judge_trial(replace(TASK, fast_side="remedied"), results(contrasts=contrasts))
    assert judged.verdict == "proven"
    assert "hardly changed" in " ".join(judged.leg.evidence)


@pytest.mark.parametrize(
    ("planted", "verdict", "state", "word"),
    [
        ({"remedied": 2.4e-3}, "partial", "missing", "a proof needs 50%"),
        ({"remedied": 3e-3, "fast": 3e-3}, "no effect", "refuted", "changes nothing"),
        ({"remedied": 6e-3}, "worse", "refuted", "slower"),
        ({"control": 1.5}, "partial", "missing", "the control changed as well"),
        ({"control": None}, "partial", "missing", "no control known"),
        ({"pairs": 5}, "partial", "missing", "measure more rounds"),
        ({"alike": 1.3}, "partial", "missing", "two measurements"),
        ({"fast": 3.2e-3, "remedied": 2.8e-3}, "partial", "missing", "gap"),
    ],
)
def test_anything_less_is_not_proven_and_says_why(planted: dict[str, Any], verdict: str, state: str, word: str) -> None:
    judged = outcome(**planted)
    assert (judged.verdict, judged.leg.state) == (verdict, state)
    assert word in judged.reason


def gap(slow: list[float], remedied: list[float], fast: list[float], fast_remedied: list[float] | None = None) -> Gap:
    return Gap(*(np.array(times_s) for times_s in (slow, remedied, fast, fast_remedied or fast)))


def test_a_remedy_that_speeds_up_both_sides_removes_nothing_of_the_gap() -> None:
    """As an info key does to a lock (45 to 26.5 ns) and to a flush (36.5 to 18.9 ns): the cost of the lock remains."""
    judged = outcome(slow=45e-9, remedied=26.5e-9, fast=36.5e-9, fast_remedied=18.9e-9)
    assert (judged.verdict, judged.leg.state) == ("both sides", "refuted")
    assert judged.removed_ratio.value == pytest.approx(0.1, abs=0.05)
    assert re.search(r"speeds up both sides: fast side 1[678]\S* ns instead of 3[3-7]\S* ns", judged.reason)
    assert re.search(r"fast side 1[78]\S* ns instead of 3[4-7]\S* ns", " ".join(judged.leg.evidence))


def control(verdict: str | None, ratio: float | None, interval: tuple[float, float] | None) -> ContrastResult:
    return contrast("negative control", verdict=verdict, ratio=ratio, interval=interval)


EXPLAINED = Legs(observed=leg("shown"), explained=leg("shown"), proven=leg())


def after(judged: TrialOutcome) -> StepConclusion:
    """The conclusion after a trial of a finding of 3x that was explained."""
    seen = finding("SP009", status="explained", cause="It is.", legs=EXPLAINED, excess_s=2e-3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slowpath.diagnose.steps.trial.judge_trial", lambda *_: judged)
        history = StepHistory(step(2, TASK), [])
        return apply(StepConclusion([seen]), TASK, results(), history)


def test_what_the_trial_s_own_pairs_show_again_stays() -> None:
    judged = outcome(remedied=2.9e-3)
    assert judged.gap is not None
    assert judged.gap.again == "shown"
    assert [finding.status for finding in after(judged).findings] == ["explained"]


def test_what_noise_hides_from_them_is_not_explained_and_goes_last() -> None:
    """A finding of 2.71x stood first, explained, after ten pairs that took from 0.5x to 2x."""
    judged = outcome()
    times = np.array([1.0, 2.0] * 5)
    hidden = Gap(times * 1e-3, times * 1e-3, times[::-1] * 1e-3, times[::-1] * 1e-3)
    assert hidden.again == "open"
    [seen] = after(dataclasses.replace(judged, verdict="partial", leg=leg("missing"), gap=hidden)).findings
    assert (seen.status, seen.cause) == ("observed", None)
    assert seen.doubts == ["10 pairs of a trial show no gap"]
    assert cost(seen)[1] < cost(finding("SP009", excess_s=1e-6))[1]
    [proven] = after(dataclasses.replace(judged, gap=hidden)).findings
    assert proven.status == "proven"


CAUSE = "The kernel copies pinned memory page by page."
EXPLAINED_OF_REFUTED_CAUSE = finding(
    "SP007",
    status="explained",
    cause=CAUSE,
    legs=Legs(observed=leg("shown"), explained=leg("shown", "law and witness agree"), proven=leg()),
)
TASK_OF_REFUTED_CAUSE = TrialTask(
    finding=EXPLAINED_OF_REFUTED_CAUSE.id, remedy="pageable host memory", axis="memory", slow="pinned_host",
    remedied="host",
    metric=EXPLAINED_OF_REFUTED_CAUSE.metric, phase="steady", fast_side="unchanged",
)  # fmt: skip


def trial(
    slow: float = 3.0, remedied: float = 3.0, fast: float = 1.0, pairs: int = 10, noise: float = 0.01
) -> list[ContrastResult]:
    """Contrasts of a trial with planted times, ms."""
    return [
        planted_contrast("remedy", remedied * 1e-3, slow * 1e-3, pairs, noise),
        planted_contrast("remedy again", remedied * 1e-3, slow * 1e-3, pairs, noise, seed=2),
        planted_contrast("a/a", slow * 1e-3, slow * 1e-3, pairs, seed=3),
        planted_contrast("fast side", fast * 1e-3, fast * 1e-3, pairs, seed=4),
        planted_contrast("negative control", 1e-6, 1e-6, pairs, seed=5),
    ]


def after_of_refuted_cause(
    contrasts: Sequence[ContrastResult],
    seen: Finding = EXPLAINED_OF_REFUTED_CAUSE,
    task: TrialTask = TASK_OF_REFUTED_CAUSE,
    run: Results | None = None,
    earlier: Sequence[MeasuredStep] = (),
) -> Finding:
    measured = replace(run or results(), contrasts=list(contrasts))
    history = StepHistory(step(len(earlier) + 1, task), earlier)
    [kept] = apply(StepConclusion([replace(seen, id=task.finding)]), task, measured, history).findings
    return kept


def test_a_remedy_of_the_cause_that_changes_nothing_takes_the_cause_away() -> None:
    kept = after_of_refuted_cause(trial())
    assert (kept.status, kept.cause) == ("observed", None)
    why = kept.legs.explained
    assert why.state == "refuted"
    assert why.text == "pageable host memory changes nothing"
    assert kept.doubts == [why.text]
    assert f"explained: {why.text}" in kept.missing
    assert kept.remedies[0].verdict == "no effect"


@pytest.mark.parametrize(
    "contrasts",
    [
        pytest.param(trial(pairs=5), id="too few pairs"),
        pytest.param(trial(fast=2.3, noise=0.1), id="interval too wide"),
        pytest.param(trial(slow=3.0, remedied=2.6), id="it helps a little"),
        pytest.param(trial(remedied=4.0), id="it costs time of its own"),
        pytest.param(trial()[:3], id="no fast side"),
        pytest.param([contrast("remedy")], id="no pairs"),
        pytest.param([*trial()[:2], planted_contrast("a/a", 3e-3, 4e-3), *trial()[3:]], id="copies differ"),
    ],
)
def test_what_decides_nothing_changes_nothing(contrasts: Sequence[ContrastResult]) -> None:
    kept = after_of_refuted_cause(contrasts)
    assert (kept.status, kept.cause, kept.legs.explained) == (
        "explained",
        CAUSE,
        EXPLAINED_OF_REFUTED_CAUSE.legs.explained,
    )


def test_what_removes_a_cause_is_a_remedy_of_its_slow_path_that_the_engine_applies_itself() -> None:
    for path in SLOW_PATHS:
        for removing in path.removes_cause:
            assert removing in path.remedies
            assert removing.change is not None or set(removing.variables) == {"SLOWPATH_THREAD_LEVEL"}
            assert removing.is_tried
    small_pages = known("SP008")
    assert small_pages is not None
    assert [remedy.name for remedy in small_pages.removes_cause] == ["huge pages"]


Json = dict[str, Any]
PRELOAD = Path("/cache/libslowpath-coll.so")
REMEDY = find_remedy("replaced collective")
DEFAULT = Condition("default", {}, (), "bound", "core")


def sides(description: Json, collective: str = "scatter", length: int = 8, **more: str) -> Sides:
    entry = next(experiment for experiment in description["experiments"] if experiment["name"] == "coll")
    common = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]}
    common |= {"collective": collective, "message_bytes": str(length), **more}

    def cell(number: int, way: str) -> CellResult:
        return made_results.cell(number, {**common, "way": way}, experiment="coll")

    fast = "dissemination" if collective == "barrier" else "bcast"
    return Sides(cell(0, "library"), DEFAULT, cell(1, fast), DEFAULT, "way", "collective_work_s", "steady", "steady")


def table(of: Sides, ranks: int = 2) -> Json:
    toggle = replaceable(REMEDY, of, "mpich-5.0.2", ranks, PRELOAD)
    made: Json = json.loads(toggle.variables["SLOWPATH_COLL"])
    return made


def test_the_trial_toggles_the_preload_with_a_row_about_the_slow_cell_alone(description: Json) -> None:
    at = sides(description)
    remedy = replaceable(REMEDY, at, "mpich-5.0.2", 2, PRELOAD)
    row = {"collective": "scatter", "ranks": [2, 2], "bytes": [8, 8], "mockup": "bcast"}
    assert table(at) == {"schema": 1, "mpi": "mpich-5.0.2", "rows": [row]}
    assert remedy.variables["LD_PRELOAD"] == str(PRELOAD)
    made = design("SP001:0", at, remedy, frozenset(), 2)
    assert not isinstance(made, str)
    assert (made.task.axis, made.task.slow) == ("environment", "default")
    assert made.task.fast_side == "toggled", "the mock-up as a cell of its own is measured with the preload, too"
    mpis = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
    plan = expand(decode(recorded(made.campaign), "made.toml"), description, mpis, 1)
    (remedied,) = [environment for environment in plan.environments if environment.variables]
    assert json.loads(remedied.variables["SLOWPATH_COLL"])["rows"] == [row], "as it went through the campaign's text"
    lengths = {cell.parameters["message_bytes"] for cell in plan.cells if cell.group == "negative control"}
    assert lengths == {"65536"}


@pytest.mark.parametrize(
    ("collective", "length", "control"),
    [
        ("scatter", 65536, ("scatter", 262144)),
        ("scatter", 1 << 20, ("scatter", 65536)),
        ("barrier", 0, ("allreduce", 65536)),
    ],
)
def test_the_control_is_what_the_table_leaves_alone(
    description: Json, collective: str, length: int, control: tuple[str, int]
) -> None:
    toggle = replaceable(REMEDY, sides(description, collective, length), "mpich-5.0.2", 2, PRELOAD).control
    assert toggle is not None
    assert toggle.parameters == {"collective": control[0], "message_bytes": str(control[1])}


def test_the_library_s_own_count_says_whether_it_acted(tmp_path: Path) -> None:
    assert replaced_words(tmp_path) is None
    for number, calls in enumerate(([3, 4], [0], None, [])):
        launch = tmp_path / "launches" / f"{number:06d}"
        launch.mkdir(parents=True)
        if calls is not None:
            (launch / "replaced.json").write_text(json.dumps({"rows": [{"calls": call} for call in calls]}))
    (tmp_path / "launches" / "000003" / "replaced.json").write_text("{")
    assert replaced_words(tmp_path) == "libslowpath-coll.so replaced 7 calls in 1 of 3 launches"


@pytest.fixture
def small_pages(survey: Results) -> Results:
    """A survey whose slow cell has small pages."""
    slow = survey.cells[0]
    slow = replace(slow, parameters={**slow.parameters, "pages": "small"})
    return replace(survey, cells=[slow, survey.cells[1]])


def after_of_order(survey: Results, findings: list[Finding], *steps: MeasuredStep) -> State:
    """After the survey, a witness and these steps."""
    return state(findings, [MeasuredStep(step(1, SurveyTask()), survey), MeasuredStep(step(0), results()), *steps])


def kinds(of: State) -> list[str]:
    return [proposal.task.kind for proposal in proposals(of)]


def trial_of(finding: Finding, remedy: str = "huge pages") -> TrialTask:
    return TrialTask(
        finding=finding.id, remedy=remedy, axis="pages", slow="small", remedied="huge", metric=finding.metric,
        phase="steady", fast_side="remedied",
    )  # fmt: skip


def test_what_is_the_user_s_own_and_costs_most_goes_first(small_pages: Results) -> None:
    small = finding("SP008", 1e-6, number=1)
    large = finding("SP008", 1e-3, number=2)
    chosen = finding("SP008", 1.0, number=3, affects_default=False)
    tasks = [proposal.task for proposal in proposals(after_of_order(small_pages, [small, chosen, large]))]
    order = list(dict.fromkeys(task.finding for task in tasks if isinstance(task, TrialTask)))
    assert all(isinstance(task, TrialTask) for task in tasks)
    assert order == [large.id, small.id, chosen.id]


def test_what_costs_most_is_tried_before_anything_is_explained_and_properties_last(small_pages: Results) -> None:
    """A default diagnosis proves something in its first minute."""
    property_ = finding("SP008", 1.0, number=1, kind="property")
    witnessed = finding("SP008", 1e-5, number=4, kind="opportunity", status="explained")
    large = finding("SP008", 1e-3, number=2, kind="opportunity")
    puts = finding("SP008", 1e-2, number=3, kind="opportunity", concerns="one-sided communication")
    tasks = [proposal.task for proposal in proposals(after_of_order(small_pages, [property_, puts, witnessed, large]))]
    trials = [task.finding for task in tasks if isinstance(task, TrialTask)]
    assert isinstance(tasks[0], TrialTask)
    assert trials[0] == large.id
    assert trials[-1] == property_.id
    named = [proposal.task for proposal in proposals(after_of_order(small_pages, [large]), name_only=True)]
    assert not any(isinstance(task, TrialTask) for task in named)


def noisy_trial(seed: int, noise: float = 0.3) -> Results:
    return results(
        contrasts=[
            planted_contrast("remedy", 1e-3, 1.5e-3, 10, noise, seed),
            planted_contrast("remedy again", 1e-3, 1.5e-3, 10, noise, seed + 100),
            planted_contrast("a/a", 1.5e-3, 1.5e-3, 10, 0.01, seed),
            planted_contrast("negative control", 1e-6, 1e-6, 10, noise, seed),
        ]
    )


def test_a_trial_that_noise_left_open_is_made_once_more_and_judged_by_all_pairs(small_pages: Results) -> None:
    small = finding("SP008")
    task = trial_of(small)
    first, second = (MeasuredStep(step(number, task), noisy_trial(number - 2)) for number in (3, 4))
    clear = MeasuredStep(step(3, task), noisy_trial(1, 0.01))
    assert kinds(after_of_order(small_pages, [small], first)) == ["trial"]
    assert kinds(after_of_order(small_pages, [small], clear)) == []  # decided
    assert kinds(after_of_order(small_pages, [small], first, second)) == []  # twice is all
    joined = pooled(second.results, [first.results])
    assert judge_trial(task, joined).pairs == 20
    assert [contrast.launches for contrast in joined.contrasts] == [20] * 4
    for pool, own in zip(joined.contrasts, second.results.contrasts, strict=True):
        assert pool.pairs[10:] == own.pairs
        assert pool.p != own.p  # of all pairs, as ratio, interval and verdict are
        assert pool.p_adjusted == pool.p
        assert (pool.more_pairs is None) == (pool.verdict != "undecided")
    assert pooled(second.results, []) == second.results


def test_every_task_has_one_kind_of_step_and_each_is_documented() -> None:
    assert [kind.task for kind in KINDS] == list(dict.fromkeys(kind.task for kind in KINDS))
    assert {kind.task for kind in KINDS} == set(get_args(Task))
    page = (Path(__file__).parents[3] / "docs" / "reference" / "diagnose.md").read_text()
    for kind in KINDS:
        assert f"\n{kind.task.__struct_config__.tag} |" in page


Parameters = Mapping[str, str]


def counted(system_s: float, operations: int, calls: dict[str, CallCounts] | None = None) -> Results:
    """A run of one cell, whose receiver was watched."""
    role = RoleWitness(
        minor_faults_per_op=None, major_faults_per_op=None, system_time_s_per_op=system_s, involuntary_switches=1,
        operations=operations, calls=calls,
    )  # fmt: skip
    return results([cell(0, {}, witness={"steady": {"send": None, "receive": role}})])


def test_a_witness_run_adds_the_calls_that_it_counted() -> None:
    calls = {"process_vm_readv": CallCounts(calls_per_op=1.0, bytes_per_op=None, failed_per_op=0.0)}
    both = with_counts(counted(4e-5, 50), counted(11e-5, 20, calls))
    witness = both.cells[0].witness
    assert witness is not None
    role = witness["steady"]["receive"]
    assert role is not None
    assert witness["steady"]["send"] is None
    assert (role.system_time_s_per_op, role.operations, role.calls) == (4e-5, 50, calls)


def test_a_trial_s_outcome_makes_a_finding_proven(survey: Results) -> None:
    start = finding("SP008", remedies=[remedy("huge pages")])
    contrasts = [
        planted_contrast("remedy", 1e-3, 3e-3),
        planted_contrast("remedy again", 1e-3, 3e-3, seed=2),
        planted_contrast("negative control", 1e-6, 1e-6),
    ]
    task = TrialTask(
        finding=start.id, remedy="huge pages", axis="pages", slow="small", remedied="huge", metric=start.metric,
        phase="steady", fast_side="remedied",
    )  # fmt: skip
    steps = [
        MeasuredStep(step(1, SurveyTask()), replace(survey, findings=[start])),
        MeasuredStep(step(2, task), results(contrasts=contrasts)),
    ]
    proven = conclude(steps).findings[0]
    assert proven.status == "proven"
    assert proven.remedies[0].verdict == "proven"
    assert advance(StepConclusion([start]), steps).findings == [proven]


def path(layer: Layer | None, environment: str = OWN_WITNESSED) -> MessagePath:
    return MessagePath(
        environment=environment, scope="on_node", pairs=[(0, 1), (1, 0)], layer=layer, module="pml ob1",
        transport="btl sm", devices=[], single_copy="cma", reason=None if layer else "nothing says it",
    )  # fmt: skip


def asked(*paths: MessagePath) -> Results:
    seen = results()
    return replace(seen, run=replace(seen.run, mpi=replace(seen.run.mpi, paths=list(paths))))


def measured(survey: Results, environ: dict[str, str], *paths: MessagePath) -> list[MeasuredStep]:
    task = SurveyTask(settings=list(own_settings(environ)))
    return [MeasuredStep(step(1, task), survey), MeasuredStep(step(2, PathTask()), asked(*paths))]


def witnessed(of: State, is_witnessed: bool = True) -> State:
    return dataclasses.replace(of, is_witnessed=is_witnessed)


def test_one_launch_is_asked_right_after_the_survey(survey: Results) -> None:
    surveyed = [MeasuredStep(step(1, SurveyTask()), survey)]
    after = witnessed(state([], surveyed))
    first = next(proposals(after))
    assert (first.task.kind, first.campaign.rounds) == ("path", 1)
    assert [environment.witness for environment in first.campaign.environments] == [True], (
        "none of its launches is timed"
    )
    assert next(proposals(after, name_only=True)).task.kind == "path"
    assert all(proposal.task.kind != "path" for proposal in proposals(witnessed(state([], surveyed), False)))
    twice = [*surveyed, MeasuredStep(step(2, PathTask()), asked())]
    assert all(proposal.task.kind != "path" for proposal in proposals(witnessed(state([], twice))))


def test_the_step_says_the_path_or_that_nothing_was_said() -> None:
    assert PATH.numbers(asked(path("library"), path("ucx", "with UCX, witnessed"))) == (
        "messages between ranks 0 and 1 go by pml ob1, btl sm (single copy by cma)"
    )
    assert PATH.numbers(asked()) == "not reported"


def test_settings_of_a_layer_that_carries_nothing_are_named_with_the_evidence(survey: Results) -> None:
    environ = {"UCX_NET_DEVICES": "lo", "UCX_LOG_LEVEL": "warn", "OMPI_MCA_pml": "ob1"}
    steps = measured(survey, environ, path("library"))
    (said,) = without_effect(steps, [], "openmpi")
    assert said == (
        "UCX_NET_DEVICES=lo has no effect here, because UCX carries no messages: messages between ranks 0 and 1 "
        "go by pml ob1, btl sm (single copy by cma). Unset it, or choose UCX (OMPI_MCA_pml=ucx)."
    )
    assert len(paths_of(steps)) == 1
