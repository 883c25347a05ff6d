# SPDX-License-Identifier: Apache-2.0
"""`slowpath.open(path)`: runs and diagnoses in Python, without pandas.

    run = slowpath.open("slowpath-runs/checkup-20260131-120000")
    for contrast in run.contrasts:
        print(contrast.question, contrast.verdict, contrast.ratio)
    cell = run.cell("16 MiB, huge pages, default")
    for launch, values in cell.values_s("one_way_s", "first").items(): ...     numpy arrays, seconds per operation

Nothing is read before it is asked for: run.json at once, results on the first look at cells or contrasts, samples with
each call that returns them. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from slowpath.analyse.build import build_results
from slowpath.analyse.samples import ENOUGH_LATER
from slowpath.analyse.source import read_recorded
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import UsageError
from slowpath.core.files import DIAGNOSIS_FILE, DiagnosisInfo, decoded, read_bytes, read_info, step_folders
from slowpath.core.result import FILE_BYTES, Interval, Result
from slowpath.core.results import ContrastResult, ContrastSide, Finding, Results
from slowpath.experiments.measured import Absent, LaunchRecord, first_good_launches
from slowpath.experiments.registry import METRICS, experiment_named
from slowpath.record.blocks import opened, read_from
from slowpath.record.folder import read_run

if TYPE_CHECKING:
    from slowpath.analyse.source import Recorded
    from slowpath.record.folder import RunInfo
    from slowpath.record.imports.tables import PrintedTable

Json = dict[str, Any]


@dataclass(frozen=True)
class RecordedBlock:
    """A block of the record: the undivided samples of a rank.

    Args: duration_ns: int64, shape (n,), nanoseconds of `batch` operations each. start_ns: int64, shape (n,), on the
          node's CLOCK_MONOTONIC, or None if it was not recorded. doubtful: whether the record marks a value in it as
          suspect.
    """

    launch: int
    rank: int
    phase: str
    allocation: int
    part: int
    batch: int
    duration_ns: NDArray[np.int64]
    start_ns: NDArray[np.int64] | None
    doubtful: bool

    def to_dict(self) -> Json:
        """Return plain values, with the arrays as lists."""
        start = None if self.start_ns is None else self.start_ns.tolist()
        return {**self.__dict__, "duration_ns": self.duration_ns.tolist(), "start_ns": start}


class RunCell:
    """A cell of a run. `to_dict` returns its entry in results.json (docs/reference/results.md)."""

    def __init__(self, run: Run, entry: CellResult) -> None:
        self._run, self._entry = run, entry
        self.number = entry.cell
        self.label = entry.label
        self.status: str = entry.status
        self.reason = entry.reason
        self.group = entry.group
        self.experiment = entry.experiment
        self.mpi = entry.mpi
        self.environment = entry.environment
        self.placement = entry.placement
        self.copy = entry.copy
        self.parameters = dict(entry.parameters)

    def __repr__(self) -> str:
        return f"<RunCell {self.number} {self.label!r} {self.status}>"

    @property
    def metrics(self) -> list[str]:
        """Return the names of the cell's metrics."""
        return list(self._entry.metrics)

    def estimate(self, metric: str | None = None, phase: str = "steady") -> Json | None:
        """Return the estimate of a metric and phase over launches, or None if this cell has none (see `absent`).

        Args: metric: None takes the cell's first metric.
        Raises: UsageError: the metric does not exist.
        """
        name = self._metric(metric)
        estimate = self._entry.estimate(name, phase) if name else None
        return _plain(estimate) if estimate else None

    def absent(self, metric: str) -> str | None:
        """Return why this cell lacks a metric, or None if it has the metric or is not expected to have it."""
        name = self._metric(metric)
        return self._entry.absent.get(name) if name else None

    def values_s(self, metric: str | None = None, phase: str = "steady") -> dict[int, NDArray[np.float64]]:
        """Return the samples behind the estimate by launch: seconds per operation, shape (n,), in the order taken.

        Raises: UsageError: the metric does not exist. RecordError: the record can't be read.
        """
        name = self._metric(metric)
        experiment = experiment_named(self._entry.experiment)
        by_launch: dict[int, NDArray[np.float64]] = {}
        begin = 1 if self._run.info.imported and phase == "first" else 0  # analyse.first_allocation
        for launch in self._run.launches_of(self.number):
            blocks = launch.cell_blocks([self.number])[self.number]
            derived = experiment.derive(self.parameters, blocks, launch.context(self.number))
            phases = derived.get(name) if name else None
            if phases and not isinstance(phases, Absent) and phase in phases:
                values_s = phases[phase].values_s
                by_launch[launch.info.launch] = values_s[begin if values_s.size > ENOUGH_LATER else 0 :]
        return by_launch

    def samples(
        self, phase: str | None = None, launch: int | None = None, rank: int | None = None
    ) -> Iterator[RecordedBlock]:
        """Yield the recorded blocks of this cell, also of failed launches. None selects every phase, launch or rank."""
        for record in self._run.launches:
            index = record.blocks
            if index is None or launch not in (None, record.info.launch):
                continue
            with opened(index.path) as descriptor:
                for i in index.select(cell=self.number, rank=rank, phase=phase):
                    head, read = index.headers[i], read_from(descriptor, index, int(i))
                    yield RecordedBlock(
                        record.info.launch,
                        int(head["rank"]),
                        index.phase(int(i)),
                        int(head["allocation"]),
                        int(head["part"]),
                        int(head["batch"]),
                        read.duration_ns,
                        None if read.start_ns is None else read.start_ns + int(head["t0_ns"]),
                        bool(index.flag("suspect")[i]),
                    )

    def to_dict(self) -> Json:
        """Return the cell's entry in results.json."""
        return _plain(self._entry)

    def _metric(self, name: str | None) -> str | None:
        if name is not None and name not in METRICS:
            raise UsageError(f"'{name}' is no metric; this cell has {', '.join(self.metrics) or 'none'}")
        return name or next(iter(self.metrics), None)


