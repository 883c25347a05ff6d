# SPDX-License-Identifier: Apache-2.0
"""Which variable a protocol switch belongs to: it is set to another value, and the switch has to move with it. Pure.

The distance between the variable's value and the switch is the length of the library's headers; it stays when the
variable moves. So the new place is foretold to the byte before it is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slowpath.core.units import format_time
from slowpath.diagnose.campaign_text import Campaign, Environment, Group
from slowpath.diagnose.refine import ROUNDS, narrow, times_of
from slowpath.diagnose.sides import Sides
from slowpath.findings.remedies.remedy import Remedy
from slowpath.findings.remedies.snippet import modulefile_lines, shell_lines
from slowpath.findings.remedies.variables import EAGER
from slowpath.mpi.applies import AppliesTo
from slowpath.mpi.switches import SwitchVariable, variable_named
from slowpath.stats.laws.found import Bracket

MOST_HEADER_BYTES = 256  # by which a switch may lie from its variable's value
RAISED_RATIO, LOWERED_RATIO = 1.13, 0.89  # far enough to be seen, near enough to cross no other switch
SIDE_EFFECTS = ("memory of the library's buffers", "lengths between the old and the new place go another way")
_NEAR = (-64, -16, -4, -2, -1, 0, 1, 2, 4, 16, 64)
_EFFORT = {"samples": "60", "time_limit_s": "0.008", "warmup_s": "0.002"}


@dataclass(frozen=True)
class Suspect:
    """A variable whose value lies at a limit.  told_by: who says that it has this value."""

    switch: SwitchVariable
    value: int
    told_by: str


@dataclass(frozen=True)
class Attribution:
    """What moving the variable showed. moved: the switch was seen where it was foretold, and not where it had been.

    speaks: it is the limit that the finding is about, not another one of its law.  before_s, after_s: times on the two
    sides of the switch, where the variable put it.
    """

    variable: str
    limit: float
    speaks: bool
    moved: bool
    text: str
    remedy: dict[str, Any]
    before_s: float
    after_s: float

    def own_finding(self, finding: dict[str, Any]) -> dict[str, Any]:
        """A finding of this limit alone, where the one it was found with speaks of another."""
        brackets = [one for one in finding["law"]["brackets"] if one["above"] == self.limit]
        slow_s, fast_s = max(self.before_s, self.after_s), min(self.before_s, self.after_s)
        side = "above" if self.after_s > self.before_s else "below"
        text = (
            f"The protocol changes after {self.limit:.0f} B: messages just {side} it take {slow_s / fast_s:.2f} times "
            f"as long as those just beyond: {format_time(slow_s)} against {format_time(fast_s)}."
        )
        digest = hashlib.sha256(f"{finding['id']}\n{self.variable}".encode()).hexdigest()[:8]
        alone = {
            **finding,
            "id": f"{finding['rule']}:{digest}",
            "about": f"{finding['about']}, {self.variable}",
            "text": text,
            "ratio": slow_s / fast_s,
            "interval": None,
            "excess_s": slow_s - fast_s,
            "law": {**finding["law"], "brackets": brackets},
            "remedies": [],
        }
        return replace(self, speaks=True).apply(alone)

    def apply(self, finding: dict[str, Any]) -> dict[str, Any]:
        """The finding with its cause named, or with the variable ruled out; proven is what a trial makes it."""
        told = self._at_limit(finding)
        if not self.speaks:
            return told
        others = [one for one in finding["remedies"] if one["name"] != self.remedy["name"]]
        told["remedies"] = [self.remedy, *others]
        if not self.moved:
            return told
        before = finding["legs"]["explained"]
        explained = {"state": "shown", "text": self.text, "evidence": [*before["evidence"], self.text]}
        return {
            **told,
            "status": "proven" if finding["status"] == "proven" else "explained",
            "legs": {**finding["legs"], "explained": explained},
            "cause": f"The library changes its way at the length that {self.variable} sets.",
            "hypotheses": [],
            "missing": [text for text in finding["missing"] if not text.startswith("explained")],
        }

    def _at_limit(self, finding: dict[str, Any]) -> dict[str, Any]:
        """What moved the limit, or did not, stands beside it."""
        said = {"attributed_to": self.variable} if self.moved else {}
        brackets = [
            {**one, **said, "told": self.text} if one["above"] == self.limit else one
            for one in finding["law"]["brackets"]
        ]
        return {**finding, "law": {**finding["law"], "brackets": brackets}}


def suspects(
    switches: Sequence[SwitchVariable],
    limit: float,
    environ: Mapping[str, str],
    control_variables: Mapping[str, float],
    library: str,
) -> list[Suspect]:
    """Variables whose value lies at the limit, nearest first: of the table, and any of the library's own.

    Args: limit: last length that still goes the old way.  control_variables: MPI_T's numbers, name -> value.
    """
    found: dict[str, Suspect] = {}
    known = {switch.control_variable or switch.variable: switch for switch in switches}
    for name, value in control_variables.items():
        switch = known.get(name) or _of_mpi_t(name, library)
        found[switch.variable] = Suspect(switch, round(value), "MPI_T")
    for switch in switches:
        told = switch.value(environ)
        if told is not None and switch.variable not in found:
            whose = "your environment" if switch.variable in environ else "its documentation"
            found[switch.variable] = Suspect(switch, told, whose)
    near = [one for one in found.values() if abs(one.value - limit) <= MOST_HEADER_BYTES]
    return sorted(near, key=lambda one: abs(one.value - limit))


def _of_mpi_t(name: str, library: str) -> SwitchVariable:
    """A control variable that no table knows."""
    return SwitchVariable(variable_named(name, library), AppliesTo(library), "a limit of the library", name)


def design(
    finding: str, suspect: Suspect, bracket: Bracket, sides: Sides, ranks: int, rising: bool
) -> tuple[dict[str, Any], Campaign]:
    """(about, campaign): the variable at a new value, lengths around the old place and around the foretold one.

    Args: rising: behind the switch it takes longer. The variable moves so that the slow side at the switch gets fast.
    """
    switch, value, under, slow = suspect.switch, suspect.value, sides.slow_under, sides.slow
    limit = int(bracket.above)
    moved = _moved(value, rising, switch.multiple_bytes)
    foretold = limit + moved - value
    parameters: dict[str, str | Sequence[str]] = {**slow["parameters"]}
    parameters |= {name: text for name, text in _EFFORT.items() if name in slow["parameters"]}
    parameters["message_bytes"] = [str(v) for v in lengths(limit, foretold)]
    name = "the variable moved"
    without = tuple(one for one in under.unset if one != switch.variable)
    campaign = Campaign(
        name="attribute",
        title=f"Does {switch.variable} move the switch?"[:80],
        ranks=ranks,
        rounds=ROUNDS + 2,
        environments=[Environment(name, {**under.variables, switch.variable: str(moved)}, without)],
        placements={under.placement: under.bind},
        groups=[Group("limit", slow["experiment"], parameters, [name], [under.placement])],
        contrasts=[],
        why=f"The switch lies after {limit} B and {switch.variable} is {value} ({suspect.told_by}); at {moved} it has "
        f"to lie after {foretold} B.",
    )
    about = {
        "finding": finding,
        "variable": switch.variable,
        "does": switch.does,
        "value": value,
        "told_by": suspect.told_by,
        "moved": moved,
        "limit": limit,
        "foretold": foretold,
        "rising": rising,
        "metric": sides.metric,
        "phase": sides.phase,
    }
    return about, campaign


def _moved(value: int, rising: bool, multiple_bytes: int) -> int:
    """Odd where it may be: nothing else has a reason to lie there."""
    wanted = round(value * (RAISED_RATIO if rising else LOWERED_RATIO))
    return wanted | 1 if multiple_bytes == 1 else wanted // multiple_bytes * multiple_bytes


def lengths(limit: int, foretold: int) -> list[int]:
    """To measure: both places, and anchors below and above them."""
    low, high = min(limit, foretold), max(limit, foretold)
    reach = max(128, low // 16)
    anchors = [low - reach, low - reach * 3 // 4, low - reach // 2, (low + high) // 2]
    anchors += [high + reach // 2, high + reach * 3 // 4, high + reach]
    near = [*(limit + d for d in (-1, 0, 1, 2)), *(foretold + d for d in _NEAR)]
    return sorted({value for value in (*anchors, *near) if value > 0})


def attribution(about: Mapping[str, Any], results: Mapping[str, Any]) -> Attribution | None:
    """None when the run has no times to tell by."""
    times = times_of(results, "message_bytes", about["metric"], about["phase"])
    if times is None:
        return None
    values, launch_s = times
    found = narrow(Bracket("message_bytes", values[2], values[-3]), values, launch_s)
    low, high = found.bracket.above, found.bracket.up_to
    exact = found.seen and low <= about["foretold"] < high and high - low <= 2 * max(_NEAR)
    changed = f"{about['variable']} set from {about['value']} ({about['told_by']}) to {about['moved']}"
    if exact:
        text = (
            f"{changed} moves the switch from after {about['limit']} B to after {low:.0f} B and up to {high:.0f} B; "
            f"after {about['foretold']} B was foretold"
        )
    elif found.seen:
        text = (
            f"{changed} leaves a switch in ({low:.0f}, {high:.0f}] B, and not after {about['foretold']} B as foretold"
        )
    else:
        text = f"{changed} leaves no switch that shows between the two places"
    split = int(np.searchsorted(values, found.bracket.above, side="right"))
    centre = np.quantile(launch_s, 0.25, axis=0)  # as `narrow` takes it: what disturbs only lengthens
    return Attribution(
        variable=about["variable"],
        limit=float(about["limit"]),
        speaks=bool(about["speaks"]),
        moved=exact,
        text=text,
        remedy=_entry(about, exact, text),
        before_s=float(np.median(centre[max(0, split - 3) : split])),
        after_s=float(np.median(centre[split : split + 3])),
    )


def _entry(about: Mapping[str, Any], moved: bool, text: str) -> dict[str, Any]:
    """The first remedy of `remedies_of` as a finding lists it."""
    remedy = remedies_of(about, "")[0]
    lines = shell_lines(remedy.variables, remedy.unset), modulefile_lines(remedy.variables, remedy.unset)
    return {
        "name": remedy.name,
        "text": remedy.text,
        "snippet": {"shell": lines[0], "modulefile": lines[1], "code": None},
        "removed_ratio": None,
        "side_effects": list(SIDE_EFFECTS),
        "verdict": "not tried" if moved else "no effect",
        "reason": text,
    }


def remedies_of(about: Mapping[str, Any], library: str) -> list[Remedy]:
    """What a trial can toggle: the user's own setting of the variable taken away first, then the variable moved."""
    name, does = about["variable"], about["does"]
    moved = Remedy(
        name=f"set {name}",
        text=f"Set {name}: {does}. {about['moved']} is what was tried.",
        rules=("SP013",),
        axes=("environment",),
        control=EAGER,
        side_effects=SIDE_EFFECTS,
        applies=AppliesTo(library or None),
        variables={name: str(about["moved"])},
    )
    if not about["set_by_user"]:
        return [moved]
    unset = Remedy(
        name=f"unset {name}",
        text=f"Unset {name}, which is {about['value']} in your environment: {does}.",
        rules=("SP013",),
        axes=("environment",),
        control=EAGER,
        side_effects=SIDE_EFFECTS,
        applies=AppliesTo(library or None),
        unset=(name,),
    )
    return [unset, moved]
