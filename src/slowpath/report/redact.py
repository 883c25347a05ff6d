# SPDX-License-Identifier: Apache-2.0
"""`slowpath report --redact`: a copy of a run folder without the names of hosts, users, paths and addresses.

The same name gets the same stand-in everywhere, so that which rank ran where stays visible. Names are gathered from
the fields that hold them (hosts of ranks, variables of the scheduler, home folders in paths) and then replaced wherever
they occur, in any file. Numbers, parameters and samples stay as they are: block files hold no names. Files of a kind
that is not known here are left out.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.diagnosis_folder import is_diagnosis
from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.files import read_bytes, write_atomically
from slowpath.core.results import Results
from slowpath.core.whole import whole_number
from slowpath.record.folder import create_run_folder, read_run
from slowpath.record.owner import OWNER_FOLDER

NOTE = (
    "Redacted: names of hosts, users, folders and files, and network addresses were replaced by stand-ins, the same "
    "name by the same one; this copy can be reported and compared, not resumed."
)
_JSON = (".json", ".jsonl")
_TEXT = ("stdout", "stderr", "plan.txt", "campaign.toml")
_DERIVED = ("results.json", "cells.csv", "contrasts.csv", "report.txt", "report.html")
# Values that are words of the record, not names, even where a host is called like one.
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "event experiment parameters metric metrics phase axis status ended unit role memory region part verdict level "
        "interval_kind engine slowpath vendor standard",
    )
)
# Parts of paths that every system has, and files whose name says what they are and not whose.
_SYSTEM = frozenset(
    re.findall(
        r"[\w-]+",
        "bin sbin lib lib64 libexec usr opt etc dev proc sys tmp var run home share include local self stat shm "
        "cpuinfo meminfo kernel mm site-packages launches _data",
    )
)
_KNOWN_FILE = re.compile(
    r"mpiexec[\w.]*|mpirun|prterun|orterun|srun|flux|palsrun|aprun|jsrun|ibrun|mpic(?:c|xx)|mpicxx|slowpath[\w-]*"
    r"|lib[\w+-]+\.(?:so|a)[\d.]*|samples\.blk|events\.jsonl|plan\.(?:txt|json)|std(?:out|err)|python[\d.]*|\d+"
)
_PATH = re.compile(r"(?<![\w./~-])~?(?:/[\w.+@%,=~-]+)+/?")
_RELATIVE = re.compile(r"(?<![\w./~-])[\w+@%~-][\w.+@%~-]*(?:/[\w.+@%~-]+)+")
_STAND_IN = re.compile(r"(?:path|host|user|name|address)\d+")
_HOME = re.compile(r"/(?:home|users|people|Users|u)/([\w.-]+)")
_AT = re.compile(r"\b([A-Za-z_][\w.-]*)@([A-Za-z0-9][\w.-]*)")
_DEVICE_LINE = re.compile(r"\bPid +\d+ on +(\S+) device\b")  # nccl-tests
_ADDRESSES = re.compile(
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b"
    r"|(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}(?:%\w+)?(?![\w:.])|\bGPU-[0-9a-f-]{20,}"
)
_USER_VARIABLES = ("USER", "LOGNAME", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "PBS_O_LOGNAME", "SLURM_SUBMIT_USER")
_HOST_VARIABLES = ("HOSTNAME", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "SLURM_TOPOLOGY_ADDR", "PBS_O_HOST")
_SCHEDULERS = ("SLURM_", "PBS_", "FLUX_", "SLURMD_")
_TELLING = re.compile(
    r"SLURM_(?:NTASKS\w*|NPROCS|NNODES|JOB_NUM_NODES|CPUS_\w+|TASKS_PER_NODE|CPU_BIND\w*|DISTRIBUTION)"
)
_MOST_NODES = 65536  # of one range: no machine has more, a damaged record may
_PATH_FIELDS = frozenset(("argv", "command", "folder", "prefix", "mpiexec", "path", "log"))
_COMMON = frozenset(("root", "user", "nobody", "localhost", "unknown", "none", "local", "host"))


class Redactor:
    """Stand-ins for names, and their use. `hosts` and `users` are replaced as whole words, longest first."""

    def __init__(
        self, hosts: Iterable[str], users: Iterable[str], also: Iterable[str] = (), paths: Iterable[str] = ()
    ) -> None:
        paths = set(paths)
        self._absolute = "".join(f"{path}/\n" for path in sorted(paths))
        blank = sorted({folder for path in paths for folder in _to_its_last_blank(path)}, key=len, reverse=True)
        self._with_blanks = re.compile("|".join(re.escape(folder) for folder in blank)) if blank else None
        self._stand_ins: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        for kind, names in (("host", hosts), ("user", users), ("name", also)):
            for name in sorted({name for name in names if name and (kind == "name" or name.lower() not in _COMMON)}):
                self._stand_in(kind, name)
        names = sorted(self._stand_ins, key=len, reverse=True)
        words = "|".join(re.escape(name) for name in names)
        self._names = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])", re.IGNORECASE) if names else None
        self._lower = {name.lower(): stand_in for name, stand_in in self._stand_ins.items()}

    def _stand_in(self, kind: str, name: str) -> str:
        known = self._stand_ins.get(name)
        if known is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._stand_ins[name] = f"{kind}{self._counts[kind]}"
        return known

    def text(self, text: str, names: bool = True) -> str:
        """`text` with a stand-in for each path and address, and for each name where `names` is set."""
        if self._with_blanks:
            text = self._with_blanks.sub(lambda found: "/".join(map(self._part, found[0].split("/"))), text)
        text = _RELATIVE.sub(lambda found: self._relative(found[0]), text)
        text = _PATH.sub(lambda found: self._path(found[0]), text)
        text = _ADDRESSES.sub(lambda found: self._address(found[0]), text)
        if self._names and names:
            text = self._names.sub(lambda found: self._lower[found[0].lower()], text)
        return text

    def _path(self, path: str) -> str:
        """Lists of paths and the ends of sentences are no part of a name: `/a/b,/c/d` and `/a/b.` name `/a/b`."""
        pieces = re.split(r"([,=/])", path)
        return "".join(one if one in ",=/" else self._part(one) for one in pieces)

    def _relative(self, path: str) -> str:
        """A part of a path that is known in full has the same stand-ins; all else with a slash is no path for sure."""
        return self._path(path) if f"/{path.rstrip('.')}/" in self._absolute else path

    def _part(self, part: str) -> str:
        bare = part.rstrip(".")
        if bare and bare != part:
            return self._part(bare) + part[len(bare) :]
        kept = part in _SYSTEM or part in ("", "~", ".", "..") or _KNOWN_FILE.fullmatch(part)
        if kept or _STAND_IN.fullmatch(part):
            return part
        return self._stand_in("path", part)

    def _address(self, address: str) -> str:
        if address.count(":") == 2 and re.fullmatch(r"[\d:]+", address):
            return address  # a time of day
        return self._stand_in("address", address)

    def value(self, value: Any, names: bool = True) -> Any:
        """A decoded JSON value with its strings redacted, but for keys and, as to names, the record's own words."""
        if isinstance(value, str):
            return self.text(value, names)
        if isinstance(value, list):
            return [self.value(one, names) for one in value]
        if isinstance(value, dict):
            return {key: self._entry(key, one, names and key not in _WORDS) for key, one in value.items()}
        return value

    def _entry(self, key: str, value: Any, names: bool) -> Any:
        if isinstance(value, str) and key.startswith(_SCHEDULERS) and not _TELLING.fullmatch(key):
            return "redacted"
        return self.value(value, names)


