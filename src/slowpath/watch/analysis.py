# SPDX-License-Identifier: Apache-2.0
"""The efficiencies of the POP model, of the run and of windows of its time, and where they change.

Time outside MPI counts as useful. What a network that takes no time would need is replayed: the order of the kept calls
with all their transfer taken off (`what_if`), each window by itself. Windows are compared by two measures, the parallel
efficiency and how many messages and collectives the ranks begin a second, which also shows a program whose ranks all
become slower alike.

From the folder of a watch to its results: read, matched, attributed, added up, priced by what the folder holds.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from msgspec.structs import replace

from slowpath.core.machine import PlaceFault
from slowpath.core.units import seconds
from slowpath.core.version import __version__
from slowpath.findings.program_pattern import ProgramCalls
from slowpath.mpi.libraries import named_in
from slowpath.stats.launches import FEWEST, Level, levels
from slowpath.watch.accounts import accounts_of, file_time, start_seconds, waits_of
from slowpath.watch.attributed import Attributed, attributed
from slowpath.watch.classes import ClassKey, classes_of, collectives_of, pair_classes
from slowpath.watch.conclude import Asking, asking, concluded
from slowpath.watch.events import Events, Floats
from slowpath.watch.folder import WatchInfo, read_watch
from slowpath.watch.match import NO_EVENT
from slowpath.watch.patterns import NO_PATTERNS, Patterns, in_calls, kept_calls, one_place, patterns_of, program_calls
from slowpath.watch.place import wrong_place
from slowpath.watch.prices import law_sources, read_sources, remember_laws
from slowpath.watch.reasons import Why
from slowpath.watch.record.job import WatchedJob, read_job
from slowpath.watch.record.layout import EventKind, watch_layout
from slowpath.watch.resources import alone_note, launcher_seconds, misstart, program_resources, resources_of
from slowpath.watch.results import (
    WATCH_SCHEMA,
    Efficiency,
    Phase,
    RankResources,
    RankTime,
    Standstill,
    WatchedProgram,
    WatchResults,
)
from slowpath.watch.standstill import LEAST_QUIET_S, standstill
from slowpath.watch.totals import (
    allocations_of,
    call_seconds,
    calls_of,
    coverage_of,
    in_slices,
    kept_seconds,
    pairs_of,
    rank_times,
    sites_of,
    slices_of,
    time_weights,
)
from slowpath.watch.what_if import (
    ENTRY,
    MOST_ERROR,
    RETURN,
    CallOrder,
    Ints,
    KeptOrder,
    in_windows,
    possible,
    replay,
    transfers,
)

MOST_WINDOWS: Final = 60
LEAST_KEPT: Final = 2  # stretches of kept events in a window, on average
LEAST_WINDOWS: Final = 3  # of a phase: shorter ones are starts, ends and disturbances
LEAST_CHANGE: Final = 0.05  # of the parallel efficiency, that is worth a line
LEAST_RATIO: Final = 1.15  # of the calls a second
NOISE: Final = 0.005  # of an efficiency: smaller scatter is not believed
NOISE_LOG: Final = 0.01


def efficiencies_of(
    found: Attributed, order: CallOrder, ranks: tuple[RankTime, ...], span_s: float
) -> tuple[Efficiency | None, tuple[Efficiency, ...] | None, tuple[Phase, ...] | None]:
    """Return those of the run, of its windows, and stretches at another level; None: see the fields of results."""
    if not ranks or span_s <= 0:
        return None, None, None
    edges = _edges(found, span_s)
    if edges is None:
        ideal, reason = _ideal(order, np.array([0.0, span_s]))
        return _whole(ranks, span_s, ideal, reason), None, None
    of_window, reason = _ideal(order, edges)
    windows = _windows(found, edges, of_window, reason)
    return _whole(ranks, span_s, of_window, reason), windows, phases_of(windows)


def _edges(found: Attributed, span_s: float) -> Floats | None:
    """Of the windows; None: the run is too short for as many as could show a change."""
    level = found.world.level
    window_s = max((int(record.header["window_ns"]) for record in found.world.records), default=1) * 1e-9
    count = min(int(span_s / (LEAST_KEPT * max(window_s, 1e-6) * 2**level)), MOST_WINDOWS)
    return np.linspace(0.0, span_s, count + 1) if count >= FEWEST else None


def _ideal(order: CallOrder, edges: Floats) -> tuple[Floats, str | None]:
    """What is left of each window's time where transfer takes none, shape (windows,), NaN: not known; why all are."""
    shares = np.full(len(edges) - 1, np.nan)
    if not order.calls:
        return shares, "the order of its calls was not recorded"
    kept, window = in_windows(possible(order), edges)
    if not kept.calls:
        return shares, "no calls were kept whole in a window of time"
    done = replay(kept, transfers(kept)[:, None])
    if done.error_ratio > MOST_ERROR:
        return shares, f"a replay without changes is off by {100 * done.error_ratio:.0f} % of the measured time"
    saved, span = (
        np.bincount(window, weights=values, minlength=shares.size) for values in (done.saved_s[:, 0], done.span_s)
    )
    # A window whose calls fill little of it says little of it.
    known = span > 0.25 * (edges[1:] - edges[:-1]) * min(1.0, kept.calls / order.calls)
    shares[known] = np.clip(1.0 - saved[known] / span[known], 0.0, 1.0)
    return shares, None if known.any() else "no window of time holds enough calls"


