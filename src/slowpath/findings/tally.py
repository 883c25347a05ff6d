# SPDX-License-Identifier: Apache-2.0
"""Slow paths and questions of a run, counted once: every headline, text, page and file has these numbers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from slowpath.core.place import PlaceFault
from slowpath.core.results import Finding, Line, VerdictState
from slowpath.core.units import ratio_words
from slowpath.findings.difference import CLEAR_RATIO
from slowpath.findings.questions import Question

Group = Literal["fault", "proven", "suspicion", "untried", "property", "apart"]
# What is counted first comes first.
WORDS: Mapping[Group, str] = {
    "fault": "fault",
    "proven": "proven opportunity",
    "suspicion": "suspicion",
    "untried": "untried opportunity",
    "property": "property",
}
LARGE_RATIO = 3.0  # what costs so much, with its whole interval, is named in the verdict before a trial was made
SLOW_PACE = 4.0  # times as long as planned: launches that say that something is slow; beside a compiler they take 2
MOST_ROUNDS = 200  # that it makes sense to ask for: beyond, the machine must get quieter


@dataclass(frozen=True)
class RunFacts:
    """What the headline needs to know of a run. place: host, library, date; None: not known.

    rounds: that were measured.  round_s: of one, seconds; None: not known.  failed: cells that gave nothing, though
    they were to be measured here.  skipped: cells that this machine, library or job can't have.  cells, measured: of
    the run, and those with a value.  nothing: why no cell has one; None: at least one has.  is_check: it asks whether
    the machine is healthy, and not a question of its own.  wrong_place: what is wrong with where its ranks ran.
    pace: seconds that a launch took for each that was planned, in most kinds of launches; None: too few are over.
    left_out: launches that time did not suffice for.
    """

    place: str | None = None
    rounds: int = 0
    round_s: float | None = None
    failed: int = 0
    skipped: int = 0
    cells: int = 0
    measured: int = 0
    nothing: str | None = None
    is_check: bool = False
    wrong_place: tuple[PlaceFault, ...] = ()
    pace: float | None = None
    left_out: int = 0

    @property
    def slow_launches(self) -> str | None:
        """That launches took much longer than planned, where that left questions open."""
        if self.pace is None or self.pace < SLOW_PACE or not self.left_out:
            return None
        return f"why launches take {self.pace:.1f} times as long as planned, so {self.left_out} were left out"


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
        return [finding for finding in self.findings if group_of(finding) != "apart"]

    @cached_property
    def apart(self) -> list[Finding]:
        """Those that settings alone have which nobody chose."""
        return self._of("apart")

    @cached_property
    def faults(self) -> list[Finding]:
        """Those of this machine or its configuration that are sure."""
        return self._of("fault")

    @cached_property
    def suspicions(self) -> list[Finding]:
        """What would be faults, were their cause or a remedy known, and costs above their range: a healthy machine may
        have such, too."""
        return self._of("suspicion")

    @cached_property
    def opportunities(self) -> list[Finding]:
        """Those that a trial here proved."""
        return self._of("proven")

    @cached_property
    def candidates(self) -> list[Finding]:
        """Opportunities that no trial has proven yet."""
        return self._of("untried")

    @cached_property
    def properties(self) -> list[Finding]:
        """What the library costs everywhere."""
        return self._of("property")

    def _of(self, group: Group) -> list[Finding]:
        return [finding for finding in self.findings if group_of(finding) == group]

    @property
    def slow_paths(self) -> int:
        """The one count of slow paths. What a check-up's own contrasts show beyond findings is not decided."""
        return len(self.faults) + len(self.opportunities) + (0 if self.run.is_check else len(self.unnamed))

    @cached_property
    def undecided(self) -> list[Question]:
        """Questions that are still open."""
        return [question for question in self.questions if question.state == "undecided"]

    @property
    def state(self) -> VerdictState:
        """What may be claimed of the run as a whole."""
        measured = [question for question in self.questions if question.state != "not measured"]
        if self.slow_paths or self.run.wrong_place or (self.own and not self.run.is_check):
            return "slow"
        if self.run.nothing is not None:
            return "not measured"
        if self.undecided and not self.run.is_check:
            return "undecided"
        if self.apart and not self.run.is_check:
            return "off default"
        if not self.questions:
            return "nothing asked"
        return "clear" if measured else "not measured"

    @property
    def headline(self) -> str:
        """Where there is no slow path to name."""
        asked = len(self.questions)
        if self.state == "not measured" and self.run.nothing is not None:
            return f"Nothing was measured: {self.run.nothing}."
        if self.state == "undecided":
            return f"Undecided: {len(self.undecided)} of {_questions(asked)}; {self._needed}."
        if self.state == "off default":
            return f"Keep your settings: only other settings have slow paths ({_codes(self.apart)})."
        if self.state == "nothing asked":
            return f"{self._share or 'Measured'}; this run asks no question about slow paths"
        if self.state == "not measured":
            return f"Undecided: none of {_questions(asked)} could be measured; see what was skipped."
        if self.run.is_check:
            found = f"No fault in {_questions(asked)}"
        else:
            answered = sum(question.state == "answered" for question in self.questions)
            found = f"No slow path in {_questions(answered)}" + (f" of {asked}" if answered < asked else "")
        return f"{found}; {self._share}" if self._share else found

    @property
    def answer(self) -> str:
        """Whether something is wrong, first of all that a user reads; a wrong place before all that it made slow."""
        return " ".join([*(fault.sentence for fault in self.run.wrong_place), self._of_measured])

    @property
    def _of_measured(self) -> str:
        place = f" on {self.run.place}" if self.run.place else ""
        more = len({finding.lead.name if finding.lead else finding.rule for finding in self.opportunities})
        faster = f"{more} change{_s(more)} {'makes' if more == 1 else 'make'} it faster, proven here" if more else ""
        if self.faults:
            what = f"Something is wrong{place}: {_counted(len(self.faults), 'fault')} ({_codes(self.faults)})"
            return f"{'; '.join(filter(None, (what, faster)))}."
        if self.state in ("not measured", "nothing asked"):
            return f"{self.run.place}: {self.headline.rstrip('.')}." if self.run.place else self.headline
        if self.run.is_check:
            asked = _questions(len(self.questions))
            left = sum(question.state in ("undecided", "not measured") for question in self.questions)
            if left and left == len(self.questions):
                none = f"Undecided{place}: none of {asked} could be decided"
                return f"{'; '.join(filter(None, (none, faster)))}."
            if left:
                return f"{'; '.join(filter(None, (f'No fault found{place}', faster)))}; {left} of {asked} not decided."
            if self.suspicions or self._slow_launches:
                return f"No fault found{place}; {faster or f'{asked} answered'}."
            return f"Nothing is wrong{place}: {faster or f'no fault in {asked}'}."
        return f"Measured{place}: {self._paths}."

    @property
    def _slow_launches(self) -> str | None:
        """Slow launches, where nothing is named that may have made them slow."""
        is_named = self.faults or self.opportunities or self.run.wrong_place
        return None if is_named else self.run.slow_launches

    @property
    def still_open(self) -> str | None:
        """What could not be decided; None: nothing was left open."""
        parts = [self._slow_launches] if self._slow_launches else []
        helps = f"whether {_counted(len(self.candidates), 'change')} would help ({_codes(self.candidates)})"
        large = next((one for one in self.candidates if _is_large(one)), None)
        if self.run.is_check and large is not None and large.ratio is not None:
            title = large.title[0].lower() + large.title[1:]
            times = ratio_words(large.ratio, large.interval)
            parts.append(f"{helps}, above all with this untried problem: {title}, {times}")
        if self.undecided:
            parts.append(f"{len(self.undecided)} of {_questions(len(self.questions))}; {self._needed}")
        if self.run.is_check and self.unnamed:
            first = self.unnamed[0].text.rstrip(".")
            parts.append(f"the cause of {_counted(len(self.unnamed), 'difference')}: {first}")
        if self.suspicions:
            are = "is a fault" if len(self.suspicions) == 1 else "are faults"
            parts.append(f"whether {_codes(self.suspicions)} {are}")
        if self.run.is_check and self.candidates and large is None:
            parts.append(helps)
        return f"Undecided: {'; '.join(parts)}." if parts else None

    @property
    def _needed(self) -> str:
        """`about 14 more rounds (2 min) would decide: --rounds 24`."""
        rounds = max(question.more_rounds or 1 for question in self.undecided)
        if rounds > MOST_ROUNDS:
            return f"more than {MOST_ROUNDS} rounds would be needed: this machine is too noisy"
        time = f" ({_duration(rounds * self.run.round_s)})" if self.run.round_s else ""
        again = f": --rounds {self.run.rounds + rounds}" if self.run.rounds else ""
        return f"about {rounds} more round{_s(rounds)}{time} would decide{again}"

    @property
    def count(self) -> str:
        """`1 fault (SP035), 2 properties; 2 of 8 questions undecided`: the second line of every report."""
        parts = [self._paths]
        if self.apart:
            parts.append(f"{len(self.apart)} only with settings that you don't use ({_codes(self.apart)})")
        parts += self._answers
        parts.append(self._share)
        if self.run.skipped:
            parts.append(f"{self.run.skipped} cell{_s(self.run.skipped)} skipped")
        if self.run.failed:
            parts.append(f"{self.run.failed} cell{_s(self.run.failed)} failed")
        return "; ".join(part for part in parts if part)

    @property
    def kinds(self) -> str:
        """`1 fault (SP035), 2 properties (SP005, SP008)`, in the words of all counts; empty: nothing was found."""
        groups = [(self._of(group), word) for group, word in WORDS.items()]
        parts = [f"{_counted(len(those), word)} ({_codes(those)})" for those, word in groups if those]
        if self.unnamed:
            parts.append(f"{_counted(len(self.unnamed), 'difference')} without a name")
        return ", ".join(parts)

    @property
    def _paths(self) -> str:
        if self.state == "not measured":
            return "nothing measured"
        nothing = "no slow path found" if self.questions or self.apart else "no question about slow paths"
        return self.kinds or nothing

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


