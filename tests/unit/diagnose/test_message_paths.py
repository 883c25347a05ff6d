# SPDX-License-Identifier: Apache-2.0
"""What carries messages, in a diagnosis: one launch asks for it, and settings of an idle layer are named by it."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from made_results import finding, remedy, results, step
from msgspec.structs import replace
from planted_switch import state

from slowpath.core.results import MessagePath, Results, Verdict
from slowpath.diagnose.own_settings.listing import OWN_WITNESSED
from slowpath.diagnose.ranks.job import A_PAIR
from slowpath.diagnose.start import path_lines
from slowpath.diagnose.state import MeasuredStep, State
from slowpath.diagnose.steps.order import proposals
from slowpath.diagnose.steps.path import PATH, path_campaign, paths_of, with_settings_without_effect, without_effect
from slowpath.diagnose.tasks import PathTask, SurveyTask
from slowpath.mpi.message_path import Layer
from slowpath.mpi.own_settings import own_settings


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
    assert [one.witness for one in first.campaign.environments] == [True], "none of its launches is timed"
    assert next(proposals(after, name_only=True)).task.kind == "path"
    assert all(one.task.kind != "path" for one in proposals(witnessed(state([], surveyed), False)))
    twice = [*surveyed, MeasuredStep(step(2, PathTask()), asked())]
    assert all(one.task.kind != "path" for one in proposals(witnessed(state([], twice))))


@pytest.mark.parametrize("is_witnessed", [True, False])
def test_a_dry_run_forecasts_the_launch(is_witnessed: bool) -> None:
    cost = SimpleNamespace(launches=1, wall_s=0.31)
    bench: Any = SimpleNamespace(
        state=lambda *_: SimpleNamespace(is_witnessed=is_witnessed),
        job=A_PAIR,
        prepare=lambda campaign, _: SimpleNamespace(cost=cost if campaign.name == "path" else None),
    )
    said = ["path: what carries the messages: module, transport, device: 1 launch, about 0.3 s"]
    assert path_lines(bench) == (said if is_witnessed else [])


def test_all_pairs_of_ranks_send() -> None:
    campaign = path_campaign(4)
    assert campaign.ranks == [4]
    assert [cells.parameters.get("collective", cells.parameters.get("pattern")) for cells in campaign.cells] == [
        "ping_pong",
        "alltoall",
    ]


def test_the_step_says_the_path_or_that_nothing_was_said() -> None:
    assert PATH.numbers(asked(path("library"), path("ucx", "with UCX, witnessed"))) == (
        "messages between ranks 0 and 1 go by pml ob1, btl sm (single copy by cma)"
    )
    assert PATH.numbers(asked()) == "the launch that was asked said nothing"


def test_settings_of_a_layer_that_carries_nothing_are_named_with_the_evidence(survey: Results) -> None:
    environ = {"UCX_NET_DEVICES": "lo", "UCX_LOG_LEVEL": "warn", "OMPI_MCA_pml": "ob1"}
    steps = measured(survey, environ, path("library"))
    (said,) = without_effect(steps, [], "openmpi")
    assert said == (
        "UCX_NET_DEVICES=lo has no effect on messages here, because UCX carries none: messages between ranks 0 and 1 "
        "go by pml ob1, btl sm (single copy by cma). Unset it, or have UCX carry messages (OMPI_MCA_pml=ucx)."
    )
    assert len(paths_of(steps)) == 1


def test_nothing_is_said_where_the_path_is_unknown_or_the_layers_own(survey: Results) -> None:
    environ = {"UCX_NET_DEVICES": "lo"}
    for paths in ([path("ucx")], [path(None)], [path("library"), path(None)], [path("ofi")], []):
        assert without_effect(measured(survey, environ, *paths), [], "openmpi") == []
    assert without_effect(measured(survey, {}, path("library")), [], "openmpi") == []
    assert without_effect(measured(survey, environ, path("library"))[:1], [], "openmpi") == []


def test_a_setting_that_a_finding_blames_is_left_to_it(survey: Results) -> None:
    blamed = finding("SP035", remedies=[replace(remedy("unset UCX_NET_DEVICES"), own_settings=["UCX_NET_DEVICES"])])
    steps = measured(survey, {"UCX_NET_DEVICES": "lo", "UCX_TLS": "tcp"}, path("library"))
    (said,) = without_effect(steps, [blamed], "openmpi")
    assert said.startswith("UCX_TLS=tcp has no effect")
    (both,) = without_effect(steps, [], "openmpi")
    assert both.startswith("UCX_NET_DEVICES=lo and UCX_TLS=tcp have no effect")


def test_nothing_is_said_where_the_path_was_asked_for_without_a_setting(survey: Results) -> None:
    environ = {"UCX_NET_DEVICES": "lo", "OMPI_MCA_pml": "ucx"}
    surveyed, pathed = measured(survey, environ, path("library"))
    aside = SurveyTask(settings=list(own_settings(environ)), aside=["OMPI_MCA_pml"])
    assert without_effect([surveyed, pathed], [], "openmpi")
    assert without_effect([MeasuredStep(step(1, aside), survey), pathed], [], "openmpi") == []


def test_the_verdict_keeps_a_line_for_them() -> None:
    verdict = Verdict(headline="h", lines=[], actions=["one", "two", "three"], state="clear", answer="h")
    assert with_settings_without_effect(verdict, []) == verdict
    assert with_settings_without_effect(verdict, ["idle"]).actions == ["one", "two", "idle"]
    assert with_settings_without_effect(replace(verdict, actions=[]), ["idle"]).actions == ["idle"]