def _whole(ranks: tuple[RankTime, ...], span_s: float, ideal: Floats, reason: str | None) -> Efficiency:
    useful = np.array([max(rank.span_s - rank.mpi_s, 0.0) for rank in ranks]) / span_s
    left = float(np.nanmean(ideal)) if not np.isnan(ideal).all() else np.nan
    return _efficiency(0.0, span_s, useful, left, reason, None)


def _efficiency(
    start_s: float, end_s: float, useful: Floats, ideal: float, reason: str | None, per_s: float | None
) -> Efficiency:
    """Args: useful: share of the time that each rank is outside MPI; NaN: not known.  ideal: what is left of it."""
    known = useful[~np.isnan(useful)]
    if not known.size:
        why = "no events of this window were kept"
        nothing = None
        return Efficiency(
            start_s=start_s, end_s=end_s, parallel=nothing, load_balance=nothing, communication=nothing,
            serialization=nothing, transfer=nothing, reason=why, per_s=None,
        )  # fmt: skip
    mean, most = (float(min(value, 1.0)) for value in (known.mean(), known.max()))
    transfer = serialization = None
    if not np.isnan(ideal):
        # On a network that takes no time the rank with most to compute still computes.
        left = max(ideal, most)
        transfer, serialization = min(left, 1.0), most / left if left > 0 else 1.0
    return Efficiency(
        start_s=start_s,
        end_s=end_s,
        parallel=mean,
        load_balance=min(mean / most, 1.0) if most > 0 else 1.0,
        communication=most,
        serialization=serialization,
        transfer=transfer,
        reason=None if transfer is not None else reason or "this window holds too few calls",
        per_s=per_s,
    )


def _windows(found: Attributed, edges: Floats, ideal: Floats, reason: str | None) -> tuple[Efficiency, ...]:
    events, records = found.events, found.world.records
    count = len(edges) - 1
    useful, begun, kept_s = (np.full((len(records), count), np.nan) for _ in range(3))
    moves = events.has(EventKind.SEND | EventKind.RECEIVE | EventKind.COLLECTIVE) & events.is_timed
    moves &= ~events.has(EventKind.NOTHING)
    for i, record in enumerate(records):
        lane = record.leading_lane
        rows = events.of(i, lane)
        kept = kept_seconds(found, i, lane, edges)
        in_mpi = in_slices(events.start_s[rows], events.duration_s[rows], edges)
        has = kept > 0.01 * (edges[1:] - edges[:-1])
        useful[i, has] = np.clip(1.0 - in_mpi[has] / kept[has], 0.0, 1.0)
        mine = events.start_s[rows[moves[rows]]]
        begun[i, has] = np.histogram(mine, bins=edges)[0][has]
        kept_s[i, has] = kept[has]
    with np.errstate(invalid="ignore"):
        per_s = np.nansum(begun, axis=0) / np.nansum(kept_s, axis=0) * len(records)
    return tuple(
        _efficiency(
            float(edges[k]),
            float(edges[k + 1]),
            useful[:, k],
            float(ideal[k]),
            reason,
            None if np.isnan(per_s[k]) else float(per_s[k]),
        )
        for k in range(count)
    )


