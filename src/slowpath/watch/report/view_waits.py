# SPDX-License-Identifier: Apache-2.0
"""What the ranks waited for, in words."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.report import format as fmt
from slowpath.watch.report import words
from slowpath.watch.results import Wait, WatchResults

MOST_WAITS = 20


@dataclass(frozen=True, slots=True)
class WaitView:
    """One wait. text: its own sentence.  words: how much of the run, for whom and where."""

    kind: str
    text: str
    words: str


def waits(results: WatchResults) -> list[WaitView]:
    """The longest first."""
    return [WaitView(one.kind, one.text, _words(one, results)) for one in results.waits[:MOST_WAITS]]


def _words(one: Wait, results: WatchResults) -> str:
    parts = [f"{fmt.time(one.seconds)} a rank, {fmt.percent(one.share)} of the run"]
    if one.culprit is not None:
        parts.append(f"{fmt.percent(one.culprit_share, 0)} of it for rank {one.culprit}")
    if one.site is not None:
        parts.append(f"most of it in {words.place(results.sites[one.site])}")
    return "; ".join(parts)
