# SPDX-License-Identifier: Apache-2.0
"""Everything that can be concluded from a run folder."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slowpath.analyse.cells import cell_entry, tells_processor_time_apart
from slowpath.analyse.contrasts import build_contrasts, node_pairs, offers, pair_lines
from slowpath.analyse.deviations import findings_outside, with_outside
from slowpath.analyse.floors import floor_lines
from slowpath.analyse.panel import panel_rows, without_reference
from slowpath.analyse.reference import HealthyRuns, items, judged
from slowpath.analyse.references import load_references
from slowpath.analyse.samples import without_first_allocation
from slowpath.analyse.source import Recorded, read_recorded
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import RecordError
from slowpath.core.files import open_regular
from slowpath.core.guard import clean_text, clean_words
from slowpath.core.machine import PlaceFacts, PlaceFault, parse_cpu_list
from slowpath.core.plan import Placement, Plan
from slowpath.core.results import (
    RESULTS_SCHEMA,
    EnvironmentResult,
    LaunchCounts,
    LibraryVariable,
    Line,
    MessagePath,
    MpiResult,
    PlacementResult,
    RankPlace,
    Results,
    RunResult,
    SkippedRow,
    UcxProtocol,
    Verdict,
    nothing_measured,
)
from slowpath.core.units import listed, plural
from slowpath.experiments.experiment import Concluded
from slowpath.experiments.measured import LaunchRecord, first_good_launches
from slowpath.experiments.registry import EXPERIMENTS, ROLES, measure
from slowpath.findings.conclude import RunFacts, conclude
from slowpath.findings.facts import crowded
from slowpath.mpi.libraries import library_named, named_in, version_tuple
from slowpath.mpi.message_path import paths_of, protocols
from slowpath.mpi.own_settings import unused_by_ucx
from slowpath.mpi.place import PlaceJob, faults
from slowpath.record.events import Note, Rank
from slowpath.record.folder import LaunchInfo
from slowpath.record.witness import (
    CONTROL_VARIABLES,
    PERFORMANCE_VARIABLES,
    UCX_LOGS,
    read_logs,
    read_variables,
)
from slowpath.slowpaths.evaluate import findings

# Where ranks were found, against where they were asked to go.
#
# A launcher may ignore what it is asked for without a word: a binding that the site's Slurm has no plugin for, -ppn
# inside a job, a second --map-by. So what the ranks saw is compared.

MOST_LINES = 4
Groups = Mapping[str, Sequence[frozenset[int]]]


def groups_of(machine: Mapping[str, Any]) -> Groups:
    """Processor groups by level, from run.json's machine; empty where they were not found."""
    reported = machine.get("processor_groups") or {}
    return {level: [parse_cpu_list(cpus) for cpus in each] for level, each in reported.items()}