def phases_of(windows: tuple[Efficiency, ...]) -> tuple[Phase, ...]:
    """Return stretches whose level differs from that of most of the run, in the order of time. Pure."""
    known = [window for window in windows if window.parallel is not None and window.per_s is not None]
    if len(known) < FEWEST:
        return ()
    parallel = np.array([window.parallel for window in known], dtype=float)
    rate = np.array([window.per_s for window in known], dtype=float)
    typical = float(np.median(rate[rate > 0])) if (rate > 0).any() else 1.0
    logs = np.log(np.maximum(rate, 0.01 * typical))
    found = []
    for level, usual in _others(levels(parallel, NOISE), LEAST_CHANGE):
        a, b = known[level.start].start_s, known[level.end - 1].end_s
        text = (
            f"from {seconds(a)} to {seconds(b)} parallel efficiency is {100 * level.value:.0f} %; in most of the "
            f"run it is {100 * usual:.0f} %"
        )
        found.append(
            Phase(measure="parallel efficiency", start_s=a, end_s=b, level=level.value, usual=usual, text=text)
        )
    for level, usual in _others(levels(logs, NOISE_LOG), float(np.log(LEAST_RATIO))):
        a, b = known[level.start].start_s, known[level.end - 1].end_s
        value, other = float(np.exp(level.value)), float(np.exp(usual))
        text = (
            f"from {seconds(a)} to {seconds(b)} the ranks begin {value:.3g} messages and collectives a second; in "
            f"most of the run, {other:.3g}"
        )
        found.append(Phase(measure="calls a second", start_s=a, end_s=b, level=value, usual=other, text=text))
    return tuple(sorted(found, key=lambda phase: (phase.start_s, phase.measure)))


def _others(stretches: tuple[Level, ...], least: float) -> list[tuple[Level, float]]:
    """Those that differ from the usual level by `least` or more, neighbours that are alike as one; and that level.

    The usual level is the one near which most of the points lie.
    """
    if len(stretches) < 2:
        return []
    weight = [
        sum(other.end - other.start for other in stretches if abs(other.value - one.value) < least) for one in stretches
    ]
    usual = stretches[int(np.argmax(weight))].value
    found: list[Level] = []
    for one in stretches:
        if abs(one.value - usual) < least:
            continue
        if found and found[-1].end == one.start and abs(found[-1].value - one.value) < least:
            last = found.pop()
            longer = last if last.end - last.start >= one.end - one.start else one
            one = Level(last.start, one.end, longer.value)
        found.append(one)
    return [(one, usual) for one in found if one.end - one.start >= LEAST_WINDOWS]


# Of mpi4py 4, commimpl.pxi and msgpickle.pxi: `allreduce` of an object is a reduction by messages and a broadcast, each
# of a length and then of the pickled bytes. The methods with a capital letter are one MPI call on a buffer.
_OBJECT_COLLECTIVE: Final = re.compile(r"mpi4py\.MPI\.(?:Comm|Intracomm|Intercomm)\.(allreduce|reduce|bcast)")


def object_collective(functions: Sequence[str]) -> str | None:
    """Return the function of a binding that works on objects and made this call, such as mpi4py.MPI.Comm.allreduce.

    Args: functions: names of the call's function and of its callers, the innermost first.  None: there is no such one.
    """
    return next((name for name in functions if _OBJECT_COLLECTIVE.fullmatch(name)), None)


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
    found = attributed(job)
    seconds = call_seconds(found.world)
    weight = time_weights(found.events, found.world, np.flatnonzero(found.events.is_timed))
    ranks = rank_times(found, weight, seconds)
    span_s = max((rank.span_s for rank in ranks), default=0.0)
    calls = calls_of(found.world)
    classes, keys, sites = classes_of(found)
    slices, shown = slices_of(found, span_s)
    site_of = {site: i for i, site in enumerate(sites)}
    alone = filter(None, [alone_note(info, job)])
    resources = resources_of(job.records)
    results = WatchResults(
        schema=WATCH_SCHEMA,
        slowpath=__version__,
        program=_program(info, job, resources, span_s if ranks else None),
        coverage=coverage_of(found, calls, seconds, (*info.notes, *alone, *job.notes, *found.world.notes)),
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
        resources=resources,
        allocations=allocations_of(found.world),
        slices=slices,
        collectives=collectives_of(found, weight, site_of),
        shown_ranks=shown,
        accounts=accounts_of(found, weight, seconds, ranks, {one.rank: one for one in resources}),
        standstill=_standstill(found, info),
    )
    results = replace(
        results,
        place=_wrong_place(info, results),
        start_s=start_seconds(results),
        files=file_time(results, info.variables),
    )
    return AttributedWatch(results, found, weight, keys, site_of)


