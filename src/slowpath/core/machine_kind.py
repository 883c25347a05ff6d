# SPDX-License-Identifier: Apache-2.0
"""Which machines' launches may stand together in one run: hardware, kernel, builds of the engine. Pure.

`machine` is what run.json states of one (docs/internals/record.md). What either side does not state is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.hardware import Machine, Unlike, described, unlike

UNKNOWN = "unknown"


def host_of(machine: Machine) -> str:
    """Its name."""
    return machine.get("host") or UNKNOWN


def in_words(machine: Machine) -> str:
    """`node1 (AMD EPYC 9654, 96 processors, kernel 6.1.0)`."""
    count, kernel = machine.get("processors"), machine.get("kernel")
    facts = [machine.get("processor"), f"{count} processors" if count else None, f"kernel {kernel}" if kernel else None]
    return f"{host_of(machine)} ({', '.join(filter(None, facts)) or 'nothing else stated'})"


def differing(there: Machine, here: Machine) -> list[Unlike]:
    """In what their kinds differ; empty: launches of both may stand together, whatever the hosts are called."""
    facts = [
        Unlike("kernel", there.get("kernel"), here.get("kernel")),
        Unlike("engine", _engines(there), _engines(here)),
    ]
    return [*unlike(there, here), *(one for one in facts if one.a and one.b and one.a != one.b)]


def groups(machines: Sequence[Machine]) -> list[int]:
    """For each machine the first one whose launches may stand together with its own."""
    first: dict[tuple[str | None, ...], int] = {}
    for i, one in enumerate(machines):
        known = (j for j in dict.fromkeys(first.values()) if not differing(machines[j], one))
        first.setdefault(_kind(one), next(known, i))
    return [first[_kind(one)] for one in machines]


def _kind(machine: Machine) -> tuple[str | None, ...]:
    return *described(machine), str(machine.get("memory_bytes")), machine.get("kernel"), _engines(machine)


def _engines(machine: Machine) -> str | None:
    engines = machine.get("engines")
    return ", ".join(sorted(map(str, engines.values()))) if isinstance(engines, dict) else None
