# SPDX-License-Identifier: Apache-2.0
"""What a slow path is: everything that is particular to it, in one declarative object. Pure.

Each slow path is one `SlowPath` in a module of its own in `slowpath.slowpaths`. General code loops over them and knows
no name of any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from slowpath.core.finding_results import FindingKind, Rival
from slowpath.findings.observation import Observe, Witness, no_witness
from slowpath.findings.price import CollectivesPrice, ProgramPrice
from slowpath.findings.remedy import ProgramRemedy, Remedy

Picture = Literal["periods", "launches"]
Refinement = Literal["switch", "launches", "settings", "state", "alternatives"]


@dataclass(frozen=True, kw_only=True)
class SwitchTimes:
    """What was measured on both sides of a switch between two lengths.

    above, up_to: the switch lies above one length and up to another, bytes.  before_s, after_s: seconds.
    ratio: of the slow side over the fast one, in words.  setting: of the user's that lies there, as X=1; None: none.
    """

    above: float
    up_to: float
    metric: str
    ratio: str
    before_s: float
    after_s: float
    setting: str | None = None


@dataclass(frozen=True, kw_only=True)
class SlowPath:
    """A slow path that has a name.

    Identity:
        code: fixed for ever.  name: short, for tables.  title: of its page and its findings.
        kind: fault: this machine or its configuration is slower than it has to be.  opportunity: another setting or
            call gives the same result faster.  property: how the library works everywhere.
        concerns: what a program must use for it to matter ("one-sided communication"); None: any program. It never
            speaks first to those who have not said that they use it.
        what, needs, remedy: its page: what it is, how it is found and proven, what to do.

    Facts:
        observe: from facts to observations, the only place that writes its sentence.
        cause: the sentence of an explained finding.  hypotheses: what else it may be, while it is not explained.
        witnesses: what supports the cause.  rivals: other causes that would look the same; a finding names them.
        needs_law: False where what differs is a name and not a number, so that nothing can be swept.
        needs_cause: True where a busy machine looks the same, so that it is a fault only once it is explained.
        stronger: codes of slow paths that say more about the same excess; this one is merged into them.
        spoils: `about` of its observations that leave nothing else to judge in their placement; None: it has none.
        splits_medians: each message is of one of two kinds, so that a median may be of either: what others say of a
            difference of medians up to the gap between the kinds is folded into it.

    Experiments:
        probes: groups of the survey's cells in which it can be seen; empty: any of them.
        factors: parameters of the survey's screening that it is about, for the step that varies one alone.
        refinements: what a diagnosis measures further: where a "switch" lies and which variable moves it, more
            "launches", which of the user's "settings" is responsible; that it is what the user's own "state" shows
            before any survey; which of the library's "alternatives" is faster.
        switch_text: the sentence of a switch whose place was measured further, without the full stop.
        forced_state: state of the library that it is about and that users can force by a variable; None: none.

    Remedies:
        remedies: for a cell and for the program's code, in the order in which they are tried.
        removes_cause: those of `remedies` with which the cause can't be there, and that the engine applies itself, so
            that a trial in which one changes nothing refutes the cause. A variable that the library may not read, and
            a way around the cost, refute nothing.
        program_remedies: for a program as it is, without compiling it again.

    In a program:
        prices: the messages that it is about, and the cell that prices them.
        prices_collectives: how the program's collectives are priced by equivalents; None: not by it.

    Shown and tested:
        picture: what its card draws instead of the law; None: the law.
    """

    code: str
    name: str
    title: str
    kind: FindingKind
    concerns: str | None = None
    what: str
    needs: str
    remedy: str
    observe: Observe
    cause: str
    witnesses: Witness = no_witness
    rivals: tuple[Rival, ...] = ()
    hypotheses: tuple[str, ...] = ()
    needs_law: bool = True
    needs_cause: bool = False
    stronger: tuple[str, ...] = ()
    spoils: str | None = None
    splits_medians: bool = False
    probes: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    refinements: tuple[Refinement, ...] = ()
    switch_text: Callable[[SwitchTimes], str] | None = None
    forced_state: str | None = None
    remedies: tuple[Remedy, ...] = ()
    removes_cause: tuple[Remedy, ...] = ()
    program_remedies: tuple[ProgramRemedy, ...] = ()
    prices: tuple[ProgramPrice, ...] = ()
    prices_collectives: CollectivesPrice | None = None
    picture: Picture | None = None


# Causes that would look the same as those of several slow paths.
COLD = Rival(
    name="cold cache",
    cause="The message's bytes have left the processor's caches and are fetched from memory; the library does no "
    "extra work.",
)
CAPACITY = Rival(name="processor caches", cause="The buffers together no longer fit into the processor's caches.")
WAITING = Rival(name="waiting", cause="A side waits, and its waiting takes the kernel's time.")
USER = Rival(
    name="work outside the kernel", cause="The time goes to work in user space or to sleep, not to the kernel."
)
SIDE = Rival(name="the other side", cause="The other side works while this side spins.")
UNTOUCHED = Rival(
    name="first touch", cause="The message causes page faults on pages that nobody has written before (SP012)."
)
NOT_BY_BYTES = Rival(name="bytes", cause="The cost depends on the bytes of the allocation, not on its pages.")
NOT_BY_PAGES = Rival(name="pages", cause="The cost depends on the pages of the mapping, not on its bytes.")
