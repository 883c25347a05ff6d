# SPDX-License-Identifier: Apache-2.0
"""The printed output of the two reproducers, read line by line.

gpudirect_p2p_overalloc prints p2p_size, buffer_size and overalloc_size, then two sections, with and without
over-allocation, and mem_type before them where it was given another memory than the GPU's; both print touch and
device where they were given them. Without, no page of host memory was written before its first message;
intranode_pinned_host_comm prints mem_type and p2p_size, then one section. `[-1]` is the
warm-up with a small allocation, `[i:j]` sub-iteration j on the fresh allocation i. Any other line belongs to
someone else (the launcher, the MPI library) and is kept as a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import combinations, count, islice
from pathlib import Path

import msgspec

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable, Values, campaign_toml
from slowpath.core.errors import RecordError, unreadable
from slowpath.core.files import RESTORE, write_atomically
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Launch, Placement, Plan, Side, cell_key
from slowpath.core.units import format_bytes, plural
from slowpath.record.blocks import Block, write_blocks
from slowpath.record.events import CellBegin, CellEnd, Event, LaunchBegin, LaunchEnd, Note
from slowpath.record.folder import LaunchInfo, create_run_folder, launch_folder, write_launch, write_run
from slowpath.record.imports.source import (
    CUT,
    MAX_ROWS,
    NAME_A_LOG,
    Conditions,
    cannot_write,
    check_rows,
    condition_words,
    damaged,
    differences,
    few_notes,
    imported_campaign,
    kept_log,
    labels_of,
    not_stated,
    printable,
    question,
    read_conditions,
    run_info,
    twice,
    with_said,
)
from slowpath.record.plan_files import write_plan

OVERALLOC = "gpudirect_p2p_overalloc"
PINNED_HOST = "intranode_pinned_host_comm"
_HEADER = re.compile(r"(mem_type|touch|device|p2p_size|buffer_size|overalloc_size): (\S+)")
_WARM_UP = re.compile(r"\[-1\] time: (\S+)")
_SECTION = re.compile(
    r"Doing MPI_Send/Recv from rank (\d+) to rank (\d+), of (\d+) bytes"
    r"(?: from a buffer of (\d+) bytes \((with|without) overalloc\)\.)?"
)
_TIME = re.compile(r"\[(\d+):(\d+)\] time: (\S+)")
# A warning of Cray MPICH: messages inside the node take the network card.
_NO_LOCAL = re.compile(r"\bMPICH_NO_LOCAL is set to 1\b")
_RANK_PREFIX = re.compile(r"^\s*\d+: ")  # srun --label
_BEGINS = ("[", "Doing MPI_Send/Recv")
_MEMORY_KINDS = ("host", "pinned_host", "device", "managed")
_TOUCHES = ("none", "write", "write:none", "none:write")
_NS_PER_S = 10**9


@dataclass(frozen=True)
class Time:
    """One printed time, `text` in the log's own digits, of message `message` on allocation `allocation`."""

    line: int
    allocation: int
    message: int
    text: str
    ns: int


@dataclass
class LogSection:
    """The times under one heading. `buffer_bytes` is the sender's whole allocation."""

    line: int
    ranks: int
    message_bytes: int
    buffer_bytes: int
    overallocated: bool
    times: list[Time] = field(default_factory=list)


@dataclass
class Log:
    """One log file, decoded. `notes` are (line number, text) of what is not the reproducer's.

    passes: the times in their order, anew from each `[0:0]` on. Rank 1 prints the headings, rank 0 the times, and a
    launcher may put either first: the n-th pass belongs to the n-th heading, wherever that stands.
    """

    path: Path
    content: bytes
    header: dict[str, str] = field(default_factory=dict)
    warm_up: Time | None = None
    sections: list[LogSection] = field(default_factory=list)
    passes: list[list[Time]] = field(default_factory=list, repr=False)
    notes: list[tuple[int, str]] = field(default_factory=list)

    @property
    def program(self) -> str:
        """Return which reproducer printed it."""
        return OVERALLOC if "buffer_size" in self.header else PINNED_HOST

    @property
    def memory(self) -> str:
        """Kind of the sender's memory; GPU memory where the program that has it by default does not say."""
        return self.header.get("mem_type", "device")

    @property
    def said(self) -> dict[str, str]:
        """Return conditions of the launch (imports.conditions) that a line of someone else gives away."""
        return {"transport": "network"} if any(_NO_LOCAL.search(text) for _, text in self.notes) else {}

    @property
    def ranks(self) -> int:
        """Ranks of the job, as far as the headings show."""
        return max(section.ranks for section in self.sections)


