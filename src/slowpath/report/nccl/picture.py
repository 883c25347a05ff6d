# SPDX-License-Identifier: Apache-2.0
"""First uses as bars of steps: GPU libraries on one axis, MPI, hundreds of times shorter, on another."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.experiments.nccl.experiment import STEP_MEANINGS
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table
from slowpath.report.nccl.first_uses import STEP_WORDS, FirstUse, shown
from slowpath.report.svg import stack
from slowpath.report.svg.scale_linear import LinearScale

_BY_MPI = "mpi"  # what the names of MPI's ways begin with
# The colours of the parts of other bars, so that no page carries more of them.
COLOURS = {
    "load": "p-skew",
    "unique_id": "p-issue",
    "share_id": "p-test",
    "runtime": "p-synchronise",
    "init": "p-distribute",
    "buffers": "p-copy",
    "one_element": "p-wait",
    "first_call": "p-dgemm",
}
_ABOUT = "Steps of a first use, one after the other: medians over launches."


def figures_of(found: Sequence[FirstUse]) -> list[Figure]:
    """One for the GPU libraries and one for MPI, those of them that have a first use."""
    mpi = [one for one in found if one.library.startswith(_BY_MPI)]
    others = [one for one in found if not one.library.startswith(_BY_MPI)]
    titled = (("First use of GPU libraries, by steps", others), ("First use of MPI on device memory, by steps", mpi))
    return [_figure(title, each, f"grid-gpu-use{place}") for place, (title, each) in enumerate(titled) if each]


def legend_of(found: Sequence[FirstUse]) -> list[tuple[str, str, str]]:
    """Class, name and meaning of each step that occurs."""
    there = {name for one in found for name, time in one.steps.items() if time}
    return [(COLOURS[name], words, STEP_MEANINGS[name]) for name, words in STEP_WORDS.items() if name in there]


def _figure(title: str, each: Sequence[FirstUse], grid: str) -> Figure:
    scale = LinearScale(0.0, max(max(one.whole.value, _sum_s(one)) for one in each) * 1.03)
    table = Table(
        ["First use", "Environment", "Step", "Time", "Interval"], [line for one in each for line in _lines(one)]
    )
    return Figure(
        title,
        "steps are medians over launches; the upright tick is the whole, from before the library is opened to the end "
        "of the first call",
        table,
        stack.axis(scale, grid, "time from the beginning"),
        [_row(one, scale, grid) for one in each],
    )


def _row(one: FirstUse, scale: LinearScale, grid: str) -> Row:
    parts = [(COLOURS[name], time.value) for name, time in one.steps.items() if time]
    whole = shown(one.whole)
    track = stack.track(parts, one.whole.value, one.whole.interval, scale, grid, f"{_name(one)}: {whole}", about=_ABOUT)
    return Row(_name(one), one.cell, track, whole, one.environment)


def _name(one: FirstUse) -> str:
    return f"{one.library}, {one.message}"


def _sum_s(one: FirstUse) -> float:
    return sum(time.value for time in one.steps.values() if time)


def _lines(one: FirstUse) -> list[list[str]]:
    steps = [("whole", one.whole), *((STEP_WORDS[name], time) for name, time in one.steps.items() if time)]
    return [
        [_name(one), one.environment, words, shown(time), fmt.quantity_interval(time.value, "s", time.interval) or "–"]
        for words, time in steps
    ]
