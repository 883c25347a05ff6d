# SPDX-License-Identifier: Apache-2.0
"""`slowpath import`: logs of the two reproducers become a run folder like any other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

import msgspec

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable, Values
from slowpath.core.campaign_file import campaign_toml
from slowpath.core.files import write_atomically
from slowpath.core.plan import Cell, Environment, Plan
from slowpath.record.events import CellBegin, CellEnd, Event, LaunchBegin, LaunchEnd, Note
from slowpath.record.folder import LaunchInfo, create_run_folder, launch_folder, write_launch, write_run
from slowpath.record.imports.conditions import condition_words, read_conditions, with_said
from slowpath.record.imports.limits import check_rows
from slowpath.record.imports.log import Log, LogSection, Time, parse_log
from slowpath.record.imports.plan import PLACEMENT, build_plan
from slowpath.record.imports.source import (
    cannot_write,
    imported_campaign,
    kept_log,
    labels_of,
    printable,
    read_contents,
    run_info,
)
from slowpath.record.plan_files import write_plan
from slowpath.record.writing import Block, write_blocks

_MEASURES = "It measures the same messages with this program's engine, under the launch conditions of this machine."
# What a stated transport is as an environment of a campaign; the other transports are the library's own choice.
_SETTINGS = {"network": "network_path", "shared_memory": "single_copy_off"}
_DEFAULT = "default"


def campaign_of(plan: Plan, logs: Sequence[Log]) -> Campaign:
    """One group of cells a log."""
    by_environment: dict[str, list[Cell]] = {environment.name: [] for environment in plan.environments}
    for cell in plan.cells:
        by_environment[cell.environment].append(cell)
    groups = [
        _group(label, cells, _condition_keys(environment) if any_stated(plan) else {})
        for (label, cells), environment in zip(by_environment.items(), plan.environments, strict=True)
    ]
    sources = [f"{group.name}: from {printable(log.path.name)}" for group, log in zip(groups, logs, strict=True)]
    return imported_campaign(plan, "logs", [_MEASURES, *sources], groups, *_conditions(plan))


def any_stated(plan: Plan) -> bool:
    """Whether the launch of any log is stated at all."""
    return any(environment.stated for environment in plan.environments)


def _conditions(plan: Plan) -> tuple[Sequence[EnvironmentTable], Sequence[PlacementTable]]:
    """Environments and placements that stand for what is stated of the logs, each once."""
    if not any_stated(plan):
        return [EnvironmentTable("default")], [PlacementTable("bound")]
    keys = [_condition_keys(environment) for environment in plan.environments]
    settings = {
        key["environment"]: _SETTINGS.get(_transport(one)) for key, one in zip(keys, plan.environments, strict=True)
    }
    stated = {key["placement"]: one.stated for key, one in zip(keys, plan.environments, strict=True)}
    return [EnvironmentTable(name, setting=setting) for name, setting in settings.items()], [
        PlacementTable(name, one.get("bind", "core"), nodes=int(one["nodes"]) if "nodes" in one else None)
        for name, one in stated.items()
    ]


def _transport(environment: Environment) -> str:
    """Between nodes every message takes the network, so nothing has to be set."""
    return "" if environment.stated.get("nodes", "1") != "1" else environment.stated.get("transport", "")


def _condition_keys(environment: Environment) -> dict[str, str]:
    """Names of a log's environment and placement."""
    nodes, bind = environment.stated.get("nodes"), environment.stated.get("bind")
    words = [f"{nodes} node{'s' * (nodes != '1')}"] * (nodes is not None) + [f"bind {bind}"] * (bind is not None)
    setting = _SETTINGS.get(_transport(environment))
    return {
        "environment": setting.replace("_", " ") if setting else _DEFAULT,
        "placement": ", ".join(words) or "as the launcher has it",
    }


def _group(label: str, cells: Sequence[Cell], conditions: dict[str, str]) -> CellsTable:
    parameters: dict[str, Values] = {}
    for name in cells[0].parameters:
        values = list(dict.fromkeys(cell.parameters[name] for cell in cells))
        parameters[name] = values[0] if len(values) == 1 else values
    environment, placement = conditions.get("environment"), conditions.get("placement")
    return CellsTable(printable(label), cells[0].experiment, parameters, environment, placement)


