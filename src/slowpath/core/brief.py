# SPDX-License-Identifier: Apache-2.0
"""The verdict that fits a screen: what every command says on a terminal unless it is asked for more. Pure.

Whether something is wrong, at most three things to do, what could not be decided, and where the report is.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.results import Verdict

MOST_LINES = 12
MOST_ACTIONS = 3
LINES_EACH = 2  # of a sentence that does not fit one line; what is cut off stands in the report


@dataclass(frozen=True, kw_only=True)
class Brief:
    """Each is one sentence without a line's end.

    answer: is something wrong here, yes or no.  account: what that consists of; None: nothing to add.  measured: what a
    study asked, answered.  actions: what to do, with its gain and where it applies, the most valuable first.
    undecided: what could not be decided, and what would; None: nothing.  notes: what the reader must know of how it was
    measured.  report: where all of it is.
    """

    answer: str
    account: str | None = None
    measured: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    undecided: str | None = None
    notes: tuple[str, ...] = ()
    report: str | None = None

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        report: str | None,
        open_ways: Sequence[str] = (),
        notes: Sequence[str] = (),
        measured: Sequence[str] = (),
    ) -> Brief:
        """Return the brief of a run's or a diagnosis' verdict.

        Args: open_ways: sentences on what was left open beside questions.  notes, measured: see `Brief`.
        """
        left_open = [sentence for sentence in (verdict.still_open, *open_ways) if sentence]
        rows = "1 row" if verdict.properties == 1 else f"{verdict.properties} rows"
        profile = f"What this library costs here: {rows} in the report's profile, or --full."
        return cls(
            answer=verdict.answer,
            measured=tuple(measured),
            actions=tuple(verdict.actions),
            undecided=" ".join(left_open) or None,
            notes=(*notes, *([profile] if verdict.properties else ())),
            report=report,
        )

    def lines(self, width: int = 100) -> list[str]:
        """At most MOST_LINES lines; notes give way first, then actions beyond MOST_ACTIONS."""
        head = _cut(self.answer, width) + (_cut(self.account, width) if self.account else [])
        head += [line for sentence in self.measured for line in _cut(sentence, width)]
        for number, action in enumerate(self.actions[:MOST_ACTIONS], 1):
            head += _cut(action, width, f"  {number}. ")
        tail = _cut(self.undecided, width) if self.undecided else []
        tail += [f"Report: {self.report}"] if self.report else []
        notes: list[str] = []
        for note in self.notes:
            wrapped = _cut(note, width)
            if len(head) + len(notes) + len(wrapped) + len(tail) <= MOST_LINES:
                notes += wrapped
        return [*head, *notes, *tail]


def _cut(sentence: str, width: int, first: str = "") -> list[str]:
    return textwrap.wrap(
        sentence,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        max_lines=LINES_EACH,
        placeholder=" ...",
        break_long_words=False,
    )
