# SPDX-License-Identifier: Apache-2.0
"""Rivals of causes that have to do with collectives. Pure."""

from __future__ import annotations

from slowpath.core.results import Claim
from slowpath.core.units import format_bytes, share_words
from slowpath.findings.evidence.collectives import Cliff
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.numbered import Closing, Opening
from slowpath.findings.evidence.words import number
from slowpath.findings.rivals.rival import Judged, RivalKind
from slowpath.findings.rule import Observation, Support

FAR_APART = 8.0  # how far bytes have to lie apart that did not matter
GONE = 0.5  # of an excess, at the lower end of its interval, that has to be gone
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
    """How long the calls in front took does not say when they began: pauses lie between them."""
    hit = [one for one in _opening(evidence, seen).moved if one.within and one.seen is not None]
    if not hit:
        return Judged("standing", "not made: a variable that counts calls, set to another number")
    numbers = ", ".join(f"{one.seen} with {'='.join(next(iter(one.variables.items())))}" for one in hit)
    return Judged("refuted", f"a variable that counts calls sets the call exactly, for all lengths: {numbers}")


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


def _by_kept_memory(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    one = next(one for one in evidence.facts(Cliff) if one.slow.cell == seen.slow_cells[0])
    gone = one.under.gone if one.under else None
    if gone is None:
        return Judged("standing", "not made: the same where malloc keeps what is freed")
    line = f"where malloc keeps what is freed, {share_words(gone[0], gone[1:])} of the excess is gone"
    return Judged("refuted" if gone[1] >= GONE else "standing", line, (line,))


def _by_forced_algorithm(evidence: Evidence, seen: Observation, support: Support) -> Judged:
    if support.state == "shown":
        return Judged(
            "refuted", "the type is the same where the algorithm is forced, and costs no more", support.evidence
        )
    return Judged("standing", "not made: the same type under an algorithm that is forced")


def _by_closed_path(evidence: Evidence, seen: Observation, support: Support) -> Judged:
    if support.state == "shown":
        return Judged(
            "refuted", "with the path kept closed the fast side takes on most of the excess", support.evidence
        )
    return Judged("standing", "not made, or open: both sides with the path kept closed")


def _by_switches(evidence: Evidence, seen: Observation, support: Support) -> Judged:
    if support.state == "shown":
        return Judged("refuted", "ranks that yield take microseconds on the same cores", support.evidence)
    return Judged("standing", "not seen: how often ranks were taken off their core")


SIZES = (
    RivalKind(
        "another algorithm",
        "The library changes its algorithm or its protocol at this length.",
        _claim("message"),
        "the same lengths where malloc keeps what is freed: an algorithm does not know of it",
        _by_kept_memory,
        hypotheses=("the library changes its algorithm or its protocol at this length",),
    ),
)
COUNTS = (
    RivalKind(
        "a dear type",
        "A derived type is dear to pack, whatever the algorithm.",
        _claim("message"),
        "the same type under an algorithm that is forced",
        _by_forced_algorithm,
        hypotheses=("the type itself is dear to handle",),
    ),
)
PATHS = (
    RivalKind(
        "cost of each call",
        "Each call takes locks, or prepares a schedule, whatever its path.",
        _claim("nothing"),
        "the fast side with its path kept closed by the library's variable",
        _by_closed_path,
        hypotheses=("each call takes locks, or prepares a schedule, whatever its path",),
    ),
)
CORES = (
    RivalKind(
        "slow cores",
        "The cores are slow, or others use them.",
        _claim("nothing"),
        "the same cores with waits that yield",
        _by_switches,
    ),
)
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
        "the library's variable, set to other numbers of calls",
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