# campaign.toml of an imported run: the logs' cells as a campaign that `slowpath run` measures here.


# Which printed times are doubtful. They are flagged and kept: nothing is dropped.
#
# A time is suspect when, among the times of its cell and phase, it lies more than a factor 5 from the median and, in
# logarithms, beyond 14.826 median absolute deviations (10 robust standard deviations: that of a normal distribution is
# 1.4826 MAD; Rousseeuw and Croux, JASA 88, 1993). Times vary by factors rather than by sums, hence logarithms. First
# messages vary legitimately, often by a factor 4 between the first allocation of a process and the next, hence the
# factor. With fewer than 5 times nothing can be said.

FACTOR = 5.0
DEVIATIONS = 14.826
FEWEST = 5
RULE = f"more than {FACTOR:g} times from the median of its phase, and beyond {DEVIATIONS:g} MAD in logarithms"


def suspects(times: Sequence[Time]) -> dict[int, str]:
    """Line number -> why, for the suspect ones among the `times` of one cell and phase."""
    if len(times) < FEWEST:
        return {}
    logs = [math.log(max(time.ns, 1)) for time in times]
    middle = median(logs)
    mad = median(abs(value - middle) for value in logs)
    found = {}
    for time, value in zip(times, logs, strict=True):
        distance = abs(value - middle)
        if distance > math.log(FACTOR) and distance > DEVIATIONS * mad:
            side = "below" if value < middle else "above"
            found[time.line] = (
                f"line {time.line}: {time.text} s is suspect: {math.exp(distance):.3g} times {side} the "
                f"median {math.exp(middle) * 1e-9:.4g} s of the {len(times)} times of its phase "
                f"({RULE}); kept as it is"
            )
    return found


_LISTED = 8  # missing times of an allocation
_NO_CLOCK_NS = 0  # a log says how long things took, never when
_CONDITIONS = (
    "Imported from logs, which do not state how they were launched: each condition is called by its file's name."
)
_STATED = "Imported from logs, with what was stated of their launches: {stated}."


def import_logs(paths: Sequence[Path | str], out: Path | None = None, conditions: Sequence[str] = ()) -> Path:
    """Reads every log, then writes a run folder: one launch a file, one cell a section.

    conditions: what the user states of their launches, as `read_conditions` takes it.
    Returns: the run folder, `out` or one made under slowpath-runs.
    Raises: RecordError if a log can't be read, before anything is written; EnvironmentFailure if the folder
            can't be made; UsageError if a condition can't be understood.
    """
    files = [Path(path) for path in paths]
    return write_logs(files, read_contents(files, "the reproducer's lines"), out, conditions)


def write_logs(files: Sequence[Path], contents: Sequence[bytes], out: Path | None, conditions: Sequence[str]) -> Path:
    """`import_logs` of files whose contents were read."""
    logs: list[Log] = []
    times = 0
    for file, content in zip(files, contents, strict=True):
        logs.append(parse_log(file, content))
        times += sum(len(section.times) for section in logs[-1].sections)
        check_rows(file, times)
    labels = labels_of(files)
    said = {label: log.said for label, log in zip(labels, logs, strict=True)}
    stated = with_said(read_conditions(conditions, files, labels), said)
    plan = build_plan(logs, labels, stated)
    folder = create_run_folder("imported", out)
    write_plan(folder / "plan.json", plan)
    campaign = campaign_toml(campaign_of(plan, logs))
    write_atomically(folder / "campaign.toml", campaign)
    notes: list[str] = []
    for number, (log, label) in enumerate(zip(logs, labels, strict=True), start=1):
        notes += [f"{label}: {text}" for text in _write_launch(folder, number, log, label, plan)]
    each = "; ".join(f"{label}: {condition_words(condition)}" for label, condition in stated.items())
    write_run(folder, run_info(plan, logs, campaign, _STATED.format(stated=each) if each else _CONDITIONS, notes))
    return folder


