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
from dataclasses import dataclass, field
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
from slowpath.core.secrets import KnownSecrets
from slowpath.core.units import whole_number
from slowpath.record.folder import SUPERSEDED, create_run_folder, read_run
from slowpath.record.owner import OWNER_FOLDER
from slowpath.record.witness import CONTROL_VARIABLES, PERFORMANCE_VARIABLES
from slowpath.report.stand_ins import FILE, PATH, STAND_IN, Redactor

_HOME = re.compile(r"/(?:home|users|people|Users|u)/([\w.-]+)")
_TILDE = re.compile(r"(?<![\w./-])~([A-Za-z_][\w.-]*)/")
_AT = re.compile(r"\b([A-Za-z_][\w.-]*)@([A-Za-z0-9][\w.-]*)")
_URL_HOST = re.compile(r"\b[a-z][a-z+.-]*://(?:[^\s/@]*@)?([A-Za-z][\w.-]*)")
_DEVICE_LINE = re.compile(r"\bPid +\d+ on +(\S+) device\b")  # nccl-tests
_USER_VARIABLES = ("USER", "LOGNAME", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "PBS_O_LOGNAME", "SLURM_SUBMIT_USER")
_HOST_VARIABLES = ("HOSTNAME", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "SLURM_TOPOLOGY_ADDR", "PBS_O_HOST")
_HOST_FIELDS = frozenset(("host", "hostname", "node", *_HOST_VARIABLES))
_HOST_LISTS = frozenset(("hosts", "nodes", "nodelist"))
_PATH_FIELDS = frozenset(("argv", "command", "folder", "prefix", "mpiexec", "path", "log"))
_MOST_NODES = 65536  # of one range: no machine has more, a damaged record may
# Names of runs and campaigns that Slowpath gives itself.
_OWN_NAME = re.compile(r"[a-z-]+-\d{8}-\d{6}(?:-\d+)?|imported-[0-9a-f]+|\d\d+-[a-z]+")
_QUOTED = re.compile(r"(['\"`])((?:~|\.{1,2})?/[^'\"`\n]{1,1000})\1")


@dataclass
class Names:
    """The names to replace, collected file by file."""

    hosts: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    exact: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)  # whose secrets are taken out of all else
    _seen: set[str] = field(default_factory=set)

    def redactor(self, also: tuple[str, ...] = ()) -> Redactor:
        """Return the redactor that replaces the names."""
        # The short name of a host is a name of it as well; that of the server of a mail address is a word like others.
        short = {host.split(".")[0] for host in self.hosts if not re.fullmatch(r"[\d.]+", host)}
        secrets = KnownSecrets(self.variables).text
        return Redactor(self.hosts | short, self.users, also, self.paths, self.files, self.exact, self.taken, secrets)

    def add_text(self, text: str) -> None:
        """Add all names that the form of a text shows."""
        self.users |= {found[1] for found in _HOME.finditer(text)} | {found[1] for found in _TILDE.finditer(text)}
        for user, host in _AT.findall(text):
            if re.fullmatch(r"v?[\d.]+", host) is None or host.count(".") == 3:  # openmpi@4.1.6 is no user
                self.users.add(user)
                self.hosts.add(host.rstrip("."))
        self.hosts |= {found[1] for found in _DEVICE_LINE.finditer(text)}
        self.hosts |= {found[1].rstrip(".") for found in _URL_HOST.finditer(text)}
        self.paths |= {found[2].rstrip("/") for found in _QUOTED.finditer(text)}
        for found in PATH.finditer(text):
            self.paths.update(path.rstrip("./") for path in re.split("[,=]", found[0]) if "/" in path)
        self.taken.update(STAND_IN.findall(text))

    def add_run(self, info: Any) -> None:
        """Add the name that a user gave a run through that of its folder."""
        name = info.get("id") if isinstance(info, dict) else None
        if isinstance(name, str) and not _OWN_NAME.fullmatch(name):
            self.exact.add(name)

    def add_value(self, value: Any, key: str = "") -> None:
        """Add all names in the fields of a decoded JSON value."""
        if isinstance(value, dict):
            if key == "variables":
                self.variables |= {name: item for name, item in value.items() if isinstance(item, str)}
            for name, item in value.items():
                self.add_value(item, "hosts" if (key, name) == ("allocation", "names") else name)
        elif isinstance(value, list):
            for item in value:
                self.add_value(item, key)
                if key in _HOST_LISTS and isinstance(item, str):
                    self.hosts.add(item)
        elif isinstance(value, str) and value:
            self._add_string(value, key)

    def _add_string(self, value: str, key: str) -> None:
        if value not in self._seen:  # most values of a record are few words, many times
            self._seen.add(value)
            self.add_text(value)
        if key in _HOST_FIELDS:
            self.hosts.add(value)
        elif key in _USER_VARIABLES:
            self.users.add(value)
        elif "NODELIST" in key or key in ("nodelist", "nodes"):
            self.hosts.update(expanded(value))
        if key in _PATH_FIELDS:
            self._add_path(value.partition("=")[2] if value.startswith("-") and "=" in value else value)
        elif key.isupper() and re.match(r"[~.]{0,2}/", value):
            self.paths.update(path.rstrip("/") for path in value.split(":") if "/" in path)

    def _add_path(self, value: str) -> None:
        """Add a word of a command, or a folder, as one path."""
        if "/" in value and "://" not in value:
            name, equals, rest = value.partition("=")
            self.paths.add((rest if equals and "/" not in name else value).rstrip("/"))
        elif FILE.fullmatch(value):
            self.files.add(value)


def expanded(nodelist: str) -> Iterator[str]:
    """Yield the hosts of a node list and the list itself: `gpu[01-03]` gives gpu01, gpu02, gpu03."""
    yield nodelist
    for found in re.finditer(r"([\w.-]+)(?:\[([\d,-]+)\])?", nodelist):
        if not found[2]:
            yield found[1]
            continue
        for part in found[2].split(","):
            first, _, last = part.partition("-")
            begin, end = whole_number(first), whole_number(last or first)
            if begin is not None and end is not None:
                numbers = range(begin, min(end, begin + _MOST_NODES) + 1)
                yield from (f"{found[1]}{n:0{len(first)}d}" for n in numbers)


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
    """Copy a run folder, or a diagnosis with all its steps, without names."""
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
    """Copy a run with `redact_run`, and make the derived files of the copy.  Returns: the copy and its results."""
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
    """Remove everything that looks like a copy."""
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
    """Return the entries of a run folder and its own folders, in the order of names."""
    try:
        entries = sorted(os.scandir(folder), key=lambda path: path.name)
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
        values[0] |= {"notes": [*values[0].get("notes", []), NOTE], "redacted": True}
    indent = 1 if path.suffix == ".json" else None
    lines = (json.dumps(value, ensure_ascii=False, indent=indent) + "\n" for value in values)
    return "".join(lines).encode(errors="replace")


def _values(path: Path, text: str) -> list[Any]:
    """Return the values of a JSON file: one value, or one per line, up to a line that was cut short."""
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
    """Return the nesting depth of a JSON text."""
    if text.count("[") + text.count("{") <= _MOST_LEVELS:
        return 0
    steps = {"[": 1, "{": 1, "]": -1, "}": -1}
    return max(accumulate(steps.get(found, 0) for found in _BRACKETS.findall(text)))


def _names_in(run: Path, files: Iterable[Path]) -> Names:
    """Return the names in the record, and those of this machine."""
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
