# SPDX-License-Identifier: Apache-2.0
"""A folder that slowpath-ipc wrote, read as a run: no launcher and no campaign were there to write run and plan.

One folder with events.jsonl and samples.blk is one launch; a folder that holds several of these, of the same sweep, is
a run of as many launches. What would stand in the plan is in the events: each cell begins with its parameters.

The experiment `ipc` measures sharing GPU memory between processes, below MPI.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from slowpath.core.engine_description import DescribedExperiment, Parameter
from slowpath.core.errors import RecordError
from slowpath.core.files import inside, read_bytes
from slowpath.core.labels import group_labels, readable_value
from slowpath.core.limits import FILE_BYTES, MOST_LAUNCHES
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Launch, Placement, Plan, Side, cell_key
from slowpath.core.version import __version__
from slowpath.experiments.experiment import Experiment, Pattern, Program
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.load import LaunchRecord, read_launch
from slowpath.experiments.measured.series import NO_SAMPLES, Absent, Derived, MetricSamples, SampleBlock, per_operation
from slowpath.experiments.metric import Metric
from slowpath.record.events import CellBegin, read_events
from slowpath.record.folder import RUN_SCHEMA, LaunchInfo, RunInfo

EXPERIMENT = "ipc"
_CONDITION, _PLACEMENT = "as run", "as run"
_PROCESSES = 2
_MINIMUM_EFFECT = 0.03
_TITLE = "GPU memory shared between two processes, below MPI"
_ROUND_UP = "pad to 2 MiB"
# Each value of the sweep against the first one: what is asked, and the remedy where the other value is the slower one.
_AXES = {
    "overalloc_bytes": ("Does opening a handle take longer when the allocation is longer than asked for?", _ROUND_UP),
    "pad_to_bytes": ("Does padding the allocation change what opening its handle takes?", None),
    "live": ("Does opening a handle take longer when more allocations are open?", None),
    "importer_device": ("Does opening a handle take longer on another GPU?", None),
}
_METRIC = "ipc_open_s"

Sweep = dict[int, dict[str, str]]  # cell -> its parameters


def ipc_folders(folder: Path) -> list[Path]:
    """The folders that hold a record of slowpath-ipc: this one, or those in it; none if it is something else."""
    if not folder.is_dir():
        return []
    if _is_record(folder):
        return [folder]
    with os.scandir(folder) as entries:
        names = sorted(one.name for one in itertools.islice(entries, MOST_LAUNCHES))
    return [inside(folder, name) for name in names if _is_record(folder / name)]


def _is_record(folder: Path) -> bool:
    if not (folder / "samples.blk").is_file() or not (folder / "events.jsonl").is_file():
        return False
    return any(begin.experiment == EXPERIMENT for begin in read_events(folder / "events.jsonl").of(CellBegin))


def read_ipc(folders: Sequence[Path]) -> tuple[RunInfo, Plan, list[LaunchRecord]]:
    """The records as one run.  Raises: RecordError when they are not of the same sweep, or can't be read."""
    launches = [read_launch(folder, _launch_info(number, folder)) for number, folder in enumerate(folders, start=1)]
    sweeps = [_sweep(launch) for launch in launches]
    whole = max(sweeps, key=len)
    for launch, sweep in zip(launches, sweeps, strict=True):
        _check_same(launch.folder, sweep, folders[sweeps.index(whole)], whole)
    plan = _plan(whole, len(launches))
    return _run_info(launches), plan, launches


def _launch_info(number: int, folder: Path) -> LaunchInfo:
    ended = "ok" if read_events(folder / "events.jsonl").end else "interrupted"
    reason = None if ended == "ok" else "the record stops before slowpath-ipc was done"
    return LaunchInfo(number, number, _CONDITION, _PLACEMENT, argv=["slowpath-ipc"], ended=ended, reason=reason)


def _sweep(launch: LaunchRecord) -> Sweep:
    return {begin.cell: dict(begin.parameters or {}) for begin in launch.events.of(CellBegin)}


def _check_same(folder: Path, sweep: Sweep, other: Path, whole: Sweep) -> None:
    """A record may have been cut short, but what it has must be what the others have."""
    names = {frozenset(parameters) for parameters in whole.values()}
    if len(names) > 1:
        raise RecordError(f"{folder}: its cells do not have the same parameters; restore events.jsonl from a copy")
    wrong = next((cell for cell, parameters in sweep.items() if whole.get(cell) != parameters), None)
    if wrong is not None:
        raise RecordError(f"{folder}: cell {wrong} has other parameters than in {other}; use one folder per command")


def _run_info(launches: Sequence[LaunchRecord]) -> RunInfo:
    events = [launch.events for launch in launches]
    content = b"".join(read_bytes(launch.folder / "events.jsonl", FILE_BYTES["events.jsonl"]) for launch in launches)
    begin = next((event.begin for event in events if event.begin), None)
    spans = [event.end.t_ns - event.begin.t_ns for event in events if event.begin and event.end]
    return RunInfo(
        schema=RUN_SCHEMA,
        id=f"ipc-{hashlib.sha256(content).hexdigest()[:12]}",
        campaign=EXPERIMENT,
        title=_TITLE,
        campaign_sha256="",
        slowpath=__version__,
        wall_s=sum(spans) * 1e-9 if len(spans) == len(events) else None,
        status="complete" if all(event.end for event in events) else "interrupted",
        engine=begin.engine if begin else None,
        ranks=_PROCESSES,
        machine={"host": begin.ranks[0].host} if begin and begin.ranks else {},
        notes=["Measured by slowpath-ipc, which uses no MPI; when it ran is not recorded."],
    )


