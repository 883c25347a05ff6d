# SPDX-License-Identifier: Apache-2.0
"""References: good runs that are kept in a folder, and the comparison of a run with them.

A reference is a run that a user added; Slowpath comes with none. A run is compared with references that have the same
processor model, number of processors and memory, MPI library and cell. A range is the lowest and the highest value of
the reference runs. A run that is no different lies outside of the range by chance: above all of n runs once in n + 1.
A range of fewer than MINIMUM_RUNS runs therefore decides nothing, and `slower` also requires an interval beyond the
range by the minimum effect.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from slowpath.compare.read import RunSource, environment_of, mpi_of, placement_of, read_source, require_measured
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.files import create_once, write_atomically
from slowpath.core.guard import cleaned
from slowpath.core.machine import alike, hardware
from slowpath.core.plan import is_effort
from slowpath.core.result import Interval
from slowpath.core.units import format_ratio, format_time
from slowpath.experiments.registry import ROLES

MINIMUM_RUNS = 5
PHASE = "steady"
Word = Literal["within", "slower", "faster", "undecided", "no reference"]


class RangeCheck(msgspec.Struct, frozen=True):
    """A metric of a cell compared with the range of the reference runs.

    Args: low, high: ends of the range, in `unit`.  ratio: to the nearer end, if the value lies outside.
    """

    label: str
    metric: str
    unit: str
    value: float
    interval: Interval | None
    runs: int
    low: float | None
    high: float | None
    word: Word
    ratio: float | None
    reason: str | None


class Reference(msgspec.Struct, frozen=True):
    """The comparison of a run with references. `machine` is the processor; `reason` states why there are no rows."""

    run: str
    machine: str
    used: list[str]
    rows: list[RangeCheck]
    reason: str | None


def hold(run: RunSource, references: Sequence[RunSource], minimum_effect: float) -> Reference:
    """Compare the steady times of the run's cells with references.

    Args: references: any runs. Runs of other machines and the run itself are left out.
    """
    machine = hardware(run.run.machine)
    usable = [
        reference
        for reference in references
        if alike(reference.run.machine, run.run.machine) and reference.run.id != run.run.id
    ]
    words = str(machine[0] or "unknown processor")
    if not usable:
        others = sorted({str(hardware(reference.run.machine)[0]) for reference in references} - {words})
        there = f"; there are references of {', '.join(others)}" if others else ""
        reason = f"no reference for this processor ({words}, {machine[1]} processors){there}"
        return Reference(run.run.id, words, [], [], reason)
    known = [_values(reference) for reference in usable]
    rows = [_checked(run, cell, known, minimum_effect) for cell in run.results.cells if cell.copy == 1]
    return Reference(
        run.run.id, words, [reference.run.id for reference in usable], [row for row in rows if row is not None], None
    )


def _checked(
    run: RunSource, cell: CellResult, known: Sequence[dict[Hashable, float]], minimum_effect: float
) -> RangeCheck | None:
    found = _first_time(cell)
    if found is None:
        return None
    metric, estimate = found
    there = [values[_name(run, cell)] for values in known if _name(run, cell) in values]
    word, ratio, reason = _judge(estimate, there, minimum_effect)
    low, high = (min(there), max(there)) if there else (None, None)
    return RangeCheck(
        cell.label, metric, "s", estimate.value, estimate.interval, len(there), low, high, word, ratio, reason
    )


def _judge(
    estimate: MetricEstimate, there: Sequence[float], minimum_effect: float
) -> tuple[Word, float | None, str | None]:
    if len(there) < MINIMUM_RUNS:
        return "no reference", None, f"{len(there)} of {MINIMUM_RUNS} reference runs have this cell"
    low, high = min(there), max(there)
    if low <= estimate.value <= high:
        return "within", None, None
    end = high if estimate.value > high else low
    ratio = estimate.value / end
    if estimate.interval is None:
        return "undecided", ratio, "outside the range, but too few launches for an interval"
    if estimate.interval[0] > high * (1 + minimum_effect):
        return "slower", ratio, None
    if estimate.interval[1] < low / (1 + minimum_effect):
        return "faster", ratio, None
    return "undecided", ratio, "outside the range, but by less than its interval and the minimum effect"


def _values(run: RunSource) -> dict[Hashable, float]:
    """Return the steady time of each cell of a reference run."""
    return {_name(run, cell): found[1].value for cell in run.results.cells if (found := _first_time(cell)) is not None}


def _first_time(cell: CellResult) -> tuple[str, MetricEstimate] | None:
    """Return the first metric in seconds with its estimate for later messages, or None."""
    times = ((name, cell.estimate(name, PHASE)) for name, metric in cell.metrics.items() if metric.unit == "s")
    return next(((name, estimate) for name, estimate in times if estimate is not None), None)


def _name(run: RunSource, cell: CellResult) -> Hashable:
    """Return a key that a cell keeps over versions of a library and over campaigns that name it differently."""
    return tuple(_parts(run, cell))


def _parts(run: RunSource, cell: CellResult) -> Iterator[str]:
    environment, placement = environment_of(run.run, cell), placement_of(run.run, cell)
    yield cell.experiment
    yield mpi_of(run.run, cell.mpi).name or ""
    yield json.dumps({k: v for k, v in cell.parameters.items() if not is_effort(ROLES, k)}, sort_keys=True)
    yield json.dumps([environment.variables, environment.unset, environment.witness] if environment else None)
    yield json.dumps([placement.bind, placement.spread, len(placement.observed)] if placement else None)
    yield str(cell.copy)


VARIABLE = "SLOWPATH_DATA_DIR"


def references_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of references: in SLOWPATH_DATA_DIR, else in the user's data folder."""
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser().absolute() / "references"
    import platformdirs

    return Path(platformdirs.user_data_dir("slowpath")) / "references"