def _wrong_place(info: WatchInfo, results: WatchResults) -> tuple[PlaceFault, ...]:
    own = program_resources(results)
    known = named_in(results.program.library)
    return wrong_place(info, known[0].name if known else None, results.resources, own.ranks if own else ())


def _standstill(found: Attributed, info: WatchInfo) -> Standstill | None:
    """Of a program that did not end by itself; one that ended well did not hang."""
    if info.exit_code == 0 and not info.interrupted and not info.hung:
        return None
    least_s = LEAST_QUIET_S if info.hang_after_s is None else min(info.hang_after_s, LEAST_QUIET_S)
    return standstill(found, info.until, least_s, info.interrupted or info.hung)


def _program(
    info: WatchInfo, job: WatchedJob, resources: Sequence[RankResources], span_s: float | None
) -> WatchedProgram:
    first = job.records[0] if job.records else None
    level = int(first.header["thread_level"]) if first is not None else -1
    wrong = misstart(info, job)
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
        misstart=wrong.text if wrong is not None else None,
        start_with=wrong.remedy if wrong is not None else None,
    )


def _interface(number: int) -> Interface:
    known: dict[str, Interface] = {"mpich": "mpich", "openmpi": "openmpi", "abi": "abi"}
    return known.get(watch_layout().interfaces.get(number, ""), "unknown")


def kept_of(found: Attributed, pairs: Ints) -> KeptOrder:
    """Calls as chains of their threads, their dependencies, and the matched messages that they moved.

    Args: pairs: shape (messages, 2), the classes of each matched message's sides.
    """
    events = found.events
    level = found.world.level
    calls = kept_calls(found)
    place = np.full(len(events), NO_EVENT, dtype=np.int64)
    place[calls] = np.arange(calls.size)
    stretch = _numbered(events.window[calls] >> level) if level else np.zeros(calls.size, dtype=np.int64)
    lanes = int(events.lane.max(initial=0)) + 1
    records = int(events.record.max(initial=0)) + 1
    chain = _numbered((stretch * records + events.record[calls]) * lanes + events.lane[calls])
    order = CallOrder(
        chain,
        stretch,
        events.start_s[calls],
        events.end_s[calls],
        _dependencies(found, place),
        _moved(found, place),
    )
    return KeptOrder(order, pairs)


def _numbered(values: Ints) -> Ints:
    found: Ints = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def _dependencies(found: Attributed, place: Ints) -> Ints:
    """Calls, calls that they wait for, and what of these; shape (m, 3)."""
    reasons = found.reasons
    sure = np.flatnonzero(reasons.why != int(Why.DOUBT))
    why, pair = reasons.why[sure], reasons.pair[sure]
    other = reasons.other[sure].copy()
    away = np.isin(why, [int(Why.SENDER_AWAY), int(Why.RECEIVER_AWAY)])
    other[away] = _came_back(found.events, found.events.record[other[away]], reasons.until_s[sure][away])
    of_pair = pair != NO_EVENT
    # A message that went eagerly, or by a call that only starts it, is on its way when that call has returned.
    is_sent = found.events.has(EventKind.POST)[reasons.other[sure]]
    is_sent[of_pair] |= found.eager.is_eager[pair[of_pair]]
    after = np.stack(
        [
            in_calls(found, reasons.call[sure], place),
            in_calls(found, other, place),
            np.where(is_sent & (why == int(Why.LATE_SENDER)), RETURN, ENTRY),
        ],
        axis=1,
    )
    kept: Ints = after[(after[:, :2] >= 0).all(axis=1) & (after[:, 0] != after[:, 1])]
    return kept


