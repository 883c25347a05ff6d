# SPDX-License-Identifier: Apache-2.0
"""Sentences about paths that open or close at a number, and the remedies that a run toggled. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowpath.findings.observation import Stayed, Support, Tried
from slowpath.findings.words import stayed_words, variable_words
from slowpath.slowpaths.collectives.numbered import MovedChange, Seen


def collectives(seen: Iterable[Seen]) -> str:
    """`allreduce, bcast`."""
    return ", ".join(dict.fromkeys(one.cell.parameters.get("collective", "") for one in seen))


def seen_words(one: Seen, what: str) -> str:
    """`allreduce, 8 B: call 5 in 5 of 5 launches, in all 5`."""
    low, high = one.span
    span = f"{low}" if low == high else f"{low} to {high}"
    return f"{one.cell.label}: {what} {one.number} in {one.agree} of {one.launches} launches, in all {span}"


def moved_words(one: MovedChange, what: str) -> str:
    """`under MPIR_CVAR_X=9: predicted call 9, seen 9`."""
    seen = "none" if one.seen is None else f"{one.seen}"
    beyond = ", which was not measured" if one.seen is None and one.within else ""
    return f"under {variable_words(one.variables)}: predicted {what} {one.predicted}{beyond}, seen {seen}"


def by_moves(moved: Sequence[MovedChange], what: str) -> Support:
    """A variable of the library that predicted another number, which then was seen."""
    lines = tuple(moved_words(change, what) for change in moved)
    if not moved:
        return Support("missing", "No variable of the library was varied; slowpath run coll varies those it knows.")
    if any(change.within is False for change in moved):
        return Support("refuted", "the library's variable did not move it as predicted", lines)
    if not any(change.seen is not None and change.within for change in moved):
        return Support("missing", "a variable was varied, but the predicted change did not appear", lines)
    return Support("shown", f"a variable of the library moves the {what} as predicted", lines)


def tried(moved: Sequence[MovedChange], stayed: Sequence[Stayed], what: str) -> tuple[Tried, ...]:
    """Moves that are remedies of the table, with what they must leave as it is."""
    found = []
    for change in moved:
        controls = [other for other in stayed if other.environment == change.environment]
        if change.tuning is None or change.gone is None:
            continue
        found.append(
            Tried(
                remedy=change.tuning,
                removed=change.gone,
                control="; ".join(stayed_words(other) for other in controls) or None,
                held=all(other.held for other in controls),
                launches=change.launches,
                evidence=(moved_words(change, what),),
            )
        )
    return tuple(found)
