# SPDX-License-Identifier: Apache-2.0
"""Whether two machines are of one kind: processor model, processors, memory, GPUs. Pure.

A host's name, its kernel and its settings are no part of it: they are listed next to each comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from slowpath.core.cpu_list import count_cpus
from slowpath.core.units import format_bytes

MEMORY_RATIO = 0.03  # the kernel keeps a little more or less of it from version to version and from boot to boot
MEMORY_BYTES = 512 * 2**20  # on small machines, where it keeps the most
Machine = Mapping[str, Any]  # of the shape slowpath.core.machine.MachineFacts, which readers hold it to


class Unlike(NamedTuple):
    """One thing that two machines do not share, as each states it."""

    what: str
    a: str
    b: str


def hardware(machine: Machine) -> tuple[str | None, ...]:
    """Processor model, number of processors, memory, in words."""
    return machine.get("processor"), _words(machine.get("processors")), memory(machine)


def described(machine: Machine) -> tuple[str | None, ...]:
    """All that two machines are distinguished by, in words: `hardware`, processors that the run could use, GPUs."""
    return *hardware(machine), _words(allowed(machine)), gpus(machine)


def memory(machine: Machine) -> str | None:
    """In whole GiB."""
    count = machine.get("memory_bytes")
    return format_bytes(round(count / 2**30) * 2**30) if count is not None else None


def gpus(machine: Machine) -> str | None:
    """`8 x NVIDIA H200`; "none" where there is none; None: not stated, as by older versions."""
    names = machine.get("gpus")
    if names is None:
        return None
    return ", ".join(f"{names.count(name)} x {name}" for name in sorted(set(names))) or "none"


def allowed(machine: Machine) -> int | None:
    """How many of the processors the run could use."""
    text = machine.get("processors_allowed")
    return count_cpus(text) if isinstance(text, str) else None


def unlike(a: Machine, b: Machine) -> list[Unlike]:
    """What both state and do not share. Empty for machines that state nothing: see `is_stated`."""
    facts = [(what, fact(a), fact(b)) for what, fact in _FACTS]
    found = [Unlike(what, fact, other) for what, fact, other in facts if fact and other and fact != other]
    one, other = memory(a), memory(b)
    return found + ([Unlike("memory", one, other)] if one and other and _memory_differs(a, b) else [])


def is_stated(machine: Machine) -> bool:
    """Whether the record states a machine at all: imported logs and slowpath-ipc state none."""
    return all(fact is not None for fact in hardware(machine))


def alike(a: Machine, b: Machine) -> bool:
    """Whether both are stated, and the same kind of machine."""
    return is_stated(a) and is_stated(b) and not unlike(a, b)


_FACTS: tuple[tuple[str, Callable[[Machine], str | None]], ...] = (
    ("processor", lambda machine: machine.get("processor")),
    ("processors", lambda machine: _words(machine.get("processors"))),
    ("processors allowed", lambda machine: _words(allowed(machine))),
    ("GPUs", gpus),
)


def _memory_differs(a: Machine, b: Machine) -> bool:
    one, other = a["memory_bytes"], b["memory_bytes"]
    return bool(abs(one - other) > max(MEMORY_BYTES, MEMORY_RATIO * max(one, other)))


def _words(value: int | None) -> str | None:
    return None if value is None else str(value)
