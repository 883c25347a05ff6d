# SPDX-License-Identifier: Apache-2.0
"""A remedy is tried only where it can apply: none of GPU memory on host memory, none of a cause that is refuted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_results import cell, finding, results, step

from slowpath.core.results import Claim, Finding, Rival
from slowpath.core.units import more_words
from slowpath.diagnose.state import LibraryFacts, MeasuredStep, State
from slowpath.diagnose.steps.order import proposals
from slowpath.diagnose.steps.trial import cannot_help
from slowpath.diagnose.tasks import SurveyTask, TrialTask
from slowpath.diagnose.trials.verdict import Gap
from slowpath.findings.remedy import on_gpu

MPICH = LibraryFacts("mpich", "5.0.2")
HANDLES = "larger cache of GPU handles in MPICH"
OFF = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}


def state(found: Finding, parameters: dict[str, str], gpus: int = 0, **fast: str) -> State:
    slow = cell(0, parameters, [9e-6] * 5)
    survey = results([slow, cell(1, {**parameters, **fast}, [2e-6] * 5)], findings=[found])
    return State([found], [MeasuredStep(step(1, SurveyTask()), survey)], MPICH, OFF, gpus, cores=16)


def tried(of: State) -> set[str]:
    return {one.task.remedy for one in proposals(of) if isinstance(one.task, TrialTask)}


def live(memory: str, ping_pong: dict[str, str]) -> dict[str, str]:
    return {**ping_pong, "memory": memory, "message_bytes": "65536", "live_buffers": "32"}


@pytest.mark.parametrize("memory", ["host", "pinned_host", "host:pinned_host"])
def test_a_cache_of_gpu_handles_is_not_tried_on_host_memory(memory: str, ping_pong: dict[str, str]) -> None:
    of = state(finding("SP003", axis="live_buffers"), live(memory, ping_pong), gpus=2, live_buffers="1")
    assert tried(of) == {"fewer live buffers"}
    assert not any(one.remedy == HANDLES for one in cannot_help(of))


@pytest.mark.parametrize("memory", ["device", "device_pool", "host:device", "managed"])
def test_it_is_tried_on_gpu_memory_and_nothing_is_where_that_is_left_out(
    memory: str, ping_pong: dict[str, str]
) -> None:
    of = state(finding("SP003", axis="live_buffers"), live(memory, ping_pong), gpus=1, live_buffers="1")
    assert HANDLES in tried(of)
    left_out = state(finding("SP003", axis="live_buffers"), live(memory, ping_pong), gpus=0, live_buffers="1")
    assert tried(left_out) == set()


def test_no_remedy_of_the_rule_is_tried_where_a_rival_is_true(ping_pong: dict[str, str]) -> None:
    def rival(name: str, **more: Any) -> Rival:
        return Rival(name=name, cause="It is.", claim=Claim(time=None, side=None, by=None), experiment="e", text="t",
                     evidence=[], **more)  # fmt: skip

    late = {**ping_pong, "pattern": "one_way", "pages": "small", "message_bytes": "4194304"}
    for names, expected in (([], True), (["small pages"], False)):
        rivals = [rival(name, state="true") for name in names]
        of = state(finding("SP009", axis="environment", rivals=rivals), late)
        there = tried(of)
        assert any(name.startswith("unset") for name in there) == expected
        assert "huge pages" in there


def test_what_gpu_memory_is() -> None:
    assert on_gpu({"memory": "host:device_vmm"})
    assert on_gpu({"exporter_device": "0"})
    assert not on_gpu({"memory": "mpi"})
    assert not on_gpu({})


def test_what_a_remedy_gains_beyond_the_gap_is_a_second_effect() -> None:
    slow, fast = [2e-4, 2.01e-4, 2e-4, 2.02e-4] * 3, [1e-4, 1.01e-4, 1e-4, 1.02e-4] * 3
    faster = [7e-5, 7.1e-5, 7e-5, 7.2e-5] * 3
    made = Gap(*(np.array(side) for side in (slow, faster, fast, fast)))
    assert made.removed is not None
    assert made.removed.value == 1.0
    assert more_words(made.removed.beyond_s) == ", and 30.0 us more than the gap"
    within = Gap(*(np.array(side) for side in (slow, fast, fast, fast)))
    assert within.removed is not None
    assert more_words(within.removed.beyond_s) == ""