def differences(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    """What of the placement the ranks of one launch did not find; empty: all that is known is as asked.

    groups: those of the node on which slowpath ran; ranks whose processors are not among them are not judged by them.
    """
    if not ranks:
        return []
    return [*_nodes(placement, ranks), *_binding(placement, ranks, groups), *_spread(placement, ranks, groups)]


def placement_lines(placements: Sequence[PlacementResult]) -> list[Line]:
    """Lines of the verdict: what is asked for and not so. placements: as in results.json."""
    names: dict[str, list[str]] = {}
    for placement in placements:
        for text in placement.differs:
            names.setdefault(text, []).append(placement.name)
    texts = [f"placement {_some(where)}: {text}." for text, where in names.items()]
    if len(texts) > MOST_LINES:
        more = len(texts) - MOST_LINES + 1
        texts = [*texts[: MOST_LINES - 1], f"{more} more placements differ."]
    return [Line(level="warning", text=text, contrast=None) for text in texts]


def _some(names: Sequence[str]) -> str:
    return f"'{names[0]}'" + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _nodes(placement: Placement, ranks: Sequence[Rank]) -> list[str]:
    by_host = Counter(rank.host for rank in ranks)
    differences, where = [], ", ".join(by_host)
    if placement.nodes is not None and len(by_host) != placement.nodes:
        differences.append(_other(f"{placement.nodes} nodes", f"got {len(by_host)} ({where})"))
    elif placement.ranks_per_node is not None and set(by_host.values()) != {placement.ranks_per_node}:
        counts = ", ".join(f"{count} on {host}" for host, count in by_host.items())
        differences.append(_other(f"{placement.ranks_per_node} ranks on each node", f"got {counts}"))
    if placement.hosts and {_short(host) for host in placement.hosts} != {_short(host) for host in by_host}:
        differences.append(_other(f"nodes {', '.join(placement.hosts)}", f"got {where}"))
    return differences


def _other(asked: str, there: str) -> str:
    return f"asked for {asked}, but {there}"


def _short(host: str) -> str:
    return host.partition(".")[0]


def _binding(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    known = frozenset().union(*groups.get("core", ()))
    differences: list[str] = []
    for rank in ranks:
        mine = parse_cpu_list(rank.cpus_allowed)
        if not mine or not mine <= known:
            continue
        if placement.bind == "none":
            if mine != known:
                differences.append(_other("no binding", f"rank {rank.rank} has {rank.cpus_allowed}"))
        elif placement.bind in groups and not any(mine <= group for group in groups[placement.bind]):
            differences.append(_other(f"a {placement.bind}", f"rank {rank.rank} has {rank.cpus_allowed}"))
    return [*differences, *_shared_cores(placement, ranks, groups)]


def _shared_cores(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    """Two ranks bound to one core, where the node has a core for each."""
    if placement.bind != "core":
        return []
    by_host: dict[str, list[Rank]] = {}
    for rank in ranks:
        by_host.setdefault(rank.host, []).append(rank)
    differences = []
    for host, there in by_host.items():
        places = [_place(rank, groups, "core") for rank in there]
        reported = [place for place in places if place is not None]
        if len(reported) == len(there) <= len(groups["core"]) and len(set(reported)) < len(reported):
            differences.append(_other("a core for each rank", f"ranks of {host} share one"))
    return differences


def _spread(placement: Placement, ranks: Sequence[Rank], groups: Groups) -> list[str]:
    if placement.spread is None or len({rank.host for rank in ranks}) > 1:
        return []
    level = "core_group" if placement.spread == "core" else placement.spread
    places = [_place(rank, groups, level) for rank in ranks]
    if level not in groups or None in places:
        return []
    words, distinct = level.replace("_", " "), len(set(places))
    if placement.spread == "core" and distinct > 1 and any(len(ranks) <= len(group) for group in groups[level]):
        return [_other("neighbouring cores", f"got {distinct} {words}s")]
    if placement.spread != "core" and distinct < min(len(ranks), len(groups[level])):
        return [_other(f"another {words} for each rank", f"got {distinct}")]
    return []


def _place(rank: Rank, groups: Groups, level: str) -> int | None:
    """The group in which all of the rank's processors lie; None: not in one."""
    mine = parse_cpu_list(rank.cpus_allowed)
    inside = (number for number, group in enumerate(groups.get(level, ())) if mine and mine <= group)
    return next(inside, None)


# What a library reports of itself in witnessed launches: its variables (MPI_T), UCX's table of
# protocols, and what carries its messages.


class Reported(NamedTuple):
    """Fields of one of run.mpis; all but the last are None where no launch was witnessed."""

    control_variables: list[LibraryVariable] | None = None
    control_variables_reason: str | None = None
    performance_variables: list[LibraryVariable] | None = None
    performance_variables_reason: str | None = None
    protocols: list[UcxProtocol] | None = None
    paths: list[MessagePath] | None = None
    unused_variables: dict[str, str] | None = None


def reported_by_library(launches: Sequence[LaunchRecord], environments: Sequence[str], library: str) -> Reported:
    """What witnessed launches report.

    Args: launches: all of one MPI.  environments: names in the campaign's order, whose first has the usual values.
          library: name of that MPI.
    """
    witnessed = [launch for launch in launches if launch.events.begin and launch.events.begin.witnessed]
    by_name = {launch.info.environment: launch for launch in reversed(witnessed)}
    first = [by_name[name] for name in dict.fromkeys(environments) if name in by_name]
    return Reported(
        *_variables(first, CONTROL_VARIABLES),
        *_variables(first, PERFORMANCE_VARIABLES),
        protocols=[row for launch in first for row in _protocols(launch)] or None,
        paths=[row for launch in first for row in _paths(launch, library)] or None,
        unused_variables=_unused(launches, environments) or None,
    )


def _unused(launches: Sequence[LaunchRecord], environments: Sequence[str]) -> dict[str, str]:
    """Of the user's own environment, the campaign's first: what UCX warns of in its first launch."""
    own = next((launch for launch in launches if launch.info.environment in environments[:1]), None)
    return unused_by_ucx(_output(own)) if own else {}


def _paths(launch: LaunchRecord, library: str) -> list[MessagePath]:
    read, _ = read_variables(launch.folder / CONTROL_VARIABLES)
    values = {variable.name: variable.value for variable in read.variables} if read else {}
    return paths_of(library, _output(launch), values, launch.info.environment)


def _output(launch: LaunchRecord) -> str:
    return read_logs(launch.folder / name for name in ("stdout", "stderr"))


def _variables(launches: Sequence[LaunchRecord], name: str) -> tuple[list[LibraryVariable] | None, str | None]:
    """The variables of the first environment, with what others have instead; [] with why there are none."""
    rows: dict[str, LibraryVariable] = {}
    elsewhere: dict[str, dict[str, Any]] = {}
    reason: str | None = None
    for launch in launches:
        read, why_not = read_variables(launch.folder / name)
        if read is None:
            reason = reason or why_not
            continue
        reason = reason or read.reason
        for variable in read.variables:
            row = msgspec.convert(variable, LibraryVariable, from_attributes=True)
            known = rows.setdefault(variable.name, row)
            if known.value != variable.value:
                elsewhere.setdefault(variable.name, {})[launch.info.environment] = variable.value
    variables = [msgspec.structs.replace(row, by_environment=elsewhere.get(name)) for name, row in rows.items()]
    return (variables, None) if variables else ([] if reason else None, reason)


def _protocols(launch: LaunchRecord) -> list[UcxProtocol]:
    rows = dict.fromkeys(protocols(read_logs(launch.folder.glob(UCX_LOGS))))
    return [
        UcxProtocol(
            **vars(row) | {"last_bytes": None if math.isinf(row.last_bytes) else row.last_bytes},
            environment=launch.info.environment,
        )
        for row in rows
    ]


_FACTS = frozenset(field.name for field in msgspec.structs.fields(MpiResult))  # of run.json that are carried over


def run_entry(recorded: Recorded, run: Path) -> RunResult:
    """Facts of the run, from run.json, the plan and what the engine observed."""
    info, plan, launches = recorded.info, recorded.plan, recorded.launches
    failed = sum(launch.info.ended != "ok" for launch in launches)
    mpis = _mpis(recorded)
    return RunResult(
        id=info.id,
        folder=str(run),
        campaign=info.campaign,
        title=info.title,
        started=info.started,
        finished=info.finished,
        wall_s=info.wall_s,
        seed=info.seed,
        engine=info.engine,
        slowpath=info.slowpath,
        imported=info.imported,
        mpi=next((mpi for mpi in mpis if not mpi.unavailable), mpis[0]),
        mpis=mpis,
        machine=dict(info.machine),
        launches=LaunchCounts(planned=len(plan.launches), done=len(launches) - failed, failed=failed),
        rounds=plan.rounds,
        status=info.status,
        command=clean_words(info.command),
        environments=[
            msgspec.structs.replace(
                msgspec.convert(e, EnvironmentResult, from_attributes=True), stated=e.stated or None
            )
            for e in plan.environments
        ],
        placements=[_placement(p, launches, groups_of(info.machine)) for p in plan.placements],
        quantum_ns=max((q for launch in launches if (q := launch.quantum_ns) is not None), default=None),
    )


def launch_mpis(plan: Plan, launches: Sequence[LaunchRecord]) -> dict[int, str | None]:
    """Launch number -> the short name of its MPI; a follow-up has that of the launch which it continues."""
    names: dict[int, str | None] = {launch.launch: launch.mpi for launch in plan.launches}
    for launch in launches:
        if launch.info.launch not in names and launch.info.continues is not None:
            names[launch.info.launch] = names.get(launch.info.continues)
    return names


def _mpis(recorded: Recorded) -> list[MpiResult]:
    """Each MPI of the run: `mpi`, the short name that cells have, what run.json says, what the library says itself.

    One that is not there has nothing but its name and why.
    """
    plan, launches = recorded.plan, recorded.launches
    names = launch_mpis(plan, launches)
    planned: dict[str | None, str | None] = {mpi.name: mpi.unavailable for mpi in plan.mpis} or {None: None}
    mpis_here = []
    for name, unavailable in planned.items():
        mine = [launch for launch in launches if names.get(launch.info.launch) == name]
        begin = next((launch.events.begin for launch in mine if launch.events.begin), None)
        known = recorded.mpis.get(name) if name else None
        facts = recorded.info.mpi if known is None and len(planned) == 1 else known or {}
        library = str(facts.get("name") or "unknown")
        reported = reported_by_library(mine, [environment.name for environment in plan.environments], library)
        known_facts = {key: value for key, value in facts.items() if value is not None and key in _FACTS}
        mpi = MpiResult(
            mpi=name,
            unavailable=unavailable,
            library=begin.mpi_library if begin else None,
            standard=begin.mpi_standard if begin else None,
            **reported._asdict(),
        )
        mpis_here.append(msgspec.structs.replace(mpi, **known_facts))
    return mpis_here


def _placement(placement: Placement, launches: Sequence[LaunchRecord], groups: Groups) -> PlacementResult:
    """A placement as asked for, what the ranks of its first launch observed, and where any launch's ranks differ."""
    here = [launch for launch in launches if launch.info.placement == placement.name and launch.ranks]
    ranks = here[0].ranks if here else ()
    differs = dict.fromkeys(text for launch in here for text in differences(placement, launch.ranks, groups))
    return PlacementResult(
        name=placement.name,
        bind=placement.bind,
        **placement.asked,
        ranks=placement.ranks,
        observed=[RankPlace(rank=r.rank, host=r.host, cpus_allowed=r.cpus_allowed, cpu=r.cpu) for r in ranks],
        differs=list(differs),
    )


CHECKS = frozenset({"checkup", "panel"})  # campaigns that ask whether a machine is healthy


def run_facts(results: Results) -> RunFacts:
    """Of results whose cells are concluded."""
    run = results.run
    measured = run.wall_s is not None and run.rounds > 0 and not run.imported
    return RunFacts(
        place=place_of(run),
        rounds=0 if run.imported else run.rounds,
        round_s=run.wall_s / run.rounds if measured and run.wall_s else None,
        failed=sum(cell.status == "failed" for cell in results.cells),
        skipped=sum(cell.status == "skipped" for cell in results.cells),
        cells=len(results.cells),
        measured=sum(cell.is_measured for cell in results.cells),
        nothing=nothing_measured(results),
        is_check=run.campaign in CHECKS,
        wrong_place=tuple(wrong_place(run, cells=results.cells)),
    )


def wrong_place(run: RunResult, ranks: int | None = None, cells: Sequence[CellResult] = ()) -> list[PlaceFault]:
    """What is wrong with the place where it was measured, first of all with bytes; nothing where that was not recorded.

    Args: ranks: of the jobs that it is about, on all nodes; None: of its largest.
    """
    place = msgspec.convert(run.machine.get("place") or {}, PlaceFacts)
    allocation = run.machine.get("allocation")
    nodes = allocation.get("nodes") if isinstance(allocation, dict) else None
    count = (place.ranks or 0) if ranks is None else ranks
    on_one = -(-count // (nodes if isinstance(nodes, int) and nodes > 0 else 1))
    place_faults = faults(place, PlaceJob(on_one, run.mpi.name, run.machine.get("variables") or {}))
    shared = [] if any(fault.check == "allowed processors" for fault in place_faults) else crowded(run.placements)[:1]
    wrong = [cell for cell in cells if cell.wrong_bytes]
    return [*_wrong_bytes(wrong), *place_faults, *(_shared_core(placement) for placement in shared)]


def _wrong_bytes(cells: Sequence[CellResult]) -> Iterator[PlaceFault]:
    if cells:
        yield PlaceFault(
            check="payload",
            text=f"messages arrived with wrong bytes in {plural(len(cells), 'cell')}: "
            f"{', '.join(cell.label for cell in cells[:MOST_NAMED])}",
            do=f"do not trust these calls of this MPI, and report it with: {cells[0].reproduce or cells[0].label}",
        )


def _shared_core(placement: PlacementResult) -> PlaceFault:
    ranks = ", ".join(f"rank {rank.rank} on {rank.cpus_allowed} of {rank.host}" for rank in placement.observed)
    return PlaceFault(
        check="allowed processors",
        text=f"ranks share a core and take turns ({ranks}), so no time of messages is valid",
        do="give each rank a processor, or start fewer ranks",
    )


def place_of(run: RunResult) -> str | None:
    """`n1, mpich 5.0.2, 2026-01-31`; None: nothing of it is known, as in logs."""
    used = [mpi for mpi in run.mpis or [run.mpi] if not mpi.unavailable]
    names = ", ".join(" ".join(filter(None, (mpi.name, mpi.version))) for mpi in used)
    host, date = run.machine.get("host"), (run.started or "").partition("T")[0]
    return ", ".join(str(part) for part in (host, names, date) if part) or None


def absent_notes(results: Results) -> list[str]:
    """One line for each MPI that the campaign asks for and that is not here."""
    notes = []
    for mpi in results.run.mpis:
        left_out = sum(cell.mpi == mpi.mpi for cell in results.cells)
        if mpi.unavailable:
            cells = f"; {left_out} cell{'' if left_out == 1 else 's'} left out" if left_out else ""
            notes.append(f"{mpi.mpi} is not here: {mpi.unavailable}{cells}")
    return notes


LAST_LINES = 12
LAST_BYTES = 4096


def skipped_rows(plan: Plan, launches: Sequence[LaunchRecord], run: Path) -> list[SkippedRow]:
    """Rows for results.json's `skipped`, in the order of cells, then whole launches that never began."""
    rows: dict[tuple[int | None, str, str], SkippedRow] = {}
    labels: dict[int | None, str] = {cell.cell: cell.label for cell in plan.cells}

    def add(cell: int | None, status: str, reason: str | None, launch: LaunchRecord | None, about: str = "") -> None:
        key = (cell, status, reason := reason or "no reason given")
        label = about or labels.get(cell, f"cell {cell}")
        row = rows.get(key) or SkippedRow(
            cell=cell, label=label, status=status, reason=reason, launches=0, log=None, output=None
        )
        if launch is not None:
            log, output = _last_words(launch, run)
            row = msgspec.structs.replace(
                row, launch_reason=launch.info.reason, launches=row.launches + 1, log=log, output=output
            )
        rows[key] = row

    for cell in plan.cells:
        if cell.skip:
            add(cell.cell, "skipped", cell.skip, None)
    for launch in launches:
        ends = launch.events.cell_ends
        for number, end in ends.items():
            if end.status != "ok":
                add(number, end.status, end.reason, launch)
        for failed in launch.info.failed_cells:
            if failed.cell not in ends:
                add(failed.cell, failed.status, failed.reason, launch)
        if launch.info.ended != "ok" and not launch.info.failed_cells:
            about = f"launch in environment '{launch.info.environment}', placement '{launch.info.placement}'"
            add(None, launch.info.ended, launch.info.reason, launch, about)
    return sorted(rows.values(), key=lambda row: (row.cell is None, row.cell or 0))


def declined_cells(launches: Sequence[LaunchRecord]) -> dict[int, str]:
    """Return the cells that the engine skipped in every launch that came to them, with its reasons.

    A cell that also failed, hung or crashed in a launch is not among them.
    """
    reasons: dict[int, dict[str, None]] = {}
    otherwise: set[int] = set()
    for launch in launches:
        ends = launch.events.cell_ends
        for number, end in ends.items():
            if end.status == "skipped":
                reasons.setdefault(number, {})[end.reason or "no reason given"] = None
            else:
                otherwise.add(number)
        otherwise |= {failed.cell for failed in launch.info.failed_cells if failed.cell not in ends}
    return {cell: "; ".join(whys) for cell, whys in reasons.items() if cell not in otherwise}


def _last_words(launch: LaunchRecord, run: Path) -> tuple[str | None, str | None]:
    """Path of the launch's stderr (or stdout) in the run folder, and its last lines; of a launch that hung, where its
    ranks stood.
    """
    stacks = launch.folder / "stacks"
    if launch.info.ended == "hung" and (head := _part(stacks, last=False)):
        return str(stacks.relative_to(run)), "\n".join(head.partition("\n\n")[0].splitlines()[:LAST_LINES])
    for name in ("stderr", "stdout"):
        if text := _part(launch.folder / name, last=True):
            return str((launch.folder / name).relative_to(run)), "\n".join(text.splitlines()[-LAST_LINES:])
    return None, None


def _part(path: Path, last: bool) -> str | None:
    """The last or the first LAST_BYTES of a file of the launch, however long it is; None: there is none to read."""
    if not path.is_file():
        return None
    try:
        with os.fdopen(open_regular(path, None, within=path.parent), "rb") as file:
            if last:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
            return clean_text(file.read(LAST_BYTES).decode(errors="replace"))
    except (RecordError, OSError):
        return None


MOST_NAMED = 8
# Times of day may be set while a launch runs; then they say nothing about what ran at the same time.
SET_CLOCK_S = 2.0


def _doubled(launches: Sequence[LaunchRecord]) -> list[str]:
    used = first_good_launches(launches)
    left_out = {
        launch.info.launch: unused
        for launch in launches
        if (unused := len(launch.measured_cells()) - len(used[launch.info.launch]))
    }
    if not left_out:
        return []
    return [f"measured twice, and not used: {sum(left_out.values())} cells in launches {_named(list(left_out))}"]


def _at_once(infos: Sequence[LaunchInfo]) -> list[str]:
    """Launches of one turn began in the very same moment; all others follow each other."""
    spans = sorted((begin, end, info.launch) for info in infos for begin, end in _spans(info))
    launches: set[int] = set()
    latest: tuple[float, float, int] | None = None  # that ends last, of those before
    for span in spans:
        if latest is not None and span[0] < latest[1] and span[0] != latest[0]:
            launches |= {latest[2], span[2]}
        if latest is None or span[1] > latest[1]:
            latest = span
    if not launches:
        return []
    return [f"launches {_named(sorted(launches))} ran at the same time and waited for each other; measure again"]


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
    texts = [f"{_other(_planned(mpi), f'got {mpi.library}')}." for mpi in mpis if _differs(mpi)]
    return [Line(level="warning", text=text, contrast=None) for text in texts]


def _planned(mpi: MpiResult) -> str:
    known = library_named(mpi.name or "")
    return f"{known.title if known else mpi.name} {mpi.version or ''}".strip()


def _differs(mpi: MpiResult) -> bool:
    loaded, planned = named_in(mpi.library or ""), library_named(mpi.name or "")
    if loaded is None or planned is None:
        return False
    library, version = loaded
    if library.name != planned.name:
        # The first line of a library that was made from another may be that one's.
        return library.name != planned.base
    loaded_numbers, other = version_tuple(version), version_tuple(mpi.version)
    if loaded_numbers is None or other is None:
        return False
    known = min(len(loaded_numbers), len(other))
    return loaded_numbers[:known] != other[:known]


def build_results(run: Path, healthy: HealthyRuns | None = None) -> Results:
    """Everything that can be concluded from a run folder.

    Args: healthy: to compare it with; None: the references that are here.
    Raises: RecordError when run.json or plan.json is missing, damaged or of another version.
    """
    recorded = read_recorded(run)
    info, plan, launches = recorded.info, recorded.plan, recorded.launches
    measurements = measure(plan, launches)
    if info.imported:
        measurements.by_series = without_first_allocation(measurements.by_series)
    suspects = _suspects(launches)
    # What was counted in a witnessed cell is reported with its timed twin.
    counted_elsewhere = measurements.twins.witnessed - measurements.twins.stand_alone
    declined = declined_cells(launches)
    cells = [
        cell_entry(cell, plan, measurements, declined, launches)
        for cell in plan.cells
        if cell.cell not in counted_elsewhere
    ]
    commands = {cell.cell: cell.reproduce for cell in cells}
    contrasts = build_contrasts(plan, measurements.by_series, recorded.interleaved, suspects, commands)
    skipped = skipped_rows(plan, launches, run)
    studies = [experiment.study for experiment in EXPERIMENTS if experiment.study]
    given = Concluded(plan, measurements, cells, contrasts, skipped)
    sections: dict[str, Any] = {study.section: study.build(given) for study in studies}
    pairs = node_pairs(plan, measurements.by_series, {cell.cell: cell.label for cell in cells}, skipped)
    about = run_entry(recorded, run)
    beyond = [] if info.imported else [*_doubled(launches), *_at_once([launch.info for launch in launches])]
    more = [line for study in studies for line in study.lines(sections[study.section], cells)]
    more += [*pair_lines(pairs), *placement_lines(about.placements), *library_lines(about.mpis)]
    more += recorded.lines
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
    seen = findings(results, ROLES)
    if about.campaign in CHECKS and not info.imported:
        panel = judged(about, cells, load_references() if healthy is None else healthy)
        seen = with_outside(seen, findings_outside(results, panel, lambda group: group.is_of_many))
        no_reference = without_reference(items(results.cells), panel)
        results = msgspec.structs.replace(results, panel=panel_rows(panel), no_reference=no_reference)
    by_number = {cell.cell: cell for cell in cells}
    concluded = conclude(contrasts, seen, run_facts(results), cells=by_number, offers=offers(plan), more=more)
    return msgspec.structs.replace(results, verdict=concluded.verdict, contrasts=concluded.contrasts, findings=seen)


def _suspects(launches: Sequence[LaunchRecord]) -> dict[int, list[str]]:
    """Cell -> notes on doubtful values, as the importer or the engine flagged them."""
    by_cell: dict[int, list[str]] = {}
    for launch in launches:
        if launch.blocks is None:
            continue
        flagged = {int(cell) for cell in launch.blocks.headers["cell"][launch.blocks.flag("suspect")]}
        for note in launch.events.of(Note):
            if note.cell in flagged:
                by_cell.setdefault(note.cell, []).append(note.text)
    return by_cell


def _sampled(launches: Sequence[LaunchRecord]) -> list[str]:
    """A note where the kernel does not tell user from system time."""
    if all(map(tells_processor_time_apart, launches)):
        return []
    return ["user and system times are not used, because this kernel samples them at timer ticks"]


def _noted(launches: Sequence[LaunchRecord], known: Sequence[str]) -> list[str]:
    """Notes that the engine wrote, each once; an importer's stand in run.json already."""
    texts = dict.fromkeys(note.text for launch in launches for note in launch.events.of(Note))
    return [text for text in texts if not any(text in other for other in known)]