def _came_back(events: Events, record: Ints, back_s: Floats) -> Ints:
    """The call with which each rank was in MPI again: its first one from `back_s` on."""
    found = np.full(record.size, NO_EVENT, dtype=np.int64)
    timed = np.flatnonzero(events.is_timed)
    for number in np.unique(record).tolist():
        rows = timed[events.record[timed] == number]
        rows = rows[np.argsort(events.start_s[rows], kind="stable")]
        asked = record == number
        at = np.searchsorted(events.start_s[rows], back_s[asked] - 1e-9)
        found[asked] = np.where(at < rows.size, rows[np.minimum(at, rows.size - 1)], NO_EVENT)
    return found


def _moved(found: Attributed, place: Ints) -> Ints:
    """Calls and the matched messages whose bytes they moved; shape (k, 2).

    An eager message leaves in the call that started it, any other one in the call that completed it. A message that was
    there before its receive arrives in the call that posted that.
    """
    match, eager = found.matched, found.eager
    sends, receives = match.sends, match.receives
    number = np.arange(match.send.size)
    left = np.where(eager.is_eager, sends.posted[match.send], sends.done[match.send])
    arrived = np.where(eager.arrived, receives.posted[match.receive], receives.done[match.receive])
    rows = [np.stack([in_calls(found, events, place), number], axis=1) for events in (left, arrived)]
    both = np.concatenate(rows)
    kept: Ints = both[both[:, 0] >= 0]
    return kept


@dataclass(frozen=True)
class Watched:
    """What prices need. results: without findings.  kept: the order of the calls.  variables: as recorded.

    patterns: what slow paths see in the calls themselves.
    """

    results: WatchResults
    kept: KeptOrder
    variables: Mapping[str, str]
    patterns: Patterns = NO_PATTERNS


def read_watched(folder: Path) -> Watched:
    """Raises: RecordError: it is no watch."""
    found = watched(folder)
    pairs = pair_classes(found.attributed, found.class_keys, found.results.classes)
    kept = kept_of(found.attributed, pairs)
    span_s = found.results.program.span_s or 0.0
    whole, windows, phases = efficiencies_of(found.attributed, kept.order, found.results.ranks, span_s)
    results = replace(found.results, efficiency=whole, windows=windows, phases=phases)
    return Watched(results, kept, read_watch(folder).variables, _patterns(found, kept))


def _patterns(found: AttributedWatch, kept: KeptOrder) -> Patterns:
    return patterns_of(calls_of_program(found, kept), kept.order, found.results.sites)


def calls_of_program(found: AttributedWatch, kept: KeptOrder) -> ProgramCalls:
    """The kept calls, as slow paths look at them; sites are indices of the results'."""
    site_of = one_place(found.site_of, found.results.sites)
    span_s = found.results.program.span_s or 0.0
    calls = program_calls(found.attributed, kept.order, site_of, span_s)
    within = tuple(object_collective([site.function or "", *site.callers]) or "" for site in found.results.sites)
    return dataclasses.replace(calls, resources=program_resources(found.results), within=within)


def concluded_watch(folder: Path) -> WatchResults:
    """Findings, savings and verdict; nothing is measured or written.  Raises: RecordError: it is no watch."""
    found = read_watched(folder)
    sources, notes = read_sources(folder, found.results.program, found.variables)
    if notes:
        coverage = replace(found.results.coverage, notes=(*found.results.coverage.notes, *notes))
        found = dataclasses.replace(found, results=replace(found.results, coverage=coverage))
    return concluded(found.results, found.kept, sources, found.variables, str(folder), found.patterns)


def questions(watch: Path) -> tuple[Watched, Asking]:
    """Return a watch, and what a replay has to measure for it.  Raises: RecordError: it is no watch."""
    found = read_watched(watch)
    return found, asking(found.results, found.kept, found.variables)


def use_laws(watch: Path, laws: Path, keep: bool) -> None:
    """Price a watch by a diagnosis or run from now on.  Args: keep: False: only look whether it can be.

    Raises: UsageError: it is of another machine, MPI or settings.  RecordError: either can't be read.
    """
    found = read_watched(watch)
    law_sources(laws, found.results.program, found.variables)
    if keep:
        remember_laws(watch, laws)
