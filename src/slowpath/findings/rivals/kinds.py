# SPDX-License-Identifier: Apache-2.0
"""Rivals that several rules share. Pure."""

from __future__ import annotations

from typing import Literal

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Claim
from slowpath.findings.facts import Facts
from slowpath.findings.observation import Observation, Support
from slowpath.findings.rivals.judges import by_design, by_law, by_processor_time, by_side, by_variation, by_waiting
from slowpath.findings.rivals.rival import Applies, Judged, RivalKind, Varied
from slowpath.findings.witness import sides
from slowpath.findings.words import is_device, parameter

Time = Literal["kernel", "user", "waiting", "cold cache", "copy", "path"]


def claim(time: Time | None = None, by: str | None = None) -> Claim:
    """Of no particular side."""
    return Claim(time=time, side=None, by=by)


def _in_caches(cell: CellResult) -> bool:
    """Whether the engine can warm and flush its messages (parameter cache)."""
    return (
        parameter(cell, "pattern") == "one_way"
        and parameter(cell, "synchronise", "outside") == "outside"
        and "none" not in parameter(cell, "touch", "write")
        and not any(kind in parameter(cell, "memory", "host") for kind in ("device", "managed"))
    )


def _separate_calls(cell: CellResult) -> bool:
    plain = parameter(cell, "pattern") == "one_way" and parameter(cell, "synchronise", "outside") == "outside"
    return plain and parameter(cell, "posted", "together") == "together" and parameter(cell, "pack", "none") == "none"


def cached(word: str, applies: Applies = _in_caches) -> Varied:
    """The same with its bytes warm or cold."""
    return Varied({"cache": word}, {"cache": word}, applies=applies)


_WARM = cached("warm")
_COLD = cached("cold")
_LATE = {"posted": "after"}
_when_warm = by_variation(_WARM, "with the message's bytes in the caches")


def _cold(facts: Facts, seen: Observation, support: Support) -> Judged:
    if all(is_device(cell) for cell in sides(facts, seen)):
        return Judged("refuted", "GPU memory is not in the processor's caches")
    return _when_warm(facts, seen, support)


COLD = RivalKind(
    name="cold cache",
    cause="The message's bytes have left the processor's caches and are fetched from memory; the library does no "
    "extra work.",
    claim=claim("cold cache", "message"),
    experiment="the same with the message's bytes in the caches (cache=warm)",
    judge=_cold,
    varied=_WARM,
)
CAPACITY = RivalKind(
    name="processor caches",
    cause="The buffers together no longer fit into the processor's caches.",
    claim=claim("cold cache", "buffers"),
    experiment="the same with every message's bytes flushed from the caches (cache=cold)",
    judge=by_variation(_COLD, "with all bytes flushed from the caches"),
    varied=_COLD,
)
WAITING = RivalKind(
    name="waiting",
    cause="A side waits, and its waiting takes the kernel's time.",
    claim=claim("waiting"),
    experiment="time in waiting calls (sched_yield, poll, futex, sleep), counted and subtracted",
    judge=by_waiting,
)
USER = RivalKind(
    name="work outside the kernel",
    cause="The time goes to work in user space or to sleep, not to the kernel.",
    claim=claim("user"),
    experiment="system and user time of both sides, without waits",
    judge=by_processor_time,
    keeps=True,
)
SIDE = RivalKind(
    name="the other side",
    cause="The other side works while this side spins.",
    claim=claim(),
    experiment="processor time of both sides, without waits; where both are busy, the same with a late receiver "
    "(posted=after), which finds the sender's work done",
    judge=by_side(Varied(_LATE, _LATE, "receive_s", _separate_calls)),
    varied=Varied(_LATE, _LATE, "receive_s", _separate_calls),
)


def _touched(facts: Facts, seen: Observation) -> bool:
    return all("none" not in parameter(cell, "touch", "write") for cell in sides(facts, seen))


UNTOUCHED = RivalKind(
    name="first touch",
    cause="The message causes page faults on pages that nobody has written before (SP012).",
    claim=claim("kernel", "pages"),
    experiment="buffers with every page written before (touch=write)",
    judge=by_design(_touched, "every page was written before", "the pages were not written before"),
)
NOT_BY_BYTES = RivalKind(
    name="bytes",
    cause="The cost depends on the bytes of the allocation, not on its pages.",
    claim=claim(None, "allocation"),
    experiment="lengths with and without a remainder: law 'granules' or 'pages' against 'allocation'",
    judge=by_law(("granules", "pages"), "law '{law}' was chosen over 'allocation'"),
)
NOT_BY_PAGES = RivalKind(
    name="pages",
    cause="The cost depends on the pages of the mapping, not on its bytes.",
    claim=claim("kernel", "pages"),
    experiment="lengths with and without a remainder: law 'allocation' against 'granules' and 'pages'",
    judge=by_law(("allocation",), "law '{law}' was chosen over 'granules' and 'pages'"),
)
