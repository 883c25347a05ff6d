# SPDX-License-Identifier: Apache-2.0
"""What each library is known to cost on healthy machines: ranges of ratios, each with its runs. Pure.

A ratio has no unit of a machine: the slow side over the usual one, both of one run. The same property is the same rule,
about the same thing (`Finding.about`), under the same library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec.structs import replace

from slowpath.core.results import Finding, MpiResult

MARGIN_RATIO = 2.0  # of what few machines showed, another healthy one may show so much more
LEAST_MACHINES = 2  # kinds of machine from which a range says anything about another

Standing = Literal["inside", "above", "below", "no expectation"]


class ExpectedRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """library: name and version, `mpich 5.0.2`.  rule, about: of the finding.  low, high: least and greatest ratio that
    the runs showed.  machines: processors and model of each kind of machine.  runs: how many.
    """

    library: str
    rule: str
    about: str
    low: float
    high: float
    machines: list[str]
    runs: int

    def words(self) -> str:
        """`1.2x to 1.9x in 6 runs on 2 kinds of machine`."""
        low, high = f"{self.low:.3g}x", f"{self.high:.3g}x"
        span = low if low == high else f"{low} to {high}"
        return f"{span} in {_counted(self.runs, 'run')} on {_counted(len(self.machines), 'kind')} of machine"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Expectation:
    """How a finding stands to what its library is known for.  words: with the range; None: there is none."""

    standing: Standing
    words: str


@cache
def shipped() -> tuple[ExpectedRange, ...]:
    """The ranges that come with Slowpath."""
    text = (files("slowpath.slowpaths") / "expected.json").read_bytes()
    return tuple(msgspec.json.decode(text, type=list[ExpectedRange]))


def expectation(finding: Finding, library: str | None, ranges: Sequence[ExpectedRange] | None = None) -> Expectation:
    """How the finding's ratio stands to its library's range.

    Args: library: name and version; None: not known.  ranges: None: those that come with Slowpath.
    """
    if library is None or finding.ratio is None:
        return Expectation("no expectation", "no ratio to compare" if library else "no expectation: library not known")
    known = ranges if ranges is not None else shipped()
    mine = [
        expected_range
        for expected_range in known
        if (expected_range.library, expected_range.rule, expected_range.about) == (library, finding.rule, finding.about)
    ]
    if not mine:
        return Expectation("no expectation", f"no expectation for {library}")
    (found, *_) = mine
    if len(found.machines) < LEAST_MACHINES:
        return Expectation("no expectation", f"{found.words()}: too few kinds of machine to expect anything")
    low, high = finding.interval or (finding.ratio, finding.ratio)
    if low > found.high * MARGIN_RATIO:
        return Expectation("above", found.words())
    if high < found.low / MARGIN_RATIO:
        return Expectation("below", found.words())
    return Expectation("inside", found.words())


def library_name(mpi: MpiResult | None) -> str | None:
    """`mpich 5.0.2`; None: not known."""
    return f"{mpi.name} {mpi.version}" if mpi and mpi.name and mpi.version else None


def held_against_range(
    finding: Finding, mpi: MpiResult | None, ranges: Sequence[ExpectedRange] | None = None
) -> Finding:
    """A property that costs more here than healthy machines showed, marked as what may be a fault; others as they are.

    Few kinds of machine made the ranges, and another healthy one would look the same. Neither a known cause nor a trial
    that removes the cost tells the two apart, so it is a suspicion and no fault.
    Args: mpi: its library.  ranges: as of `expectation`.
    """
    if finding.kind != "property" or finding.affects_default is False:
        return finding
    found = expectation(finding, library_name(mpi), ranges)
    if found.standing != "above":
        return finding
    return replace(finding, above_range=True, text=f"{finding.text} Healthy machines show {found.words}.")


@dataclass(frozen=True)
class HealthyRun:
    """library, machine: in words.  findings: of one run on a machine that nothing is known to be wrong with."""

    library: str
    machine: str
    findings: Sequence[Finding]


def ranges_of(runs: Iterable[HealthyRun]) -> list[ExpectedRange]:
    """The ranges that these runs show, properties alone; sorted, so that the same runs give the same file."""
    seen: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    for run in runs:
        for finding in run.findings:
            if finding.ratio is not None and finding.affects_default is not False and finding.kind == "property":
                key = (run.library, finding.rule, finding.about)
                seen.setdefault(key, []).append((finding.ratio, run.machine))
    return [
        ExpectedRange(
            library=library,
            rule=rule,
            about=about,
            low=min(ratio for ratio, _ in those),
            high=max(ratio for ratio, _ in those),
            machines=sorted({machine for _, machine in those}),
            runs=len(those),
        )
        for (library, rule, about), those in sorted(seen.items())
    ]
