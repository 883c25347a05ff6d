# SPDX-License-Identifier: Apache-2.0
"""What a rival is: another cause that would look the same, and what tells the two apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Claim
from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation, Support
from slowpath.findings.remedy import Remedy

State = Literal["refuted", "standing", "true"]


@dataclass(frozen=True)
class Judged:
    """What an experiment showed. text: why, with the numbers.

    cause, claim: of the rival, where the experiment says more than the table.  side: who spends the excess, where the
    experiment showed that.
    """

    state: State
    text: str
    evidence: tuple[str, ...] = ()
    cause: str | None = None
    claim: Claim | None = None
    side: Literal["sender", "receiver"] | None = None


Judge = Callable[[Facts, Observation, Support], Judged]
Applies = Callable[[CellResult], bool]


@dataclass(frozen=True)
class Varied:
    """Both sides of a finding measured again as they are and with parameters changed, in the same launches.

    slow, fast: what is changed on each side.  metric: in which the excess is looked for; None: the finding's own.
    applies: to cells that can be changed so; others are not measured.  by_cells: in place of slow and fast, where what
    is changed depends on both cells.
    """

    slow: Mapping[str, str] = field(default_factory=dict)
    fast: Mapping[str, str] = field(default_factory=dict)
    metric: str | None = None
    applies: Applies = field(default=lambda _: True)
    by_cells: Callable[[CellResult, CellResult], tuple[Mapping[str, str], Mapping[str, str]]] | None = None

    def changes(self, slow: CellResult, fast: CellResult) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Of the slow and of the fast cell."""
        return self.by_cells(slow, fast) if self.by_cells else (self.slow, self.fast)


@dataclass(frozen=True)
class RivalKind:
    """A rival of a rule's cause. Where it is true, the finding is the rival's: its title and its remedies, or none.

    name: short.  cause: the sentence of the finding, were it this one.  claim: what it says; what leaves the
    processor's caches is no work of a library, so that nothing is reported where it is that.  experiment: what tells it
    apart, in words.  judge: what that showed.  varied: what has to be measured for it; None: nothing more.
    title: of the finding, where it is true; empty: its cause.  remedies: against it, of those that the table has.
    keeps: it is the rule's slow path all the same, and says no more than who spends the time: title and remedies are
    the rule's.
    """

    name: str
    cause: str
    claim: Claim
    experiment: str
    judge: Judge
    varied: Varied | None = None
    title: str = ""
    remedies: tuple[Remedy, ...] = ()
    keeps: bool = False

    @property
    def ends(self) -> bool:
        """Whether there is no slow path where it is true."""
        return self.claim.time == "cold cache"

    @property
    def title_of_finding(self) -> str:
        """In place of the rule's, where it is true; empty: the rule's holds."""
        return "" if self.keeps else self.title or self.cause.rstrip(".")