def first_line(text: str) -> int | None:
    """Number of the first line that only a reproducer prints; None: there is none."""
    for number, line in enumerate(text.split("\n"), start=1):
        own = _own(line)
        if own.startswith(_BEGINS) and any(mark.fullmatch(own) for mark in (_WARM_UP, _SECTION, _TIME)):
            return number
    return None


def parse_log(path: Path, content: bytes) -> Log:
    """Decodes the content of one log.  Raises: RecordError."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
    if "\0" in text:
        raise _not_text(path)
    log = Log(path, content)
    # Not splitlines(): it also splits at form feeds and the like, and line numbers would not be the editor's.
    *whole, last = text.split("\n")
    for number, line in enumerate(whole, start=1):
        _read_line(log, number, line.rstrip("\r"))
    if last.strip():
        _read_cut(log, len(whole) + 1, last)
    log.notes = few_notes(log.notes)
    _give_times(log)
    _check_complete(log)
    return log


def _read_cut(log: Log, number: int, line: str) -> None:
    """A last line without a line end: a number in it may have lost digits, or its exponent."""
    own = _own(line)
    if own.startswith("[") or _HEADER.fullmatch(own):
        log.notes.append((number, CUT.format(text=own)))
    else:
        _read_line(log, number, line)


def _own(line: str) -> str:
    return _RANK_PREFIX.sub("", line, count=1).strip()


def _not_text(path: Path) -> RecordError:
    return unreadable(path, "not a text file", NAME_A_LOG)


def _read_line(log: Log, number: int, line: str) -> None:
    own = _own(line)
    if header := _HEADER.fullmatch(own):
        if header[1] in log.header:
            raise _wrong(log, number, twice(f"a second {header[1]}"))
        log.header[header[1]] = header[2]
    elif warm_up := _WARM_UP.fullmatch(own):
        if log.warm_up is not None:
            raise _wrong(log, number, twice("a second [-1] time"))
        log.warm_up = _time(log, number, 0, 0, warm_up[1])
    elif section := _SECTION.fullmatch(own):
        size = _whole(log, number, section[3])
        buffer = _whole(log, number, section[4]) if section[4] else size
        ranks = max(_whole(log, number, section[1], 9), _whole(log, number, section[2], 9)) + 1
        _begin(log, LogSection(number, ranks, size, buffer, section[5] == "with"), of_two=section[5] is not None)
    elif time := _TIME.fullmatch(own):
        indices = _index(log, number, time[1]), _index(log, number, time[2])
        _add(log, _time(log, number, *indices, time[3]))
    elif line.strip():
        log.notes.append((number, line.strip()))


def _begin(log: Log, section: LogSection, *, of_two: bool) -> None:
    """Adds a section.  Raises: RecordError: a reproducer prints each of its sections once."""
    if any(not of_two or earlier.overallocated == section.overallocated for earlier in log.sections):
        raise _wrong(log, section.line, twice("a second section"))
    log.sections.append(section)


def _index(log: Log, number: int, text: str) -> int:
    """Number of an allocation or a message, of which no log has more than it may have times."""
    value = _whole(log, number, text, 9)
    if value >= MAX_ROWS:
        raise _wrong(log, number, damaged(text))
    return value


def _whole(log: Log, number: int, text: str, digits: int = 19) -> int:
    """A printed whole number, of no more digits than a reproducer's own can have."""
    if not (text.isascii() and len(text) <= digits):
        raise _wrong(log, number, damaged(text))
    return int(text)


def _add(log: Log, time: Time) -> None:
    if not log.passes or (time.allocation, time.message) == (0, 0):
        log.passes.append([])
    log.passes[-1].append(time)


def _give_times(log: Log) -> None:
    """Each heading its times.  Raises: RecordError: a time twice, or times that no heading is left for."""
    for times in log.passes:
        seen: set[tuple[int, int]] = set()
        for time in times:
            place = time.allocation, time.message
            if place in seen:
                raise _twice(log, time)
            seen.add(place)
    if len(log.passes) > len(log.sections):
        first = log.passes[0][0]
        if not log.sections or first.line < log.sections[0].line:
            raise _wrong(log, first.line, damaged("time without a heading"))
        raise _twice(log, log.passes[len(log.sections)][0])
    for section, times in zip(log.sections, log.passes, strict=False):
        section.times = times


def _twice(log: Log, time: Time) -> RecordError:
    return _wrong(log, time.line, twice(f"a second [{time.allocation}:{time.message}]"))


