# SPDX-License-Identifier: Apache-2.0
"""Tables of the OSU Micro-Benchmarks: a title `# OSU ... Test v7.4`, settings, `# Size ...`, rows.

The latencies are means over all iterations, of both directions halved in osu_latency; bandwidths are bytes over
the mean time. Units are those of the heading: us and 10^6 bytes per second in OSU's own builds. Neither window size
(but in osu_mbw_mr) nor iterations are printed. Read from versions 5.3 to 7.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from slowpath.record.imports.heading import Heading, read_heading, unknown_columns
from slowpath.record.imports.scan import Grammar
from slowpath.record.imports.table import (
    MEAN_ONLY,
    LogTable,
    Measure,
    TableLog,
    TableRow,
    by_header,
    count,
    decimal,
    wrong,
)

_TITLE = re.compile(r"# (OSU .{1,200}? Test)(?: v(\d[\w.-]*))?")
_SETTING = re.compile(r"# (Window creation|Synchronization|Datatype): (.+?)\.?")
_PAIRS = re.compile(r"# \[ pairs: ([0-9]{1,9}) \] \[ window size: ([0-9]{1,9}|varied) \]")
_BUFFERS = re.compile(r"# (?:Send Buffer|Rank 0 Memory) on (\S+) .*and (?:Receive Buffer|Rank 1 Memory) on (\S+)")
_UNIT = r"(?: ?\([^()]{0,20}\))?"
_COLUMN = re.compile(
    rf"P\d+(?:\.\d+)? Tail (?:BW|Lat){_UNIT}|(?:(?:Avg |Min |Max )?(?:Latency|Bandwidth)|Coll\. Init|MPI_Test|MPI_Wait"
    rf"|(?:Pure|Min|Max) Comm\.|Overall|Compute|Overlap){_UNIT}|[KMGT]i?B/s|[KMGT]i?b(?:ps|/s)|Messages/s|Iterations"
    r"|Validation|Transmit Size"
)
_WINDOWS = {"MPI_Win_allocate": "allocate", "MPI_Win_create": "create", "MPI_Win_create_dynamic": "dynamic"}
_SYNCHRONISATIONS = {
    "MPI_Win_lock/unlock": "lock",
    "MPI_Win_flush": "flush_all",
    "MPI_Win_flush_local": "flush_local",
    "MPI_Win_post/start/complete/wait": "pscw",
    "MPI_Win_fence": "fence",
}
_MEMORY = {"HOST": "host", "DEVICE": "device", "MANAGED": "managed"}
_USUAL_DATATYPE = "MPI_CHAR"
_NO_ITERATIONS = "the number of iterations is not printed; the sample is the mean itself, as a batch of one"
_TIMES = ("Avg Latency", "Latency", "Overall")
_RATES = ("Bandwidth", *(f"{p}{b}" for p in ("K", "M", "G", "Ki", "Mi", "Gi") for b in ("B/s", "bps", "b/s")))
_BOTH_WAYS = "both directions were printed as one bandwidth; the time is that of one message of either direction"


@dataclass(frozen=True)
class _OsuBenchmark:
    benchmark: str
    measure: Measure
    parameters: tuple[tuple[str, str], ...] = ()


# A title without its memory suffix (-CUDA and the like) -> what the engine calls it. All others: one operation.
_PUT = (("pattern", "burst"), ("design", "mpi"), ("puts", "1"))
_KINDS = {
    "OSU MPI Latency Test": _OsuBenchmark("osu_latency", "ping_pong", (("pattern", "ping_pong"),)),
    "OSU MPI Bandwidth Test": _OsuBenchmark("osu_bw", "windowed", (("pattern", "windowed"),)),
    "OSU MPI Multiple Bandwidth / Message Rate Test": _OsuBenchmark(
        "osu_mbw_mr", "windowed", (("pattern", "windowed"),)
    ),
    "OSU MPI_Put Latency Test": _OsuBenchmark("osu_put_latency", "put", _PUT),
}


def _begin(line: int, own: str) -> LogTable | None:
    """The table below a title."""
    found = _TITLE.match(own)
    if found is None:
        return None
    title, version = found.groups()
    plain = re.sub(r"-(CUDA|ROCM|OPENACC|SYCL|HIP)\b", "", title)
    kind = _KINDS.get(plain) or _OsuBenchmark(plain.removeprefix("OSU ").removesuffix(" Test"), "operation")
    missing = {**MEAN_ONLY, "repetitions": _NO_ITERATIONS}
    if plain != title:
        missing["memory"] = "a build without GPU support takes D D, too, and then prints times of host memory"
    if "bi-directional" in plain.lower():
        missing["direction"] = _BOTH_WAYS
    variant = f"v{version}" if version else ""
    return LogTable(line, "OSU", kind.benchmark, variant, kind.measure, dict(kind.parameters), None, missing)


def _header(path: Path, line: int, table: LogTable, own: str, unit: str | None) -> Heading | None:
    """The heading of the columns; None if this is none."""
    found = re.match(r"#\s*(Size\b|(?=Avg Latency|Latency|Overall|Bandwidth|[KMG]i?B/s))", own)
    if not found:
        return None
    rest = own[found.end() :]
    if left := _COLUMN.sub("", rest).strip():
        if not found[1]:
            return None
        raise unknown_columns(path, line, left)
    columns = (["Size"] if found[1] else []) + [match[0] for match in _COLUMN.finditer(rest)]
    if len(columns) == len(set(columns)) and len(columns) > bool(found[1]):
        return read_heading(path, line, columns, _TIMES, _RATES, unit)
    raise wrong(path, line, "the heading names no column, or one twice; restore it")


def _setting(path: Path, line: int, table: LogTable, own: str) -> None:
    if pairs := _PAIRS.match(own):
        if not pairs[2].isdecimal():
            raise wrong(path, line, "a table over window sizes (-V) isn't read; measure with one of them, as -W 64")
        table.parameters |= {"pairs": pairs[1], "in_flight": pairs[2]}
        table.ranks = 2 * int(pairs[1])
    elif buffers := _BUFFERS.match(own):
        kinds = [_MEMORY.get(side, side.lower()) for side in buffers.groups()]
        memory = kinds[0] if kinds[0] == kinds[1] else ":".join(kinds)
        if table.measure == "put":
            if memory == "host":  # the engine's put has no other
                return
            _no_put(table)
        table.parameters["memory"] = memory
    elif setting := _SETTING.fullmatch(own):
        if setting[1] == "Datatype":
            table.datatype = setting[2]
            return
        name, known = {"Window creation": ("window", _WINDOWS)}.get(setting[1], ("synchronise", _SYNCHRONISATIONS))
        if table.measure == "put" and setting[2] not in known:
            _no_put(table)
        table.parameters[name] = known.get(setting[2], setting[2])
        table.variant += f", {setting[2]}"


def _no_put(table: LogTable) -> None:
    """The engine has no such put: an operation, and nothing of its own to compare with."""
    table.measure = "operation"
    for key, _ in _PUT:
        table.parameters.pop(key, None)


def _row(path: Path, line: int, heading: Heading, own: str) -> TableRow:
    cells = dict(zip(heading.columns, by_header(path, line, heading.columns, own), strict=True))
    size = count(path, line, cells.pop("Size")) if "Size" in cells else None
    status = cells.pop("Validation", None)
    values = {name: decimal(path, line, text) for name, text in cells.items()}
    columns: dict[str, float | None] = {name: float(value) for name, value in values.items()}
    repetitions = int(values["Iterations"]) if values.get("Iterations") else None
    failed = "the benchmark's own validation failed" if status not in (None, "Pass") else None
    mean, why = heading.mean(values, size)
    return TableRow(line, size, mean, repetitions, columns, why, failed)


def parse(path: Path, content: bytes, text: str, unit: str | None = None) -> TableLog:
    """Return all tables of a log.  Raises: RecordError for a row that its heading doesn't explain."""
    found = GRAMMAR.parse(path, content, text, unit)
    for table in found.tables:
        _finish(table)
    return found


def _finish(table: LogTable) -> None:
    if table.datatype not in ("", _USUAL_DATATYPE):
        table.variant = ", ".join(part for part in (table.variant, table.datatype) if part)
    if all(row.repetitions for row in table.rows):
        table.missing.pop("repetitions", None)
    if table.measure == "windowed" and "in_flight" not in table.parameters:
        table.missing["in_flight"] = "the window size is not printed; the default of the benchmark is 64"
    if table.ranks is None and table.measure != "operation":
        table.ranks = 2


GRAMMAR = Grammar(_begin, _header, _setting, _row, ascending=True, divides=("# Datatype:",))
