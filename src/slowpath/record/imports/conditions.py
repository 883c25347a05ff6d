# SPDX-License-Identifier: Apache-2.0
"""Under which conditions a log was measured, as the user states them at import: a log itself does not. Pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slowpath.core.errors import UsageError
from slowpath.core.units import listed

Conditions = Mapping[str, str]  # name -> value; what is not stated is not in it

TRANSPORTS = {
    "cma": "single copy by the kernel (process_vm_readv)",
    "xpmem": "single copy through an attached mapping",
    "knem": "single copy by KNEM",
    "shared_memory": "two copies through shared memory",
    "gpu_ipc": "handles of GPU memory, opened by the peer",
    "network": "the network card, between nodes or within one",
}
BINDINGS = ("core", "socket", "numa", "none")
EXAMPLE = "--condition 'LOG:nodes=2,transport=network,bind=core'"


def _one_of(choices: Sequence[str]) -> Callable[[str], str | None]:
    return lambda value: None if value in choices else f"one of {', '.join(choices)}"


def _whole(value: str) -> str | None:
    return None if value.isascii() and value.isdigit() and 0 < int(value) < 10**6 else "a number of nodes, from 1 on"


# Name -> what its value has to be, where it is not that.
_NAMES: dict[str, Callable[[str], str | None]] = {
    "nodes": _whole,
    "transport": _one_of(tuple(TRANSPORTS)),
    "bind": _one_of(BINDINGS),
}
NAMES = tuple(_NAMES)


def read_conditions(words: Sequence[str], files: Sequence[Path], labels: Sequence[str]) -> dict[str, Conditions]:
    """Label of a log -> its conditions.

    words: `LOG:NAME=VALUE[,NAME=VALUE]` each, LOG a file as it was named, its label, or a pattern with * and ?.
    Raises: UsageError: a word of another form, a log that is not among the files, or two values for one condition.
    """
    found: dict[str, dict[str, str]] = {label: {} for label in labels}
    for word in words:
        log, colon, pairs = word.rpartition(":")
        if not colon or not log:
            raise UsageError(f"--condition '{word}' names no log; write {EXAMPLE}")
        mine = [label for file, label in zip(files, labels, strict=True) if _is_named(log, file, label)]
        if not mine:
            raise UsageError(f"--condition '{word}': no log is called '{log}'; there are {', '.join(labels)}")
        for name, value in _pairs(word, pairs):
            for label in mine:
                if found[label].setdefault(name, value) != value:
                    raise UsageError(f"--condition: {label} has {name} {found[label][name]} and {value}; state one")
    return {label: stated for label, stated in found.items() if stated}


def _is_named(log: str, file: Path, label: str) -> bool:
    return any(fnmatch.fnmatchcase(name, log) or name == log for name in (str(file), file.name, label))


def _pairs(word: str, text: str) -> list[tuple[str, str]]:
    pairs = []
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or name not in _NAMES:
            raise UsageError(f"--condition '{word}': '{pair}' is none of {', '.join(f'{n}=...' for n in NAMES)}")
        if wanted := _NAMES[name](value):
            raise UsageError(f"--condition '{word}': {name} is '{value}' and has to be {wanted}")
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
    found = dict(stated)
    for label, conditions in said.items():
        for name, value in conditions.items():
            if found.get(label, {}).get(name, value) != value:
                raise UsageError(
                    f"--condition: {label} has {name} {found[label][name]}, and the log itself says {value}"
                )
        if conditions:
            found[label] = {**found.get(label, {}), **conditions}
    return found


def condition_words(stated: Conditions) -> str:
    """`2 nodes, transport network, bind core`; empty where nothing is stated."""
    words = []
    if nodes := stated.get("nodes"):
        words.append(f"{nodes} node{'s' * (nodes != '1')}")
    words += [f"{name} {stated[name]}" for name in ("transport", "bind") if name in stated]
    return ", ".join(words)


def question(b: str, a: str, differ: Sequence[str], unknown: Sequence[str]) -> str:
    """Return what a contrast of two logs asks, with all that they differ in."""
    what = "how they were launched" if len(unknown) == len(NAMES) else f"their {listed(unknown)}" if unknown else ""
    rest = f"; they do not state {what}" if what else ""
    return f"Is {b} slower than {a}? The logs differ in {listed(differ)}{rest}."
