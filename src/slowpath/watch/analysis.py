# SPDX-License-Identifier: Apache-2.0
"""From the folder of a watch to its results: read, matched, attributed, added up, priced by what the folder holds."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from msgspec.structs import replace

from slowpath.core.version import __version__
from slowpath.findings.program_pattern import ProgramCalls, crowded_ranks, grouped
from slowpath.mpi.libraries import named_in
from slowpath.watch.accounts import accounts_of, start_seconds
from slowpath.watch.attributed import Attributed, attributed, completed_in
from slowpath.watch.classes import ClassKey, classes_of, collectives_of, pair_classes
from slowpath.watch.conclude import Watched, concluded
from slowpath.watch.critical_path import critical_path, on_slices, parts_of
from slowpath.watch.events import Bools, Events, Floats
from slowpath.watch.folder import WatchInfo, read_watch
from slowpath.watch.match import NO_EVENT
from slowpath.watch.patterns import in_calls, kept_calls, one_place, outside_words, program_calls
from slowpath.watch.place import wrong_place
from slowpath.watch.prices import read_sources
from slowpath.watch.reasons import Why
from slowpath.watch.record.job import WatchedJob, read_job
from slowpath.watch.record.layout import EventKind, watch_layout
from slowpath.watch.resources import (
    alone_note,
    launcher_seconds,
    misstart,
    program_resources,
    resources_of,
)
from slowpath.watch.results import (
    WATCH_SCHEMA,
    RankResources,
    Standstill,
    WatchedProgram,
    WatchResults,
)
from slowpath.watch.standstill import LEAST_QUIET_S, standstill
from slowpath.watch.totals import (
    call_seconds,
    calls_of,
    coverage_of,
    pairs_of,
    rank_times,
    sites_of,
    slices_of,
    time_weights,
)
from slowpath.watch.what_if import (
    ENTRY,
    RETURN,
    CallOrder,
    Ints,
    KeptOrder,
    possible,
)

# Of mpi4py 4, commimpl.pxi and msgpickle.pxi: `allreduce` of an object is a reduction by messages and a broadcast, each
# of a length and then of the pickled bytes. The methods with a capital letter are one MPI call on a buffer.
_OF_OBJECTS: Final = re.compile(
    r"mpi4py\.MPI\.(?:Comm|Intracomm|Intercomm|Topocomm)\."
    r"(allreduce|reduce|bcast|i?[sb]?send|i?recv|sendrecv|gather|scatter|(?:neighbor_)?all(?:gather|toall))"
)


def object_call(functions: Sequence[str]) -> str | None:
    """Return the function of a binding that works on objects and made this call, such as mpi4py.MPI.Comm.allreduce.

    Args: functions: names of the call's function and of its callers, the innermost first.  None: there is no such one.
    """
    return next((name for name in functions if _OF_OBJECTS.fullmatch(name)), None)


THREAD_LEVELS = ("single", "funneled", "serialized", "multiple")
Interface = Literal["mpich", "openmpi", "abi", "unknown"]


@dataclass(frozen=True)
class AttributedWatch:
    """A watch, attributed, and its results without findings, prices and verdict.

    weight: how many calls each kept one stands for, shape (n,).  class_keys: of `results.classes`, by index.
    site_of: site -> index in `results.sites`.
    """

    results: WatchResults
    attributed: Attributed
    weight: Floats
    class_keys: tuple[ClassKey, ...]
    site_of: Mapping[int, int]


def watched(folder: Path) -> AttributedWatch:
    """Read, match, attribute and add up.  Raises: RecordError: it is no watch."""
    info = read_watch(folder)
    job = read_job(folder)
    run = attributed(job)
    seconds = call_seconds(run.world)
    weight = time_weights(run.events, run.world, np.flatnonzero(run.events.is_timed))
    ranks = rank_times(run, seconds)
    span_s = max((rank.span_s for rank in ranks), default=0.0)
    calls = calls_of(run.world)
    classes, keys, sites = classes_of(run)
    slices, shown = slices_of(run, span_s)
    site_of = {site: i for i, site in enumerate(sites)}
    alone = filter(None, [alone_note(info, job)])
    resources = resources_of(job.records)
    results = WatchResults(
        schema=WATCH_SCHEMA,
        slowpath=__version__,
        program=_program(info, job, resources, span_s if ranks else None),
        coverage=coverage_of(run, calls, seconds, (*info.notes, *alone, *job.notes, *run.world.notes)),
        verdict=(),
        saved_s=None,
        saved_interval=None,
        findings=(),
        ranks=ranks,
        calls=calls,
        classes=classes,
        sites=sites_of(run.world, sites),
        pairs=pairs_of(run),
        resources=resources,
        slices=slices,
        collectives=collectives_of(run, weight, site_of),
        shown_ranks=shown,
        standstill=_standstill(run, info),
    )
    own, known = program_resources(results), named_in(results.program.library)
    shares = own.ranks if own else ()
    results = replace(
        results,
        accounts=accounts_of(
            run, weight, seconds, ranks, {rank.rank: rank for rank in resources}, crowded_ranks(shares)
        ),
        place=wrong_place(info, known[0].name if known else None, resources, shares),
        start_s=start_seconds(results),
    )
    return AttributedWatch(results, run, weight, keys, site_of)


def _standstill(run: Attributed, info: WatchInfo) -> Standstill | None:
    """Of a program that did not end by itself; one that ended well did not hang."""
    if info.exit_code == 0 and not info.interrupted:
        return None
    return standstill(run, info.until, LEAST_QUIET_S, info.interrupted)


def _program(
    info: WatchInfo, job: WatchedJob, resources: Sequence[RankResources], span_s: float | None
) -> WatchedProgram:
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
        launcher_s=launcher_seconds(info, job, resources),
        misstart=misstart(info, job),
    )


def _interface(number: int) -> Interface:
    known: dict[str, Interface] = {"mpich": "mpich", "openmpi": "openmpi", "abi": "abi"}
    return known.get(watch_layout().interfaces.get(number, ""), "unknown")


def kept_of(run: Attributed, pairs: Ints) -> KeptOrder:
    """Calls as chains of their threads, their dependencies, and the matched messages that they moved.

    Args: pairs: shape (messages, 2), the classes of each matched message's sides.
    """
    events = run.events
    level = run.world.level
    calls = kept_calls(run)
    place = np.full(len(events), NO_EVENT, dtype=np.int64)
    place[calls] = np.arange(calls.size)
    stretch = grouped(events.window[calls] >> level)[0] if level else np.zeros(calls.size, dtype=np.int64)
    chain, _ = grouped(stretch, events.record[calls], events.lane[calls])
    order = CallOrder(
        chain,
        stretch,
        events.start_s[calls],
        events.end_s[calls],
        _dependencies(run, place),
        _moved(run, place),
        meets=_meets(run, place),
    )
    return KeptOrder(order, pairs)


def _dependencies(run: Attributed, place: Ints) -> Ints:
    """Calls, calls that they wait for, and what of these; shape (m, 3)."""
    reasons = run.reasons
    sure = np.flatnonzero((reasons.why != int(Why.DOUBT)) | _ended_by(run))
    why, pair = reasons.why[sure], reasons.pair[sure]
    other = reasons.other[sure].copy()
    away = np.isin(why, [int(Why.SENDER_AWAY), int(Why.RECEIVER_AWAY), int(Why.TARGET_AWAY)])
    record_of = np.full(run.world.job.size, NO_EVENT, dtype=np.int64)
    record_of[[record.rank for record in run.world.records]] = np.arange(len(run.world.records))
    late = record_of[reasons.culprit[sure][away]]
    other[away] = _came_back(run.events, late, reasons.until_s[sure][away])
    of_pair = pair != NO_EVENT
    # A message that went eagerly, or by a call that only starts it, is on its way when that call has returned.
    is_sent = run.events.has(EventKind.POST)[reasons.other[sure]]
    is_sent[of_pair] |= run.eager.is_eager[pair[of_pair]]
    after = np.stack(
        [
            in_calls(run, reasons.call[sure], place),
            in_calls(run, other, place),
            np.where(is_sent & (why == int(Why.LATE_SENDER)), RETURN, ENTRY),
        ],
        axis=1,
    )
    kept: Ints = after[(after[:, :2] >= 0).all(axis=1) & (after[:, 0] != after[:, 1])]
    return kept


ENDED, LONG_S = 0.1, 1e-3  # of a wait, between what ended it and its end; of one that is no transfer


def _ended_by(run: Attributed) -> Bools:
    """Which reasons a call had that lasted long, and returned soon after the last of them came; of each reason.

    Whether a send waits for its receive is not known of each length: where one lasts as long as that, it does.
    """
    reasons, events = run.reasons, run.events
    last_s = np.full(len(events), -np.inf)
    np.maximum.at(last_s, reasons.call, reasons.until_s)
    length_s = events.end_s - events.start_s
    ended = (length_s >= LONG_S) & (last_s > events.start_s) & (last_s <= events.end_s)
    ended &= events.end_s - last_s <= ENDED * length_s
    return ended[reasons.call]


def _meets(run: Attributed, place: Ints) -> Ints:
    """Of each kept call the number of the collective that all leave after all came; blocking, or waited for at once."""
    event, group, done = run.groups.event, run.groups.group, completed_in(run.events)[run.groups.event]
    number = np.full(int(place.max(initial=-1)) + 1, NO_EVENT, dtype=np.int64)
    before, after = place[event], place[done]
    rows = np.flatnonzero(run.meets[group] & (before >= 0) & (done >= 0) & np.isin(after - before, (0, 1)))
    number[after[rows]] = group[rows]
    return number


def _came_back(events: Events, record: Ints, back_s: Floats) -> Ints:
    """The call with which each rank was in MPI again: its first one from `back_s` on."""
    back = np.full(record.size, NO_EVENT, dtype=np.int64)
    timed = np.flatnonzero(events.is_timed)
    for number in np.unique(record).tolist():
        rows = timed[events.record[timed] == number]
        rows = rows[np.argsort(events.start_s[rows], kind="stable")]
        asked = record == number
        at = np.searchsorted(events.start_s[rows], back_s[asked] - 1e-9)
        back[asked] = np.where(at < rows.size, rows[np.minimum(at, rows.size - 1)], NO_EVENT)
    return back


def _moved(run: Attributed, place: Ints) -> Ints:
    """Calls and the matched messages whose bytes they moved; shape (k, 2).

    An eager message leaves in the call that started it, any other one in the call that completed it. A message that was
    there before its receive arrives in the call that posted that.
    """
    match, eager = run.matched, run.eager
    sends, receives = match.sends, match.receives
    number = np.arange(match.send.size)
    left = np.where(eager.is_eager, sends.posted[match.send], sends.done[match.send])
    arrived = np.where(eager.arrived, receives.posted[match.receive], receives.done[match.receive])
    rows = [np.stack([in_calls(run, events, place), number], axis=1) for events in (left, arrived)]
    both = np.concatenate(rows)
    return both[both[:, 0] >= 0]


def read_watched(folder: Path) -> Watched:
    """Raises: RecordError: it is no watch."""
    watch = watched(folder)
    pairs = pair_classes(watch.attributed, watch.class_keys, watch.results.classes)
    kept = kept_of(watch.attributed, pairs)
    calls, path = calls_of_program(watch, kept), critical_path(possible(kept.order))
    results = watch.results
    share = 1.0 - sum(rank.mpi_s for rank in results.ranks) / max(sum(rank.span_s for rank in results.ranks), 1e-12)
    results = replace(
        results,
        path=parts_of(path, calls),
        slices=on_slices(results.slices, path, calls.rank),
        outside=outside_words(calls, results.sites, share),
    )
    return Watched(results, kept, calls, read_watch(folder).variables)


def calls_of_program(watch: AttributedWatch, kept: KeptOrder) -> ProgramCalls:
    """The kept calls, as slow paths look at them; sites are indices of the results'."""
    site_of = one_place(watch.site_of, watch.results.sites)
    calls = program_calls(watch.attributed, kept.order, site_of, watch.results.program.span_s or 0.0)
    within = tuple(object_call([site.function or "", *site.callers]) or "" for site in watch.results.sites)
    at = tuple(f"{Path(site.file or '').name}:{site.line}" if site.line else "" for site in watch.results.sites)
    return dataclasses.replace(calls, resources=program_resources(watch.results), within=within, at=at)


def concluded_watch(folder: Path) -> WatchResults:
    """Findings, savings and verdict; nothing is measured or written.  Raises: RecordError: it is no watch."""
    watch = read_watched(folder)
    sources, notes = read_sources(folder, watch.results.program)
    if notes:
        coverage = replace(watch.results.coverage, notes=(*watch.results.coverage.notes, *notes))
        watch = dataclasses.replace(watch, results=replace(watch.results, coverage=coverage))
    return concluded(watch, sources, str(folder))
