# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for names, and their use in texts and decoded JSON. Pure.

One thing has one stand-in wherever it is named: a host by its short and its full name, a folder inside any path. Each
replacement is a mark of private characters until a text is done, so that no later one replaces a stand-in.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from slowpath.core.secrets import clean_text, has_secret_name

_LONGEST_IN_TREE = 100  # characters; patterns are parsed recursively


def any_of(words: Iterable[str]) -> str:
    """Return a pattern that matches the longest of these words, with common beginnings written once."""
    every = sorted(set(words))
    tree: dict[str, Any] = {}
    for word in every:
        if len(word) <= _LONGEST_IN_TREE:
            node = tree
            for character in word:
                node = node.setdefault(character, {})
            node[""] = {}
    long = sorted((word for word in every if len(word) > _LONGEST_IN_TREE), key=len, reverse=True)
    return "|".join([*map(re.escape, long), *([_pattern(tree)] if tree else [])])


def _pattern(node: dict[str, Any]) -> str:
    branches = [re.escape(character) + _pattern(child) for character, child in node.items() if character]
    if not branches:
        return ""
    pattern = branches[0] if len(branches) == 1 and "" not in node else f"(?:{'|'.join(branches)})"
    return f"{pattern}?" if "" in node else pattern


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
    r"|v?\d+(?:\.\d+)+|\d\d-[a-z]+"
)
# What any text may hold of paths: below the root, a home, a variable or the folder that one is in.
PATH = re.compile(r"(?<![\w./~$}-])(?:~[\w.-]*|\.{1,2}|\$\w+|\$\{\w+\})?(?:/[\w.+@%,=~-]+)+/?")
_RELATIVE = re.compile(r"(?<![\w./~$}-])[\w+@%~-][\w.+@%~-]*(?:/[\w.+@%~-]+)+")
# `/scratch/Ann Lee/data`: what follows a blank and holds a slash goes on with the path, but for a rate or "and/or".
_GOES_ON = re.compile(
    r"(?P<path>(?<![\w./~$}-])(?:~[\w.-]*|\.{1,2})?(?:/[\w.+@%,=~-]*[\w+@%=~-])+)"
    r"(?P<rest> (?:(?!(?:and|or|at|in|on|of|to|for|from|with|is|was|not|no|as|by)\b)[A-Za-z][\w-]* )?"
    r"(?!(?:and|or|[KMGT]?i?B|bytes|us|ns|ms)/)[A-Za-z][\w-]*(?:/[\w.+@%~-]+)+)"
)
_URL = re.compile(r"\b(?P<scheme>[a-z][a-z+.-]{0,30}://)(?P<host>[\w.-]+)(?P<port>:\d+)?(?P<path>(?:/[\w.+@%,=~-]*)*)")
FILE = re.compile(r"[\w+@%~-][\w.+@%~-]*\.(?:toml|jsonl?|log|out|err|txt|csv|html|sh|py|slurm|sbatch|job|tar|gz|h5|nc)")
STAND_IN = re.compile(r"(?:path|host|user|name|address|domain)\d+")
_DOTTED = r"(?<![\w.-])(?<!version )(?<!release )(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])"
_MAC = r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])"
_LONG_MAC = r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){7,19}[0-9A-Fa-f]{2}(?![\w:])"  # of InfiniBand: 8 and 20 bytes
_IPV6 = r"(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?:%\w+)?(?![\w:.])"
_ADDRESS = re.compile(rf"{_DOTTED}|{_LONG_MAC}|{_MAC}|{_IPV6}|\b(?:GPU|MIG)-[0-9a-f-]{{20,}}")
_SCHEDULERS = ("SLURM_", "PBS_", "FLUX_", "SLURMD_")
_TELLING = re.compile(
    r"SLURM_(?:NTASKS\w*|NPROCS|NNODES|JOB_NUM_NODES|CPUS_\w+|TASKS_PER_NODE|CPU_BIND\w*|DISTRIBUTION)"
)
_COMMON = frozenset(("root", "user", "nobody", "localhost", "unknown", "none", "local", "host", "github.com"))
OUT_OPTIONS = ("--out", "-o", "--redact", "--resume")  # of slowpath, whose next word is a folder
_FIRST_MARK, _END = 0xE000, "\ue00f"
_MARK = re.compile("[\ue000-\ue009]+\ue00f")
_PRIVATE = re.compile("[\ue000-\ue00f]")


