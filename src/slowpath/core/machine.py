# SPDX-License-Identifier: Apache-2.0
"""A machine as a record states it: processors, places, GPUs, and which machines are of the same kind."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from slowpath.core.result import (
    DEEPEST,
    LARGEST,
    LARGEST_NUMBER,
    LONGEST_TEXT,
    MOST_CPUS,
    MOST_VALUES,
    LongText,
    Name,
    Number,
    Result,
    means,
)
from slowpath.core.units import format_bytes

_NUMBER = re.compile("[0-9]{1,18}")  # a range of more is none that Python can count


def parse_cpu_list(text: str | None) -> frozenset[int]:
    """`0-2,5` -> {0, 1, 2, 5}; empty where nothing was recorded, or nothing that can be read."""
    ranges = _ranges(text)
    if any(cpus and cpus[-1] >= MOST_CPUS for cpus in ranges):
        return frozenset()
    return frozenset(itertools.chain.from_iterable(ranges))


def count_cpus(text: str | None) -> int | None:
    """`0-2,5` -> 4; None: nothing that can be read. Counted by the ends of its ranges, which may be of any length."""
    return sum(map(len, _ranges(text))) or None


def _ranges(text: str | None) -> list[range]:
    """Empty where a part can't be read."""
    ranges = []
    for part in (text or "").split(","):
        first, dash, last = part.strip().partition("-")
        if not (_NUMBER.fullmatch(first) and _NUMBER.fullmatch(last if dash else first)):
            return []
        ranges.append(range(int(first), int(last if dash else first) + 1))
    return ranges


def format_cpu_list(numbers: Sequence[int]) -> str:
    """[0, 1, 2, 5] -> `0-2,5`. numbers: ascending."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


_Count = Annotated[int, Meta(ge=0, le=LARGEST)]


class PlaceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a place gives to ranks. None: it can't be read or tried there.

    copy_errno     errno of copying 8 KiB from one process to another that is neither its parent nor its child, as ranks
                   are; 0: it went.  asked_errno: the same where the other one allowed it (PR_SET_PTRACER); None: no
                   need.  own_errno: the same from a process to itself, which only a seccomp filter refuses.
                   rank_errno: of the first such copy that a watched program's library tried and the kernel refused.
                   apart_errno: between two processes that each have a user namespace of their own
    copy_s         wall time of these copies, with the processes that they need
    ptrace_scope   of Yama.  seccomp: 0 none, 1 strict, 2 a filter.  user_namespaces: how many the ranks have
    shm_bytes, shm_free_bytes   of /dev/shm
    memory_limit_bytes, memory_used_bytes   of the control group that leaves least; None: no limit
    processors     that may be used, as 0-3,8.  online: how many the machine has
    processor_quota  processors' worth of time that the control group grants.  None: no limit
    tried_s        of which `tried` processes spun.  still_s: of it each stood still on average because of the quota
    numa_nodes     of the machine.  numa_balancing: whether the kernel moves pages between them by itself
    virtual        whether this is a virtual machine
    gpu_driver     version
    ranks          of the largest job that was to run there, on all its nodes
    """

    copy_errno: _Count | None = None
    asked_errno: _Count | None = None
    own_errno: _Count | None = None
    apart_errno: _Count | None = None
    rank_errno: _Count | None = None
    copy_s: Number | None = None
    ptrace_scope: _Count | None = None
    seccomp: _Count | None = None
    user_namespaces: _Count = 1
    shm_bytes: _Count | None = None
    shm_free_bytes: _Count | None = None
    memory_limit_bytes: _Count | None = None
    memory_used_bytes: _Count | None = None
    processors: LongText | None = None
    online: _Count | None = None
    processor_quota: Number | None = None
    tried: _Count | None = None
    tried_s: Number | None = None
    still_s: Number | None = None
    numa_nodes: _Count | None = None
    numa_balancing: bool | None = None
    virtual: bool | None = None
    gpu_driver: Name | None = None
    ranks: _Count | None = None


CheckName = Literal[
    "single copy",
    "/dev/shm",
    "processor limit",
    "allowed processors",
    "memory limit",
    "NUMA balancing",
    "virtual machine",
    "GPU driver",
    "payload",
]


class PlaceFault(Result, frozen=True, kw_only=True):
    """What is wrong with a place."""

    check: Annotated[CheckName, means("which found it")]
    text: Annotated[LongText, means("what is wrong, with its evidence; no full stop")]
    do: Annotated[LongText, means("what to do, one sentence without a full stop")]
    is_fault: Annotated[bool, means("it costs every program there; else some, and only the doctor says it")] = True

    @property
    def sentence(self) -> str:
        """The text with a capital and a full stop."""
        return f"{_capital(self.text)}."

    @property
    def action(self) -> str:
        """What to do, with a capital and a full stop."""
        return f"{_capital(self.do)}."


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


# Values whose shape the record leaves open: facts of a machine, of an MPI, of an engine. Held to the limits.


def require_small(value: Any) -> None:
    """Check the size of a value from a record.

    Raises: ValueError: it is nested too deeply, has too many values, or one that no program of ours writes.
    """
    left = MOST_VALUES
    level = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                below += item
            else:
                _require_plain(item)
        left -= len(below)
        if left < 0:
            raise ValueError(f"Expected at most {MOST_VALUES} values")
        if not below:
            return
        level = below
    raise ValueError(f"Expected at most {DEEPEST} lists and objects within each other")