def _time(log: Log, number: int, allocation: int, message: int, text: str) -> Time:
    """A printed time as integer nanoseconds, rounded from the digits themselves rather than from a double."""
    try:
        seconds = Decimal(text)
    except InvalidOperation as error:
        raise _wrong(log, number, damaged(text)) from error
    if not seconds.is_finite() or not 0 < seconds < 10**6:
        raise _wrong(log, number, damaged(text))
    return Time(number, allocation, message, text, round(seconds * _NS_PER_S))


def _wrong(log: Log, number: int, problem: str) -> RecordError:
    return RecordError(f"{log.path}: line {number}: {problem}")


def _check_complete(log: Log) -> None:
    log.sections = [section for section in log.sections if section.times]
    if not log.sections:
        raise unreadable(log.path, f"no output of {OVERALLOC}, {PINNED_HOST} or OSU", NAME_A_LOG)
    sizes = {"buffer_size", "overalloc_size"} & set(log.header)
    needed = {"p2p_size", *(("buffer_size", "overalloc_size") if sizes else ("mem_type",))}
    for name in sorted(needed - set(log.header)):
        raise unreadable(log.path, f"no line '{name}: ...'", RESTORE)
    for name in sorted(needed - {"mem_type"}):
        if not re.fullmatch(r"[0-9]{1,19}", log.header[name]):
            raise unreadable(log.path, f"{name} '{log.header[name]}'", RESTORE)
    for name, known in (("mem_type", _MEMORY_KINDS), ("touch", _TOUCHES)):
        if log.header.get(name, known[0]) not in known:
            raise unreadable(log.path, f"{name} '{log.header[name]}'", RESTORE)
    if not re.fullmatch(r"\d{1,5}(:\d{1,5})?", log.header.get("device", "0"), re.ASCII):
        raise unreadable(log.path, f"device '{log.header['device']}'", RESTORE)
    for section in log.sections:
        _check_section(log, section)


def _check_section(log: Log, section: LogSection) -> None:
    """A heading must agree with the header, or the two come from different runs."""
    message = int(log.header["p2p_size"])
    buffer = message
    if log.program == OVERALLOC:
        extra = int(log.header["overalloc_size"]) if section.overallocated else 0
        buffer = int(log.header["buffer_size"]) + extra
        message = min(message, buffer)
    if (section.message_bytes, section.buffer_bytes) != (message, buffer):
        raise _wrong(
            log, section.line, f"{section.message_bytes} bytes from {section.buffer_bytes} contradict the sizes above"
        )


METRIC = "send_barrier_s"
PLACEMENT = "as logged"
_EXPERIMENT = "p2p"
_MINIMUM_EFFECT = 0.03
# Which of two files is the baseline, a, decides only how the ratio is turned; nothing else rests on a file's
# name. Pageable memory comes before other kinds, and files named by these words are held against the rest.
_MEMORY_ORDER = ("host", "pinned_host", "managed", "device")
_QUESTIONED = ("unbound", "cma", "across")


def build_plan(logs: Sequence[Log], labels: Sequence[str], stated: Mapping[str, Conditions] | None = None) -> Plan:
    """Plan of an imported run; `labels` are distinct, one a log. Cell numbers follow files, then sections.

    stated: label -> conditions of its launch, as far as the user states them.
    """
    stated = stated or {}
    numbers = count()
    cells = [[_cell(next(numbers), log, section, label) for section in log.sections]
             for log, label in zip(logs, labels, strict=True)]  # fmt: skip
    return Plan(
        schema=PLAN_SCHEMA,
        campaign="imported",
        title=f"Imported from {plural(len(logs), 'log')}",
        ranks=max(log.ranks for log in logs),
        rounds=1,
        seed=0,
        minimum_effect=_MINIMUM_EFFECT,
        environments=[Environment(label, stated=dict(stated.get(label, {}))) for label in labels],
        placements=[Placement(PLACEMENT, "unknown")],
        cells=[cell for group in cells for cell in group],
        contrasts=[*_contrasts_within(logs, cells), *_contrasts_across(logs, cells, stated)],
        launches=[
            Launch(i, 1, label, PLACEMENT, [cell.cell for cell in group], seed=0)
            for i, (label, group) in enumerate(zip(labels, cells, strict=True), start=1)
        ],
    )


