# SPDX-License-Identifier: Apache-2.0
"""Builds results.json (docs/reference/results.md) from a run folder, and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowpath.analyse.about import run_entry
from slowpath.analyse.beyond import beyond_notes
from slowpath.analyse.cells import cell_entry
from slowpath.analyse.contrasts import build_contrasts, offers
from slowpath.analyse.first_allocation import first_allocation_lines, without_first_allocation
from slowpath.analyse.floors import floor_lines
from slowpath.analyse.launch_kinds import fixed_work_s, launch_kinds
from slowpath.analyse.library_loaded import library_lines
from slowpath.analyse.node_pairs import node_pairs, pair_lines
from slowpath.analyse.outcomes import declined_cells, skipped_rows
from slowpath.analyse.placed import placement_lines
from slowpath.analyse.run_facts import absent_notes, run_facts
from slowpath.analyse.shapes import shapes_of
from slowpath.analyse.source import read_recorded
from slowpath.analyse.witness import tells_processor_time_apart
from slowpath.core.results import RESULTS_SCHEMA, Results, Verdict
from slowpath.experiments.experiment import Concluded
from slowpath.experiments.measure import measure
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.experiments.registry import EXPERIMENTS, ROLES
from slowpath.findings.conclude import conclude
from slowpath.record.events import Note
from slowpath.slowpaths.collectives.scalings import scalings
from slowpath.slowpaths.evaluate import findings


def build_results(run: Path) -> Results:
    """Everything that can be concluded from a run folder, or from a folder that slowpath-ipc wrote.

    Raises: RecordError when run.json or plan.json is missing, damaged or from a newer version.
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
    studies = [one.study for one in EXPERIMENTS if one.study]
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
        verdict=Verdict(headline="not concluded yet", lines=[]),
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
