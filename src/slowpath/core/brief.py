# SPDX-License-Identifier: Apache-2.0
"""The verdict that fits a screen: what every command says on a terminal unless it is asked for more. Pure.

Whether something is wrong, at most three things to do, what could not be decided, and where the report is.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

MOST_LINES = 12
MOST_ACTIONS = 3
LINES_EACH = 2  # of a sentence that does not fit one line; what is cut off stands in the report


@dataclass(frozen=True, kw_only=True)
class Brief:
    """Each is one sentence without a line's end.

    answer: is something wrong here, yes or no.  actions: what to do, with its gain and where it applies, the most
    valuable first.  undecided: what could not be decided, and what would; None: nothing.  notes: what the reader must
    know of how it was measured.  report: where all of it is.
    """

    answer: str
    actions: tuple[str, ...] = ()
    undecided: str | None = None
    notes: tuple[str, ...] = ()
    report: str | None = None

    def lines(self, width: int = 100) -> list[str]:
        """At most MOST_LINES lines; notes give way first, then actions beyond MOST_ACTIONS."""
        head = _cut(self.answer, width)
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
