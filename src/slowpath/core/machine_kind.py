# SPDX-License-Identifier: Apache-2.0
"""Which machines' times may stand together in one run: the same hardware, kernel and builds of the engine. Pure.

`machine` is what run.json states of one (docs/internals/record.md). What either side does not state is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core.cpu_list import count_cpus
from slowpath.core.units import format_bytes

# Whether two machines are of one kind: processor model, processors, memory, GPUs.
#
# A host's name, its kernel and its settings are no part of it: they are listed next to each comparison.

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
    """Return all that two machines are distinguished by, in words: `hardware`, processors that the run could use,
    GPUs.
    """
    return *hardware(machine), _words(allowed(machine)), gpus(machine)


def memory(machine: Machine) -> str | None:
    """Return the memory in whole GiB."""
    count = machine.get("memory_bytes")
    return format_bytes(round(count / 2**30) * 2**30) if count is not None else None


def gpus(machine: Machine) -> str | None:
    """`8 x NVIDIA H200`; "none" where there is none; None: not stated."""
    names = machine.get("gpus")
    if names is None:
        return None
    return ", ".join(f"{names.count(name)} x {name}" for name in sorted(set(names))) or "none"


def allowed(machine: Machine) -> int | None:
    """Return how many of the processors the run could use."""
    text = machine.get("processors_allowed")
    return count_cpus(text) if isinstance(text, str) else None


def unlike(a: Machine, b: Machine) -> list[Unlike]:
    """Return what both state and do not share. Empty for machines that state nothing: see `is_stated`."""
    facts = [(what, fact(a), fact(b)) for what, fact in _FACTS]
    found = [Unlike(what, fact, other) for what, fact, other in facts if fact and other and fact != other]
    one, other = memory(a), memory(b)
    return found + ([Unlike("memory", one, other)] if one and other and _memory_differs(a, b) else [])


def is_stated(machine: Machine) -> bool:
    """Whether the record states a machine at all: imported logs state none."""
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


UNKNOWN = "unknown"


class Differs(NamedTuple):
    """One thing in which two machines differ, as each states it."""

    what: str
    there: str
    here: str


def host_of(machine: Machine) -> str:
    """Its name."""
    return _text(machine.get("host"))


def in_words(machine: Machine) -> str:
    """`node1 (AMD EPYC 9654, 96 processors, kernel 6.1.0)`."""
    count = machine.get("processors")
    kernel = machine.get("kernel")
    facts = [
        _text(machine.get("processor")),
        f"{count} processors" if isinstance(count, int) else "",
        f"kernel {kernel}" if isinstance(kernel, str) else "",
    ]
    return (
        f"{host_of(machine)} ({', '.join(fact for fact in facts if fact and fact != UNKNOWN) or 'nothing else stated'})"
    )


def kind_of(machine: Machine) -> tuple[str, ...]:
    """Return what launches must have in common to stand together; another host of the same kind has the same."""
    return (*(fact or UNKNOWN for fact in described(machine)), *_facts(machine).values())


def differing(there: Machine, here: Machine) -> list[Differs]:
    """Return the differences between the kinds of two machines; empty: times of both may be compared."""
    one, other = _facts(there), _facts(here)
    hardware = [Differs(each.what, each.a, each.b) for each in unlike(there, here)]
    return hardware + [
        Differs(what, one[what], other[what])
        for what in one
        if UNKNOWN not in (one[what], other[what]) and one[what] != other[what]
    ]


def groups(machines: Sequence[Machine]) -> list[int]:
    """Return, for each machine, the index of the first one whose times may be compared with its own."""
    first: dict[tuple[str, ...], int] = {}
    for i, machine in enumerate(machines):
        known = (j for j in dict.fromkeys(first.values()) if not differing(machines[j], machine))
        first.setdefault(kind_of(machine), next(known, i))
    return [first[kind_of(machine)] for machine in machines]


def _facts(machine: Machine) -> dict[str, str]:
    """Return the facts that decide the kind in addition to the hardware."""
    engines = machine.get("engines")
    builds = sorted(map(str, engines.values())) if isinstance(engines, Mapping) else []
    return {"kernel": _text(machine.get("kernel")), "engine": ", ".join(builds) or UNKNOWN}


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and value != "" else UNKNOWN
