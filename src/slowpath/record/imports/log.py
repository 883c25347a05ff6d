# SPDX-License-Identifier: Apache-2.0
"""The printed output of the two reproducers, read line by line.

gpudirect_p2p_overalloc prints p2p_size, buffer_size and overalloc_size, then two sections, with and without
over-allocation, and mem_type before them where it was given another memory than the GPU's;
intranode_pinned_host_comm prints mem_type and p2p_size, then one section. `[-1]` is the
warm-up with a small allocation, `[i:j]` sub-iteration j on the fresh allocation i. Any other line belongs to
someone else (the launcher, the MPI library) and is kept as a note.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.record.imports.limits import CUT, MAX_ROWS, few_notes

OVERALLOC = "gpudirect_p2p_overalloc"
PINNED_HOST = "intranode_pinned_host_comm"
_HEADER = re.compile(r"(mem_type|p2p_size|buffer_size|overalloc_size): (\S+)")
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
    return RecordError(f"{path}: is not a text file; name the captured output of a reproducer")


def _read_line(log: Log, number: int, line: str) -> None:
    own = _own(line)
    if header := _HEADER.fullmatch(own):
        if header[1] in log.header:
            raise _wrong(log, number, f"a second '{header[1]}': two outputs in one file; split it")
        log.header[header[1]] = header[2]
    elif warm_up := _WARM_UP.fullmatch(own):
        if log.warm_up is not None:
            raise _wrong(log, number, "a second '[-1] time:': two outputs in one file; split it")
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
        raise _wrong(log, section.line, "a section for the second time: two outputs in one file; split it")
    log.sections.append(section)


def _index(log: Log, number: int, text: str) -> int:
    """Number of an allocation or a message, of which no log has more than it may have times."""
    found = _whole(log, number, text, 9)
    if found >= MAX_ROWS:
        raise _wrong(log, number, f"index {found} is over the {MAX_ROWS} times that a log may hold; restore the line")
    return found


def _whole(log: Log, number: int, text: str, digits: int = 19) -> int:
    """A printed whole number, of no more digits than a reproducer's own can have."""
    if not (text.isascii() and len(text) <= digits):
        raise _wrong(log, number, f"'{text[:40]}' is no number that a reproducer prints; restore the line")
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
            why = "a time before the heading 'Doing MPI_Send/Recv ...'; restore the missing lines"
            raise _wrong(log, first.line, why)
        raise _twice(log, log.passes[len(log.sections)][0])
    for section, times in zip(log.sections, log.passes, strict=False):
        section.times = times


def _twice(log: Log, time: Time) -> RecordError:
    return _wrong(log, time.line, f"[{time.allocation}:{time.message}] for the second time; split outputs into files")


def _time(log: Log, number: int, allocation: int, message: int, text: str) -> Time:
    """A printed time as integer nanoseconds, rounded from the digits themselves rather than from a double."""
    try:
        seconds = Decimal(text)
    except InvalidOperation as error:
        raise _wrong(log, number, f"'{text}' is not a time in seconds") from error
    if not seconds.is_finite() or not 0 < seconds < 10**6:
        raise _wrong(log, number, f"'{text}' is not a time in seconds above zero")
    return Time(number, allocation, message, text, round(seconds * _NS_PER_S))


def _wrong(log: Log, number: int, problem: str) -> RecordError:
    return RecordError(f"{log.path}: line {number}: {problem}")


def _check_complete(log: Log) -> None:
    log.sections = [section for section in log.sections if section.times]
    if not log.sections:
        raise RecordError(
            f"{log.path}: has no '[i:j] time:' line of {OVERALLOC} or {PINNED_HOST}, and no table of OSU, IMB or "
            "nccl-tests; name their output"
        )
    sizes = {"buffer_size", "overalloc_size"} & set(log.header)
    needed = {"p2p_size", *(("buffer_size", "overalloc_size") if sizes else ("mem_type",))}
    for name in sorted(needed - set(log.header)):
        raise RecordError(f"{log.path}: lacks the line '{name}: ...'; restore the first lines of the output")
    for name in sorted(needed - {"mem_type"}):
        if not re.fullmatch(r"[0-9]{1,19}", log.header[name]):
            raise RecordError(f"{log.path}: {name} '{log.header[name]}' is not a number of bytes")
    if "mem_type" in log.header and log.header["mem_type"] not in _MEMORY_KINDS:
        known = ", ".join(_MEMORY_KINDS)
        raise RecordError(f"{log.path}: mem_type '{log.header['mem_type']}' is not one of {known}")
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
            log,
            section.line,
            f"{section.message_bytes} bytes from {section.buffer_bytes} contradict the sizes above",
        )
