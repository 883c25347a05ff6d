# SPDX-License-Identifier: Apache-2.0
"""Tables of the OSU Micro-Benchmarks: a title `# OSU ... Test v7.4`, settings, `# Size ...`, rows.

The latencies are means over all iterations, of both directions halved in osu_latency; bandwidths are bytes over
the mean time, in 10^6 bytes per second. Neither window size (but in osu_mbw_mr) nor iterations are printed.
Read from versions 5.3 to 7.4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from slowpath.record.imports.scan import Grammar
from slowpath.record.imports.table import (
    MEAN_ONLY,
    US,
    Measure,
    Row,
    Table,
    TableLog,
    by_header,
    count,
    decimal,
    time_s,
)

_TITLE = re.compile(r"# (OSU .+?) v(\d[\w.]*)")
_SETTING = re.compile(r"# (Window creation|Synchronization|Datatype): (.+?)\.?")
_PAIRS = re.compile(r"# \[ pairs: ([0-9]{1,9}) \] \[ window size: ([0-9]{1,9}|varied) \]")
_BUFFERS = re.compile(r"# (?:Send Buffer|Rank 0 Memory) on (\S+) .*and (?:Receive Buffer|Rank 1 Memory) on (\S+)")
_COLUMN = re.compile(
    r"P\d+(?:\.\d+)? Tail (?:BW|Lat) ?\((?:MB/s|us)\)|(?:Bandwidth|(?:Avg |Min |Max )?Latency|Coll\. Init|MPI_Test"
    r"|MPI_Wait|(?:Pure|Min|Max) Comm\.|Overall|Compute|Overlap) ?\((?:MB/s|us|%)\)|MB/s|Messages/s|Iterations"
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
_NO_ITERATIONS = "the number of iterations is not printed; the sample is the mean itself, as a batch of one"
_MB = Decimal(10**6)
_TIMES = ("Avg Latency(us)", "Latency (us)", "Latency(us)", "Overall(us)")
_RATES = ("Bandwidth (MB/s)", "MB/s")


@dataclass(frozen=True)
class _Kind:
    benchmark: str
    measure: Measure
    parameters: tuple[tuple[str, str], ...] = ()


# A title without its memory suffix (-CUDA and the like) -> what the engine calls it. All others: one operation.
_PUT = (("pattern", "burst"), ("design", "mpi"), ("puts", "1"))
_KINDS = {
    "OSU MPI Latency Test": _Kind("osu_latency", "ping_pong", (("pattern", "ping_pong"),)),
    "OSU MPI Bandwidth Test": _Kind("osu_bw", "windowed", (("pattern", "windowed"),)),
    "OSU MPI Multiple Bandwidth / Message Rate Test": _Kind("osu_mbw_mr", "windowed", (("pattern", "windowed"),)),
    "OSU MPI_Put Latency Test": _Kind("osu_put_latency", "put", _PUT),
}


def _begin(line: int, own: str) -> Table | None:
    """The table below a title."""
    found = _TITLE.match(own)
    if found is None:
        return None
    title, version = found.groups()
    plain = re.sub(r"-(CUDA|ROCM|OPENACC|SYCL|HIP)\b", "", title)
    kind = _KINDS.get(plain) or _Kind(plain.removeprefix("OSU ").removesuffix(" Test"), "operation")
    missing = {**MEAN_ONLY, "repetitions": _NO_ITERATIONS}
    if plain != title:
        missing["memory"] = "a build without GPU support takes D D, too, and then prints times of host memory"
    return Table(line, "OSU", kind.benchmark, f"v{version}", kind.measure, dict(kind.parameters), None, missing)


def _header(_: Table, own: str) -> list[str] | None:
    """Names of the columns behind the size; None if this is no header."""
    found = re.match(r"#\s*(Size|Avg Latency|Overall|Bandwidth|MB/s)", own)
    if not found:
        return None
    return (["Size"] if found[1] == "Size" else []) + [match[0] for match in _COLUMN.finditer(own)]


def _setting(table: Table, own: str) -> None:
    if pairs := _PAIRS.match(own):
        table.parameters |= {"pairs": pairs[1]} | ({"in_flight": pairs[2]} if pairs[2].isdecimal() else {})
        table.ranks = 2 * int(pairs[1])
    elif buffers := _BUFFERS.match(own):
        kinds = [_MEMORY.get(side, side.lower()) for side in buffers.groups()]
        table.parameters["memory"] = kinds[0] if kinds[0] == kinds[1] else ":".join(kinds)
    elif setting := _SETTING.fullmatch(own):
        if setting[1] == "Datatype":
            return
        name, known = {"Window creation": ("window", _WINDOWS)}.get(setting[1], ("synchronise", _SYNCHRONISATIONS))
        if table.measure == "put" and setting[2] not in known:
            table.measure = "operation"  # the engine has no such way: nothing of its own to compare with
        table.parameters[name] = known.get(setting[2], setting[2])
        table.variant += f", {setting[2]}"


def _row(path: Path, line: int, header: list[str], own: str) -> Row:
    cells = dict(zip(header, by_header(path, line, header, own), strict=True))
    size = count(path, line, cells.pop("Size")) if "Size" in cells else None
    status = cells.pop("Validation", None)
    values = {name: decimal(path, line, text) for name, text in cells.items()}
    columns: dict[str, float | None] = {name: float(value) for name, value in values.items()}
    repetitions = int(values["Iterations"]) if values.get("Iterations") else None
    failed = "the benchmark's own validation failed" if status not in (None, "Pass") else None
    mean, why = _mean(values, size)
    return Row(line, size, mean, repetitions, columns, why, failed)


def _mean(values: dict[str, Decimal], size: int | None) -> tuple[Decimal | None, str | None]:
    """Mean time of one operation. MB/s are of all pairs together, as is the message rate."""
    for name in _TIMES:
        if name in values:
            mean, why = time_s(values[name], US)
            return mean, why and f"{name} {why}"
    if values.get("Messages/s"):  # more digits than the bandwidth of short messages has
        return 1 / values["Messages/s"], None
    for name in _RATES:
        if name in values and size:
            if values[name] == 0:
                return None, f"{name} is printed as {values[name]}, below the digits of the table"
            return Decimal(size) / (values[name] * _MB), None
    return None, "the table has no column of times or bandwidths that is understood"


def parse(path: Path, content: bytes, text: str) -> TableLog:
    """All tables of a log.  Raises: RecordError for a row that its header doesn't explain."""
    found = GRAMMAR.parse(path, content, text)
    for table in found.tables:
        _finish(table)
    return found


def _finish(table: Table) -> None:
    if all(row.repetitions for row in table.rows):
        table.missing.pop("repetitions", None)
    if table.measure == "windowed" and "in_flight" not in table.parameters:
        table.missing["in_flight"] = "the window size is not printed; the default of the benchmark is 64"
    if table.ranks is None and table.measure != "operation":
        table.ranks = 2


GRAMMAR = Grammar(_begin, _header, _setting, _row)
