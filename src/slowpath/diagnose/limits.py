# SPDX-License-Identifier: Apache-2.0
"""Protocol switches: variables of the library near one, and what a trial sets them to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_leg

from slowpath.core.results import Finding, LimitBracket
from slowpath.diagnose.sides import Sides
from slowpath.diagnose.state import State
from slowpath.findings.finding import with_explained
from slowpath.findings.slow_path import EAGER, Remedy
from slowpath.mpi.libraries import AppliesTo
from slowpath.mpi.settings import SwitchVariable, variable_named
from slowpath.slowpaths.registry import codes_refined_by

MOST_HEADER_BYTES = 256  # by which a switch may lie from its variable's value
MOST_SUSPECTS = 3  # of one switch
LENGTH = "message_bytes"
AND = " and "  # between variables that set one switch together


@dataclass(frozen=True)
class SuspectVariable:
    """A variable whose value lies at a limit.  source: who states that it has this value."""

    switch: SwitchVariable
    value_bytes: int
    source: str


def suspects(
    switches: Sequence[SwitchVariable],
    limit: LimitBracket,
    environ: Mapping[str, str],
    control_variables: Mapping[str, float],
    library: str,
) -> list[SuspectVariable]:
    """Variables whose value lies at the limit: those of the table, whose effect is known, then any others that the
    library has; each nearest first.  Args: control_variables: MPI_T's numbers, name -> value.
    """
    by_name: dict[str, SuspectVariable] = {}
    known = {switch.control_variable or switch.variable: switch for switch in switches}
    for name, value in control_variables.items():
        own = SwitchVariable(variable_named(name, library), AppliesTo(library), "a limit of the library", name)
        switch = known.get(name, own)
        by_name[switch.variable] = SuspectVariable(switch, round(value), "MPI_T")
    for switch in switches:
        stated = switch.value(environ)
        if stated is not None and switch.variable not in by_name:
            source = "your environment" if switch.variable in environ else f"not read; {switch.documented}"
            by_name[switch.variable] = SuspectVariable(switch, stated, source)
    near = [suspect for suspect in by_name.values() if _holds(limit, suspect.value_bytes)]
    return sorted(near, key=lambda suspect: (suspect.switch not in switches, abs(suspect.value_bytes - limit.above)))


def _holds(limit: LimitBracket, value: int) -> bool:
    return limit.above - MOST_HEADER_BYTES <= value <= limit.up_to + MOST_HEADER_BYTES


def switch_of(finding: Finding) -> LimitBracket | None:
    """The switch that a finding is about; None: it is about none."""
    if finding.rule not in codes_refined_by("switch") or finding.law is None or not finding.law.brackets:
        return None
    limit = finding.law.brackets[0]
    return limit if limit.covariate == LENGTH else None


def maybe_set_by_user(finding: Finding, state: State) -> bool:
    """Whether a variable that the user set has its value at the finding's switch."""
    limit = switch_of(finding)
    values = (switch.value(state.environ) for switch in state.library.switches if switch.variable in state.environ)
    return limit is not None and any(value is not None and _holds(limit, value) for value in values)


def across(finding: Finding, state: State, sides: Sides) -> Sides | None:
    """The slow length next to the switch. What the other protocol takes there is the finding's own other side."""
    results = state.seen_in(finding)
    cells = {cell.cell: cell for cell in results.cells}
    slow = next((cells[number] for number in finding.slow_cells if number in cells), None)
    if slow is None or LENGTH not in slow.parameters:
        return None
    return replace(sides, slow=slow, fast=None, fast_under=None, axis=LENGTH, metric=finding.metric)


def other_protocol_s(finding: Finding) -> float | None:
    """What the slow length takes by the other protocol, seconds."""
    if finding.ratio is None or finding.excess_s is None or finding.ratio <= 1:
        return None
    return finding.excess_s / (finding.ratio - 1)


def remedies_of(finding: Finding, state: State, seen: Sides) -> Iterator[tuple[Remedy, Sides]]:
    """What a trial can toggle: each variable near the switch alone, the user's own taken away first; then all of them,
    since the lowest of limits that coincide hides the others.
    """
    limit, sides = switch_of(finding), across(finding, state, seen)
    if limit is None or sides is None:
        return
    rising = int(sides.slow.parameters[LENGTH]) > limit.above
    library = state.library
    near = suspects(library.switches, limit, state.environ, state.control_variables, library.name)[:MOST_SUSPECTS]
    moved = {suspect.switch.variable: _moved(limit, rising, suspect.switch.multiple_bytes) for suspect in near}
    sets = [[suspect] for suspect in near] + ([near] if len(near) > 1 else [])
    for some in sets:
        variables = {suspect.switch.variable: moved[suspect.switch.variable] for suspect in some}
        remedy = Remedy(
            name=f"set {AND.join(variables)}",
            text=f"Set {AND.join(f'{name}={value}' for name, value in variables.items())}: {some[0].switch.does}.",
            axes=("environment",),
            control=EAGER,
            applies=AppliesTo(library.name),
            variables=variables,
        )
        name = some[0].switch.variable
        if len(some) == 1 and name in state.environ:
            text = f"Unset {name}, which is {some[0].value_bytes} in your environment: {some[0].switch.does}."
            yield replace(remedy, name=f"unset {name}", text=text, variables={}, unset=(name,)), sides
        yield remedy, sides


def _moved(limit: LimitBracket, rising: bool, multiple_bytes: int) -> str:
    low = int(limit.above)
    wanted = int(limit.up_to) + MOST_HEADER_BYTES if rising else max(low - MOST_HEADER_BYTES, low // 2, 1)
    return str(
        -(-wanted // multiple_bytes) * multiple_bytes if rising else max(wanted // multiple_bytes, 1) * multiple_bytes
    )


def with_cause(finding: Finding, remedy: str) -> Finding:
    """A finding whose switch a trial moved, with its variables named."""
    names = remedy.removeprefix("set ").removeprefix("unset ")
    together = "together set" if AND in names else "sets"
    cause = f"{names} {together} the length at which the library changes its protocol."
    return with_explained(finding, replace_leg(finding.legs.explained, state="shown", text=cause), cause)
