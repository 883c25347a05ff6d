# SPDX-License-Identifier: Apache-2.0
"""Variables of the library that may set a limit: those whose value lies near it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.results import Finding, LimitBracket
from slowpath.diagnose.state import State
from slowpath.mpi.libraries import AppliesTo
from slowpath.mpi.settings import SwitchVariable, variable_named
from slowpath.stats.laws.law import Bracket

MOST_HEADER_BYTES = 256  # by which a switch may lie from its variable's value


@dataclass(frozen=True)
class SuspectVariable:
    """A variable whose value lies at a limit.  source: who states that it has this value."""

    switch: SwitchVariable
    value_bytes: int
    source: str


def suspects(
    switches: Sequence[SwitchVariable],
    limit: float,
    environ: Mapping[str, str],
    control_variables: Mapping[str, float],
    library: str,
) -> list[SuspectVariable]:
    """Variables whose value lies at the limit: those of the table, whose effect is known, then any others that the
    library has; each nearest first.

    Args: limit: last length before the switch, bytes.  control_variables: MPI_T's numbers, name -> value.
    """
    found: dict[str, SuspectVariable] = {}
    known = {switch.control_variable or switch.variable: switch for switch in switches}
    for name, value in control_variables.items():
        switch = known.get(name) or _of_mpi_t(name, library)
        found[switch.variable] = SuspectVariable(switch, round(value), "MPI_T")
    for switch in switches:
        stated = switch.value(environ)
        if stated is not None and switch.variable not in found:
            source = "your environment" if switch.variable in environ else f"not read; {switch.documented}"
            found[switch.variable] = SuspectVariable(switch, stated, source)
    near = [one for one in found.values() if abs(one.value_bytes - limit) <= MOST_HEADER_BYTES]
    return sorted(near, key=lambda one: (one.switch not in switches, abs(one.value_bytes - limit)))


def _of_mpi_t(name: str, library: str) -> SwitchVariable:
    """A control variable that no table knows."""
    return SwitchVariable(variable_named(name, library), AppliesTo(library), "a limit of the library", name)


def limits_of(finding: Finding) -> list[LimitBracket]:
    """Of its law; the first is the one that the finding is about."""
    return list(finding.law.brackets) if finding.law else []


def urgent_limits(finding: Finding, state: State) -> list[LimitBracket]:
    """The limit that the finding is about, and those that a variable of the user's may set."""
    return [one for i, one in enumerate(limits_of(finding)) if i == 0 or maybe_set_by_user(one, state)]


def maybe_set_by_user(limit: LimitBracket, state: State) -> bool:
    """Whether a variable that the user set has its value in the bracket, or as near as a header is long."""
    values = (switch.value(state.environ) for switch in state.library.switches if switch.variable in state.environ)
    return any(value is not None and holds(limit, value) for value in values)


def holds(limit: LimitBracket, value: int) -> bool:
    """Whether a variable of this value may set the limit."""
    return not limit.unclear and limit.above - MOST_HEADER_BYTES <= value <= limit.up_to + MOST_HEADER_BYTES


def bracket_of(limit: LimitBracket) -> Bracket:
    """As laws have it."""
    return Bracket(limit.covariate, limit.above, limit.up_to)
