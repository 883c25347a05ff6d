# SPDX-License-Identifier: Apache-2.0
"""From the folder of a watch to its results, findings and prices left open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowpath.core.version import __version__
from slowpath.watch.attributed import Attributed, attributed
from slowpath.watch.classes import ClassKey, classes_of
from slowpath.watch.collective_classes import collectives_of
from slowpath.watch.coverage import calls_of, coverage_of
from slowpath.watch.events import Floats
from slowpath.watch.folder import WatchInfo, read_watch
from slowpath.watch.record.job import WatchedJob, read_job
from slowpath.watch.record.layout import watch_layout
from slowpath.watch.results import WATCH_SCHEMA, WatchedProgram, WatchResults
from slowpath.watch.slices import slices_of
from slowpath.watch.tables import allocations_of, pairs_of, sites_of
from slowpath.watch.totals import call_seconds, rank_times, weights
from slowpath.watch.waits import waits_of

THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")
Interface = Literal["mpich", "openmpi", "abi", "unknown"]


@dataclass(frozen=True)
class Watched:
    """A watch, attributed, and its results without findings, prices and verdict.

    weight: how many calls each kept one stands for, shape (n,).  class_keys: of `results.classes`, by index.
    """

    results: WatchResults
    attributed: Attributed
    weight: Floats
    class_keys: tuple[ClassKey, ...]


def watch_results(folder: Path) -> WatchResults:
    """Without findings.  Raises: RecordError: it is no watch."""
    return watched(folder).results


def watched(folder: Path) -> Watched:
    """Read, match, attribute and add up.  Raises: RecordError: it is no watch."""
    info = read_watch(folder)
    job = read_job(folder)
    found = attributed(job)
    seconds = call_seconds(found.world)
    weight = weights(found.events, found.world, seconds)
    ranks = rank_times(found, weight, seconds)
    span_s = max((rank.span_s for rank in ranks), default=0.0)
    calls = calls_of(found.world)
    classes, keys, sites = classes_of(found)
    slices, shown = slices_of(found, span_s)
    site_of = {site: i for i, site in enumerate(sites)}
    results = WatchResults(
        schema=WATCH_SCHEMA,
        slowpath=__version__,
        program=_program(info, job, span_s if ranks else None),
        coverage=coverage_of(found, calls, seconds, (*info.notes, *job.notes, *found.world.notes)),
        verdict=(),
        saved_s=None,
        saved_interval=None,
        findings=(),
        waits=waits_of(found, weight, len(ranks), span_s, site_of),
        fine=(),
        unpriced=(),
        ranks=ranks,
        calls=calls,
        classes=classes,
        sites=sites_of(found.world, sites),
        pairs=pairs_of(found),
        allocations=allocations_of(found.world),
        slices=slices,
        collectives=collectives_of(found, weight, site_of),
        shown_ranks=shown,
    )
    return Watched(results, found, weight, keys)


def _program(info: WatchInfo, job: WatchedJob, span_s: float | None) -> WatchedProgram:
    first = job.records[0] if job.records else None
    level = int(first.header["thread_level"]) if first is not None else -1
    return WatchedProgram(
        command=info.command,
        program=Path(first.words("program")).name if first is not None else "",
        ranks=job.size,
        recorded_ranks=len(job.records),
        hosts=tuple(dict.fromkeys(record.words("host") for record in job.records)),
        interface=_interface(int(first.header["interface"])) if first is not None else "unknown",
        library=first.words("library") if first is not None else "",
        library_path=first.words("library_path") if first is not None else "",
        thread_level=THREAD_LEVELS[level] if 0 <= level < len(THREAD_LEVELS) else None,
        exit_code=info.exit_code,
        signal=info.signal,
        wall_s=info.wall_s or 0.0,
        span_s=span_s,
        started=info.started,
    )


def _interface(number: int) -> Interface:
    known: dict[str, Interface] = {"mpich": "mpich", "openmpi": "openmpi", "abi": "abi"}
    return known.get(watch_layout().interfaces.get(number, ""), "unknown")
