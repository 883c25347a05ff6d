# SPDX-License-Identifier: Apache-2.0
"""Survey: campaigns/survey.toml, and what the user's variables and the GPUs of this machine add. The first step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from slowpath.core.results import Results
from slowpath.diagnose.campaign_text import ContrastTable, EnvironmentTable, contrast_text, environment_text
from slowpath.diagnose.own_settings.named import only_one, without_twins
from slowpath.diagnose.ranks.survey import Kept, survey_s, within
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import SurveyTask
from slowpath.findings.difference import WITHOUT_USER
from slowpath.mpi.own_settings import OwnSetting, removable, without
from slowpath.run.prepare import shipped_text

_GPU = """
[[cells]]
name = "device allocations"
experiment = "p2p"
[cells.parameters]
pattern = "one_way"
memory = "device"
device = {devices}
buffer_bytes = ["4MiB", "32MiB", "128MiB", "256MiB", "512MiB", "1GiB", "4GiB"]
overalloc_bytes = ["0", "1", "64KiB", "1MiB"]
message_bytes = ["8", "1MiB"]
allocations = 3
messages = 6

[[cells]]
name = "live device buffers"
experiment = "p2p"
[cells.parameters]
pattern = "one_way"
memory = "device"
device = {devices}
live_buffers = [1, 2, 4, 8, 12, 16, 32, 64]
buffer_bytes = "4MiB"
message_bytes = "1MiB"
messages = 6

[[cells]]
name = "memory kinds"
experiment = "p2p"
[cells.parameters]
pattern = "one_way"
memory = ["host", "pinned_host", "device", "device_pool"]
message_bytes = ["64KiB", "4MiB"]
allocations = 2
messages = 6

[[contrast]]
name = "pinned host memory"
question = "Is pinned host memory slower inside a node than pageable memory?"
cells = "memory kinds"
axis = "memory"
a = "host"
b = "pinned_host"
metric = "one_way_s"

[[contrast]]
name = "pool of GPU memory"
question = "Is memory from a pool slower than from cuMemAlloc?"
cells = "memory kinds"
axis = "memory"
a = "device"
b = "device_pool"
metric = "one_way_s"
"""

# As the settings are, and without all of them: short and long messages, in the launches of the paths.
_OWN = """
[[cells]]
name = "your settings"
experiment = "p2p"
environment = "*"
[cells.parameters]
pattern = "ping_pong"
message_bytes = ["8", "1KiB", "8KiB", "64KiB", "512KiB", "4MiB"]
samples = 40
time_limit_s = 0.008
warmup_s = 0.002
"""
_OWN_GPU = """
[[cells]]
name = "your settings, GPU memory"
experiment = "p2p"
environment = "*"
[cells.parameters]
pattern = "one_way"
memory = "device"
device = {devices}
message_bytes = ["8", "16KiB", "1MiB", "16MiB"]
allocations = 2
messages = 8
"""


def propose(state: State) -> Iterator[Proposal]:
    """Where nothing was measured yet."""
    if not state.measured:
        kept = Kept(state.asked.narrowed(whole_survey(state))) if state.asked else within_budget(state)
        task = SurveyTask(
            only=state.asked.words,
            settings=list(state.settings),
            ranks=state.job.ranks,
            left_out=list(kept.left_out),
        )
        yield Proposal(task, kept.text, "look for slow paths")


def whole_survey(state: State) -> str:
    """The survey of this machine, whatever was asked for and however much the budget holds."""
    return within(_pairs(state), state.job, state.experiments, None, math.inf, shipped_text("coll")).text


def within_budget(state: State) -> Kept:
    """As much of the survey as its share of the budget holds."""
    most_s = survey_s(state.budget_s, state.job.ranks)
    return within(_pairs(state), state.job, state.experiments, state.estimate, most_s, shipped_text("coll"))


def _pairs(state: State) -> str:
    return survey_text(shipped_text("survey"), removable(state.settings), state.gpus)


def apply(_: StepConclusion, task: SurveyTask, results: Results, history: StepHistory) -> StepConclusion:
    """What the rules see in it; the only setting is the responsible one."""
    settings = removable(task.settings)
    found = judged(results, history)
    if len(settings) == 1:
        found = [only_one(one, settings[0]) for one in found]
    return StepConclusion(without_twins(found, history.forced))


def summary(_: SurveyTask, __: StepConclusion, after: StepConclusion) -> str:
    """`7 slow paths (SP008, SP009)`."""
    rules = ", ".join(sorted({one.rule for one in after.findings}))
    count = len(after.findings)
    if not count:
        return "no slow path by name"
    return f"{count} slow path{'' if count == 1 else 's'}{f' ({rules})' if rules else ''}"


SURVEY = StepKind(SurveyTask, apply, summary, required=True)


def survey_text(shipped: str, own: Sequence[OwnSetting], gpus: int) -> str:
    """The text of the campaign of two ranks.

    Args: shipped: of campaigns/survey.toml.  own: settings of the user's that can be taken away.  gpus: devices that
          both ranks can take.
    """
    parts = [shipped.rstrip("\n")]
    devices = '["0", "0:1"]' if gpus > 1 else '"0"'
    if gpus:
        parts.append(_GPU.format(devices=devices))
    if own:
        bare = without(own, own)
        parts += [environment_text(EnvironmentTable(WITHOUT_USER, bare.variables, bare.unset)), _OWN]
        parts += [_OWN_GPU.format(devices=devices)] if gpus else []
        parts += [contrast_text(one) for one in _against_own(len(own), gpus > 0)]
    return "\n\n".join(parts) + "\n"


def _against_own(count: int, with_gpu: bool) -> list[ContrastTable]:
    what = "setting" if count == 1 else f"{count} settings"
    question = f"Is it slower than without your {what}?"
    rows = [
        ("your settings", "paths", "one_way_s", "steady"),
        ("your settings, short messages", "short messages", "half_round_trip_latency_s", "steady"),
        ("your settings, lengths", "your settings", "half_round_trip_latency_s", "steady"),
    ]
    if with_gpu:
        rows += [
            (f"your settings, GPU memory{more}", "your settings, GPU memory", "one_way_s", phase)
            for more, phase in (("", "steady"), (", first message", "first"))
        ]
    return [
        ContrastTable(name, question, cells, "environment", WITHOUT_USER, "default", metric, phase)
        for name, cells, metric, phase in rows
    ]
