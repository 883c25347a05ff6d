# SPDX-License-Identifier: Apache-2.0
"""Which hosts, users, paths and files a record names, from the fields and the forms in which it names them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from slowpath.core.secrets import KnownSecrets
from slowpath.core.units import whole_number
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
    """What is to be replaced; filled file by file."""

    hosts: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    exact: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    variables: dict[str, str] = field(default_factory=dict)  # whose secrets are taken out of all else
    _seen: set[str] = field(default_factory=set)

    def redactor(self, also: tuple[str, ...] = ()) -> Redactor:
        """What replaces them."""
        # The short name of a host is a name of it as well; that of the server of a mail address is a word like others.
        short = {host.split(".")[0] for host in self.hosts if not re.fullmatch(r"[\d.]+", host)}
        secrets = KnownSecrets(self.variables).text
        return Redactor(self.hosts | short, self.users, also, self.paths, self.files, self.exact, self.taken, secrets)

    def add_text(self, text: str) -> None:
        """All that the form of a text shows."""
        self.users |= {found[1] for found in _HOME.finditer(text)} | {found[1] for found in _TILDE.finditer(text)}
        for user, host in _AT.findall(text):
            if re.fullmatch(r"v?[\d.]+", host) is None or host.count(".") == 3:  # openmpi@4.1.6 is no user
                self.users.add(user)
                self.hosts.add(host.rstrip("."))
        self.hosts |= {found[1] for found in _DEVICE_LINE.finditer(text)}
        self.hosts |= {found[1].rstrip(".") for found in _URL_HOST.finditer(text)}
        self.paths |= {found[2].rstrip("/") for found in _QUOTED.finditer(text)}
        for found in PATH.finditer(text):
            self.paths.update(one.rstrip("./") for one in re.split("[,=]", found[0]) if "/" in one)
        self.taken.update(STAND_IN.findall(text))

    def add_run(self, info: Any) -> None:
        """The name that a user gave a run by that of its folder."""
        name = info.get("id") if isinstance(info, dict) else None
        if isinstance(name, str) and not _OWN_NAME.fullmatch(name):
            self.exact.add(name)

    def add_value(self, value: Any, key: str = "") -> None:
        """All that the fields of a decoded JSON value hold."""
        if isinstance(value, dict):
            if key == "variables":
                self.variables |= {name: one for name, one in value.items() if isinstance(one, str)}
            for name, one in value.items():
                self.add_value(one, "hosts" if (key, name) == ("allocation", "names") else name)
        elif isinstance(value, list):
            for one in value:
                self.add_value(one, key)
                if key in _HOST_LISTS and isinstance(one, str):
                    self.hosts.add(one)
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
            self.paths.update(one.rstrip("/") for one in value.split(":") if "/" in one)

    def _add_path(self, value: str) -> None:
        """One word of a command, or a folder: all of it is one path, whatever is in it."""
        if "/" in value and "://" not in value:
            name, equals, rest = value.partition("=")
            self.paths.add((rest if equals and "/" not in name else value).rstrip("/"))
        elif FILE.fullmatch(value):
            self.files.add(value)


def expanded(nodelist: str) -> Iterator[str]:
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