class RunContrastSide:
    """One side of a contrast: a cell in one phase.

    Args: value: value of the contrast's axis. value_s: time in seconds, or None if the contrast was not measured.
    """

    def __init__(self, run: Run, entry: ContrastSide, value_s: float | None) -> None:
        self._run, self._cell = run, entry.cell
        self.phase: str = entry.phase
        self.value = entry.value
        self.value_s = value_s

    def __repr__(self) -> str:
        return f"<RunContrastSide {self.value!r} {self.phase}>"

    @property
    def cell(self) -> RunCell:
        """Return the cell of this side."""
        return self._run.cell(self._cell)


class RunContrast:
    """A contrast: b compared with a, which differ in one setting. `to_dict` returns its entry in results.json."""

    def __init__(self, run: Run, entry: ContrastResult) -> None:
        self._entry = entry
        self.id = entry.id
        self.group = entry.group
        self.axis = entry.axis
        self.metric = entry.metric
        self.a = RunContrastSide(run, entry.a, entry.a_value_s)
        self.b = RunContrastSide(run, entry.b, entry.b_value_s)
        self.question = entry.question
        self.verdict: str | None = entry.verdict
        self.reason = entry.reason
        self.ratio = entry.ratio
        self.remedy = entry.remedy
        self.interval = entry.interval

    def __repr__(self) -> str:
        return f"<RunContrast {self.id!r} {self.verdict}>"

    @property
    def pairs_s(self) -> NDArray[np.float64]:
        """Return the seconds of a and b in each round, shape (rounds, 2)."""
        return np.array(self._entry.pairs, dtype=np.float64).reshape(-1, 2)

    def to_dict(self) -> Json:
        """Return the contrast's entry in results.json."""
        return _plain(self._entry)