def kinds_words(findings: Sequence[Finding]) -> str:
    """Findings of a diagnosis by their kinds, as headline and reports count them; those off the default last."""
    tally = Tally(findings, [], [], RunFacts(is_check=True))
    apart = f"{len(tally.apart)} only with settings that you don't use ({_codes(tally.apart)})" if tally.apart else ""
    return "; ".join(filter(None, (tally.kinds, apart)))


def group_of(finding: Finding) -> Group:
    """Return how a finding is counted and shown."""
    if finding.affects_default is False:
        return "apart"
    if finding.kind == "opportunity" and finding.program_s == 0:
        return "apart"  # the program that was asked about has no such calls; a fault of the machine concerns it anyway
    if finding.kind == "fault":
        return "fault" if _is_sure(finding) else "suspicion"
    if finding.kind == "opportunity":
        return "proven" if finding.status == "proven" else "untried"
    # Of what every machine has, only what a setting removes is gained: that who asks for less waits less is not.
    by_setting = finding.lead is not None and finding.lead.snippet.shell is not None
    if finding.status == "proven" and by_setting:
        return "proven"
    return "suspicion" if finding.above_range else "property"


def _is_sure(finding: Finding) -> bool:
    """Whether it has a cause, a proof, nothing to be compared with, or is clear with its whole interval."""
    if finding.status != "observed" or finding.ratio is None:
        return True
    return not finding.needs_cause and (finding.interval or (finding.ratio,))[0] >= CLEAR_RATIO


def _is_large(finding: Finding) -> bool:
    """Whether it costs much for sure, and nothing was done about it yet."""
    is_sure = finding.interval is not None and finding.interval[0] >= LARGE_RATIO
    return is_sure and all(remedy.verdict == "not tried" for remedy in finding.remedies)


def _codes(findings: Sequence[Finding]) -> str:
    """`2 SP005, SP008`."""
    counts = Counter(finding.rule for finding in findings)
    return ", ".join(f"{number} {code}" if number > 1 else code for code, number in counts.items())


def _questions(number: int) -> str:
    return _counted(number, "question")


def _counted(number: int, word: str) -> str:
    """`1 property`, `2 properties`."""
    if number == 1:
        return f"1 {word}"
    return f"{number} {word[:-1]}ies" if word.endswith("y") else f"{number} {word}s"


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"