def _plan(sweep: Sweep, launches: int) -> Plan:
    cells = _cells(sweep)
    numbers = [cell.cell for cell in cells]
    return Plan(
        schema=PLAN_SCHEMA,
        campaign=EXPERIMENT,
        title=_TITLE,
        ranks=_PROCESSES,
        rounds=launches,
        seed=0,
        minimum_effect=_MINIMUM_EFFECT,
        environments=[Environment(_CONDITION)],
        placements=[Placement(_PLACEMENT, "none")],
        cells=cells,
        contrasts=_contrasts(cells),
        launches=[Launch(i, i, _CONDITION, _PLACEMENT, numbers, seed=0) for i in range(1, launches + 1)],
    )


def _described(parameters: Mapping[str, str]) -> DescribedExperiment:
    """The parameters' types by their names, as slowpath-ipc --help gives them."""
    kinds = {name: "bytes" if name.endswith("_bytes") else "count" for name in parameters}
    return DescribedExperiment(EXPERIMENT, [Parameter(name, kind, "0") for name, kind in kinds.items()])


def _cells(sweep: Sweep) -> list[Cell]:
    points = [parameters for _, parameters in sorted(sweep.items())]
    labels = group_labels(EXPERIMENT, _described(points[0]), points)
    return [
        Cell(
            cell=number,
            key=cell_key(EXPERIMENT, parameters, {}, "none", 1, _PROCESSES, "no MPI"),
            group=EXPERIMENT,
            label=label,
            experiment=EXPERIMENT,
            parameters=parameters,
            environment=_CONDITION,
            placement=_PLACEMENT,
        )
        for (number, parameters), label in zip(sorted(sweep.items()), labels, strict=True)
    ]


def _contrasts(cells: Sequence[Cell]) -> list[Contrast]:
    """The opening at each other value of an axis against the first one, all else equal."""
    numbers, made = count(1), []
    for axis, (question, remedy) in _AXES.items():
        base = cells[0].parameters.get(axis)
        rest = {_without(cell, axis): cell for cell in cells if cell.parameters.get(axis) == base}
        words = axis.removesuffix("_bytes").replace("_", " ")
        for cell in cells:
            a = rest.get(_without(cell, axis))
            if a is None or a.cell == cell.cell:
                continue
            contrast = Contrast(
                id=f"open-{next(numbers)}",
                group=f"open, {words}",
                question=question,
                axis=axis,
                metric=_METRIC,
                a=_side(a, axis),
                b=_side(cell, axis),
                remedy=remedy,
            )
            made.append(contrast)
    return made


def _without(cell: Cell, axis: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in cell.parameters.items() if name != axis)


def _side(cell: Cell, axis: str) -> Side:
    return Side(cell.cell, "first", readable_value(_described(cell.parameters), axis, cell.parameters.get(axis, "")))


EXPORT, OPEN, FIRST_ACCESS, CLOSE, REOPEN, CLOSE_AGAIN = range(6)  # seq0 of a step's block
_EXPORTER, _IMPORTER = 0, 1
# The opening comes first because a report's overviews show a cell by its first metric.
STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "ipc_open_s": (_IMPORTER, (OPEN,)),
    "ipc_reopen_s": (_IMPORTER, (REOPEN,)),
    "ipc_close_s": (_IMPORTER, (CLOSE, CLOSE_AGAIN)),
    "ipc_export_s": (_EXPORTER, (EXPORT,)),
    "ipc_first_access_s": (_IMPORTER, (FIRST_ACCESS,)),
}


def steps(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """One sample for each step of each fresh allocation; the phase separates the second close from the first."""

    def step(rank: int, numbers: tuple[int, ...]) -> dict[str, MetricSamples] | Absent:
        return per_operation([b for b in blocks if b.seq0 in numbers], rank, 1) or NO_SAMPLES

    return {metric: step(rank, numbers) for metric, (rank, numbers) in STEPS.items()}


_METRICS = (
    Metric("ipc_export_s", "s", "lower", "making the handle of a GPU allocation"),
    Metric("ipc_open_s", "s", "lower", "opening the handle of a fresh GPU allocation in another process"),
    Metric("ipc_first_access_s", "s", "lower", "the first copy from the opened allocation"),
    Metric("ipc_close_s", "s", "lower", "closing the opened allocation"),
    Metric("ipc_reopen_s", "s", "lower", "opening the same handle again"),
)

IPC = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("ipc", steps, _METRICS),),
    roles={
        "allocation_bytes": "covariate",
        "overalloc_bytes": "covariate",
        "pad_to_bytes": "covariate",
        "live": "covariate",
        "keep": "covariate",
        "repetitions": "effort",
        "warmups": "effort",
        "access_bytes": "covariate",
        "exporter_device": "setting",
        "importer_device": "setting",
    },
    program=Program("slowpath-ipc", takes_experiment=False),
)