class Run:
    """A run folder, as `slowpath.open` returns it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<Run {self.info.id!r} {self.info.status}>"

    @cached_property
    def _recorded(self) -> Recorded:
        return read_recorded(self.path)

    @cached_property
    def info(self) -> RunInfo:
        """Return run.json."""
        return read_run(self.path) if (self.path / "run.json").exists() else self._recorded.info

    @property
    def launches(self) -> list[LaunchRecord]:
        """Return every launch that has ended, by number."""
        return self._recorded.launches

    @cached_property
    def results(self) -> Results:
        """Return the results, analysed from the record (docs/reference/results.md).  Raises: RecordError."""
        return build_results(self.path)

    @cached_property
    def cells(self) -> list[RunCell]:
        """Return all cells by number."""
        return [RunCell(self, entry) for entry in self.results.cells]

    @cached_property
    def contrasts(self) -> list[RunContrast]:
        """Return all contrasts in the order of the campaign."""
        return [RunContrast(self, entry) for entry in self.results.contrasts]

    @property
    def findings(self) -> list[Finding]:
        """Return the slow paths (docs/reference/findings.md); `msgspec.to_builtins(finding)` gives plain values."""
        return self.results.findings

    def cell(self, which: int | str) -> RunCell:
        """Return the cell of this number or label.  Raises: UsageError: there is none."""
        for cell in self.cells:
            if which in (cell.number, cell.label):
                return cell
        raise UsageError(f"{self.path}: has no cell {which!r}; see the labels in run.cells")

    @cached_property
    def printed(self) -> list[PrintedTable]:
        """Return imported tables of other benchmarks as they were printed, [] in any other run."""
        from slowpath.record.imports.tables import read_printed

        return [table for launch in self.launches for table in read_printed(launch.folder)]

    def launches_of(self, cell: int) -> list[LaunchRecord]:
        """Return the launches that count for a cell: the first successful one of each round."""
        chosen = self._chosen
        return [launch for launch in self.launches if cell in chosen[launch.info.launch]]

    @cached_property
    def _chosen(self) -> dict[int, list[int]]:
        return first_good_launches(self.launches)

    def rows(self) -> list[Json]:
        """Return a flat row for each cell, metric and phase, as for `pandas.DataFrame(run.rows())`.

        Every parameter of any cell is a column, next to mpi, environment, placement and the fields of the estimate.
        Missing values are None.
        """
        return estimate_rows(self.results)

    def contrast_rows(self) -> list[Json]:
        """Return a flat row for each contrast, with both of its sides."""
        return contrast_rows(self.results)

    def to_pandas(self) -> Any:
        """Return `rows()` as a pandas.DataFrame.  Raises: UsageError: pandas is not installed."""
        return data_frame(self.rows())

    def to_dict(self) -> Json:
        """Return the results as plain values."""
        return _plain(self.results)


def _plain(result: Result) -> Json:
    """Return the plain values that json.load would return."""
    plain: Json = msgspec.json.decode(msgspec.json.encode(result))
    return plain


class _Findings(msgspec.Struct):
    findings: list[Finding] = []


class DiagnosisRun(Run):
    """A diagnosis. Cells, contrasts and samples are those of its survey; `steps` has all its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.diagnosis: DiagnosisInfo = read_info(folder)
        super().__init__(step_folders(folder)[0])

    def __repr__(self) -> str:
        return f"<DiagnosisRun {self.folder.name!r} {self.diagnosis.status}>"

    @cached_property
    def steps(self) -> list[Run]:
        """Return the runs of the diagnosis, the survey first."""
        return [Run(folder) for folder in step_folders(self.folder)]

    @property
    def findings(self) -> list[Finding]:
        """Return the findings of all steps.  Raises: RecordError: the file is damaged."""
        path = self.folder / DIAGNOSIS_FILE
        advice = "diagnose again: slowpath diagnose"
        return decoded(
            read_bytes(path, FILE_BYTES[DIAGNOSIS_FILE], within=self.folder), _Findings, path, advice
        ).findings

    def rows(self) -> list[Json]:
        """Return the rows of all steps, each with its step's folder."""
        return [{"step": run.path.name, **row} for run in self.steps for row in run.rows()]

    def contrast_rows(self) -> list[Json]:
        """Return the contrasts of all steps, each with its step's folder."""
        return [{"step": run.path.name, **row} for run in self.steps for row in run.contrast_rows()]


