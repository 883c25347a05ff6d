# SPDX-License-Identifier: Apache-2.0
"""The experiment `cannon`: a distributed multiplication in many communication styles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowpath.core.cannon_results import CannonGroup, CannonResults
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Level, Line
from slowpath.experiments.cannon.cost import cannon_recorded_bytes, cannon_seconds
from slowpath.experiments.cannon.disturbance import Disturbance, Mask, disturbance
from slowpath.experiments.cannon.entry import build_cannon
from slowpath.experiments.cannon.groups import ROLES
from slowpath.experiments.cannon.observed import EXPERIMENT, Observed
from slowpath.experiments.cannon.runs import DGEMM, PARTS, TOTAL, Runs, read_runs
from slowpath.experiments.experiment import Concluded, Experiment, Pattern, Study
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import Absent, Derived, MetricSamples, SampleBlock
from slowpath.experiments.metric import EXPOSED, Metric
from slowpath.stats.inputs import Floats

# Part -> what one rank does in it; the metric PART_s is its mean over ranks.
MEANINGS = {
    "dgemm": "the local multiplications of a rank, mean over ranks",
    "issue": "starting communication that something else completes, mean over ranks",
    "test": "asking whether communication is over, between pieces of the multiplication, mean over ranks",
    "wait": "blocked until communication is over, mean over ranks",
    "copy": "copying between shared memory and a rank's own, mean over ranks",
    "synchronise": "fences, epochs, barriers and flags, mean over ranks",
    "skew": "moving the initial alignment, mean over ranks",
    "distribute": "inputs out of rank 0 or a file, mean over ranks",
    "gather": "the product to rank 0 or into a file, mean over ranks",
    "generate": "making the inputs in place, outside the multiplication, mean over ranks",
}


def multiply(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """One value for each repetition; those that nothing disturbed are marked as clean."""
    runs = read_runs(blocks, job)
    if isinstance(runs, Absent):
        return {"multiply_s": runs}
    length_s = runs.length_s(job.one_node)
    found = disturbance(length_s, job.repetitions, job.take_turns)
    clean = found.clean if isinstance(found, Disturbance) else None
    return {
        "multiply_s": _series(length_s, clean),
        **_parts(p, runs, clean),
        **_exposed(runs, clean, job),
    }


def _series(values: Floats, clean: Mask | None) -> dict[str, MetricSamples]:
    return {"steady": MetricSamples(values, 1, clean=clean)}


def _parts(p: Mapping[str, str], runs: Runs, clean: Mask | None) -> Derived:
    found: Derived = {}
    for number, part in PARTS.items():
        if number == TOTAL:
            continue
        spent_s = runs.mean_s(number)
        if spent_s is None:
            found[f"{part}_s"] = Absent(f"variant {p.get('variant', 'of this cell')} has no part {part} here")
        else:
            found[f"{part}_s"] = _series(spent_s, clean)
    return found


def _exposed(runs: Runs, clean: Mask | None, job: LaunchContext) -> Derived:
    """What the multiplication does not hide.

    Where ranks share cores, a rank that waits lets another one compute: its waiting is no loss, the share says nothing.
    """
    totals_s: Floats = np.array([runs.spent_s(rank, TOTAL) for rank in range(runs.size)])
    dgemms_s: Floats = np.array([runs.spent_s(rank, DGEMM) for rank in range(runs.size)])
    exposed_s = (totals_s - dgemms_s).mean(axis=0)
    share: dict[str, MetricSamples] | Absent
    if job.shared_cores is not None:
        share = Absent(job.shared_cores)
    else:
        share = _series(exposed_s / totals_s.mean(axis=0), clean)
    return {"exposed_s": _series(exposed_s, clean), "exposed_ratio": share}


_SWITCHED, _LOADED = "by a lost processor", "by other load on the node"


def cannon_lines(cannon: CannonResults | None, cells: Sequence[CellResult]) -> list[Line]:
    """Lines of the verdict: the advice of the group with most variants under each MPI, environment and placement,
    and a warning where launches stand for disturbed repetitions.
    """
    if cannon is None:
        return []
    main: dict[tuple[str | None, str, str], CannonGroup] = {}
    for group in cannon.groups:
        key = (group.mpi, group.environment, group.placement)
        if key not in main or _measured(group) > _measured(main[key]):
            main[key] = group
    lines = [_line("info", f"{_name(group)}: {group.advice}") for group in main.values() if group.advice]
    return lines + _disturbed(cells)


def _measured(group: CannonGroup) -> int:
    return sum(bool(variant.points) for variant in group.variants)


def _name(group: CannonGroup) -> str:
    name = EXPERIMENT if group.label == EXPERIMENT else f"{EXPERIMENT}, {group.label}"
    ranks = f"{group.ranks} rank{'s' * (group.ranks > 1)}"
    return name if name.endswith(ranks) else f"{name}, {ranks}"


def _disturbed(cells: Sequence[CellResult]) -> list[Line]:
    """One line where not all repetitions were clean; a warning where some launches had too few clean ones."""
    reported = [one for cell in cells if (one := cell.repetitions) and one.clean is not None]
    every, clean = sum(one.all for one in reported), sum(one.clean or 0 for one in reported)
    if every == clean:
        return []
    launches, by_clean = sum(one.launches for one in reported), sum(one.launches_of_clean for one in reported)
    counts = {_SWITCHED: [one.switched for one in reported], _LOADED: [one.loaded for one in reported]}
    known = {cause: [one for one in each if one is not None] for cause, each in counts.items()}
    causes = ", ".join(f"{sum(each)} {cause}" for cause, each in known.items() if each)
    text = f"{EXPERIMENT}: {every - clean} of {every} repetitions were disturbed ({causes})"
    if by_clean == launches:
        return [_line("ok", f"{text}; every value is of clean ones alone.")]
    rest = launches - by_clean
    return [
        _line(
            "warning",
            f"{text}; {rest} of {launches} values of cells in launches had fewer than 3 clean ones and are of all. "
            "Repeat on a quiet machine.",
        )
    ]


def _line(level: Level, text: str) -> Line:
    return Line(level=level, text=text, contrast=None)


_METRICS = (
    Metric("multiply_s", "s", "lower", "one multiplication: from the first rank's start to the last rank's end"),
    *(Metric(f"{part}_s", "s", "lower", meaning) for part, meaning in MEANINGS.items()),
    EXPOSED,
    Metric("exposed_ratio", "1", "lower", "the part of all ranks' time that is no local multiplication"),
)


def _study(found: Concluded) -> CannonResults | None:
    return build_cannon(found.plan, found.measurements, found.cells, found.skipped)


CANNON = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("multiply", multiply, _METRICS),),
    roles=ROLES,
    seconds=cannon_seconds,
    recorded_bytes=cannon_recorded_bytes,
    observer=Observed,
    study=Study("cannon", _study, cannon_lines),
    views=("cannon",),
    compared=("multiply_s", "dgemm_s", "exposed_s"),
    timelines={"multiply": "multiplication"},
)