def parameters_of(log: Log, section: LogSection) -> dict[str, str]:
    """The section as parameters of the engine's p2p: what would measure the same thing."""
    message = section.message_bytes
    allocations = max(time.allocation for time in section.times) + 1
    messages = max(time.message for time in section.times) + 1
    buffer, extra = f"{message}", 0
    if log.program == OVERALLOC:
        buffer = f"{log.header['buffer_size']}:{message}"  # the receiver allocates the message's length only
        extra = int(log.header["overalloc_size"]) if section.overallocated else 0
    is_host = log.memory in ("host", "pinned_host")
    more = {"touch": log.header.get("touch", "none")} if is_host else {}
    more |= {"device": log.header["device"]} if "device" in log.header else {}
    return {
        "pattern": "one_way",
        "memory": log.memory,
        **more,
        "message_bytes": str(message),
        "buffer_bytes": buffer,
        "overalloc_bytes": f"{extra}:0" if extra else "0",
        "allocations": str(allocations),
        "messages": str(messages),
        "synchronise": "inside",
    }


def _cell(number: int, log: Log, section: LogSection, label: str) -> Cell:
    parameters = parameters_of(log, section)
    name = label
    if log.program == OVERALLOC:
        where = f", device {log.header['device']}" if "device" in log.header else ""
        name = f"{label}, {'with' if section.overallocated else 'without'} overalloc{where}"
    key = cell_key(_EXPERIMENT, parameters, {"log": label}, "unknown", 1, section.ranks, "imported")
    return Cell(number, key, log.program, name, _EXPERIMENT, parameters, environment=label, placement=PLACEMENT)


def _contrasts_within(logs: Sequence[Log], cells: Sequence[Sequence[Cell]]) -> list[Contrast]:
    """Return the contrasts of over-allocation (with over without, first and later), and of first over later in each
    cell.
    """
    made = []
    for number, (log, group) in enumerate(zip(logs, cells, strict=True), start=1):
        sides = {section.overallocated: cell for section, cell in zip(log.sections, group, strict=True)}
        if log.program == OVERALLOC and len(sides) == 2:
            extra = format_bytes(int(log.header["overalloc_size"]))
            for phase, words in (("first", "the first message"), ("steady", "later messages")):
                question = f"Is {words} slower" if phase == "first" else f"Are {words} slower"
                a = Side(sides[False].cell, phase, "0 B")
                b = Side(sides[True].cell, phase, extra)
                question += f" with {extra} over-allocated?{_longer(log)} ({group[0].environment})"
                made.append(
                    _contrast(
                        f"overalloc-{phase}-{number}", f"over-allocation, {words}", question, "overalloc_bytes", a, b
                    )
                )
        for index, cell in enumerate(group, start=1):
            question = f"Is the first message slower than later ones? ({cell.label})"
            a, b = Side(cell.cell, "steady", "steady"), Side(cell.cell, "first", "first")
            first = _contrast(f"first-{number}-{index}", "first message", question, "phase", a, b)
            made.append(msgspec.structs.replace(first, explains=True))  # no later message is ever the first
    return made


def _longer(log: Log) -> str:
    """Where p2p_size is more than buffer_size, the messages of the part with over-allocation are longer, too."""
    lengths = {section.message_bytes for section in log.sections}
    return f" (messages {format_bytes(max(lengths) - min(lengths))} longer)" if len(lengths) > 1 else ""


def _contrasts_across(
    logs: Sequence[Log], cells: Sequence[Sequence[Cell]], stated: Mapping[str, Conditions]
) -> list[Contrast]:
    """Later messages of each two logs of the second program that sent the same length."""
    single = [(log, group[0]) for log, group in zip(logs, cells, strict=True) if log.program != OVERALLOC]
    by_word = {cell.environment: [word in cell.environment for word in _QUESTIONED] for _, cell in single}
    single.sort(key=lambda pair: (_MEMORY_ORDER.index(pair[0].header["mem_type"]), *by_word[pair[1].environment]))
    made: list[Contrast] = []
    for (log_a, a), (log_b, b) in combinations(single, 2):
        if log_a.header["p2p_size"] != log_b.header["p2p_size"]:
            continue
        conditions = stated.get(a.environment, {}), stated.get(b.environment, {})
        pairs = {
            name: (log_a.header.get(name, "none"), log_b.header.get(name, "none")) for name in ("mem_type", "touch")
        }
        differ = [f"{name} ({first}, {other})" for name, (first, other) in pairs.items() if first != other]
        unknown = not_stated(*conditions)
        differ += differences(*conditions)
        differ += ["file"] * (bool(unknown) or not differ)
        asked = question(b.environment, a.environment, differ, unknown)
        sides = Side(a.cell, "steady", a.environment), Side(b.cell, "steady", b.environment)
        made.append(_contrast(f"files-{len(made) + 1}", "between files", asked, "environment", *sides))
    return made


def _contrast(name: str, group: str, question: str, axis: str, a: Side, b: Side) -> Contrast:
    return Contrast(name, group, question, axis, METRIC, a, b)