# Results as flat rows of numbers and words, ready for a data frame.

_ESTIMATE = (
    "launches",
    "samples",
    "p50",
    "p90",
    "p99",
    "p999",
    "min",
    "max",
    "within_ratio",
    "between_ratio",
    "bandwidth_bytes_per_s",
    "message_rate_per_s",
)


def estimate_rows(results: Results) -> list[Json]:
    """Return a row for each cell, metric and phase, with the parameters of all cells as columns."""
    parameters = dict.fromkeys(name for cell in results.cells for name in cell.parameters)
    return [
        {
            **_cell(cell, parameters, results),
            "metric": metric,
            "phase": phase,
            "unit": entry.unit,
            **_estimate(estimate),
        }
        for cell in results.cells
        for metric, entry in cell.metrics.items()
        for phase, estimate in entry.phases.items()
    ]


def _cell(cell: CellResult, parameters: Mapping[str, None], results: Results) -> Json:
    return {
        **{name: _number(cell.parameters.get(name)) for name in parameters},
        "run": results.run.id,
        "cell": cell.cell,
        "label": cell.label,
        "group": cell.group,
        "experiment": cell.experiment,
        "mpi": cell.mpi,
        "environment": cell.environment,
        "placement": cell.placement,
        "copy": cell.copy,
    }


def _number(text: str | None) -> str | int | float | None:
    """Return a parameter's value as a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text) if text is not None else None
        except ValueError:
            continue
    return text


def _estimate(estimate: MetricEstimate) -> Json:
    low, high = _ends(estimate.interval)
    return {
        "value": estimate.value,
        "interval_low": low,
        "interval_high": high,
        "interval_kind": estimate.interval_kind,
        **{name: getattr(estimate, name) for name in _ESTIMATE},
    }


def contrast_rows(results: Results) -> list[Json]:
    """Return a row for each contrast: the comparison, its result, and both sides with prefixes a_ and b_."""
    return list(_contrasts(results))


def _contrasts(results: Results) -> Iterator[Json]:
    for contrast in results.contrasts:
        low, high = _ends(contrast.interval)
        yield {
            "run": results.run.id,
            "contrast": contrast.id,
            "group": contrast.group,
            "question": contrast.question,
            "axis": contrast.axis,
            "metric": contrast.metric,
            **_side("a", contrast.a, contrast.a_value_s, results),
            **_side("b", contrast.b, contrast.b_value_s, results),
            "ratio": contrast.ratio,
            "interval_low": low,
            "interval_high": high,
            "verdict": contrast.verdict,
            "reason": contrast.reason,
            "launches": contrast.launches,
            "p_adjusted": contrast.p_adjusted,
        }


def _side(name: str, side: ContrastSide, value_s: float | None, results: Results) -> Json:
    cell = results.cell(side.cell)
    fields = {
        "cell": side.cell,
        "value": side.value,
        "phase": side.phase,
        "label": side.label,
        "mpi": cell.mpi,
        "environment": cell.environment,
        "placement": cell.placement,
        "message_bytes": _number(cell.parameters.get("message_bytes")),
        "time_s": value_s,
    }
    return {f"{name}_{key}": value for key, value in fields.items()}


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval[0], interval[1]) if interval is not None else (None, None)


def data_frame(rows: Sequence[Json]) -> Any:
    """Return a pandas.DataFrame of the rows.  Raises: UsageError: pandas is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise UsageError("to_pandas() needs pandas: pip install pandas, or use rows()") from error
    return pandas.DataFrame(rows)
