# SPDX-License-Identifier: Apache-2.0
"""What imported logs amount to as a plan: cells, contrasts, one launch a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, count

from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Launch, Placement, Plan, Side, cell_key
from slowpath.core.units import format_bytes
from slowpath.record.imports.conditions import Conditions, differences, not_stated, question
from slowpath.record.imports.log import OVERALLOC, Log, LogSection

METRIC = "send_barrier_s"
PLACEMENT = "as logged"
_EXPERIMENT = "p2p"
_MINIMUM_EFFECT = 0.03
# Which of two files is the baseline, a, decides only how the ratio is turned; nothing else rests on a file's
# name. Pageable memory comes before other kinds, and files named by these words are held against the rest.
_MEMORY_ORDER = ("host", "pinned_host", "managed", "device")
_QUESTIONED = ("unbound", "cma", "across")


def build_plan(logs: Sequence[Log], labels: Sequence[str], stated: Mapping[str, Conditions] | None = None) -> Plan:
    """Plan of an imported run; `labels` are distinct, one a log. Cell numbers follow files, then sections.

    stated: label -> conditions of its launch, as far as the user states them.
    """
    stated = stated or {}
    numbers = count()
    cells = [[_cell(next(numbers), log, section, label) for section in log.sections]
             for log, label in zip(logs, labels, strict=True)]  # fmt: skip
    return Plan(
        schema=PLAN_SCHEMA,
        campaign="imported",
        title=f"Imported from {len(logs)} log{'s' if len(logs) > 1 else ''}",
        ranks=max(log.ranks for log in logs),
        rounds=1,
        seed=0,
        minimum_effect=_MINIMUM_EFFECT,
        environments=[Environment(label, stated=dict(stated.get(label, {}))) for label in labels],
        placements=[Placement(PLACEMENT, "unknown")],
        cells=[cell for group in cells for cell in group],
        contrasts=[*_contrasts_within(logs, cells), *_contrasts_across(logs, cells, stated)],
        launches=[
            Launch(i, 1, label, PLACEMENT, [cell.cell for cell in group], seed=0)
            for i, (label, group) in enumerate(zip(labels, cells, strict=True), start=1)
        ],
    )


def parameters_of(log: Log, section: LogSection) -> dict[str, str]:
    """The section as parameters of the engine's p2p: what would measure the same thing."""
    message = section.message_bytes
    allocations = max(time.allocation for time in section.times) + 1
    messages = max(time.message for time in section.times) + 1
    buffer, extra = f"{message}", 0
    if log.program == OVERALLOC:
        buffer = f"{log.header['buffer_size']}:{message}"  # the receiver allocates the message's length only
        extra = int(log.header["overalloc_size"]) if section.overallocated else 0
    return {
        "pattern": "one_way",
        "memory": log.memory,
        "message_bytes": str(message),
        "buffer_bytes": buffer,
        "overalloc_bytes": f"{extra}:0" if extra else "0",
        "allocations": str(allocations),
        "messages": str(messages),
        "synchronise": "inside",
    }


def _cell(number: int, log: Log, section: LogSection, label: str) -> Cell:
    parameters = parameters_of(log, section)
    name = label
    if log.program == OVERALLOC:
        name = f"{label}, {'with' if section.overallocated else 'without'} overalloc"
    key = cell_key(_EXPERIMENT, parameters, {"log": label}, "unknown", 1, section.ranks, "imported")
    return Cell(number, key, log.program, name, _EXPERIMENT, parameters, environment=label, placement=PLACEMENT)


def _contrasts_within(logs: Sequence[Log], cells: Sequence[Sequence[Cell]]) -> list[Contrast]:
    """Return the contrasts of over-allocation (with over without, first and later), and of first over later in each
    cell.
    """
    made = []
    for number, (log, group) in enumerate(zip(logs, cells, strict=True), start=1):
        sides = {section.overallocated: cell for section, cell in zip(log.sections, group, strict=True)}
        if log.program == OVERALLOC and len(sides) == 2:
            extra = format_bytes(int(log.header["overalloc_size"]))
            for phase, words in (("first", "the first message"), ("steady", "later messages")):
                question = f"Is {words} slower" if phase == "first" else f"Are {words} slower"
                a = Side(sides[False].cell, phase, "0 B")
                b = Side(sides[True].cell, phase, extra)
                question += f" with {extra} over-allocated?{_longer(log)} ({group[0].environment})"
                made.append(
                    _contrast(
                        f"overalloc-{phase}-{number}",
                        f"over-allocation, {words}",
                        question,
                        "overalloc_bytes",
                        a,
                        b,
                    )
                )
        for index, cell in enumerate(group, start=1):
            question = f"Is the first message from a fresh allocation slower than later ones? ({cell.label})"
            a, b = Side(cell.cell, "steady", "steady"), Side(cell.cell, "first", "first")
            made.append(_contrast(f"first-{number}-{index}", "first message", question, "phase", a, b))
    return made


def _longer(log: Log) -> str:
    """Where p2p_size is more than buffer_size, the messages of the part with over-allocation are longer, too."""
    lengths = {section.message_bytes for section in log.sections}
    return f" Its messages are longer by {format_bytes(max(lengths) - min(lengths))}." if len(lengths) > 1 else ""


def _contrasts_across(
    logs: Sequence[Log], cells: Sequence[Sequence[Cell]], stated: Mapping[str, Conditions]
) -> list[Contrast]:
    """Later messages of each two logs of the second program that sent the same length."""
    single = [(log, group[0]) for log, group in zip(logs, cells, strict=True) if log.program != OVERALLOC]
    single.sort(key=lambda pair: _baseline_order(pair[0], pair[1].environment))
    made: list[Contrast] = []
    for (log_a, a), (log_b, b) in combinations(single, 2):
        if log_a.header["p2p_size"] != log_b.header["p2p_size"]:
            continue
        kinds = (log_a.header["mem_type"], log_b.header["mem_type"])
        conditions = stated.get(a.environment, {}), stated.get(b.environment, {})
        differ = [f"mem_type ({kinds[0]}, {kinds[1]})"] if kinds[0] != kinds[1] else []
        unknown = not_stated(*conditions)
        differ += differences(*conditions)
        differ += ["file"] * (bool(unknown) or not differ)
        asked = question(b.environment, a.environment, differ, unknown)
        sides = Side(a.cell, "steady", a.environment), Side(b.cell, "steady", b.environment)
        made.append(_contrast(f"files-{len(made) + 1}", "between files", asked, "environment", *sides))
    return made


def _baseline_order(log: Log, label: str) -> tuple[int | bool, ...]:
    return (_MEMORY_ORDER.index(log.header["mem_type"]), *(word in label for word in _QUESTIONED))


def _contrast(name: str, group: str, question: str, axis: str, a: Side, b: Side) -> Contrast:
    return Contrast(name, group, question, axis, METRIC, a, b)
