# SPDX-License-Identifier: Apache-2.0
"""Launches of one machine alone: a run that was resumed on other hardware is no one population. Pure.

Pooled, a cell would have a median that neither machine has, and a contrast whose pairs are half of one and half of the
other would differ by more than its axis. So the machine with the most launches speaks, and the verdict names the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from slowpath.core.machine_kind import Machine, differing, groups, host_of, in_words
from slowpath.core.results import Line
from slowpath.experiments.measured.load import LaunchRecord
from slowpath.record.folder import RunInfo


@dataclass(frozen=True)
class OneMachine:
    """info: with the machine of these launches.  lines: for the verdict, on those that are left out."""

    info: RunInfo
    launches: list[LaunchRecord]
    lines: list[Line]
    notes: list[str]


def of_one_machine(info: RunInfo, launches: Sequence[LaunchRecord]) -> OneMachine:
    """The launches of the kind of machine that measured most of them; of as many, the one that began."""
    machines = info.measured_on
    group = groups(machines)
    number = [launch.info.machine if 0 <= launch.info.machine < len(machines) else 0 for launch in launches]
    used = sorted(set(number))
    if len(used) < 2:
        first = machines[used[0]] if used and used[0] else info.machine
        return OneMachine(msgspec.structs.replace(info, machine=_facts(first)), list(launches), [], [])
    counts = {kind: sum(group[n] == kind for n in number) for kind in sorted({group[n] for n in used})}
    chosen = max(counts, key=lambda kind: (counts[kind], -kind))
    kept = [one for one, n in zip(launches, number, strict=True) if group[n] == chosen]
    here = [n for n in used if group[n] == chosen]
    speaks = machines[here[0]]
    lines = [_left_out(counts[chosen], speaks, counts[kind], machines[kind]) for kind in counts if kind != chosen]
    notes = [
        f"{sum(one == n for one in number)} launches ran on {host_of(machines[n])}, a machine of the same kind as "
        f"{host_of(speaks)}"
        for n in here[1:]
    ]
    return OneMachine(msgspec.structs.replace(info, machine=_facts(speaks)), kept, lines, notes)


def _left_out(used: int, speaks: Machine, unused: int, other: Machine) -> Line:
    what = ", ".join(one.what for one in differing(speaks, other))
    text = (
        f"Measured on machines that differ in {what}: only the {used} launches on {in_words(speaks)} are used, not the "
        f"{unused} on {in_words(other)}."
    )
    return Line(level="warning", text=text, contrast=None)


def _facts(machine: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in machine.items() if key != "engines"}
