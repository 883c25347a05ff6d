# SPDX-License-Identifier: Apache-2.0
"""First uses of GPU libraries for the page and a terminal: bars of steps, tables, and NCCL's own report of its init."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.experiments.nccl.experiment import INIT_PARTS, NCCL, STEP_MEANINGS, STEP_NS, STEPS
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.svg import stack
from slowpath.report.svg.scale import LinearScale

MS_NS = 1_000_000
_SURE_S = 1.5e-9 * STEP_NS  # shorter ones are one step of NCCL's, or none

_LEAST = f"above {STEP_NS // MS_NS} ms (it reports in steps of {STEP_NS // MS_NS} ms)"


@dataclass(frozen=True, slots=True)
class GpuFirstUse:
    """A cell's first use. Estimates are over launches in seconds, except `named`, which is a share.

    Args: steps: time by name, None if this library has no such step. inside: parts of init to which the library gave a
          time. later: a call after the first.
    """

    cell: int
    library: str
    message: str
    environment: str
    mpi: str | None
    whole: MetricEstimate
    steps: Mapping[str, MetricEstimate | None]
    inside: Mapping[str, MetricEstimate]
    named: MetricEstimate | None
    later: MetricEstimate | None


def first_uses(results: Results) -> list[GpuFirstUse]:
    """Return all that were measured, in the order of the cells, without second copies."""
    found = (_first_use(cell) for cell in results.cells if cell.experiment == NCCL.name and cell.copy == 1)
    return [use for use in found if use]


def _first_use(cell: CellResult) -> GpuFirstUse | None:
    def first(name: str) -> MetricEstimate | None:
        return cell.estimate(f"gpu_{name}", "first")

    whole = first("first_use_s")
    if whole is None:
        return None
    inside = {name.removeprefix("init_"): first(f"{name}_s") for name in INIT_PARTS}
    return GpuFirstUse(
        cell=cell.cell,
        library=cell.parameters["library"],
        message=f"{cell.parameters['operation']}, {fmt.count_bytes(int(cell.parameters['message_bytes']))}",
        environment=cell.environment,
        mpi=cell.mpi,
        whole=whole,
        steps={name: first(f"{name}_s") for name in STEPS},
        inside={name: estimate for name, estimate in inside.items() if estimate},
        named=first("named_ratio"),
        later=cell.estimate("gpu_later_call_s", "steady"),
    )


def shown(estimate: MetricEstimate | None) -> str:
    """Return a time rounded to its interval, or a dash."""
    return fmt.time(estimate.value, estimate.interval) if estimate else fmt.MISSING


STEP_WORDS = {name: name.replace("_", " ") for name in STEPS}
HEAD = ("library", "first use of", "environment", "whole", *STEP_WORDS.values(), "named", "later")


def row(use: GpuFirstUse) -> list[str]:
    """Return the cells of a row, as in HEAD."""
    steps = [shown(use.steps[name]) for name in STEPS]
    named = fmt.percent(use.named.value) if use.named else fmt.MISSING
    return [use.library, use.message, use.environment, shown(use.whole), *steps, named, shown(use.later)]


def inside_words(use: GpuFirstUse) -> str | None:
    """Return NCCL's report of its init, such as `kernels 270 ms, bootstrap 20 ms, no other above 10 ms`, or None.

    NCCL reports in steps of 10 ms, so shorter parts are unknown.
    """
    known = [(name, time) for name, time in use.inside.items() if time.value >= _SURE_S]
    if not use.inside:
        return None
    words = [f"{name} {_stepped(time, use.whole)}" for name, time in sorted(known, key=lambda part: -part[1].value)]
    return ", ".join([*words, f"{'no other' if known else 'none'} {_LEAST}"])


def _stepped(time: MetricEstimate, whole: MetricEstimate) -> str:
    words = f"{round(time.value * 1e9 / STEP_NS) * STEP_NS // MS_NS} ms"
    return words if time.launches >= whole.launches else f"{words} (in {time.launches} of {whole.launches} launches)"


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


def figures_of(found: Sequence[GpuFirstUse]) -> list[Figure]:
    """Return a figure for the GPU libraries and one for MPI, if they have a first use."""
    mpi = [use for use in found if use.library.startswith(_BY_MPI)]
    others = [use for use in found if not use.library.startswith(_BY_MPI)]
    titled = (("First use of GPU libraries, by steps", others), ("First use of MPI on device memory, by steps", mpi))
    return [_figure(title, each, f"grid-gpu-use{place}") for place, (title, each) in enumerate(titled) if each]


def legend_of(found: Sequence[GpuFirstUse]) -> list[tuple[str, str, str]]:
    """Return class, name and meaning of each step that occurs."""
    there = {name for use in found for name, time in use.steps.items() if time}
    return [(COLOURS[name], words, STEP_MEANINGS[name]) for name, words in STEP_WORDS.items() if name in there]


def _figure(title: str, each: Sequence[GpuFirstUse], grid: str) -> Figure:
    scale = LinearScale(0.0, max(max(use.whole.value, _sum_s(use)) for use in each) * 1.03)
    table = FigureTable(
        ["First use", "Environment", "Step", "Time", "Interval"], [line for use in each for line in _lines(use)]
    )
    return Figure(
        title,
        "steps are medians over launches; the vertical tick is the total, from before the library is opened to the end "
        "of the first call",
        table,
        stack.axis(scale, grid, "time from the beginning"),
        [_row(use, scale, grid) for use in each],
    )


def _row(use: GpuFirstUse, scale: LinearScale, grid: str) -> TrackRow:
    parts = [(COLOURS[name], time.value) for name, time in use.steps.items() if time]
    whole = shown(use.whole)
    track = stack.track(parts, use.whole.value, use.whole.interval, scale, grid, f"{_name(use)}: {whole}", about=_ABOUT)
    return TrackRow(_name(use), use.cell, track, whole, use.environment)


def _name(use: GpuFirstUse) -> str:
    return f"{use.library}, {use.message}"


def _sum_s(use: GpuFirstUse) -> float:
    return sum(time.value for time in use.steps.values() if time)


def _lines(use: GpuFirstUse) -> list[list[str]]:
    steps = [("whole", use.whole), *((STEP_WORDS[name], time) for name, time in use.steps.items() if time)]
    return [
        [_name(use), use.environment, words, shown(time), fmt.quantity_interval(time.value, "s", time.interval) or "–"]
        for words, time in steps
    ]


@dataclass(frozen=True, slots=True)
class NcclView:
    """The section of the page. `inside` has the name of an init and its parts."""

    head: list[str]
    rows: list[list[str]]
    inside: list[tuple[str, str]]
    figures: list[Figure]
    legend: list[tuple[str, str, str]]


def nccl_view(results: Results) -> NcclView | None:
    """Return the section, or None in a run without a first use."""
    found = first_uses(results)
    if not found:
        return None
    inside = [(f"{use.library}, {use.environment}", words) for use in found if (words := inside_words(use))]
    return NcclView(list(HEAD), [row(use) for use in found], inside, figures_of(found), legend_of(found))


_TITLE = "First use by steps, one after the other, on the slowest rank; MPI is initialised before:"
_LEFT = 3  # columns of words


def nccl_lines(results: Results) -> list[str]:
    """Return lines, not wrapped, [] in a run without a first use."""
    found = first_uses(results)
    if not found:
        return []
    table = [list(HEAD), *(row(use) for use in found)]
    widths = [max(len(line[place]) for line in table) for place in range(len(HEAD))]
    lines = [_TITLE]
    for line in table:
        shown = [
            word.ljust(width) if place < _LEFT else word.rjust(width)
            for place, (word, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  " + "  ".join(shown).rstrip())
    for use in found:
        if words := inside_words(use):
            lines.append(f"  Inside init of {use.library}, as it reports itself ({use.environment}): {words}.")
    return lines
