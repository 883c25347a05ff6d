# SPDX-License-Identifier: Apache-2.0
"""Which machines' times may stand together in one run: the same hardware, kernel and builds of the engine. Pure.

`machine` is what run.json states of one (docs/internals/record.md). What either side does not state is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slowpath.core.hardware import Machine, described, unlike

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
    """What launches must have in common to stand together; another host of the same kind has the same."""
    return (*(fact or UNKNOWN for fact in described(machine)), *_facts(machine).values())


def differing(there: Machine, here: Machine) -> list[Differs]:
    """In what their kinds differ; empty: times of both may stand together."""
    one, other = _facts(there), _facts(here)
    hardware = [Differs(each.what, each.a, each.b) for each in unlike(there, here)]
    return hardware + [
        Differs(what, one[what], other[what])
        for what in one
        if UNKNOWN not in (one[what], other[what]) and one[what] != other[what]
    ]


def groups(machines: Sequence[Machine]) -> list[int]:
    """For each machine the first one whose times may stand together with its own."""
    first: dict[tuple[str, ...], int] = {}
    for i, machine in enumerate(machines):
        known = (j for j in dict.fromkeys(first.values()) if not differing(machines[j], machine))
        first.setdefault(kind_of(machine), next(known, i))
    return [first[kind_of(machine)] for machine in machines]


def _facts(machine: Machine) -> dict[str, str]:
    """In addition to the hardware."""
    engines = machine.get("engines")
    builds = sorted(map(str, engines.values())) if isinstance(engines, Mapping) else []
    return {"kernel": _text(machine.get("kernel")), "engine": ", ".join(builds) or UNKNOWN}


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and value != "" else UNKNOWN
