# SPDX-License-Identifier: Apache-2.0
"""First uses in results.json: a row each, a step a column. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.experiments.nccl.experiment import NCCL
from slowpath.experiments.nccl.parts import INIT_PARTS, STEP_NS, STEPS
from slowpath.report import format as fmt

MS_NS = 1_000_000
_SURE_S = 1.5e-9 * STEP_NS  # shorter ones are one step of NCCL's, or none

_LEAST = f"above {STEP_NS // MS_NS} ms (it reports in steps of {STEP_NS // MS_NS} ms)"


@dataclass(frozen=True, slots=True)
class FirstUse:
    """One cell. Each estimate: over launches, in seconds, but named: a share.

    steps: name -> time; None: this library has no such step, or did it before.  inside: of init, by the library's own
    words, those it gave a time.  later: a call after the first.
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


def first_uses(results: Results) -> list[FirstUse]:
    """All that were measured, in the order of the cells; second copies are left out."""
    found = (_first_use(cell) for cell in results.cells if cell.experiment == NCCL.name and cell.copy == 1)
    return [one for one in found if one]


def _first_use(cell: CellResult) -> FirstUse | None:
    def first(name: str) -> MetricEstimate | None:
        return cell.estimate(f"gpu_{name}", "first")

    whole = first("first_use_s")
    if whole is None:
        return None
    inside = {name.removeprefix("init_"): first(f"{name}_s") for name in INIT_PARTS}
    return FirstUse(
        cell=cell.cell,
        library=cell.parameters["library"],
        message=f"{cell.parameters['operation']}, {fmt.count_bytes(int(cell.parameters['message_bytes']))}",
        environment=cell.environment,
        mpi=cell.mpi,
        whole=whole,
        steps={name: first(f"{name}_s") for name in STEPS},
        inside={name: one for name, one in inside.items() if one},
        named=first("named_ratio"),
        later=cell.estimate("gpu_later_call_s", "steady"),
    )


def shown(one: MetricEstimate | None) -> str:
    """A time, rounded to its interval; a dash where there is none."""
    return fmt.time(one.value, one.interval) if one else fmt.MISSING


STEP_WORDS = {name: name.replace("_", " ") for name in STEPS}
HEAD = ("library", "first use of", "environment", "whole", *STEP_WORDS.values(), "named", "later")


def row(one: FirstUse) -> list[str]:
    """As HEAD."""
    steps = [shown(one.steps[name]) for name in STEPS]
    named = fmt.percent(one.named.value) if one.named else fmt.MISSING
    return [one.library, one.message, one.environment, shown(one.whole), *steps, named, shown(one.later)]


def inside_words(one: FirstUse) -> str | None:
    """`kernels 270 ms, bootstrap 20 ms, no other above 10 ms`, the longest first; None: the library says nothing.

    It reports in steps of 10 ms, so that a part of one step, or of none, is all but unknown.
    """
    known = [(name, time) for name, time in one.inside.items() if time.value >= _SURE_S]
    if not one.inside:
        return None
    words = [f"{name} {_stepped(time, one.whole)}" for name, time in sorted(known, key=lambda part: -part[1].value)]
    return ", ".join([*words, f"{'no other' if known else 'none'} {_LEAST}"])


def _stepped(time: MetricEstimate, whole: MetricEstimate) -> str:
    words = f"{round(time.value * 1e9 / STEP_NS) * STEP_NS // MS_NS} ms"
    return words if time.launches >= whole.launches else f"{words} (in {time.launches} of {whole.launches} launches)"
