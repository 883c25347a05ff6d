# SPDX-License-Identifier: Apache-2.0
"""Slow paths and questions of a run, counted once: every headline, text, page and file has these numbers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from slowpath.core.results import Finding, Line, VerdictState
from slowpath.findings.questions import Question

MOST_ROUNDS = 200  # that it makes sense to ask for: beyond, the machine must get quieter


@dataclass(frozen=True)
class RunFacts:
    """What the headline needs to know of a run. place: host, library, date; None: not known.

    rounds: that were measured.  round_s: of one, seconds; None: not known.  failed: cells that gave nothing, though
    they were to be measured here.  cells, measured: of the run, and those with a value.  nothing: why no cell has one;
    None: at least one has.
    """

    place: str | None = None
    rounds: int = 0
    round_s: float | None = None
    failed: int = 0
    cells: int = 0
    measured: int = 0
    nothing: str | None = None


@dataclass(frozen=True)
class Tally:
    """findings: the one that costs most first.  unnamed: lines of clear losses that no finding of the user's names."""

    findings: Sequence[Finding]
    unnamed: Sequence[Line]
    questions: Sequence[Question]
    run: RunFacts = field(default_factory=RunFacts)

    @cached_property
    def own(self) -> list[Finding]:
        """Those of users who change nothing, and those where neither side is theirs."""
        return [finding for finding in self.findings if finding.affects_default is not False]

    @cached_property
    def apart(self) -> list[Finding]:
        """Those that settings alone have which nobody chose."""
        return [finding for finding in self.findings if finding.affects_default is False]

    @property
    def slow_paths(self) -> int:
        """The one count of slow paths."""
        return len(self.own) + len(self.unnamed)

    @cached_property
    def undecided(self) -> list[Question]:
        """Questions that are still open."""
        return [question for question in self.questions if question.state == "undecided"]

    @property
    def state(self) -> VerdictState:
        """What may be claimed of the run as a whole."""
        measured = [question for question in self.questions if question.state != "not measured"]
        if self.slow_paths:
            return "slow"
        if self.run.nothing is not None:
            return "not measured"
        if self.undecided:
            return "undecided"
        if self.apart:
            return "off default"
        if not self.questions:
            return "nothing asked"
        return "clear" if measured else "not measured"

    @property
    def headline(self) -> str:
        """Where no slow path is named."""
        asked = len(self.questions)
        if self.state == "not measured" and self.run.nothing is not None:
            return f"Nothing was measured: {self.run.nothing}."
        if self.state == "undecided":
            return f"Undecided: {len(self.undecided)} of {_questions(asked)}; {self._needed}."
        if self.state == "off default":
            return f"Keep your settings: only other settings have slow paths ({_codes(self.apart)})."
        if self.state == "nothing asked":
            return f"{self._share or 'Measured'}; this run has no question about slow paths"
        if self.state == "not measured":
            return f"Undecided: nothing of {_questions(asked)} could be measured; see what was skipped."
        answered = sum(question.state == "answered" for question in self.questions)
        found = f"No slow path in {_questions(answered)}" + (f" of {asked}" if answered < asked else "")
        return f"{found}; {self._share}" if self._share else found

    @property
    def _needed(self) -> str:
        """`about 14 more rounds (2 min) would decide: --rounds 24`."""
        rounds = max(one.more_rounds or 1 for one in self.undecided)
        if rounds > MOST_ROUNDS:
            return f"more than {MOST_ROUNDS} rounds would be needed: this machine is too noisy"
        time = f" ({_duration(rounds * self.run.round_s)})" if self.run.round_s else ""
        again = f": --rounds {self.run.rounds + rounds}" if self.run.rounds else ""
        return f"about {rounds} more round{_s(rounds)}{time} would decide{again}"

    @property
    def count(self) -> str:
        """`3 slow paths (2 SP005, SP008), 1 proven; 2 of 8 questions undecided`: the second line of every report."""
        parts = [self._paths]
        if self.apart:
            parts.append(f"{len(self.apart)} only with settings that you don't use ({_codes(self.apart)})")
        parts += self._answers
        parts.append(self._share)
        if self.run.failed:
            parts.append(f"{self.run.failed} cell{_s(self.run.failed)} failed")
        return "; ".join(part for part in parts if part)

    @property
    def _paths(self) -> str:
        total, without = self.slow_paths, len(self.unnamed)
        if self.state == "not measured":
            return "nothing measured"
        if not total:
            return "no slow path found" if self.questions or self.apart else "no question about slow paths"
        kinds = [_codes(self.own)] if self.own else []
        kinds += [f"{without} without a name"] if without else []
        proven = sum(one.status == "proven" for one in self.own)
        return f"{total} slow path{_s(total)} ({', '.join(kinds)})" + (f", {proven} proven" if proven else "")

    @property
    def _share(self) -> str:
        """`9 of 12 cells measured`; empty where all were, or the run is not known."""
        run = self.run
        return f"{run.measured} of {run.cells} cells measured" if run.measured < run.cells else ""

    @property
    def _answers(self) -> list[str]:
        asked = len(self.questions)
        if not asked:
            return []
        missing = sum(question.state == "not measured" for question in self.questions)
        if not self.undecided and not missing:
            return [f"{_questions(asked)} answered"]
        counts = [(len(self.undecided), "undecided"), (missing, "not measured")]
        parts = [f"{count} {state}" for count, state in counts if count]
        parts[0] = parts[0].replace(" ", f" of {_questions(asked)} ", 1)
        more = f" ({self._needed})" if self.undecided and self.state != "undecided" else ""
        return [f"{', '.join(parts)}{more}"]


def _codes(findings: Sequence[Finding]) -> str:
    """`2 SP005, SP008`."""
    counts = Counter(finding.rule for finding in findings)
    return ", ".join(f"{number} {code}" if number > 1 else code for code, number in counts.items())


def _questions(number: int) -> str:
    return f"{number} question{_s(number)}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"
