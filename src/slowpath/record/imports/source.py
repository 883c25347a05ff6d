# SPDX-License-Identifier: Apache-2.0
"""What all imports share: log files in, what each condition is called, run.json and the head of campaign.toml out."""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, PlacementTable
from slowpath.core.errors import EnvironmentFailure, RecordError, exclude, is_not, unknown, unreadable
from slowpath.core.files import cannot, read_bytes
from slowpath.core.guard import clean_text, clean_words, line
from slowpath.core.plan import Plan
from slowpath.core.units import listed
from slowpath.core.version import __version__
from slowpath.record.folder import RUN_SCHEMA, RunInfo


class Imported(Protocol):
    """A log that was read."""

    @property
    def path(self) -> Path: ...

    @property
    def content(self) -> bytes: ...


def read_contents(files: Sequence[Path]) -> list[bytes]:
    """The bytes of each log, within the limits of an import.

    Raises: RecordError: no file, one that is unreadable or is none, one twice, or more than a limit allows.
    """
    if not files:
        raise RecordError(f"no log to import; {NAME_A_LOG}")
    check_files(files)
    refuse_twice(files)
    contents: list[bytes] = []
    for file in files:
        contents.append(_content(file))
        if sum(map(len, contents)) > MAX_TOTAL_BYTES:
            raise too_much(file, f"{MAX_TOTAL_BYTES // 2**20} MiB of all logs")
    return contents


def _content(path: Path) -> bytes:
    content = read_bytes(path, MAX_LOG_BYTES)
    check_lines(path, content)
    return content


def refuse_twice(files: Sequence[Path]) -> None:
    """Check that each log is named once.  Raises: RecordError: one is named more than once."""
    seen: set[str] = set()
    for file in files:
        real = os.path.realpath(file)
        if real in seen:
            raise RecordError(f"'{file}' is listed twice; write it once")
        seen.add(real)


def labels_of(files: Sequence[Path]) -> list[str]:
    """Stems; one that occurs again gets a number."""
    labels: list[str] = []
    for file in files:
        stem = line(file.stem)
        label, again = stem, 1
        while label in labels:
            again += 1
            label = f"{stem} ({again})"
        labels.append(label)
    return labels


def run_info(plan: Plan, logs: Sequence[Imported], campaign: str, conditions: str, notes: Sequence[str]) -> RunInfo:
    """run.json of an imported run, whose id is made of the logs' contents."""
    content = hashlib.sha256(b"".join(hashlib.sha256(log.content).digest() for log in logs)).hexdigest()
    imported = datetime.now().astimezone().isoformat(timespec="seconds")
    return RunInfo(
        schema=RUN_SCHEMA,
        id=f"imported-{content[:12]}",
        campaign=plan.campaign,
        title=plan.title,
        slowpath=__version__,
        status="complete",
        ranks=plan.ranks,
        imported=True,
        command=clean_words(["slowpath", "import", *(str(log.path) for log in logs)]),
        notes=[conditions, f"Imported at {imported}.", *notes],
    )