def _require_plain(value: Any) -> None:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ValueError(f"Expected text of at most {LONGEST_TEXT} characters, got {len(value)}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"Expected a whole number of at most {LARGEST}")
    if isinstance(value, float) and not (math.isfinite(value) and abs(value) <= LARGEST_NUMBER):
        raise ValueError(f"Expected a number of at most {LARGEST_NUMBER:g}")


def require_facts(name: str, values: dict[str, Any], shape: type[msgspec.Struct]) -> None:
    """Check the facts that are read, of a machine, an MPI or an engine; more may be there, within the limits.

    Raises: ValueError: a fact is of another kind than `shape` has it.
    """
    try:
        require_small(values)
        msgspec.convert(values, shape)
    except (ValueError, msgspec.ValidationError) as error:
        raise ValueError(f"{name}: {error}") from error


_FromZero = Annotated[int, Meta(ge=0, le=LARGEST)]


class EngineFacts(msgspec.Struct, frozen=True):
    """Facts by which an engine is found again."""

    key: Name | None = None
    compiler: LongText | None = None
    path: LongText | None = None


class OtherProcess(msgspec.Struct, frozen=True):
    """A process that is none of Slowpath's. cores: that it kept busy."""

    name: Name
    pid: _FromZero
    cores: Number


class Others(msgspec.Struct, frozen=True):
    """What other processes took of the processors on which ranks may run, over some seconds without any launch.

    processors: how many there are.  cores: of them that others kept busy, the kernel and other virtual machines
    included.  processes: those that took most, the busiest first.
    """

    seconds: Number
    processors: _FromZero
    cores: Number
    processes: list[OtherProcess] = []


class MachineFacts(msgspec.Struct, frozen=True):
    """Facts by which runs are compared and places are judged. None: not known."""

    host: Name | None = None
    processor: Name | None = None
    processors: _FromZero | None = None
    processors_allowed: LongText | None = None
    processor_groups: dict[Name, list[LongText]] | None = None
    memory_bytes: _FromZero | None = None
    gpus: list[Name] | None = None  # model of each
    distribution: Name | None = None
    kernel: Name | None = None
    huge_pages: Name | None = None
    governor: Name | None = None
    load: list[Number] | None = None
    others: Others | None = None
    place: PlaceFacts | None = None
    variables: dict[Name, LongText] | None = None
    engine: EngineFacts | None = None


class MpiFacts(msgspec.Struct, frozen=True):
    """Facts by which an MPI is found again, and that results.json takes over."""

    short_name: Name | None = None
    name: Name | None = None
    version: Name | None = None
    transport: Name | None = None
    vendor: LongText | None = None
    mpiexec: LongText | None = None
    launcher: Name | None = None
    abi: Name | None = None
    standard_abi: bool | None = None
    prefix: LongText | None = None
    source: LongText | None = None
    env: dict[Name, LongText] | None = None
    engine: EngineFacts | None = None


# Whether two machines are of one kind: processor model, processors, memory, GPUs.
#
# A host's name, its kernel and its settings are no part of it: they are listed next to each comparison.

MEMORY_RATIO = 0.03  # the kernel keeps a little more or less of it from version to version and from boot to boot
MEMORY_BYTES = 512 * 2**20  # on small machines, where it keeps the most
Machine = Mapping[str, Any]  # of the shape slowpath.core.machine.MachineFacts, which readers hold it to


class Difference(NamedTuple):
    """One thing in which two machines differ, as each states it."""

    fact: str
    a: str
    b: str


def hardware(machine: Machine) -> tuple[str | None, ...]:
    """Processor model, number of processors, memory, in words."""
    return machine.get("processor"), _words(machine.get("processors")), memory(machine)


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


def unlike(a: Machine, b: Machine) -> list[Difference]:
    """Return what both state and do not share. Empty for machines that state nothing: see `is_stated`."""
    facts = [(name, fact(a), fact(b)) for name, fact in _FACTS]
    differences = [Difference(name, fact, other) for name, fact, other in facts if fact and other and fact != other]
    here, other = memory(a), memory(b)
    return differences + ([Difference("memory", here, other)] if here and other and _memory_differs(a, b) else [])


def is_stated(machine: Machine) -> bool:
    """Whether the record states a machine at all: imported logs state none."""
    return all(fact is not None for fact in hardware(machine))


_FACTS: tuple[tuple[str, Callable[[Machine], str | None]], ...] = (
    ("processor", lambda machine: machine.get("processor")),
    ("processors", lambda machine: _words(machine.get("processors"))),
    ("processors allowed", lambda machine: _words(allowed(machine))),
    ("GPUs", gpus),
)


def _memory_differs(a: Machine, b: Machine) -> bool:
    first, other = a["memory_bytes"], b["memory_bytes"]
    return bool(abs(first - other) > max(MEMORY_BYTES, MEMORY_RATIO * max(first, other)))


def _words(value: int | None) -> str | None:
    return None if value is None else str(value)


UNKNOWN = "unknown"


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
    of_hardware = (*hardware(machine), _words(allowed(machine)), gpus(machine))
    return (*(fact or UNKNOWN for fact in of_hardware), *_facts(machine).values())


def differing(a: Machine, b: Machine) -> list[Difference]:
    """Return the differences between the kinds of two machines; empty: times of both may be compared."""
    facts, other = _facts(a), _facts(b)
    return unlike(a, b) + [
        Difference(fact, facts[fact], other[fact])
        for fact in facts
        if UNKNOWN not in (facts[fact], other[fact]) and facts[fact] != other[fact]
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