_MEASURES = "The same messages, measured here."
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
        key["environment"]: _SETTINGS.get(_transport(environment))
        for key, environment in zip(keys, plan.environments, strict=True)
    }
    stated = {key["placement"]: environment.stated for key, environment in zip(keys, plan.environments, strict=True)}
    return [EnvironmentTable(name, setting=setting) for name, setting in settings.items()], [
        PlacementTable(
            name, conditions.get("bind", "core"), nodes=int(conditions["nodes"]) if "nodes" in conditions else None
        )
        for name, conditions in stated.items()
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
        "placement": ", ".join(words) or "default placement",
    }


def _group(label: str, cells: Sequence[Cell], conditions: dict[str, str]) -> CellsTable:
    parameters: dict[str, Values] = {}
    for name in cells[0].parameters:
        values = list(dict.fromkeys(cell.parameters[name] for cell in cells))
        parameters[name] = values[0] if len(values) == 1 else values
    environment, placement = conditions.get("environment"), conditions.get("placement")
    return CellsTable(printable(label), cells[0].experiment, parameters, environment, placement)


_LISTED = 8  # missing times of an allocation
_NO_CLOCK_NS = 0  # a log says how long things took, never when
_CONDITIONS = "Imported from logs, which do not state how they were launched."
_STATED = "Imported from logs, launched as stated: {stated}."


def write_logs(files: Sequence[Path], contents: Sequence[bytes], out: Path | None, conditions: Sequence[str]) -> Path:
    """Write the run folder of logs: one launch a file, one cell a section.

    Raises: RecordError if a log is not understood, before anything is written; EnvironmentFailure; UsageError if a
            condition can't be understood.
    """
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
        blocks = [
            block for cell, section in zip(cells, log.sections, strict=True) for block in _blocks(number, cell, section)
        ]
        write_blocks(launch / "samples.blk", [*_warm_up(number, log, cells[0]), *blocks])
    except OSError as error:
        raise cannot_write(launch, error) from error
    foreign = [f"line {line}, not the reproducer's: {text}" for line, text in log.notes]
    events = list(_events(number, log, cells, foreign))
    write_atomically(launch / "events.jsonl", b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    write_atomically(launch / "stdout", kept_log(log.content))
    write_launch(folder, LaunchInfo(number, 1, label, PLACEMENT, ended="ok"))
    return foreign


def _warm_up(launch: int, log: Log, cell: Cell) -> list[Block]:
    """`[-1]`: the first message of all, from a small allocation, start-up included: phase init."""
    if log.warm_up is None:
        return []
    return [Block(cell.cell, launch, "init", [log.warm_up.ns], flags=("imported",))]


def _blocks(launch: int, cell: Cell, section: LogSection) -> Iterator[Block]:
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
        yield Block(
            cell=cell.cell,
            launch=launch,
            phase="first" if run[0].message == 0 else "steady",
            duration_ns=[time.ns for time in run],
            allocation=run[0].allocation,
            seq0=run[0].message,
            flags=("imported",),
        )


def _events(launch: int, log: Log, cells: Sequence[Cell], foreign: Sequence[str]) -> Iterator[Event]:
    yield LaunchBegin(_NO_CLOCK_NS, launch, log.ranks)
    for text in foreign:
        yield Note(_NO_CLOCK_NS, text)
    for cell, section in zip(cells, log.sections, strict=True):
        yield CellBegin(_NO_CLOCK_NS, cell.cell)
        for text in _missing(section):
            yield Note(_NO_CLOCK_NS, text, cell.cell)
        yield CellEnd(_NO_CLOCK_NS, cell.cell, "ok", batch=1)
    yield LaunchEnd(_NO_CLOCK_NS)


def _missing(section: LogSection) -> Iterator[str]:
    """A log that was cut short lacks messages of its last allocation. Goes through gaps alone: indices may be large."""
    messages = max(time.message for time in section.times) + 1
    have: dict[int, set[int]] = {}
    for time in section.times:
        have.setdefault(time.allocation, set()).add(time.message)
    absent = max(have) + 1 - len(have)
    if absent:
        yield f"line {section.line}: no times of {absent} allocations below [{max(have)}:0]"
    for allocation, there in sorted(have.items()):
        lacking = messages - len(there)
        if lacking:
            first = islice((f"[{allocation}:{m}]" for m in range(messages) if m not in there), _LISTED)
            more = f" and {lacking - _LISTED} more" if lacking > _LISTED else ""
            yield f"line {section.line}: no times {', '.join(first)}{more}"
