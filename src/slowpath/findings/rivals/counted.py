# SPDX-License-Identifier: Apache-2.0
"""Rivals of causes that rest on counted messages. Pure."""

from __future__ import annotations

from slowpath.core.results import Claim
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.rivals.rival import Judged, RivalKind
from slowpath.findings.rule import Observation, Support

_PLAIN = {"start": "blocking", "op": "sum", "shape": "elements", "in_place": "off", "duplicates": "0"}


def _by_late_ranks(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    counts = evidence.cells[seen.slow_cells[0]].messages
    if counts is None or not counts.settled:
        return Judged("standing", "half of the calls give a shorter or longer chain than all of them")
    if not counts.exact:
        return Judged("standing", "no known algorithm sends just these messages, so that chance is not excluded")
    return Judged(
        "refuted",
        f"in {counts.calls} calls each rank came late by turns, and the messages are those of {counts.algorithms[0]}",
    )


def _by_what_was_asked(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    parameters = evidence.cells[seen.slow_cells[0]].parameters
    odd = [f"{name}={parameters[name]}" for name, plain in _PLAIN.items() if parameters.get(name, plain) != plain]
    if odd:
        return Judged("standing", f"counted with {', '.join(odd)}; count the plain call as well")
    return Judged("refuted", "counted with the plain blocking call, a built-in op and elements of a basic type")


LINEAR = (
    RivalKind(
        "ranks that come late",
        "Ranks came late, so that messages followed each other that need not.",
        Claim(time="waiting", side=None, by="nothing"),
        "calls in which each rank comes late by turns, and the messages of known algorithms",
        _by_late_ranks,
    ),
    RivalKind(
        "an unusual call",
        "The library falls back to a simple algorithm for this op, type or kind of call alone.",
        Claim(time="path", side=None, by="ranks"),
        "the plain blocking call with a built-in op",
        _by_what_was_asked,
    ),
)
