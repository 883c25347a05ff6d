# SPDX-License-Identifier: Apache-2.0
"""What carries messages, in a diagnosis: one launch asks for it, and settings of an idle layer are named by it."""

from __future__ import annotations

import dataclasses

from made_results import results, step
from msgspec.structs import replace
from planted_switch import state

from slowpath.core.results import MessagePath, Results
from slowpath.diagnose.own_settings import OWN_WITNESSED
from slowpath.diagnose.state import MeasuredStep, State
from slowpath.diagnose.steps.order import proposals
from slowpath.diagnose.steps.settings import PATH, paths_of, without_effect
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
