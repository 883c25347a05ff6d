# SPDX-License-Identifier: Apache-2.0
"""What a slow path observes in results.json, and what supports its cause. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from slowpath.core.finding_results import SettingsWords
from slowpath.core.result import Interval
from slowpath.findings.difference import Difference, Place
from slowpath.findings.facts import Facts
from slowpath.stats.laws.law import FittedLaw


@dataclass(frozen=True)
class Support:
    """Whether what was witnessed supports the rule's cause. text: what agrees, or what is missing.

    time, side: where the excess was seen to go; None: that was not seen.  is_processor_time: it rests on processor time
    alone, which a side that waits spends as well.
    """

    state: Literal["shown", "missing", "refuted"]
    text: str
    evidence: tuple[str, ...] = ()
    time: Literal["kernel", "user", "waiting"] | None = None
    side: Literal["sender", "receiver"] | None = None
    is_processor_time: bool = False


@dataclass(frozen=True)
class Stayed:
    """Numbers, or cells, that a change must leave as they are. environment: of the change.  ratio: with it, over
    without.  held: whether they stayed.
    """

    environment: str
    words: str
    ratio: float
    interval: tuple[float, float]
    held: bool


@dataclass(frozen=True)
class Tried:
    """A remedy whose effect the run itself measured, in an environment of its own and in the same rounds.

    remedy: its name in the table.  removed: share of the excess that is gone with it, and its interval.  control: what
    it must leave as it is, in words, and how that came out; None: nothing such was measured.  held: whether it stayed.
    launches: of each side.  is_counted: the excess is a count, the same in every call of every launch.  open: why it
    proves nothing, whatever it removes; None: it may.
    """

    remedy: str
    removed: tuple[float, float, float]
    control: str | None
    held: bool
    launches: int
    evidence: tuple[str, ...] = ()
    is_counted: bool = False
    open: str | None = None


@dataclass(frozen=True)
class Observation:
    """A slow path that was seen, before anything is concluded about its cause.

    about: what sets it apart from other observations of the rule in the same place ("host", "window create").
    ratio, interval: slow over usual time.  excess_s: slow minus usual, per operation, seconds.  All are None where
    nothing usual was measured, as with ranks that share the only processor.
    affects_default: whether users who change nothing are on the slow side; None: neither side is theirs.
    axis: what the two sides differ in, as a contrast has it; None: the observation rests on no contrast.
    evidence: lines of the leg "observed".  hypotheses: causes that the data don't tell apart, in place of the rule's.
    cause: the sentence of the finding once it is explained, in place of the rule's.
    doubts: what speaks against reading more into it.  exports: variables that put users who set none on the fast side.
    unsets: variables that put users who set them on the slow side.  tried: remedies that the run measured itself.
    is_screened: it was shown with other things varied at once alone, any of which may be the cause together with it.
    settings_words: those of title and text that stand for the user's settings; None: it is not about them.
    is_sure_fault: it is so large that neither a healthy library nor a busy machine shows it: a fault whatever its slow
    path is, and before its cause is known.
    """

    about: str
    place: Place
    text: str
    metric: str
    phase: str
    ratio: float | None
    interval: Interval | None
    excess_s: float | None
    affects_default: bool | None
    cells: tuple[int, ...]
    contrasts: tuple[str, ...] = ()
    axis: str | None = None
    law: FittedLaw | None = None
    evidence: tuple[str, ...] = ()
    hypotheses: tuple[str, ...] = ()
    cause: str | None = None
    doubts: tuple[str, ...] = ()
    exports: Mapping[str, str] = field(default_factory=dict)
    unsets: tuple[str, ...] = ()
    slow_cells: tuple[int, ...] = ()
    fast_cells: tuple[int, ...] = ()
    tried: tuple[Tried, ...] = ()
    settings_words: SettingsWords | None = None
    is_screened: bool = False
    is_sure_fault: bool = False


def observed(one: Difference, **more: Any) -> Observation:
    """The observation of one difference; `more`: what of it the difference does not have."""
    return Observation(
        **{
            "metric": one.metric,
            "phase": "steady",
            "ratio": one.ratio.value,
            "interval": one.ratio.interval,
            "excess_s": one.excess_s,
            "slow_cells": (one.slow.cell,),
            "fast_cells": (one.fast.cell,),
            **more,
        }
    )


Observe = Callable[[Facts], Sequence[Observation]]
Witness = Callable[[Facts, Observation], Support]


def no_witness(_: Facts, __: Observation) -> Support:
    """Return no support: nothing that is recorded can confirm this cause."""
    return Support("missing", "no witness of this cause is recorded")


def nothing(_: Facts) -> Sequence[Observation]:
    """Return no observation: it is not seen in cells."""
    return ()
