# SPDX-License-Identifier: Apache-2.0
"""What two runs do not have in common: each such thing may be the cause of a difference between their times. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from slowpath.compare.read import Run
from slowpath.core.units import format_bytes


class Difference(msgspec.Struct, frozen=True):
    """One thing that differs; None: that run does not say."""

    what: str
    a: str | None
    b: str | None


def _machine(key: str) -> Callable[[Run], str | None]:
    return lambda run: _words(run.machine.get(key))


def _words(value: Any) -> str | None:
    return None if value is None else str(value)


def _memory(run: Run) -> str | None:
    """In whole GiB: the kernel keeps a little more or less from boot to boot."""
    count = run.machine.get("memory_bytes")
    return format_bytes(round(count / 2**30) * 2**30) if isinstance(count, int) else None


def _load(run: Run) -> str | None:
    """Over the last minute, processes: it tells of other work on the machine, and of nothing below one."""
    load = run.machine.get("load")
    return f"{load[0]:.0f}" if isinstance(load, list) and load else None


def _of_mpis(*keys: str) -> Callable[[Run], str | None]:
    def told(run: Run) -> str | None:
        every = [_joined(one, keys) for one in run.mpis or [run.mpi]]
        return ", ".join(dict.fromkeys(one for one in every if one)) or None

    return told


def _joined(facts: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return " ".join(str(facts[key]) for key in keys if facts.get(key))


def mpi_identity(facts: Mapping[str, Any]) -> str:
    """Library and version; "" where an old or imported run does not say."""
    return _joined(facts, ("name", "version"))


def engine_build(run: Run, mpi: str | None) -> dict[str, Any]:
    """Key, compiler and path of the engine that the run used for this MPI; {} where it doesn't say."""
    engine = run.mpi_of(mpi).get("engine") or run.machine.get("engine")
    return engine if isinstance(engine, dict) else {}


def _builds(run: Run) -> str | None:
    keys = [engine_build(run, one.get("mpi")).get("key") for one in run.mpis or [run.mpi]]
    return ", ".join(dict.fromkeys(str(key) for key in keys if key)) or None


def _bindings(run: Run) -> str | None:
    told = [
        f"{p.name}: {' '.join(str(rank.get('cpus_allowed')) for rank in p.observed)}"
        for p in run.placements
        if p.observed
    ]
    return "; ".join(told) or None


FACTS: tuple[tuple[str, Callable[[Run], str | None]], ...] = (
    ("campaign", lambda run: run.campaign),
    ("host", _machine("host")),
    ("processor", _machine("processor")),
    ("processors allowed", _machine("processors_allowed")),
    ("memory", _memory),
    ("distribution", _machine("distribution")),
    ("kernel", _machine("kernel")),
    ("huge pages", _machine("huge_pages")),
    ("frequency governor", _machine("governor")),
    ("load at the start", _load),
    ("MPI", _of_mpis("name", "version")),
    ("MPI library", _of_mpis("library")),
    ("MPI launcher", _of_mpis("mpiexec")),
    ("engine", lambda run: run.engine),
    ("engine build", _builds),
    ("slowpath", lambda run: run.slowpath),
    ("clock quantum, ns", lambda run: _words(run.quantum_ns)),
    ("binding of ranks", _bindings),
    ("began", lambda run: run.started),
    ("status", lambda run: run.status),
)


def differences(a: Run, b: Run) -> list[Difference]:
    """All that differs, in the order of FACTS; then variables of the user that steer MPI, one by one."""
    found = [Difference(what, fact(a), fact(b)) for what, fact in FACTS]
    mine, yours = (run.machine.get("variables") or {} for run in (a, b))
    found += [Difference(f"variable {n}", mine.get(n), yours.get(n)) for n in sorted({*mine, *yours})]
    return [one for one in found if one.a != one.b]


def hardware(run: Run) -> tuple[str | None, ...]:
    """What makes runs comparable over time at all: processor model, number of processors, memory."""
    return _words(run.machine.get("processor")), _words(run.machine.get("processors")), _memory(run)
