# SPDX-License-Identifier: Apache-2.0
"""The first step, about the user's own state: when it is made, what it names, and that it speaks first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from made_results import METRIC, cell, contrast, environment, finding, results, step
from msgspec.structs import replace

from slowpath.core.campaign import recorded
from slowpath.core.machine import OtherProcess, Others
from slowpath.core.results import Results, SkippedRow
from slowpath.diagnose.own_settings import first_by_cost, named, set_aside
from slowpath.diagnose.ranks import Job
from slowpath.diagnose.session import verdict_of
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, State
from slowpath.diagnose.steps.order import conclude, proposals
from slowpath.diagnose.steps.settings import STARTED, state_campaign, with_own_settings
from slowpath.diagnose.tasks import SettingsTask, StateTask
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import OwnSetting
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import decode
from slowpath.plan.cost import estimate
from slowpath.plan.expand import MpiInUse, expand
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import known

ASYNC = OwnSetting("MPIR_CVAR_ASYNC_PROGRESS", "1")
TCP = OwnSetting("UCX_TLS", "tcp")
LOAD = Others(0.3, 2, 1.0, [OtherProcess("stress", 4711, 1.0)])
LIBRARY = LibraryFacts("mpich", "5.0.2")


def state(measured: Sequence[MeasuredStep] = (), **more: Any) -> State:
    conclusions = conclude(measured).findings if measured else []
    environ = {setting.name: setting.value or "" for setting in more.get("settings", ())}
    return State(conclusions, measured, LIBRARY, environ, job=Job(2, cores=2), **more)


def kinds(of: State, name_only: bool = False) -> list[str]:
    return [proposal.task.kind for proposal in proposals(of, name_only)]


def of_settings(
    ratio: float,
    settings: Sequence[OwnSetting] = (ASYNC,),
    metric: str = METRIC,
    long: float | None = None,
    memory: str = "host",
) -> MeasuredStep:
    """The step where two sizes take so many times as long with these settings. long: in place of it, of 1 MiB."""
    cells, contrasts = [], []
    for number, length in enumerate(("8", "1048576")):
        parameters = {"message_bytes": length, "pattern": "ping_pong", "memory": memory}
        of_long = number == 1 and long is not None
        ratio = long if of_long and long is not None else ratio
        times = [(1e-4 if of_long else 1e-6) * (1 + 0.01 * launch) for launch in range(5)]
        slow = [value * ratio * (1 + 0.02 * (launch % 2)) for launch, value in enumerate(times)]
        cells.append(cell(2 * number, parameters, times, environment=WITHOUT_USER, placement=STARTED))
        cells.append(cell(2 * number + 1, parameters, slow, placement=STARTED))
        pairs = list(zip(times, slow, strict=True))
        contrasts.append(contrast(f"of {length}", pairs, a=2 * number, b=2 * number + 1, metric=metric))
    environments = [environment("default"), environment(WITHOUT_USER, [setting.name for setting in settings])]
    made = results(cells, contrasts, environments=environments, binds={STARTED: "inherited"})
    return measured_step(StateTask(settings=list(settings)), made)


def measured_step(task: StateTask, made: Results) -> MeasuredStep:
    return MeasuredStep(step(1, task), replace(made, findings=findings(made, ROLES)))


def test_it_is_made_first_where_there_is_something_to_take_away_and_costs_nothing_elsewhere() -> None:
    assert kinds(state()) == ["survey"]
    assert kinds(state(others=Others(0.3, 16, 1.0))) == ["survey"]
    for more in ({"settings": [ASYNC]}, {"others": LOAD}):
        assert kinds(state(**more)) == ["state", "survey"], more
    assert kinds(state(settings=[OwnSetting("PMI_RANK", "0", left_in="it starts ranks")])) == ["survey"]


@pytest.mark.parametrize(("settings", "states"), [(1, 2), (3, 2), (0, 1)])
def test_its_cells_stand_in_every_state_and_each_contrast_differs_in_one_thing(
    settings: int, states: int, description: dict[str, Any]
) -> None:
    own = [OwnSetting(f"UCX_A{number}", "1") for number in range(settings)]
    campaign = state_campaign(own, 2)
    mpich = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
    plan = expand(campaign, description, mpich, 1)
    assert expand(decode(recorded(campaign), "made.toml"), description, mpich, 1) == plan
    more = 5 if settings else 0
    assert len(plan.cells) == (3 + more) * states
    assert len(plan.launches) == plan.rounds * states
    assert len(plan.contrasts) == 3 * bool(settings) + more
    assert estimate(plan).wall_s < 10


def test_one_setting_is_named_at_once_and_speaks_first() -> None:
    first = of_settings(12.0)
    concluded = conclude([first]).findings
    assert [finding.cause for finding in concluded] == ["MPIR_CVAR_ASYNC_PROGRESS=1 makes messages slower."]
    assert (concluded[0].run, concluded[0].status, concluded[0].affects_default) == ("01-state", "explained", True)
    assert concluded[0].text.startswith("With MPIR_CVAR_ASYNC_PROGRESS=1, 8 B messages are 12")
    assert [remedy.name for remedy in concluded[0].remedies] == ["unset MPIR_CVAR_ASYNC_PROGRESS"]
    path = known(concluded[0].rule)
    assert path is not None
    assert path.kind == "fault"
    dear = finding("SP008", 1.0, number=7)
    assert first_by_cost([dear, *concluded], [first])[0] == concluded[0]


def test_which_of_several_it_is_is_searched_before_the_survey() -> None:
    settings = [ASYNC, TCP, OwnSetting("UCX_LOG_LEVEL", "info")]
    first = of_settings(12.0, settings)
    (finding,) = conclude([first]).findings
    assert finding.cause is None
    suspects = ", ".join(setting.name for setting in settings)
    assert finding.text.startswith(f"With your settings ({suspects}), 8 B messages are 12")
    alone = named(finding, [[ASYNC]], ["shown"])
    assert alone.text.startswith("With MPIR_CVAR_ASYNC_PROGRESS=1, 8 B messages are 12")
    ways = list(proposals(state([first], settings=settings)))
    assert [way.task.kind for way in ways][:1] == ["settings"]
    assert isinstance(ways[0].task, SettingsTask)
    assert set(map(tuple, ways[0].task.taken.values())) == {(0,), (1,), (2,)}
    assert {placement.bind for placement in ways[0].campaign.placements} == {"inherited"}
    assert ways[-1].task.kind == "survey"


def where_none_starts(settings: Sequence[OwnSetting], *, fails: bool = True) -> MeasuredStep:
    """The step where every launch with these settings failed; fails: else one of its cells was measured."""
    made = of_settings(3.0, settings).results
    slow = {1, 3} if fails else {1}
    cells = [replace(cell, metrics={}, status="failed") if cell.cell in slow else cell for cell in made.cells]
    contrasts = [
        replace(contrast, verdict="not measured", ratio=None, interval=None, pairs=[], launches=0)
        if contrast.b.cell in slow
        else replace(contrast, verdict="undecided")
        for contrast in made.contrasts
    ]
    rows = [
        SkippedRow(cell=number, label="", status="failed", reason="no pml", launches=1, log=None, output=None)
        for number in sorted(slow)
    ]
    run = replace(made.run, campaign="state")
    made = replace(made, run=run, cells=cells, contrasts=contrasts, skipped=rows, findings=[])
    return measured_step(StateTask(settings=list(settings)), made)


def test_settings_with_which_no_launch_starts_are_said_first_and_the_survey_goes_on_without_them() -> None:
    (finding,) = conclude([where_none_starts([TCP])]).findings
    assert (finding.rule, finding.kind, finding.ratio) == ("SP035", "fault", None)
    assert finding.text.startswith(
        "Launches with UCX_TLS=tcp never start, while those without any of them do (5 did): no pml"
    )
    several = where_none_starts([ASYNC, TCP])
    (of_two,) = conclude([several]).findings
    assert set_aside([of_two], [several]) == (ASYNC.name, TCP.name)
    assert set_aside([finding], [where_none_starts([TCP])]) == (TCP.name,)


def test_a_handle_cache_that_is_off_is_the_first_sentence_of_the_verdict() -> None:
    """Two H200s: 33 times slower with each message, and the verdict was that no fault was found."""
    off = OwnSetting("UCX_CUDA_IPC_CACHE", "n")
    first = of_settings(33.0, [off], memory="device")
    (finding,) = conclude([first]).findings
    verdict = verdict_of([finding], [first])
    begins = "With UCX_CUDA_IPC_CACHE=n, 8 B messages from device memory are 33"
    assert with_own_settings(verdict, [finding]).answer.startswith(begins)
    assert set_aside([finding], [first]) == (off.name,)
    suspicion = replace(finding, status="observed", cause=None, needs_cause=True)
    assert with_own_settings(verdict, [suspicion]) == verdict
