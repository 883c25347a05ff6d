# SPDX-License-Identifier: Apache-2.0
"""`slowpath report --redact`: a copy of a run folder without the names of hosts, users, paths and addresses.

Names are gathered from the fields and forms that hold them and then replaced wherever they occur, in any file. Numbers,
parameters and samples are copied as they are: block files hold no names. Only regular files are copied, and only of
kinds that are known here. The copy has its name when it is complete.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from slowpath.analyse.about import without_secrets
from slowpath.core.diagnosis_folder import is_diagnosis
from slowpath.core.errors import RecordError
from slowpath.core.files import cannot, open_regular, read_bytes
from slowpath.core.limits import MIB, limit_bytes
from slowpath.core.results import Results
from slowpath.record.folder import SUPERSEDED, create_run_folder, read_run
from slowpath.record.owner import OWNER_FOLDER
from slowpath.record.witness import CONTROL_VARIABLES, PERFORMANCE_VARIABLES
from slowpath.report.gather_names import Names
from slowpath.report.stand_ins import Redactor

NOTE = (
    "Redacted: names of hosts, users, folders and files, and network addresses were replaced by stand-ins, the same "
    "name by the same one; this copy can be reported and compared, not resumed."
)
_VALUES = frozenset(
    (
        *("run.json", "plan.json", "launch.json", "events.jsonl", "diagnosis.json", "printed.json"),
        *(CONTROL_VARIABLES, PERFORMANCE_VARIABLES),
    )
)
_TEXT = frozenset(("stdout", "stderr", "plan.txt", "campaign.toml", SUPERSEDED))
_BLOCKS = "samples.blk"
_BLOCK_MAGIC = b"SPB1"
# Derived files are made anew; who measures a run now is nobody of the copy's.
_NOT_COPIED = frozenset(
    (
        "results.json",
        "cells.csv",
        "contrasts.csv",
        "report.txt",
        "report.html",
        "put-table.csv",
        "put-table.md",
        "collectives.csv",
        OWNER_FOLDER,
    )
)
_FOLDER = re.compile(r"launches|\d{1,12}|\d\d+-[a-z]+(?:-\d+)?")  # of launches and of a diagnosis' steps
_MOST_BYTES = 64 * MIB  # of a file for which core.limits has no limit of its own
_MOST_LEVELS = 64  # of JSON; a record has about ten
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')

Tell = Callable[[str], None]


def redact_run(run: Path, out: Path, also: Sequence[str] = (), tell: Tell = lambda _: None) -> tuple[Path, Redactor]:
    """Copies a run folder, or a diagnosis with all its steps, without names.

    Args:    also: further words to replace.  tell: takes a line for each thing that is left out.
    Returns: the new folder, without derived files, and what redacts them.
    Raises:  RecordError if a file of `run` can't be read; EnvironmentFailure if `out` can't be made or is not empty.
             Then there is no copy.
    """
    if not is_diagnosis(run):
        read_run(run)
    files = _files(run, tell)
    redactor = _names_in(run, files).redactor(tuple(also))
    create_run_folder("redacted", out)
    part = out.absolute().with_name(f".{out.absolute().name}.{os.getpid()}.part")
    try:
        for path in files:
            _copy(run, path, part, redactor)
        (part / "launches").mkdir(parents=True, exist_ok=True)
        (out / "launches").rmdir()
        part.replace(out)
    except OSError as error:
        _drop(part, out)
        raise cannot("write", out, error) from error
    except BaseException:
        _drop(part, out)
        raise
    return out, redactor


def redact_and_report(
    run: Path, out: Path, also: Sequence[str] = (), tell: Tell = lambda _: None
) -> tuple[Path, Results]:
    """`redact_run`, and the derived files of the copy.  Returns: the copy and its results.  Raises: as `redact_run`."""
    from slowpath.analyse.build import build_results
    from slowpath.report import write_all

    folder, redactor = redact_run(run, out, also, tell)
    found = msgspec.to_builtins(build_results(folder))
    try:
        results = msgspec.convert(redactor.value(found), Results)  # it names the folder that the user chose
    except msgspec.ValidationError as error:
        raise RecordError(f"{run}: no launch can give its values: {error}; restore the folder from a copy") from error
    write_all(folder, results)
    return folder, results


def _drop(part: Path, out: Path) -> None:
    """Leave nothing that looks like a copy."""
    shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(out, ignore_errors=True)


def _files(run: Path, tell: Tell) -> list[Path]:
    """Regular files of kinds that are known, below folders of a run or a diagnosis; no link is followed.

    Raises: RecordError: a folder or file can't be read.
    """
    found, unknown = [], []
    for entry in _entries(run):
        path = Path(entry.path)
        if entry.name in _NOT_COPIED:
            continue
        if not entry.is_file(follow_symlinks=False):
            kind = "a symbolic link" if entry.is_symlink() else "a folder" if entry.is_dir() else "no regular file"
            tell(f"left out: {path}: is {kind}; only files of a run are copied")
        elif entry.name in _VALUES | _TEXT or (entry.name == _BLOCKS and _holds_blocks(run, path)):
            found.append(path)
        else:
            unknown.append(path)
    if unknown:
        many = f"{len(unknown)} files, {unknown[0]} among them: they" if len(unknown) > 1 else f"{unknown[0]}: it"
        tell(f"left out: {many} may hold names in a form that is not known")
    return found


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """What lies in a run folder and its own folders, in the order of names."""
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        raise RecordError(f"{folder}: cannot be read: {error.strerror or error}; make it readable first") from error
    if any(entry.name == SUPERSEDED for entry in entries):
        entries = [entry for entry in entries if entry.name == SUPERSEDED]  # nothing else there counts, or is whole
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and _FOLDER.fullmatch(entry.name):
            yield from _entries(Path(entry.path))
        else:
            yield entry


def _holds_blocks(run: Path, path: Path) -> bool:
    with os.fdopen(open_regular(path, limit_bytes(path.name), run), "rb") as file:
        return file.read(len(_BLOCK_MAGIC)) in (b"", _BLOCK_MAGIC)


def _content(run: Path, path: Path) -> bytes:
    return read_bytes(path, limit_bytes(path.name) or _MOST_BYTES, within=run)


def _copy(run: Path, path: Path, to: Path, redactor: Redactor) -> None:
    target = to / path.relative_to(run)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.name == _BLOCKS:  # may be larger than memory should hold
        with os.fdopen(open_regular(path, limit_bytes(path.name), run), "rb") as file, target.open("wb") as made:
            shutil.copyfileobj(file, made)
    else:
        target.write_bytes(_redacted(path, _content(run, path), redactor))


def _redacted(path: Path, content: bytes, redactor: Redactor) -> bytes:
    """The file's new content."""
    text = content.decode(errors="replace")
    if path.name in _TEXT:
        return redactor.text(text).encode()
    given = _values(path, text)
    if path.name == "run.json" and isinstance(given[0], dict) and isinstance(given[0].get("machine"), dict):
        given[0]["machine"] = without_secrets(given[0]["machine"])
    values = [redactor.value(value) for value in given]
    if path.name == "run.json" and isinstance(values[0], dict):
        values[0]["notes"] = [*values[0].get("notes", []), NOTE]
    indent = 1 if path.suffix == ".json" else None
    lines = (json.dumps(value, ensure_ascii=False, indent=indent) + "\n" for value in values)
    return "".join(lines).encode(errors="replace")


