# SPDX-License-Identifier: Apache-2.0
"""What a rule is: a slow path by name, how it shows, and the functions that see it in results.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slowpath.findings.evidence.lawfound import LawFound

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

State = Literal["shown", "missing", "refuted"]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Leg:
    """One of the three legs of a finding. text: what is shown, or what is missing and what would supply it."""

    state: State
    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a slow path was seen; None: not known, as in imported logs. words: the same and more, for people."""

    words: str
    mpi: str | None = None
    environment: str | None = None
    placement: str | None = None


@dataclass(frozen=True)
class Observation:
    """A slow path that was seen, before anything is said about its cause.

    about: what tells it from other observations of the rule in the same place ("host", "window create").
    ratio, interval: slow over usual time.  excess_s: slow minus usual, per operation, seconds.  All are None where
    nothing usual was measured, as with ranks that share the only processor.
    usual: whether users who change nothing are on the slow side; None: neither side is theirs more than the other.
    evidence: lines of the leg "observed".  hypotheses: causes that the data don't tell apart, in place of the rule's.
    doubts: what speaks against reading more into it.  exports: variables that put users who set none on the fast side.
    unsets: variables that put users who set them on the slow side.
    """

    about: str
    place: Place
    text: str
    metric: str
    phase: str
    ratio: float | None
    interval: Interval | None
    excess_s: float | None
    usual: bool | None
    cells: tuple[int, ...]
    contrasts: tuple[str, ...] = ()
    law: LawFound | None = None
    evidence: tuple[str, ...] = ()
    hypotheses: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    exports: Mapping[str, str] = field(default_factory=dict)
    unsets: tuple[str, ...] = ()
    slow_cells: tuple[int, ...] = ()
    fast_cells: tuple[int, ...] = ()


Observe = Callable[["Evidence"], Sequence[Observation]]
Witness = Callable[["Evidence", Observation], Leg]


def no_witness(_: Evidence, __: Observation) -> Leg:
    """For a rule whose cause nothing that is recorded can confirm."""
    return Leg("missing", "no witness of this cause is recorded")


@dataclass(frozen=True)
class Rule:
    """A slow path that has a name.

    code: fixed for ever.  name: short, for tables.  title: of its page and its findings.  what, shows, why, needs,
    remedy, false_alarms, out_of_reach: sentences of its page.  sources: where to read on.  cause: the sentence of an
    explained finding.  hypotheses: what else it may be, said while it is not explained.
    needs_law: False where what differs is a name and not a number, so that nothing can be swept.
    stronger: codes of rules that say more about the same excess; this one is merged into them.
    The remedies stand in remedies.registry, each with the codes of its rules.
    """

    code: str
    name: str
    title: str
    what: str
    shows: str
    why: str
    needs: str
    remedy: str
    false_alarms: str
    sources: tuple[str, ...]
    observe: Observe
    cause: str
    witnesses: Witness = no_witness
    hypotheses: tuple[str, ...] = ()
    out_of_reach: str = ""
    needs_law: bool = True
    stronger: tuple[str, ...] = ()
