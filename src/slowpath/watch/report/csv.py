# SPDX-License-Identifier: Apache-2.0
"""The CSV files of a watch: unrounded, SI units, an empty field where a value is missing, no field a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from slowpath.core.result import Result
from slowpath.report.csv import Value, as_csv
from slowpath.watch.results import (
    CallCount,
    CallSite,
    MessageClass,
    Pair,
    RankTime,
    Wait,
    WatchResults,
)

PLACE = ("function", "file", "line", "object", "offset")


def _rows(struct: type[Result], found: Iterable[Result], more: Callable[[Result], Sequence[Value]] | None = None,
          names: Sequence[str] = ()) -> str:  # fmt: skip
    """A column for each field of the struct, and `names` for what `more` gives."""
    fields = struct.__struct_fields__
    rows = ([*(getattr(one, name) for name in fields), *(more(one) if more else ())] for one in found)
    return as_csv([*fields, *names], rows)


def _place(results: WatchResults) -> Callable[[Result], Sequence[Value]]:
    """The columns of the place that a row names; empty ones where it names none."""

    def found(one: Result) -> Sequence[Value]:
        number: int | None = one.site if isinstance(one, MessageClass | Wait) else None
        site: CallSite | None = None if number is None else results.sites[number]
        return [None if site is None else getattr(site, name) for name in PLACE]

    return found


def classes_csv(results: WatchResults) -> str:
    """One row for each class of messages, with its place."""
    return _rows(MessageClass, results.classes, _place(results), PLACE)


def waits_csv(results: WatchResults) -> str:
    """One row for each wait, with its place."""
    return _rows(Wait, results.waits, _place(results), PLACE)


def ranks_csv(results: WatchResults) -> str:
    """One row for each rank: where its time went."""
    return _rows(RankTime, results.ranks)


def pairs_csv(results: WatchResults) -> str:
    """One row for each pair of ranks that exchanged messages."""
    return _rows(Pair, results.pairs)


def calls_csv(results: WatchResults) -> str:
    """One row for each MPI call."""
    return _rows(CallCount, results.calls)


FILES: dict[str, Callable[[WatchResults], str]] = {
    "classes.csv": classes_csv,
    "ranks.csv": ranks_csv,
    "pairs.csv": pairs_csv,
    "calls.csv": calls_csv,
    "waits.csv": waits_csv,
}
