# SPDX-License-Identifier: Apache-2.0
"""Rivals of causes that have to do with collectives. Pure."""

from __future__ import annotations

from slowpath.core.results import Claim
from slowpath.core.units import format_bytes, format_time
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.numbered import Closing, Opening
from slowpath.findings.evidence.words import number
from slowpath.findings.rivals.rival import Judged, RivalKind
from slowpath.findings.rule import Observation, Support

FAR_APART = 8.0  # how far bytes, or times, have to lie apart that did not matter
FRESH = 3  # communicators of one process that each show it


def _claim(by: str | None) -> Claim:
    return Claim(time=None, side=None, by=by)


def _opening(evidence: Evidence, seen: Observation) -> Opening:
    return next(one for one in evidence.facts(Opening) if one.slow.cell == seen.slow_cells[0])


def _by_bytes(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    lengths = [length for one in _opening(evidence, seen).seen if (length := number(one.cell, "message_bytes"))]
    if not lengths or max(lengths) < FAR_APART * min(lengths):
        return Judged("standing", "not made: calls of unlike lengths")
    low, high = (format_bytes(int(end)) for end in (min(lengths), max(lengths)))
    return Judged("refuted", f"the same call with messages of {low} and of {high}")


def _by_time(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    times = [one.before_s for one in _opening(evidence, seen).seen]
    if max(times) < FAR_APART * min(times):
        return Judged("standing", "not made: calls of unlike times, as long messages or ranks that come late")
    low, high = (format_time(end) for end in (min(times), max(times)))
    return Judged("refuted", f"the same call where those in front took {low} together, and where they took {high}")


def _by_process(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    fresh = len(_opening(evidence, seen).seen)
    if fresh < FRESH:
        return Judged("standing", f"not made: {FRESH} fresh communicators in one process or more")
    return Judged(
        "refuted", f"each of {fresh} fresh communicators of a process, in shuffled order, opens at its own call"
    )


def _by_number(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    one = next(one for one in evidence.facts(Closing) if one.slow.cell == seen.slow_cells[0])
    if not one.flat:
        return Judged("standing", "not made: a collective without such a path, on as many communicators")
    names = ", ".join(dict.fromkeys(cell.parameters.get("collective", "") for cell in one.flat))
    return Judged("refuted", f"{names} on as many live communicators shows no step")


OPENS = (
    RivalKind(
        "bytes",
        "The path opens after so many bytes.",
        _claim("message"),
        "calls of several lengths",
        _by_bytes,
    ),
    RivalKind(
        "time",
        "The path opens some time after the communicator was made, or the processor is warm only then.",
        _claim("uses"),
        "calls that take unlike times, and ranks that come late",
        _by_time,
    ),
    RivalKind(
        "warm-up of the process",
        "The first calls of a process are slow, on whatever communicator.",
        _claim("nothing"),
        "fresh communicators, one after the other in one process",
        _by_process,
    ),
)
CLOSES = (
    RivalKind(
        "many communicators",
        "Every call gets slower when there are many communicators: the library searches them.",
        _claim("buffers"),
        "a collective without such a path, on as many live communicators",
        _by_number,
    ),
)