class Redactor:
    """Replaces names by stand-ins. Hosts, users and words are replaced as whole words, longest first.

    Args: also: further words. paths: paths known in full, absolute or relative. files: names of files, as words. exact:
          names of runs, which are the names of their folders. taken: words that look like stand-ins and occur already.
          without_secrets: removes secrets from a text.
    """

    def __init__(
        self,
        hosts: Iterable[str],
        users: Iterable[str],
        also: Iterable[str] = (),
        paths: Iterable[str] = (),
        files: Iterable[str] = (),
        exact: Iterable[str] = (),
        taken: Iterable[str] = (),
        without_secrets: Callable[[str], str] = clean_text,
    ) -> None:
        self._without_secrets = without_secrets
        paths = set(paths)
        self._known = "".join(f"/{path.strip('/')}/\n" for path in sorted(paths))
        blank = sorted({whole for path in paths if (whole := _to_its_last_blank(path))}, key=len, reverse=True)
        self._with_blanks = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, blank))})(?!\w)") if blank else None
        self._of_words: dict[str, str] = {}  # in small letters
        self._of_parts: dict[str, str] = {}  # of paths, whose case counts
        self._counts: dict[str, int] = {}
        self._taken, self._exact = frozenset(taken), frozenset(exact)
        self._marks: list[str] = []
        self._done: dict[tuple[str, bool], str] = {}
        words = self._words(set(hosts), set(users), set(also), set(files))
        every = any_of(name.lower() for name in words)
        self._names = (
            re.compile(rf"(?<![A-Za-z0-9])(?<!process_)(?:{every})(?![A-Za-z0-9])", re.IGNORECASE) if words else None
        )

    def _words(self, hosts: set[str], users: set[str], also: set[str], files: set[str]) -> set[str]:
        """Give each word its stand-in. A host's short name gets that of its full name if it belongs to one host."""
        found = set()
        full = {host.lower() for host in hosts if "." in host and not _is_number(host)}
        shorts = Counter(host.partition(".")[0] for host in full)
        domains = {domain for host in full if "." in (domain := host.partition(".")[2])}
        for kind, names in (("host", hosts), ("domain", domains), ("user", users), ("name", also), ("path", files)):
            for name in sorted(names, key=lambda name: (name.count("."), name.lower())):
                low = name.lower()
                if not name or (kind != "name" and low in _COMMON):
                    continue
                short = low.partition(".")[0]
                one_host = kind == "host" and not _is_number(low) and shorts[short] == 1
                if low not in self._of_words:
                    self._of_words[low] = (self._of_words.get(short) if one_host else None) or self._new(kind)
                found.add(name)
        return found

    def _stand_in(self, kind: str, name: str) -> str:
        """Return the stand-in of a word or of a part of a path, creating it if necessary."""
        known = self._of_words.get(name.lower()) or self._of_parts.get(name)
        if known is None:
            known = self._new(kind)
            if kind == "path":
                self._of_parts[name] = known
            else:
                self._of_words[name.lower()] = known
        return known

    def _new(self, kind: str) -> str:
        number = self._counts.get(kind, 0) + 1
        while f"{kind}{number}" in self._taken:
            number += 1
        self._counts[kind] = number
        return f"{kind}{number}"

    def _mark(self, stand_in: str) -> str:
        self._marks.append(stand_in)
        return "".join(chr(_FIRST_MARK + int(digit)) for digit in str(len(self._marks) - 1)) + _END

    def text(self, text: str, names: bool = True) -> str:
        """Return `text` without secrets, with stand-ins for paths and addresses, and for names if `names` is set."""
        known = self._done.get((text, names))
        if known is None:
            known = self._replaced(text, names)
            if len(text) < 400:
                self._done[text, names] = known
        return known

    def _replaced(self, given: str, names: bool) -> str:
        self._marks.clear()
        text = self._without_secrets(_PRIVATE.sub("?", given))
        if "/" in text:
            text = _URL.sub(lambda found: self._url(found), text)
            if self._with_blanks:
                text = self._with_blanks.sub(lambda found: self._path(found[0]), text)
            text = _GOES_ON.sub(lambda found: self._path(found["path"] + found["rest"]), text)
            text = _RELATIVE.sub(lambda found: self._relative(found[0]), text)
            text = PATH.sub(lambda found: self._path(found[0]), text)
        text = _ADDRESS.sub(lambda found: self._address(found[0]), text)
        if self._names and names:
            text = self._names.sub(lambda found: self._mark(self._of_words[found[0].lower()]), text)
        return _MARK.sub(
            lambda found: self._marks[int("".join(str(ord(c) - _FIRST_MARK) for c in found[0][:-1]))], text
        )

    def _url(self, found: re.Match[str]) -> str:
        if found["host"].lower() in _COMMON:
            return found[0]
        host = self._mark(self._stand_in("host", found["host"].lower()))
        return found["scheme"] + host + (found["port"] or "") + self._path(found["path"])

    def _path(self, path: str) -> str:
        """Replace a path, without separators of lists and ends of sentences: `/a/b,/c/d` and `/a/b.` contain `/a/b`."""
        return "".join(part if part in ",=/" else self._part(part) for part in re.split(r"([,=/])", path))

    def _relative(self, path: str) -> str:
        """Return whether a text with a slash is a path: known in full or by a folder, or the path of a file."""
        bare = path.rstrip(".")
        parts = bare.split("/")
        is_path = (
            f"/{bare}/" in self._known
            or any(part.lower() in self._of_words or part in self._of_parts for part in parts)
            or FILE.fullmatch(parts[-1])
        )
        return self._path(path) if is_path else path

    def _part(self, part: str) -> str:
        bare = part.rstrip(".")
        if bare and bare != part:
            return self._part(bare) + part[len(bare) :]
        if part.startswith("~") and len(part) > 1:
            return "~" + self._mark(self._stand_in("user", part[1:].lower()))
        kept = part in _SYSTEM or part in ("", "~", ".", "..") or part.startswith("$") or _PRIVATE.search(part)
        if kept or _KNOWN_FILE.fullmatch(part) or STAND_IN.fullmatch(part):
            return part
        return self._mark(self._stand_in("path", part))

    def _address(self, address: str) -> str:
        if not re.match("GPU|MIG", address) and not re.fullmatch(f"{_MAC}|{_LONG_MAC}", address):
            try:
                known = ipaddress.ip_address(address)
            except ValueError:
                return address  # a time of day, a ratio, a list
            if known.is_loopback or known.is_unspecified:
                return address
        return self._mark(self._stand_in("address", address.lower()))

    def value(self, value: Any, names: bool = True) -> Any:
        """Return a decoded JSON value with its strings redacted. Keys and the record's own words keep their names."""
        if isinstance(value, str):
            return self.text(value, names)
        if isinstance(value, list):
            return [self.value(item, names) for item in value]
        if isinstance(value, dict):
            return {
                key: self._entry(key, field_value, names and key not in _WORDS) for key, field_value in value.items()
            }
        return value

    def _entry(self, key: str, value: Any, names: bool) -> Any:
        if isinstance(value, str) and _is_hidden(key):
            return "redacted"
        if key == "variables_not_recorded" and isinstance(value, dict):
            return {name: self.value(reason, names) for name, reason in value.items()}
        if key == "id" and isinstance(value, str) and value in self._exact:
            return self._stand_in("path", value)
        if key == "command" and isinstance(value, list):
            before = ["", *value]
            return [self._word(word, last, names) for last, word in zip(before, value, strict=False)]
        return self.value(value, names)

    def _word(self, word: Any, last: Any, names: bool) -> Any:
        """Redact a word of a slowpath command, where folders may be named without a slash."""
        is_folder = isinstance(word, str) and last in OUT_OPTIONS and "/" not in word
        return self._stand_in("path", word) if is_folder else self.value(word, names)


def _is_hidden(key: str) -> bool:
    """Return whether a variable is hidden: the scheduler's, except numbers of tasks and nodes, and secrets."""
    return key == "job" or (
        (key.startswith(_SCHEDULERS) and not _TELLING.fullmatch(key)) or (key.isupper() and has_secret_name(key))
    )


def _is_number(host: str) -> bool:
    return re.fullmatch(r"[\d.]+", host) is not None


def _to_its_last_blank(path: str) -> str:
    """Return the part of a path up to its last blank, because a text does not show where a path with blanks ends."""
    whole, blank, rest = path.rpartition(" ")
    return whole + blank + rest.partition("/")[0] if blank else ""