def redact_run(run: Path, out: Path, also: Sequence[str] = ()) -> tuple[Path, Redactor]:
    """Copies a run folder, or a diagnosis with all its steps, without names.

    Args:    also: further words to replace.
    Returns: the new folder, without derived files, and what redacts them.
    Raises:  RecordError if `run` can't be read; EnvironmentFailure if `out` can't be made or is not empty.
    """
    if not is_diagnosis(run):
        read_run(run)
    left_out = {OWNER_FOLDER, *_DERIVED}
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and not left_out & {path.name, path.parent.name}]
    hosts, users, paths = _names_in(run, files)
    redactor = Redactor(hosts, users, also, paths)
    folder = create_run_folder("redacted", out)
    for path in files:
        if (content := _redacted(path, redactor)) is not None:
            target = folder / path.relative_to(run)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                reason = error.strerror or str(error)
                raise EnvironmentFailure(f"cannot make {target.parent}: {reason}; name another place") from error
            write_atomically(target, content)
    return folder, redactor


def redact_and_report(run: Path, out: Path, also: Sequence[str] = ()) -> tuple[Path, Results]:
    """`redact_run`, and the derived files of the copy.  Returns: the copy and its results.  Raises: as `redact_run`."""
    from slowpath.analyse.build import build_results
    from slowpath.report import write_all

    folder, redactor = redact_run(run, out, also)
    found = msgspec.to_builtins(build_results(folder))
    results = msgspec.convert(redactor.value(found), Results)  # it names the folder that the user chose
    write_all(folder, results)
    return folder, results