def kept_log(content: bytes) -> bytes:
    """A log as it is kept: without what has a credential's shape, and without values that a secret name is given."""
    return clean_text(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def imported_campaign(
    plan: Plan,
    source: str,
    why: Sequence[str],
    cells: Sequence[CellsTable],
    environments: Sequence[EnvironmentTable] = (EnvironmentTable("default"),),
    placements: Sequence[PlacementTable] = (PlacementTable("bound"),),
) -> Campaign:
    """The campaign of imported logs.

    Args: what: was imported.  why: further lines of the comment above the file.
    """
    made = f"Imported {source}; the logs: launches/*/stdout."
    return Campaign(
        name="imported",
        title=plan.title,
        ranks=[plan.ranks],
        rounds=8,
        cells=cells,
        environments=environments,
        placements=placements,
        why="\n".join([made, *why]),
    )


def printable(text: str) -> str:
    """A name for a campaign, out of whatever a file is called."""
    return "".join(c if c.isprintable() else "?" for c in text)[:80]


def cannot_write(folder: Path, error: OSError) -> EnvironmentFailure:
    """The error for a launch's folder that can't be written."""
    return cannot("write", folder, error)


MAX_FILES = 1_000
MAX_LOG_BYTES = 64 * 2**20
MAX_TOTAL_BYTES = 256 * 2**20  # all logs of one import together
MAX_LINES = 1_000_000  # of one log
MAX_LINE_CHARACTERS = 10_000
MAX_ROWS = 100_000  # rows or times of all logs together; a table has tens
MAX_NOTES = 1_000  # lines of others that are kept of one log; the rest is in its copy in the run folder
CUT = "no line end, so left out: {text}"


NAME_A_LOG = "name the output of a reproducer, or of OSU"


def too_much(place: object, limit: str) -> RecordError:
    """Return the error for more than an import takes."""
    return unreadable(place, f"over {limit}", "import less at a time")


def twice(part: str) -> str:
    """What is wrong where something stands twice in one log."""
    return f"{part}: two outputs in one file; split it"


def damaged(text: str) -> str:
    """What is wrong with a line that no benchmark prints."""
    return f"damaged: {text[:60]}; restore the line"


def check_files(files: Iterable[Path]) -> None:
    """Check the number of files.  Raises: RecordError: more files than are taken."""
    number = sum(1 for _ in files)
    if number > MAX_FILES:
        raise too_much(f"{number} logs", f"{MAX_FILES} logs")


def check_lines(path: Path, content: bytes) -> None:
    """Raises: RecordError: more lines, or a longer one, than a benchmark prints. Looks at the bytes alone."""
    lines = content.count(b"\n") + 1
    if lines > MAX_LINES:
        raise too_much(path, f"{MAX_LINES} lines")
    begin, number = 0, 1
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end < 0 else end
        if end - begin > MAX_LINE_CHARACTERS:
            raise too_much(f"{path}: line {number}", f"{MAX_LINE_CHARACTERS} characters")
        begin, number = end + 1, number + 1


def check_rows(path: Path, rows: int) -> None:
    """rows: so far, of all logs.  Raises: RecordError."""
    if rows > MAX_ROWS:
        raise too_much(path, f"{MAX_ROWS} rows of all logs")


def few_notes(notes: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The first notes, (line number, text), and one that counts the others."""
    if len(notes) <= MAX_NOTES:
        return notes
    rest = len(notes) - MAX_NOTES
    return [*notes[:MAX_NOTES], (notes[MAX_NOTES][0], f"this and {rest - 1} more lines of others, not listed here")]


Conditions = Mapping[str, str]  # name -> value; what is not stated is not in it

TRANSPORTS = ("cma", "xpmem", "knem", "shared_memory", "gpu_ipc", "network")
BINDINGS = ("core", "socket", "numa", "none")
EXAMPLE = "--condition 'LOG:nodes=2,transport=network,bind=core'"


def _one_of(choices: Sequence[str]) -> Callable[[str], str | None]:
    return lambda value: None if value in choices else f"one of {', '.join(choices)}"


def _whole(value: str) -> str | None:
    return None if value.isascii() and value.isdigit() and 0 < int(value) < 10**6 else "a number of nodes, from 1 on"


# Name -> what its value has to be, where it is not that.
_NAMES: dict[str, Callable[[str], str | None]] = {
    "nodes": _whole,
    "transport": _one_of(TRANSPORTS),
    "bind": _one_of(BINDINGS),
}
NAMES = tuple(_NAMES)


def read_conditions(words: Sequence[str], files: Sequence[Path], labels: Sequence[str]) -> dict[str, Conditions]:
    """Label of a log -> its conditions.

    words: `LOG:NAME=VALUE[,NAME=VALUE]` each, LOG a file as it was named, its label, or a pattern with * and ?.
    Raises: UsageError: a word of another form, a log that is not among the files, or two values for one condition.
    """
    conditions: dict[str, dict[str, str]] = {label: {} for label in labels}
    for word in words:
        log, colon, pairs = word.rpartition(":")
        if not colon or not log:
            raise is_not(word, "a condition", EXAMPLE)
        called = [(label, (str(file), file.name, label)) for file, label in zip(files, labels, strict=True)]
        mine = [label for label, names in called if log in names or any(fnmatch.fnmatchcase(n, log) for n in names)]
        if not mine:
            raise unknown("log", log, labels)
        for name, value in _pairs(word, pairs):
            for label in mine:
                if conditions[label].setdefault(name, value) != value:
                    raise exclude(f"{label}: {name}={conditions[label][name]}", f"{name}={value}")
    return {label: stated for label, stated in conditions.items() if stated}


def _pairs(word: str, text: str) -> list[tuple[str, str]]:
    pairs = []
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or name not in _NAMES:
            raise unknown("condition", pair, NAMES)
        if wanted := _NAMES[name](value):
            raise is_not(value, wanted, EXAMPLE)
        pairs.append((name, value))
    return pairs


def differences(a: Conditions, b: Conditions) -> list[str]:
    """Return what two logs differ in, as `nodes (1, 2)`; a condition that only one states differs from one not
    stated.
    """
    return [
        f"{name} ({a.get(name, 'not stated')}, {b.get(name, 'not stated')})"
        for name in NAMES
        if a.get(name) != b.get(name)
    ]


def not_stated(a: Conditions, b: Conditions) -> list[str]:
    """Conditions that neither of two logs states."""
    return [name for name in NAMES if name not in a and name not in b]


def with_said(stated: Mapping[str, Conditions], said: Mapping[str, Conditions]) -> dict[str, Conditions]:
    """What users state of their logs, and what the logs say themselves; both by label.

    Raises: UsageError: they contradict each other.
    """
    joined = dict(stated)
    for label, conditions in said.items():
        for name, value in conditions.items():
            if joined.get(label, {}).get(name, value) != value:
                raise exclude(f"{label}: {name}={joined[label][name]}", f"{name}={value} of the log itself")
        if conditions:
            joined[label] = {**joined.get(label, {}), **conditions}
    return joined


def condition_words(stated: Conditions) -> str:
    """`2 nodes, transport network, bind core`; empty where nothing is stated."""
    words = []
    if nodes := stated.get("nodes"):
        words.append(f"{nodes} node{'s' * (nodes != '1')}")
    words += [f"{name} {stated[name]}" for name in ("transport", "bind") if name in stated]
    return ", ".join(words)


def question(b: str, a: str, differ: Sequence[str], unknown: Sequence[str]) -> str:
    """Return what a contrast of two logs asks, with all that they differ in."""
    rest = f"; not stated: {listed(unknown)}" if unknown else ""
    return f"Is {b} slower than {a}? They differ in {listed(differ)}{rest}."
