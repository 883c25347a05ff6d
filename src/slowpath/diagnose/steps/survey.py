# SPDX-License-Identifier: Apache-2.0
"""Survey: campaigns/survey.toml, and what the user's variables and the GPUs of this machine add. The first step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowpath.core.results import Results
from slowpath.diagnose.campaign_text import ContrastTable, EnvironmentTable, contrast_text, environment_text
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepHistory, StepKind
from slowpath.diagnose.steps.witness import judged
from slowpath.diagnose.tasks import SurveyTask
from slowpath.diagnose.user_states import WITHOUT_USER
from slowpath.mpi.forced import Forced
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


def propose(state: State) -> Iterator[Proposal]:
    """Where nothing was measured yet."""
    if not state.measured:
        text = state.asked.narrowed(whole_survey(state))
        yield Proposal(SurveyTask(only=state.asked.words), text, "look for slow paths")


def whole_survey(state: State) -> str:
    """The survey of this machine, whatever was asked for."""
    return survey_text(shipped_text("survey"), state.library.forced(state.environ), state.gpus)


def apply(_: StepConclusion, __: SurveyTask, results: Results, history: StepHistory) -> StepConclusion:
    """What the rules see in it."""
    return StepConclusion(judged(results, history))


def summary(_: SurveyTask, __: StepConclusion, after: StepConclusion) -> str:
    """`7 slow paths (SP008, SP009)`."""
    rules = ", ".join(sorted({one.rule for one in after.findings}))
    count = len(after.findings)
    if not count:
        return "no slow path by name"
    return f"{count} slow path{'' if count == 1 else 's'}{f' ({rules})' if rules else ''}"


SURVEY = StepKind(SurveyTask, apply, summary, required=True)


def survey_text(shipped: str, forced: Sequence[Forced], gpus: int) -> str:
    """The campaign's text. shipped: of campaigns/survey.toml.  gpus: devices that both ranks can take."""
    parts = [shipped.rstrip("\n")]
    if gpus:
        parts.append(_GPU.format(devices='["0", "0:1"]' if gpus > 1 else '"0"'))
    if forced:
        names = tuple(one.name for one in forced)
        parts.append(environment_text(EnvironmentTable(WITHOUT_USER, unset=names)))
        parts += [contrast_text(one) for one in _unforced(", ".join(names))]
    return "\n\n".join(parts) + "\n"


def _unforced(names: str) -> list[ContrastTable]:
    question = f"Is it slower than without your settings ({names})?"
    return [
        ContrastTable("your settings", question, "paths", "environment", WITHOUT_USER, "default", "one_way_s"),
        ContrastTable(
            "your settings, short messages",
            question,
            "short messages",
            "environment",
            WITHOUT_USER,
            "default",
            "half_round_trip_latency_s",
        ),
    ]