def _write_launch(folder: Path, number: int, log: Log, label: str, plan: Plan) -> list[str]:
    """Return everything of one launch. Returns: its notes, each with the line it is about."""
    launch = launch_folder(folder, number)
    try:
        launch.mkdir()
        cells = [cell for cell in plan.cells if cell.environment == label]
        doubts = {cell.cell: _doubts(section) for cell, section in zip(cells, log.sections, strict=True)}
        blocks = [
            block
            for cell, section in zip(cells, log.sections, strict=True)
            for block in _blocks(number, cell, section, doubts[cell.cell])
        ]
        write_blocks(launch / "samples.blk", [*_warm_up(number, log, cells[0]), *blocks])
    except OSError as error:
        raise cannot_write(launch, error) from error
    foreign = [f"line {line}, not the reproducer's: {text}" for line, text in log.notes]
    events = list(_events(number, log, cells, foreign, doubts))
    write_atomically(launch / "events.jsonl", b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    write_atomically(launch / "stdout", kept_log(log.content))
    write_launch(folder, LaunchInfo(number, 1, label, PLACEMENT, ended="ok"))
    return [*foreign, *(why for found in doubts.values() for why in found.values())]


def _doubts(section: LogSection) -> dict[int, str]:
    first = [time for time in section.times if time.message == 0]
    later = [time for time in section.times if time.message > 0]
    return {**suspects(first), **suspects(later)}


def _warm_up(launch: int, log: Log, cell: Cell) -> list[Block]:
    """`[-1]`: the first message of all, from a small allocation, start-up included: phase init."""
    if log.warm_up is None:
        return []
    return [Block(cell.cell, launch, "init", [log.warm_up.ns], flags=("imported",))]


def _blocks(launch: int, cell: Cell, section: LogSection, doubts: dict[int, str]) -> Iterator[Block]:
    """Yield, for each allocation, the first message, then the later ones; a gap begins another block."""
    runs: list[list[Time]] = []
    for time in sorted(section.times, key=lambda time: (time.allocation, time.message)):
        last = runs[-1][-1] if runs else None
        follows = last is not None and (last.allocation, last.message + 1) == (time.allocation, time.message)
        if follows and time.message > 1:
            runs[-1].append(time)
        else:
            runs.append([time])
    for run in runs:
        flags = ("imported", "suspect") if any(time.line in doubts for time in run) else ("imported",)
        yield Block(
            cell=cell.cell,
            launch=launch,
            phase="first" if run[0].message == 0 else "steady",
            duration_ns=[time.ns for time in run],
            allocation=run[0].allocation,
            seq0=run[0].message,
            flags=flags,
        )


def _events(
    launch: int, log: Log, cells: Sequence[Cell], foreign: Sequence[str], doubts: dict[int, dict[int, str]]
) -> Iterator[Event]:
    yield LaunchBegin(_NO_CLOCK_NS, launch, log.ranks)
    for text in foreign:
        yield Note(_NO_CLOCK_NS, text)
    for cell, section in zip(cells, log.sections, strict=True):
        yield CellBegin(_NO_CLOCK_NS, cell.cell)
        for text in [*doubts[cell.cell].values(), *_missing(section)]:
            yield Note(_NO_CLOCK_NS, text, cell.cell)
        later = sum(time.message > 0 for time in section.times)
        yield CellEnd(_NO_CLOCK_NS, cell.cell, "ok", batch=1, steady_samples=later)
    yield LaunchEnd(_NO_CLOCK_NS, cells_ok=len(cells), cells_skipped=0, cells_failed=0)


def _missing(section: LogSection) -> Iterator[str]:
    """A log that was cut short lacks messages of its last allocation. Goes through gaps alone: indices may be large."""
    messages = max(time.message for time in section.times) + 1
    have: dict[int, set[int]] = {}
    for time in section.times:
        have.setdefault(time.allocation, set()).add(time.message)
    absent = max(have) + 1 - len(have)
    if absent:
        yield f"the section at line {section.line} lacks all times of {absent} allocations below [{max(have)}:0]"
    for allocation, there in sorted(have.items()):
        lacking = messages - len(there)
        if lacking:
            first = islice((f"[{allocation}:{m}]" for m in range(messages) if m not in there), _LISTED)
            more = f" and {lacking - _LISTED} more" if lacking > _LISTED else ""
            yield f"the section at line {section.line} lacks the times {', '.join(first)}{more}"