def _redacted(path: Path, redactor: Redactor) -> bytes | None:
    """The file's new content; None for a kind of file that is not known to be free of names."""
    if path.suffix == ".blk":
        return read_bytes(path)
    if path.suffix in _JSON:
        values = [redactor.value(value) for value in _values(path)]
        if path.name == "run.json":
            values[0]["notes"] = [*values[0].get("notes", []), NOTE]
        indent = 1 if path.suffix == ".json" else None
        return "".join(json.dumps(value, ensure_ascii=False, indent=indent) + "\n" for value in values).encode()
    if path.name in _TEXT:
        return redactor.text(read_bytes(path).decode(errors="replace")).encode()
    return None


def _values(path: Path) -> list[Any]:
    """What a JSON file holds: one value, or one a line, up to a line that was cut short."""
    text = read_bytes(path).decode(errors="replace")
    found: list[Any] = []
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        try:
            found.append(json.loads(part))
        except ValueError as error:
            if path.suffix == ".jsonl":
                break
            raise RecordError(f"{path}: is damaged: {error}; restore the file from a copy") from error
    return found


def _names_in(run: Path, files: Iterable[Path]) -> tuple[set[str], set[str], set[str]]:
    """Hosts and users that the record names, and those of this machine; absolute paths that it names."""
    hosts, users, paths = {platform.node(), *_local_hosts()}, set(_local_users()), {str(run.absolute())}
    for path in files:
        if path.suffix in _JSON:
            for value in _values(path):
                _walk(value, hosts, users)
                paths |= set(_whole_paths(value))
        if path.suffix in _JSON or path.name in _TEXT:
            text = read_bytes(path).decode(errors="replace")
            users |= {found[1] for found in _HOME.finditer(text)} | {found[1] for found in _AT.finditer(text)}
            paths |= set(_paths(text))
            hosts |= {found[2] for found in _AT.finditer(text)} | {found[1] for found in _DEVICE_LINE.finditer(text)}
    short = {host.split(".")[0] for host in hosts if not re.fullmatch(r"[\d.]+", host)}
    return hosts | short, users, paths


def _to_its_last_blank(path: str) -> Iterator[str]:
    """`/a/b c` for `/a/b c/d`: no text shows where a path with a blank ends, but one that is known in full."""
    whole, blank, rest = path.rpartition(" ")
    if blank:
        yield whole + blank + rest.partition("/")[0]


def _whole_paths(value: Any, key: str = "") -> Iterator[str]:
    """Values that are one path each, whatever is in it: words of a command, folders by the names of their fields."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _whole_paths(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _whole_paths(one, key)
    elif isinstance(value, str) and key in _PATH_FIELDS and "/" in value:
        yield value[value.index("/") :].rstrip("/")


def _paths(text: str) -> Iterator[str]:
    """Absolute ones; `/a/b,/c/d` are two."""
    for found in _PATH.finditer(text):
        yield from (one.rstrip("./") for one in re.split("[,=]", found[0]))


def _walk(value: Any, hosts: set[str], users: set[str]) -> None:
    if isinstance(value, list):
        for one in value:
            _walk(one, hosts, users)
    elif isinstance(value, dict):
        for key, one in value.items():
            if isinstance(one, str):
                if key in ("host", "hostname", "node", *_HOST_VARIABLES):
                    hosts.add(one)
                elif key in _USER_VARIABLES:
                    users.add(one)
                elif "NODELIST" in key or key in ("nodelist", "nodes"):
                    hosts.update(_expanded(one))
            elif isinstance(one, list) and key in ("hosts", "nodes", "nodelist"):
                hosts.update(name for name in one if isinstance(name, str))
            _walk(one, hosts, users)


def _expanded(nodelist: str) -> Iterator[str]:
    """`gpu[01-03,07]` -> gpu01, gpu02, gpu03, gpu07, and the list itself."""
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


def _local_hosts() -> Iterator[str]:
    yield os.environ.get("HOSTNAME", "")


def _local_users() -> Iterator[str]:
    try:
        yield getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry: then there is no name to hide
        return
    yield Path.home().name
