# SPDX-License-Identifier: Apache-2.0
"""What a folder holds: its record, or a results.json of whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slowpath.core.cell_results import CellResult
from slowpath.core.errors import RecordError
from slowpath.core.files import DAMAGE, read_bytes, require_schema, why
from slowpath.core.machine import Machine, differing, groups, host_of, in_words
from slowpath.core.plan import Plan
from slowpath.core.result import FILE_BYTES
from slowpath.core.results import RESULTS_SCHEMA, Line, Results
from slowpath.experiments.measured import LaunchRecord, load_launches
from slowpath.record.folder import RunInfo, read_run
from slowpath.record.plan_files import read_plan, require_launches, require_parameters


@dataclass(frozen=True)
class OneMachine:
    """info: with the machine of these launches.  lines: for the verdict, on those that are left out."""

    info: RunInfo
    launches: list[LaunchRecord]
    lines: list[Line]
    notes: list[str]


def of_one_machine(info: RunInfo, launches: Sequence[LaunchRecord]) -> OneMachine:
    """The launches of the kind of machine that measured most of them; of as many, the one that began."""
    machines = info.measured_on
    group = groups(machines)
    number = [launch.info.machine if 0 <= launch.info.machine < len(machines) else 0 for launch in launches]
    used = sorted(set(number))
    if len(used) < 2:
        first = machines[used[0]] if used and used[0] else info.machine
        return OneMachine(msgspec.structs.replace(info, machine=_facts(first)), list(launches), [], [])
    counts = {kind: sum(group[n] == kind for n in number) for kind in sorted({group[n] for n in used})}
    chosen = max(counts, key=lambda kind: (counts[kind], -kind))
    kept = [launch for launch, n in zip(launches, number, strict=True) if group[n] == chosen]
    here = [n for n in used if group[n] == chosen]
    speaks = machines[here[0]]
    lines = [_left_out(counts[chosen], speaks, counts[kind], machines[kind]) for kind in counts if kind != chosen]
    notes = [f"{number.count(n)} launches on {host_of(machines[n])}, like {host_of(speaks)}" for n in here[1:]]
    return OneMachine(msgspec.structs.replace(info, machine=_facts(speaks)), kept, lines, notes)


def _left_out(used: int, speaks: Machine, unused: int, other: Machine) -> Line:
    facts = ", ".join(difference.fact for difference in differing(speaks, other))
    text = (
        f"The machines differ in {facts}: only the {used} launches on {in_words(speaks)} are used, not the {unused} on "
        f"{in_words(other)}."
    )
    return Line(level="warning", text=text, contrast=None)


def _facts(machine: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in machine.items() if key != "engines"}


class Recorded(NamedTuple):
    """A run as recorded.

    mpis: what run.json says of each MPI, by its short name; empty where it is from before there could be several.
    interleaved: launches of both sides of a contrast stand in randomised blocks.  launches: of one kind of machine.
    lines, notes: on launches of other machines.
    """

    info: RunInfo
    plan: Plan
    launches: list[LaunchRecord]
    mpis: dict[str, dict[str, Any]]
    interleaved: bool
    lines: Sequence[Line] = ()
    notes: Sequence[str] = ()


def read_recorded(run: Path) -> Recorded:
    """Raises: RecordError when the folder holds no run, or its record can't be read."""
    info, plan = read_run(run), read_plan(run / "plan.json")
    launches = load_launches(run)
    try:
        require_launches(plan, [launch.info for launch in launches])
    except ValueError as error:
        raise RecordError(f"{run}: is damaged: {error} in plan.json; restore the folder from a copy") from error
    mpis = {str(facts.get("short_name")): facts for facts in info.mpis}
    recorded = of_one_machine(info, launches)
    return Recorded(recorded.info, plan, recorded.launches, mpis, not info.imported, recorded.lines, recorded.notes)


# results.json of whoever wrote it: typed, held to the limits, and whole in itself.

_ANEW = "rebuild it: slowpath report FOLDER"


def read_results(path: Path) -> Results:
    """Raises: RecordError: missing, damaged, beyond the limits, or of another schema."""
    return decode_results(read_bytes(path, FILE_BYTES["results.json"], within=path.parent), path)


def decode_results(content: bytes, path: Path) -> Results:
    """Results from the bytes of a results.json; `path` names it in errors.  Raises: RecordError."""
    require_schema(content, path, RESULTS_SCHEMA, "name a run folder or its results.json")
    try:
        results = msgspec.json.decode(content, type=Results)
        require_consistent(results)
    except (*DAMAGE, ValueError) as error:
        raise RecordError(f"{path}: is damaged: {why(error)}; {_ANEW}") from error
    return results


def require_consistent(results: Results) -> None:
    """Raises: ValueError: two cells of one number, or a number that no cell has; values that do not fit together."""
    cells = {cell.cell for cell in results.cells}
    if len(cells) < len(results.cells):
        raise ValueError("two cells have one number")
    if len({contrast.id for contrast in results.contrasts}) < len(results.contrasts):
        raise ValueError("two contrasts have one id")
    _require_known(
        cells, (side.cell for contrast in results.contrasts for side in (contrast.a, contrast.b)), "a contrast"
    )
    if results.put is not None:
        rows = (row.cell for condition in results.put.conditions for row in condition.rows)
        _require_known(cells, (*results.put.cells, *rows), "the comparison of who puts")
    _require_known(cells, (pair.cell for matrix in results.node_pairs for pair in matrix.pairs), "a pair of nodes")
    for cell in results.cells:
        require_parameters(cell.experiment, cell.parameters)
        _require_shapes(cell)


def _require_shapes(cell: CellResult) -> None:
    for name, metric in cell.metrics.items():
        uses = metric.by_repetition
        if uses and {len(row) for row in uses.launch_values} != {len(uses.repetitions)}:
            raise ValueError(f"cell {cell.cell}: metric '{name[:80]}': by_repetition has rows of another length")
        if uses and len(uses.launches) != len(uses.launch_values):
            raise ValueError(f"cell {cell.cell}: metric '{name[:80]}': by_repetition has a row without a launch")


def _require_known(cells: Iterable[int], asked: Iterable[int], who: str) -> None:
    unknown = next((cell for cell in asked if cell not in cells), None)
    if unknown is not None:
        raise ValueError(f"{who} is about cell {unknown}, which is not there")