def add(run: RunSource, folder: Path) -> Path:
    """Keep the run's results as a reference. The same run is kept once; another run of the same name gets a number.

    Raises: UsageError: the run is imported, incomplete or had wrong bytes.  RecordError: it holds no measurement.
            EnvironmentFailure: the file can't be written.
    """
    require_measured(run)
    if run.run.imported or run.run.status != "complete":
        problem = "it was imported" if run.run.imported else f"its status is {run.run.status}"
        raise UsageError(f"{run.path}: can't be a reference: {problem}; add a complete run of slowpath run")
    if any(cell.wrong_bytes for cell in run.results.cells):
        raise UsageError(f"{run.path}: can't be a reference: messages arrived with wrong bytes")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(f"cannot make {folder}: {error.strerror or error}; name another folder") from error
    content = (json.dumps(msgspec.to_builtins(run.results), ensure_ascii=False) + "\n").encode()
    name = re.sub(r"[^A-Za-z0-9._-]", "_", run.run.id)
    for number in itertools.count(1):
        target = folder / (f"{name}.json" if number == 1 else f"{name}-{number}.json")
        if create_once(target, content):
            return target
        if _holds(target, run):
            write_atomically(target, content)
            return target
    raise AssertionError


def _holds(path: Path, run: RunSource) -> bool:
    """Return whether a reference is this run. Two nodes may start runs of the same name in the same second."""
    try:
        other = read_source(path)
    except RecordError:
        return True  # damaged: to be replaced
    return _which(other) == _which(run)


def _which(run: RunSource) -> tuple[object, ...]:
    return run.run.id, run.run.started, run.run.seed, run.run.machine.get("host")


def read_references(folder: Path) -> tuple[list[RunSource], list[str]]:
    """Return all references of a folder, and a line for each file that can't be read."""
    found: list[RunSource] = []
    left_out: list[str] = []
    for path in sorted(folder.glob("*.json")):
        try:
            found.append(require_measured(read_source(path)))
        except RecordError as error:
            left_out.append(str(error))
    return found, left_out


_ORDER: tuple[Word, ...] = ("slower", "undecided", "faster", "no reference", "within")


@cleaned
def render_reference(found: Reference) -> str:
    """Return the number of cells by result, then a line for each cell, with slower cells first."""
    if found.reason is not None:
        return f"{found.run}: {found.reason}. To add good runs: slowpath reference add RUN\n"
    counts = Counter(row.word for row in found.rows)
    parts = ", ".join(f"{counts[word]} {word}" for word in _ORDER if counts[word])
    runs = f"{len(found.used)} reference run{'s' * (len(found.used) != 1)} on {found.machine}"
    lines = [f"{found.run} against {runs}: {parts or 'no time to compare'}"]
    if len(found.used) < MINIMUM_RUNS:
        lines.append(f"A range needs at least {MINIMUM_RUNS} runs. To add runs: slowpath reference add RUN")
    rows = sorted(found.rows, key=lambda row: _ORDER.index(row.word))
    return "\n".join([*lines, "", *(_line(row) for row in rows)]) + "\n"


def _line(check: RangeCheck) -> str:
    time = format_time(check.value)
    if check.low is None or check.high is None:
        return f"{check.word:<12}  {check.label}: {time}; {check.reason}"
    span = f"{format_time(check.low)} to {format_time(check.high)} in {check.runs} run{'s' * (check.runs != 1)}"
    apart = ""
    if check.ratio is not None:
        apart = f"; {format_ratio(check.ratio)} times the {'slowest' if check.ratio > 1 else 'fastest'} of them"
    why = f" ({check.reason})" if check.reason else ""
    return f"{check.word:<12}  {check.label}: {time}; {span}{apart}{why}"
