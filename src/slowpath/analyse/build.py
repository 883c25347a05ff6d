# SPDX-License-Identifier: Apache-2.0
"""Builds results.json (docs/reference/results.md) from a run folder, and from nothing else."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from slowpath.analyse.about import run_entry
from slowpath.analyse.cells import cell_entry
from slowpath.analyse.contrasts import build_contrasts, offers
from slowpath.analyse.first_allocation import first_allocation_lines, without_first_allocation
from slowpath.analyse.floors import floor_lines
from slowpath.analyse.node_pairs import node_pairs, pair_lines
from slowpath.analyse.placed import placement_lines
from slowpath.analyse.run_facts import absent_notes, declined_cells, run_facts, skipped_rows
from slowpath.analyse.shapes import METRICS, BySeries, shapes_of
from slowpath.analyse.source import read_recorded
from slowpath.analyse.witness import tells_processor_time_apart
from slowpath.core.plan import Cell
from slowpath.core.results import RESULTS_SCHEMA, Line, MpiResult, Results, Verdict
from slowpath.core.shape_results import KindTimes, LaunchKinds
from slowpath.core.units import listed
from slowpath.experiments.experiment import Concluded
from slowpath.experiments.measured import LaunchRecord, first_good_launches, fixed_work
from slowpath.experiments.registry import EXPERIMENTS, ROLES, measure
from slowpath.findings.conclude import conclude
from slowpath.mpi.libraries import library_named, named_in, version_tuple
from slowpath.record.events import FixedWork, Note
from slowpath.record.folder import LaunchInfo
from slowpath.slowpaths.collectives.scalings import scalings
from slowpath.slowpaths.evaluate import findings
from slowpath.stats.estimate import Floats, welch
from slowpath.stats.shapes import FEWEST_OF_KINDS as FEWEST_LAUNCHES
from slowpath.stats.shapes import Kind, Kinds, kinds_of

Job = tuple[str | None, str, str, tuple[int, ...]]  # MPI, environment, placement, launches that measured a cell
Row = tuple[int, str, Floats]  # cell, metric, median of each launch


def fixed_work_s(launches: Iterable[LaunchRecord]) -> dict[int, float]:
    """Launch -> the median of its fixed work, mean over ranks, seconds; without those that recorded none."""
    found = {}
    for launch in launches:
        medians = [float(np.median(samples.duration_ns)) * 1e-9 for samples in fixed_work(launch.events.of(FixedWork))]
        if medians:
            found[launch.info.launch] = math.fsum(medians) / len(medians)
    return found


def launch_kinds(cells: Iterable[Cell], by_series: BySeries, work_s: Mapping[int, float]) -> list[LaunchKinds]:
    """Of each group of cells that the same launches measured, where those fall apart. work_s: as of fixed_work_s."""
    jobs: dict[Job, list[Row]] = defaultdict(list)
    for cell in cells:
        for metric in METRICS:
            rounds = by_series.get((cell.cell, metric, "steady"))
            if rounds:
                times = {launch: one.centre_s for launch, one in rounds.values()}
                numbers = tuple(sorted(times))
                row = (cell.cell, metric, np.array([times[number] for number in numbers]))
                jobs[cell.mpi, cell.environment, cell.placement, numbers].append(row)
                break
    found = []
    for (_, _, _, numbers), rows in jobs.items():
        kinds = kinds_of(np.array([times for _, _, times in rows])) if len(numbers) >= FEWEST_LAUNCHES else None
        if kinds is not None:
            found.append(_entry(numbers, rows, kinds, work_s))
    return found


def _entry(numbers: Sequence[int], rows: Sequence[Row], kinds: Kinds, work_s: Mapping[int, float]) -> LaunchKinds:
    slow = kinds.slow
    times = sorted((_times(rows[row], slow) for row in kinds.cells), key=lambda one: one.ratio, reverse=True)
    relative = [np.log(rows[row][2] / np.median(rows[row][2][~slow])) for row in kinds.cells]
    return LaunchKinds(
        launches=list(numbers),
        slow=slow.tolist(),
        relative=np.exp(np.mean(relative, axis=0)).tolist(),
        cells=times,
        asked=len(rows),
        order_p=kinds.order_p,
        fixed_work_ratio=_fixed_work_ratio(numbers, slow, work_s),
    )


def _times(row: Row, slow: Kind) -> KindTimes:
    cell, metric, times = row
    apart = welch(np.log(times[~slow]), np.log(times[slow]))
    interval = apart.interval()
    return KindTimes(
        cell=cell,
        metric=metric,
        slow_s=float(np.median(times[slow])),
        fast_s=float(np.median(times[~slow])),
        ratio=math.exp(apart.value),
        interval=None if interval is None else (math.exp(interval.low), math.exp(interval.high)),
    )


def _fixed_work_ratio(numbers: Sequence[int], slow: Kind, work_s: Mapping[int, float]) -> float | None:
    sides = [
        [work_s[number] for number, is_slow in zip(numbers, slow, strict=True) if is_slow == side and number in work_s]
        for side in (True, False)
    ]
    return float(np.median(sides[0]) / np.median(sides[1])) if all(sides) else None


MOST_NAMED = 8
# Times of day may be set while a launch runs; then they say nothing about what ran at the same time.
SET_CLOCK_S = 2.0


def beyond_notes(launches: Sequence[LaunchRecord]) -> list[str]:
    """One line each, or none."""
    return [*_doubled(launches), *_at_once([launch.info for launch in launches])]


def _doubled(launches: Sequence[LaunchRecord]) -> list[str]:
    used = first_good_launches(launches)
    left_out = {
        launch.info.launch: unused
        for launch in launches
        if (unused := len(launch.measured_cells()) - len(used[launch.info.launch]))
    }
    if not left_out:
        return []
    return [
        f"measured beyond the plan and not used: {sum(left_out.values())} cells in launches {_named(list(left_out))}; "
        "of several launches that measured a cell in one round the one with the lowest number counts"
    ]


def _at_once(infos: Sequence[LaunchInfo]) -> list[str]:
    """Launches of one turn began in the very same moment; all others follow each other."""
    spans = sorted((begin, end, info.launch) for info in infos for begin, end in _spans(info))
    found: set[int] = set()
    latest: tuple[float, float, int] | None = None  # that ends last, of those before
    for span in spans:
        if latest is not None and span[0] < latest[1] and span[0] != latest[0]:
            found |= {latest[2], span[2]}
        if latest is None or span[1] > latest[1]:
            latest = span
    if not found:
        return []
    return [
        f"launches {_named(sorted(found))} ran at the same time, so two processes measured into this folder: their "
        "times include waiting for each other; measure again"
    ]


def _spans(info: LaunchInfo) -> list[tuple[float, float]]:
    """Begin and end, seconds since 1970; []: not recorded, or the clock was set meanwhile."""
    if not info.started or not info.finished or info.wall_s is None:
        return []
    try:
        begin, end = (datetime.fromisoformat(text).timestamp() for text in (info.started, info.finished))
    except (ValueError, OverflowError, OSError):
        return []
    return [(begin, end)] if abs(end - begin - info.wall_s) < SET_CLOCK_S else []


def _named(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    return listed(words if len(words) <= MOST_NAMED else [*words[:MOST_NAMED], f"{len(words) - MOST_NAMED} more"])


def library_lines(mpis: Sequence[MpiResult]) -> list[Line]:
    """Lines of the verdict: a library that is not the one that the run was planned for."""
    texts = [f"{_planned(mpi)} was asked for, and the ranks loaded {mpi.library}." for mpi in mpis if _differs(mpi)]
    return [Line(level="warning", text=text, contrast=None) for text in texts]


def _planned(mpi: MpiResult) -> str:
    known = library_named(mpi.name or "")
    return f"{known.title if known else mpi.name} {mpi.version or ''}".strip()


def _differs(mpi: MpiResult) -> bool:
    found, planned = named_in(mpi.library or ""), library_named(mpi.name or "")
    if found is None or planned is None:
        return False
    library, version = found
    if library.name != planned.name:
        # The first line of a library that was made from another may be that one's.
        return library.name != planned.base
    one, other = version_tuple(version), version_tuple(mpi.version)
    if one is None or other is None:
        return False
    known = min(len(one), len(other))
    return one[:known] != other[:known]


def build_results(run: Path) -> Results:
    """Everything that can be concluded from a run folder.

    Raises: RecordError when run.json or plan.json is missing, damaged or of another version.
    """
    recorded = read_recorded(run)
    info, plan, launches = recorded.info, recorded.plan, recorded.launches
    measurements = measure(plan, launches)
    first_allocations = first_allocation_lines(plan.cells, measurements.by_series)
    if info.imported:
        measurements.by_series = without_first_allocation(measurements.by_series)
    suspects = _suspects(launches)
    # What was counted in a witnessed cell is reported with its timed twin.
    counted_elsewhere = measurements.twins.witnessed - measurements.twins.stand_alone
    declined = declined_cells(launches)
    cells = [
        cell_entry(cell, plan, measurements, declined) for cell in plan.cells if cell.cell not in counted_elsewhere
    ]
    commands = {cell.cell: cell.reproduce for cell in cells}
    contrasts = build_contrasts(plan, measurements.by_series, recorded.interleaved, suspects, commands)
    skipped = skipped_rows(plan, launches, run)
    studies = [experiment.study for experiment in EXPERIMENTS if experiment.study]
    given = Concluded(plan, measurements, cells, contrasts, skipped)
    sections: dict[str, Any] = {study.section: study.build(given) for study in studies}
    pairs = node_pairs(plan, measurements.by_series, {cell.cell: cell.label for cell in cells}, skipped)
    about = run_entry(recorded, run)
    beyond = [] if info.imported else beyond_notes(launches)
    more = [line for study in studies for line in study.lines(sections[study.section], cells)]
    more += [*pair_lines(pairs), *placement_lines(about.placements), *library_lines(about.mpis)]
    more += [*first_allocations, *recorded.lines]
    more += floor_lines(cells)
    results = Results(
        schema=RESULTS_SCHEMA,
        run=about,
        verdict=Verdict(headline="not concluded yet", lines=[], state="not measured", answer="not concluded yet"),
        cells=cells,
        contrasts=contrasts,
        findings=[],
        **sections,
        node_pairs=pairs,
        shapes=shapes_of(plan.cells, measurements.by_series),
        launch_kinds=launch_kinds(plan.cells, measurements.by_series, fixed_work_s(launches)),
        skipped=skipped,
        notes=[
            *beyond,
            *info.notes,
            *recorded.notes,
            *(note for launch in launches for note in launch.notes),
            *_noted(launches, info.notes),
            *_sampled(launches),
        ],
    )
    results = msgspec.structs.replace(results, notes=[*results.notes, *absent_notes(results)])
    results = msgspec.structs.replace(results, scalings=scalings(results.cells))
    found = findings(results, ROLES)
    by_number = {cell.cell: cell for cell in cells}
    concluded = conclude(contrasts, found, run_facts(results), cells=by_number, offers=offers(plan), more=more)
    return msgspec.structs.replace(results, verdict=concluded.verdict, contrasts=concluded.contrasts, findings=found)


def _suspects(launches: Sequence[LaunchRecord]) -> dict[int, list[str]]:
    """Cell -> notes on doubtful values, as the importer or the engine flagged them."""
    found: dict[int, list[str]] = {}
    for launch in launches:
        if launch.blocks is None:
            continue
        flagged = {int(cell) for cell in launch.blocks.headers["cell"][launch.blocks.flag("suspect")]}
        for note in launch.events.of(Note):
            if note.cell in flagged:
                found.setdefault(note.cell, []).append(note.text)
    return found


def _sampled(launches: Sequence[LaunchRecord]) -> list[str]:
    """A note where the kernel does not tell user from system time."""
    if all(map(tells_processor_time_apart, launches)):
        return []
    return [
        "user and system times are not used: this kernel samples them at timer ticks, and booked known work wrongly"
    ]


def _noted(launches: Sequence[LaunchRecord], known: Sequence[str]) -> list[str]:
    """Notes that the engine wrote, each once; an importer's stand in run.json already."""
    texts = dict.fromkeys(note.text for launch in launches for note in launch.events.of(Note))
    return [text for text in texts if not any(text in other for other in known)]