def _values(path: Path, text: str) -> list[Any]:
    """What a JSON file holds: one value, or one a line, up to a line that was cut short."""
    found: list[Any] = []
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        try:
            if _deepest(part) > _MOST_LEVELS:
                raise RecordError(f"{path}: is nested deeper than {_MOST_LEVELS} levels; restore the file from a copy")
            found.append(json.loads(part))
        except (ValueError, RecursionError) as error:
            if path.suffix == ".jsonl":
                break
            raise RecordError(f"{path}: is damaged: {error}; restore the file from a copy") from error
    return found


def _deepest(text: str) -> int:
    """Levels of a JSON text."""
    if text.count("[") + text.count("{") <= _MOST_LEVELS:
        return 0
    steps = {"[": 1, "{": 1, "]": -1, "}": -1}
    return max(accumulate(steps.get(found, 0) for found in _BRACKETS.findall(text)))


def _names_in(run: Path, files: Iterable[Path]) -> Names:
    """Those that the record names, and those of this machine."""
    names = Names({platform.node(), os.environ.get("HOSTNAME", "")}, set(_local_users()), {str(run.absolute())})
    for path in files:
        if path.name == _BLOCKS:
            continue
        text = _content(run, path).decode(errors="replace")
        if path.name in _TEXT:
            names.add_text(text)
            continue
        for value in _values(path, text):
            names.add_value(value)
            if path.name == "run.json":
                names.add_run(value)
    return names


def _local_users() -> Iterator[str]:
    try:
        yield getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry: then there is no name to hide
        return
    yield Path.home().name
