# SPDX-License-Identifier: Apache-2.0
"""results.json (docs/reference/results.md), and its brief."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import (
    ContrastResult,
    ContrastSide,
    FailedNode,
    Finding,
    FindingKind,
    LawCoefficient,
    LawPoint,
    LawResult,
    Leg,
    Legs,
    LimitBracket,
    NodePair,
    NodePairs,
    PanelRow,
    RemedyResult,
    RemovedRatio,
    Reproduce,
    SideEffect,
    Snippet,
    VerdictWord,
)
from slowpath.core.result import Count, Name, Result, Text, means, optional
from slowpath.core.run_results import (
    EnvironmentResult,
    LaunchCounts,
    LibraryVariable,
    MessagePath,
    MpiResult,
    PlacementResult,
    RankPlace,
    RunResult,
    SkippedRow,
    SkippedStatus,
    UcxProtocol,
)
from slowpath.core.study_results import CannonResults, PutResults

__all__ = [
    "RESULTS_SCHEMA",
    "ContrastResult",
    "ContrastSide",
    "EnvironmentResult",
    "FailedNode",
    "Finding",
    "FindingKind",
    "LaunchCounts",
    "LawCoefficient",
    "LawPoint",
    "LawResult",
    "Leg",
    "Legs",
    "Level",
    "LibraryVariable",
    "LimitBracket",
    "Line",
    "MessagePath",
    "MpiResult",
    "NodePair",
    "NodePairs",
    "PanelRow",
    "PlacementResult",
    "RankPlace",
    "RemedyResult",
    "RemovedRatio",
    "Reproduce",
    "Results",
    "RunResult",
    "SideEffect",
    "SkippedRow",
    "SkippedStatus",
    "Snippet",
    "UcxProtocol",
    "Verdict",
    "VerdictState",
    "VerdictWord",
]

RESULTS_SCHEMA: Final = 1

Level = Literal["slow", "info", "ok", "warning"]
VerdictState = Literal["slow", "off default", "undecided", "clear", "nothing asked", "not measured"]


class Line(Result, frozen=True, kw_only=True):
    """A line of the verdict."""

    level: Annotated[Level, means("slow: a slow path; warning: do not trust the run; ok, info: nothing to do")]
    text: Annotated[Text, means("one sentence")]
    contrast: Annotated[str | None, means("id of the contrast on which it rests")]


class Verdict(Result, frozen=True, kw_only=True):
    """The few sentences on top of a report."""

    headline: Annotated[Text, means("one sentence: what to do first, or what is not decided")]
    lines: Annotated[list[Line], means("one for each question of the campaign, the strongest effect first")]
    state: Annotated[VerdictState, means("what the headline says")]
    place: Annotated[Text | None, means("host, library and date; null: not recorded")] = None
    count: Annotated[Text | None, means("slow paths and questions, counted; null: there are none")] = None
    slow_paths: Annotated[
        Count,
        means("faults, proven opportunities and, of a campaign that asks for them, clear losses that no finding names"),
    ] = 0
    off_default: Annotated[Count, means("findings under settings alone that nobody chose")] = 0
    questions: Annotated[Count, means("that ask for slow paths: no controls, no prices")] = 0
    undecided: Annotated[Count, means("questions that are still open")] = 0
    answer: Annotated[Text, means("whether something is wrong here, in one sentence")]
    actions: Annotated[
        list[Text], means("what to do, the most valuable first: faults, then what a trial here has proven")
    ] = msgspec.field(default_factory=list)
    still_open: Annotated[Text | None, means("what could not be decided, and what would; null: nothing")] = optional()
    faults: Annotated[Count, means("findings of this machine or its configuration")] = 0
    opportunities: Annotated[Count, means("other settings or calls that a trial here proved faster")] = 0
    properties: Annotated[Count, means("findings that say how this library works everywhere")] = 0


class Results(Result, frozen=True, kw_only=True):
    """All that is concluded from a run folder."""

    schema: Annotated[Literal[1], means("version of this format")]
    run: Annotated[RunResult, means("who, when, where, with what")]
    verdict: Annotated[Verdict, means("the few sentences on top of a report")]
    cells: Annotated[list[CellResult], means("what was measured at each point")]
    contrasts: Annotated[list[ContrastResult], means("comparisons of two cells")]
    findings: Annotated[list[Finding], means("slow paths with a name, the one that costs most first")]
    panel: Annotated[list[PanelRow], means("each kind of call compared with healthy runs, deviations first")] = []  # noqa: RUF012
    no_reference: Annotated[dict[Name, Count], means("kind of call -> measured cells that no healthy run has")] = {}  # noqa: RUF012
    cannon: Annotated[CannonResults | None, means("null: no cells of experiment cannon")]
    put: Annotated[PutResults | None, means("null: no measured cells of experiment put")] = None
    node_pairs: Annotated[
        list[NodePairs], means("one for each group of cells that differ in their pair of nodes alone")
    ]
    skipped: Annotated[list[SkippedRow], means("what was not measured, and why")]
    notes: Annotated[list[str], means("what importers and the engine noted")]

    def cell(self, number: int) -> CellResult:
        """Return the cell with this number.  Raises: KeyError: there is none."""
        for cell in self.cells:
            if cell.cell == number:
                return cell
        raise KeyError(number)


# Why nothing was measured in a run, for whoever would conclude something from it.


def nothing_measured(results: Results) -> str | None:
    """Why no cell of the run has a value; None: at least one has.

    The words of what was skipped come first, since they name what happened, and not the cells.
    """
    if any(cell.is_measured for cell in results.cells):
        return None
    if not results.cells:
        return "there is no cell"
    reasons = Counter({row.reason: 0 for row in results.skipped})
    for row in results.skipped:
        reasons[row.reason] += max(1, row.launches)
    if reasons:
        return reasons.most_common(1)[0][0].rstrip(".;")
    if not results.run.launches.done:
        return "no launch ended well"
    return "the launches hold no samples"


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
        return cls(
            answer=verdict.answer,
            measured=tuple(measured),
            actions=tuple(verdict.actions),
            undecided=" ".join(left_open) or None,
            notes=tuple(notes),
            report=report,
        )

    def lines(self, width: int = 100) -> list[str]:
        """At most MOST_LINES lines, unless what is no action has more; notes give way first, then the last actions."""
        head = cut(self.answer, width) + (cut(self.account, width) if self.account else [])
        head += [line for sentence in self.measured for line in cut(sentence, width)]
        tail = cut(self.undecided, width) if self.undecided else []
        tail += [f"Report: {self.report}"] if self.report else []
        for number, action in enumerate(self.actions[:MOST_ACTIONS], 1):
            lines = cut(action, width, f"  {number}. ")
            if number > 1 and len(head) + len(lines) + len(tail) > MOST_LINES:
                break
            head += lines
        notes: list[str] = []
        for note in self.notes:
            wrapped = cut(note, width)
            if len(head) + len(notes) + len(wrapped) + len(tail) <= MOST_LINES:
                notes += wrapped
        return [*head, *notes, *tail]


def cut(sentence: str, width: int, first: str = "") -> list[str]:
    """A sentence in at most LINES_EACH lines, less whole clauses where it is longer; one clause is never cut.

    Args: first: what the first line begins with.
    """
    clauses, more = sentence.split("; "), ""
    while True:
        lines = textwrap.wrap(
            "; ".join(clauses) + more,
            max(width, 40),
            initial_indent=first,
            subsequent_indent=" " * len(first),
            break_long_words=False,
        )
        if len(lines) <= LINES_EACH or len(clauses) == 1:
            return lines
        clauses, more = clauses[:-1], "; more in the report."
