# SPDX-License-Identifier: Apache-2.0
"""From contrasts and findings to the verdict of a run. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.machine import PlaceFault
from slowpath.core.results import (
    MOST_ACTIONS,
    ContrastResult,
    ContrastSide,
    Finding,
    Level,
    Line,
    Verdict,
    VerdictState,
)
from slowpath.core.units import format_bytes, format_ratio, format_time, of_ratio, plural, ratio_words
from slowpath.findings.facts import CLEAR_RATIO
from slowpath.findings.finding import by_cost
from slowpath.stats.contrast import WITHIN_NOISE

# The line of the verdict that compares two MPIs over many cells: how often each is faster, and where most.


def between_two(contrasts: Sequence[ContrastResult]) -> bool:
    """Whether all of them are between the same two MPIs."""
    return {contrast.axis for contrast in contrasts} == {"mpi"} and len(
        {(contrast.a.value, contrast.b.value) for contrast in contrasts}
    ) == 1


def libraries_line(contrasts: Sequence[ContrastResult]) -> Line:
    """Of one question, whose contrasts are between two MPIs.  It is no slow path: neither MPI is anybody's default."""
    slower = _most_first(contrasts, "slower")
    faster = _most_first(contrasts, "faster")
    total = len(contrasts)
    parts = [f"slower in {len(slower)} of {total}{_most(slower)}"] * bool(slower)
    parts += [f"faster in {len(faster)} of {total}{_most(faster)}"] * bool(faster)
    limit = f"{100 * contrasts[0].minimum_effect:g} %"
    for word, count in (
        (f"the same within {limit}", sum(contrast.verdict == "same" for contrast in contrasts)),
        ("undecided", sum(contrast.verdict == "undecided" for contrast in contrasts)),
        ("not measured", sum(contrast.verdict is None for contrast in contrasts)),
    ):
        parts += [f"{word} in {count} of {total}"] * (count > 0)
    top = next(iter(sorted([*slower, *faster], key=strength, reverse=True)), None)
    text = f"{contrasts[0].group}: {contrasts[0].b.value} is {'; '.join(parts)}."
    return Line(level="info", text=text, contrast=top.id if top else None)


def _most_first(contrasts: Sequence[ContrastResult], verdict: str) -> list[ContrastResult]:
    return sorted((contrast for contrast in contrasts if contrast.verdict == verdict), key=strength, reverse=True)


def strength(contrast: ContrastResult) -> float:
    """How far its ratio is from 1, on a logarithmic scale."""
    return abs(math.log(contrast.ratio)) if contrast.ratio else 0.0


def _most(decided: Sequence[ContrastResult]) -> str:
    """`, most at 8 B: 2.31x [2.20, 2.40] as long, 600 ns vs 260 ns`."""
    top = decided[0] if decided else None
    if top is None or top.ratio is None or top.a_value_s is None or top.b_value_s is None:
        return ""
    times = f"{format_time(top.b_value_s)} vs {format_time(top.a_value_s)}"
    where = f" at {top.where}" if top.where else ""
    return f", most{where}: {ratio_words(top.ratio, top.interval)} as long, {times}"


# What a run says to a question of its campaign: a loss, an answer, or nothing yet.
#
# A question is answered only where no clear loss can hide: most of its contrasts are decided, and what an undecided one
# leaves open is less than what is called a slow path.

QuestionState = Literal["loss", "answered", "undecided", "not measured"]


@dataclass(frozen=True)
class Question:
    """group: name of the contrasts.  more_rounds: that would decide it, about; None: it is not undecided.

    hidden_ratio: by how much a side of the user's may be slower in an undecided one; None: by any factor.
    """

    group: str
    state: QuestionState
    more_rounds: int | None = None
    hidden_ratio: float | None = None


def question(contrasts: Sequence[ContrastResult], loss: bool) -> Question:
    """What the contrasts of one group say.  Args: loss: a slow path was seen in them."""
    group = contrasts[0].group
    measured = [contrast for contrast in contrasts if contrast.verdict is not None and not contrast.explains]
    if loss:
        return Question(group, "loss")
    if not measured:
        return Question(group, "not measured")
    undecided = [contrast for contrast in measured if contrast.verdict == "undecided"]
    still_open = [contrast for contrast in undecided if (_possible_loss(contrast) or math.inf) >= CLEAR_RATIO]
    if not still_open and 2 * len(undecided) <= len(measured):
        return Question(group, "answered")
    hidden = [_possible_loss(contrast) for contrast in still_open or undecided]
    most = None if None in hidden else max(filter(None, hidden))
    return Question(group, "undecided", max(contrast.more_pairs or 1 for contrast in still_open or undecided), most)


def _possible_loss(contrast: ContrastResult) -> float | None:
    """Return by how much the user's side may be slower within its interval; None: there is no interval."""
    if contrast.interval is None or contrast.level is None:
        return None
    low, high = contrast.interval
    return {"a": 1 / low, "b": high}.get(contrast.default_side or "", max(high, 1 / low))


def grouped(contrasts: Iterable[ContrastResult]) -> list[list[ContrastResult]]:
    """By question, in the order of their first contrasts."""
    groups: dict[str, list[ContrastResult]] = {}
    for contrast in contrasts:
        groups.setdefault(contrast.group, []).append(contrast)
    return list(groups.values())


# Slow paths and questions of a run, counted once: every headline, text, page and file has these numbers.

Group = Literal["fault", "proven", "suspicion", "untried", "property", "apart"]
# What is counted first comes first.
WORDS: Mapping[Group, str] = {
    "fault": "fault",
    "proven": "proven opportunity",
    "suspicion": "possible fault",
    "untried": "untried opportunity",
    "property": "property",
}
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
        return f"why launches are {self.pace:.1f}x slower than planned"


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
            return f"Undecided: {self._hidden}; {self._needed}."
        if self.state == "off default":
            return f"Keep your settings: only other settings than yours are slow ({_codes(self.apart)})."
        if self.state == "nothing asked":
            return f"{self._share or 'Measured'}; not a campaign about slow paths"
        if self.state == "not measured":
            return f"Undecided: none of {plural(asked, 'question')} could be measured."
        if self.run.is_check:
            sentence = f"No fault in {plural(asked, 'question')}"
        else:
            answered = sum(question.state == "answered" for question in self.questions)
            sentence = f"No slow path in {plural(answered, 'question')}" + (f" of {asked}" if answered < asked else "")
        return f"{sentence}; {self._share}" if self._share else sentence

    @property
    def answer(self) -> str:
        """Whether something is wrong, first of all that a user reads; a wrong place before all that it made slow."""
        return " ".join([*(fault.sentence for fault in self.run.wrong_place), self._of_measured])

    @property
    def _of_measured(self) -> str:
        place = f" on {self.run.place}" if self.run.place else ""
        more = len({finding.lead.name if finding.lead else finding.rule for finding in self.opportunities})
        faster = f"{plural(more, 'change')} {'makes' if more == 1 else 'make'} it faster, proven here" if more else ""
        if self.faults:
            verdict = f"Something is wrong{place}: {plural(len(self.faults), 'fault')} ({_codes(self.faults)})"
            return f"{'; '.join(filter(None, (verdict, faster)))}."
        if self.state in ("not measured", "nothing asked"):
            return f"{self.run.place}: {self.headline.rstrip('.')}." if self.run.place else self.headline
        if self.run.is_check:
            asked, other = plural(len(self.questions), "question"), "other " * bool(self.run.wrong_place)
            none = f"No {other}fault found{place}"
            left = sum(question.state in ("undecided", "not measured") for question in self.questions)
            if left and left == len(self.questions):
                return f"{'; '.join(filter(None, (f'Undecided{place}: none of {asked} could be decided', faster)))}."
            if left:
                answered = f"{len(self.questions) - left} of {asked} answered"
                return f"{'; '.join(filter(None, (none, faster, answered)))}."
            if self.suspicions or self._slow_launches or self.run.wrong_place:
                return f"{none}; {faster or f'{asked} answered'}."
            return f"Nothing is wrong{place}: {faster or f'no fault in {asked}'}."
        return f"Measured{place}: {self._paths}."

    @property
    def _slow_launches(self) -> str | None:
        is_named = self.faults or self.opportunities or self.run.wrong_place
        return None if is_named else self.run.slow_launches

    @property
    def still_open(self) -> str | None:
        """What could not be decided; None: nothing was left open."""
        parts = [self._slow_launches] if self._slow_launches else []
        untried = f"{plural(len(self.candidates), 'untried change')} that may help ({_codes(self.candidates)})"
        if self.suspicions:
            first = self.suspicions[0].text.rstrip(".")
            parts.append(f"{plural(len(self.suspicions), 'possible fault')} ({_codes(self.suspicions)}): {first}")
        if self.undecided:
            parts.append(f"{self._hidden}; {self._needed}")
        if self.run.is_check and self.unnamed:
            first = self.unnamed[0].text.rstrip(".")
            parts.append(f"the cause of {plural(len(self.unnamed), 'difference')}: {first}")
        if self.run.is_check and self.candidates:
            parts.append(untried)
        return f"Undecided: {'; '.join(parts)}." if parts else None

    @property
    def _hidden(self) -> str:
        """`3 of 9 questions (page kind, binding, 1 more) may hide a slow path of up to 1.8x`."""
        names = [question.group for question in self.undecided]
        more = [f"{len(names) - 2} more"] if len(names) > 2 else []
        ratios = [question.hidden_ratio for question in self.undecided]
        most = "any size" if None in ratios else f"up to {format_ratio(max(filter(None, ratios)))}x"
        which = f"{len(names)} of {plural(len(self.questions), 'question')} ({', '.join([*names[:2], *more])})"
        return f"{which} may hide a slow path of {most}"

    @property
    def _needed(self) -> str:
        """`about 14 more rounds (2 min) would decide: --rounds 24`."""
        rounds = max(question.more_rounds or 1 for question in self.undecided)
        if rounds > MOST_ROUNDS:
            return f"this machine is too noisy to decide ({MOST_ROUNDS} rounds would not)"
        time = f" ({_duration(rounds * self.run.round_s)})" if self.run.round_s else ""
        again = f": --rounds {self.run.rounds + rounds}" if self.run.rounds else ""
        return f"about {plural(rounds, 'more round')}{time} would decide{again}"

    @property
    def count(self) -> str:
        """`1 fault (SP035), 2 properties; 2 of 8 questions undecided`: the second line of every report."""
        parts = [self._paths]
        if self.apart:
            parts.append(f"{len(self.apart)} only under other settings ({_codes(self.apart)})")
        parts += self._answers
        parts.append(self._share)
        if self.run.skipped:
            parts.append(f"{plural(self.run.skipped, 'cell')} skipped")
        if self.run.failed:
            parts.append(f"{plural(self.run.failed, 'cell')} failed")
        return "; ".join(part for part in parts if part)

    @property
    def kinds(self) -> str:
        """`1 fault (SP035), 2 properties (SP008, SP009)`, in the words of all counts; empty: nothing was found."""
        groups = [(self._of(group), word) for group, word in WORDS.items()]
        parts = [f"{plural(len(those), word)} ({_codes(those)})" for those, word in groups if those]
        if self.unnamed:
            parts.append(plural(len(self.unnamed), "unexplained difference"))
        return ", ".join(parts)

    @property
    def _paths(self) -> str:
        if self.state == "not measured":
            return "nothing measured"
        nothing = "no slow path found" if self.questions or self.apart else "no question about slow paths"
        return self.kinds or nothing

    @property
    def _share(self) -> str:
        run = self.run
        return f"{run.measured} of {run.cells} cells measured" if run.measured < run.cells else ""

    @property
    def _answers(self) -> list[str]:
        asked = len(self.questions)
        if not asked:
            return []
        missing = sum(question.state == "not measured" for question in self.questions)
        if not self.undecided and not missing:
            return [f"{plural(asked, 'question')} answered"]
        counts = [(len(self.undecided), "undecided"), (missing, "not measured")]
        parts = [f"{count} {state}" for count, state in counts if count]
        parts[0] = parts[0].replace(" ", f" of {plural(asked, 'question')} ", 1)
        more = f" ({self._needed})" if self.undecided and self.state != "undecided" else ""
        return [f"{', '.join(parts)}{more}"]


def kinds_words(findings: Sequence[Finding]) -> str:
    """Findings of a diagnosis by their kinds, as headline and reports count them; those off the default last."""
    tally = Tally(findings, [], [], RunFacts(is_check=True))
    apart = f"{len(tally.apart)} only under other settings ({_codes(tally.apart)})" if tally.apart else ""
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
    return "property"


def _is_sure(finding: Finding) -> bool:
    """Whether a fault is certain: explained, proven, without a ratio, or at least CLEAR_RATIO slower at the low end."""
    if finding.status != "observed" or finding.ratio is None:
        return True
    return not finding.needs_cause and (finding.interval or (finding.ratio,))[0] >= CLEAR_RATIO


def _codes(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.rule for finding in findings)
    return ", ".join(f"{number} {code}" if number > 1 < len(counts) else code for code, number in counts.items())


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


# The one judge of a run: headline, counts and lines of the verdict from contrasts and findings together, and which
# remedy each contrast shows. Pure.
#
# A *slow path* is a fault, an opportunity that a trial proved, or, in a campaign that asks a question of its own, a
# clear loss that no finding names: one definition and one count, for runs and diagnoses. One line for each question
# that the campaign asks: the contrast with the strongest effect speaks for its group. Nothing is claimed that is
# neither a decided contrast nor a finding.
#
# The headline states what to do first, and what it rests on: "Use" stands for a remedy that a trial proved, "Try" for
# any other. Its lengths are those of cells in which it was decided.

DECIDED = ("faster", "slower")
_RANK: Mapping[Level, int] = {"warning": 0, "slow": 1, "info": 2, "ok": 3}
_NAMED_AXES = ("environment", "placement", "copy", "mpi")


@dataclass(frozen=True)
class Offer:
    """Lines that move the user to side a, or to side b, of a contrast; None: there is none."""

    a: str | None = None
    b: str | None = None


@dataclass(frozen=True)
class Conclusion:
    """contrasts: each with the remedy that it shows."""

    verdict: Verdict
    contrasts: list[ContrastResult]


def conclude(
    contrasts: Sequence[ContrastResult],
    findings: Sequence[Finding],
    run: RunFacts | None = None,
    *,
    cells: Cells | None = None,
    offers: Mapping[str, Offer] | None = None,
    more: Sequence[Line] = (),
) -> Conclusion:
    """Verdict of a run.

    Args: run: what the headline needs to know of the run.  cells: by number, for the lengths that it names.
          offers: id of a contrast -> what would move the user to either side.
          more: lines that rest on no contrast of the campaign; they answer none of its questions.
    """
    by_id = {contrast.id: contrast for contrast in contrasts}
    rules = _rules(contrasts, findings)
    groups = grouped(contrasts)
    answers = [_answer(group, rules) for group in groups]
    strengths = {name: -strength(contrast) for name, contrast in by_id.items()}
    lines = sorted([*answers, *more], key=lambda line: (_RANK[line.level], strengths.get(line.contrast or "", 0.0)))
    mine = {name for name, those in rules.items() if any(finding.affects_default is not False for finding in those)}
    losses = [line for line in answers if line.level == "slow"]
    tally = Tally(
        findings=by_cost(findings),
        unnamed=[line for line in losses if line.contrast not in mine],
        questions=[
            question(group, line.level == "slow")
            for group, line in zip(groups, answers, strict=True)
            if not (group[0].control or all(contrast.explains for contrast in group) or between_two(group))
        ],
        run=run or RunFacts(),
    )
    offered = [_with_remedy(contrast, (offers or {}).get(contrast.id, Offer())) for contrast in contrasts]
    return Conclusion(_verdict(tally, lines, offered, cells or {}), offered)


def _verdict(tally: Tally, lines: list[Line], contrasts: Sequence[ContrastResult], cells: Cells) -> Verdict:
    actions = _actions(tally, contrasts, cells)
    return Verdict(
        headline=actions[0] if actions else tally.headline,
        lines=lines,
        state=tally.state,
        place=tally.run.place,
        count=tally.count,
        slow_paths=tally.slow_paths,
        off_default=len(tally.apart),
        questions=len(tally.questions),
        undecided=len(tally.undecided),
        answer=tally.answer,
        actions=actions[:MOST_ACTIONS],
        still_open=tally.still_open,
        faults=len(tally.faults),
        opportunities=len(tally.opportunities),
        properties=len(tally.properties),
    )


def _actions(tally: Tally, contrasts: Sequence[ContrastResult], cells: Cells) -> list[str]:
    """What to do, one sentence each, faults and proven remedies first; a check-up names only these."""
    said = []
    for first, *others in _lines_of(tally):
        helps = "helps" if _is_proven(first) else "may help"
        more = f" The same {helps} {len(others)} more." if others else ""
        said.append(f"{_action(first, contrasts, cells, tally.run.is_check)}{more}")
    said = [*(fault.action for fault in tally.run.wrong_place), *said]
    return said if tally.run.is_check else [*said, *(line.text for line in tally.unnamed)]


def _lines_of(tally: Tally) -> list[list[Finding]]:
    named = [*tally.faults, *tally.opportunities]
    if not tally.run.is_check:
        named += [finding for finding in tally.own if finding not in named]
    return _alike(sorted(named, key=lambda finding: _urgency(finding, tally.run.is_check)))


def _alike(named: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that one remedy removes, proven or not, together; all others alone. In the order of their first."""
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in named:
        key = finding.lead.name if finding.lead else finding.id
        groups.setdefault((key, _is_proven(finding)), []).append(finding)
    return list(groups.values())


def _is_proven(finding: Finding) -> bool:
    return finding.lead is not None and finding.lead.verdict == "proven"


def _urgency(finding: Finding, is_check: bool) -> tuple[bool, bool, bool]:
    """Low comes first. A campaign that asks a question of its own is answered by what is proven, fault or not."""
    return _is_conditional(finding, is_check), is_check and finding.kind != "fault", finding.status != "proven"


def _action(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells, is_check: bool) -> str:
    words = f"{advice(finding, contrasts, cells)}."
    if finding.program_s is not None:
        words += f" This saves your program at most {format_time(finding.program_s)} per rank."
    if not _is_conditional(finding, is_check):
        return words
    return f"If your programs use {finding.concerns}: {words[0].lower()}{words[1:]}"


def _is_conditional(finding: Finding, is_check: bool) -> bool:
    """Whether it matters to some programs alone, and nobody said what the user's does."""
    return bool(finding.concerns and is_check and not finding.program_s)


def _rules(contrasts: Sequence[ContrastResult], findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Id of a contrast -> the findings of this run that rest on it, or whose law runs through both of its cells."""
    own = [finding for finding in findings if finding.run is None]
    return {
        contrast.id: deciding
        for contrast in contrasts
        if (deciding := [rule for rule in own if _names(rule, contrast)])
    }


def _names(finding: Finding, contrast: ContrastResult) -> bool:
    if finding.contrasts:
        return contrast.id in finding.contrasts
    alike = (finding.metric, finding.phase) == (contrast.metric, contrast.b.phase)
    return alike and {contrast.a.cell, contrast.b.cell} <= set(finding.cells)


def _with_remedy(contrast: ContrastResult, offer: Offer) -> ContrastResult:
    if contrast.verdict not in DECIDED or not _is_clear(contrast):
        return contrast
    return replace(contrast, remedy=offer.a if contrast.verdict == "slower" else offer.b)


def _is_clear(contrast: ContrastResult) -> bool:
    """Whether the difference is called a slow path, and not a difference, where no rule names it."""
    ratio = contrast.ratio or 1.0
    return max(ratio, 1 / ratio) >= CLEAR_RATIO


def _loses(contrast: ContrastResult) -> int:
    """2: users who change nothing are on the slower side. 1: neither side is theirs. 0: they are on the faster side."""
    if contrast.default_side is None or contrast.ratio is None:
        return 1
    return 2 if contrast.default_side == ("b" if contrast.ratio > 1 else "a") else 0


def _answer(contrasts: Sequence[ContrastResult], rules: Mapping[str, Sequence[Finding]]) -> Line:
    """One line for one question: level, text, and the contrast that it rests on.

    A slow path is a decided, clear difference to the disadvantage of users who change nothing, or one that a finding
    rests on. That turning something off costs time is a note: the default is the faster way.
    """
    decided = sorted((c for c in contrasts if c.verdict in DECIDED), key=strength, reverse=True)
    decided.sort(key=_loses, reverse=True)
    if contrasts[0].control:
        return _control_line(contrasts, decided)
    if between_two(contrasts):
        return libraries_line(contrasts)
    if decided:
        return _decided_line(contrasts, decided, rules)
    return _undecided_line(contrasts)


def _decided_line(
    contrasts: Sequence[ContrastResult], decided: Sequence[ContrastResult], rules: Mapping[str, Sequence[Finding]]
) -> Line:
    top, total = decided[0], len(contrasts)
    named = [finding for contrast in decided for finding in rules.get(contrast.id, ())]
    affects = any(finding.affects_default is not False for finding in named)
    lost = _loses(top)
    level: Level = "slow" if lost and not top.explains and (_is_clear(top) or affects) else "info"
    where = f" ({top.where})" if top.where else ""
    default = "" if lost or top.explains else "; faster by default"
    also = f"; {len(decided)} of {total} contrasts decided" if total > 1 else ""
    mine = [finding for finding in named if level != "slow" or finding.affects_default is not False]
    codes = ", ".join(dict.fromkeys(finding.rule for finding in mine))
    text = f"{top.group}: {_times(top)}{where}{default}{also}{f'; named by {codes}' if codes else ''}."
    return Line(level=level, text=text, contrast=top.id)


def _undecided_line(contrasts: Sequence[ContrastResult]) -> Line:
    total, group, counts = len(contrasts), contrasts[0].group, _counts(contrasts)
    same, missing = counts["same"], counts["not measured"]
    if 0 < same == total - missing:
        noisy = any((c.reason or "").startswith(WITHIN_NOISE) for c in contrasts)
        least = (
            "beyond the noise of the log's own repetitions"
            if noisy
            else f"above {100 * contrasts[0].minimum_effect:g} %"
        )
        rest = f"; {missing} more could not be measured" if missing else ""
        text = f"{group}: no difference {least} in {same} of {same} contrasts{rest}."
        return Line(level="ok", text=text, contrast=None)
    return Line(level="info", text=f"{group}: {_words(counts)} (of {total} contrasts).", contrast=None)


def _counts(contrasts: Sequence[ContrastResult]) -> Counter[str]:
    by_verdict = Counter(contrast.verdict or "not measured" for contrast in contrasts)
    return Counter({word: by_verdict[word] for word in ("same", "undecided", "not measured")})


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def _control_line(contrasts: Sequence[ContrastResult], decided: Sequence[ContrastResult]) -> Line:
    """A control compares a cell with itself: any decision in it is a false alarm of this machine."""
    total, group, counts = len(contrasts), contrasts[0].group, _counts(contrasts)
    if decided:
        text = (
            f"{group}: {len(decided)} of {total} comparisons of a cell with itself differ; repeat on a quiet machine."
        )
        return Line(level="warning", text=text, contrast=decided[0].id)
    if not (measured := total - counts["not measured"]):
        return Line(level="info", text=f"{group}: not measured.", contrast=None)
    text = f"{group}: no false alarm in {plural(measured, 'comparison')} of a cell with itself ({_words(counts)})."
    return Line(level="ok", text=text, contrast=None)


def _times(contrast: ContrastResult) -> str:
    """`A is 2.31x [2.20, 2.41] slower than B: 1.02 ms vs 0.44 ms`, always with the slower side named first."""
    slow, fast, ratio, interval = contrast.b, contrast.a, contrast.ratio, contrast.interval
    slow_s, fast_s = contrast.b_value_s, contrast.a_value_s
    if ratio is None or slow_s is None or fast_s is None:
        raise ValueError(f"{contrast.id} was not measured, so there is nothing to report")
    if ratio < 1:
        slow, fast, slow_s, fast_s, ratio = fast, slow, fast_s, slow_s, 1 / ratio
        interval = (1 / interval[1], 1 / interval[0]) if interval else None
    slow_s, fast_s = of_ratio(slow_s, fast_s, ratio)
    return (
        f"{_side(contrast, slow)} is {ratio_words(ratio, interval)} slower than {_side(contrast, fast)}: "
        f"{format_time(slow_s)} vs {format_time(fast_s)}"
    )


def _side(contrast: ContrastResult, side: ContrastSide) -> str:
    axis, value = contrast.axis, side.value
    if axis == "phase":
        return "the first message of a fresh allocation" if side.phase == "first" else "a later one"
    if axis == "way":
        return "the library's own" if value == "library" else value
    return f'"{value}"' if axis in _NAMED_AXES else f"{axis.removesuffix('_bytes').replace('_', ' ')} {value}"


_THINGS = {"time_per_put_s": "puts", "receive_s": "receives"}
_THINGS |= {"window_use_s": "windows", "shared_window_use_s": "windows"}
# Which collective, in what way and on how many ranks: the finding's own sentence says it.
_SAY_ALL = ("collective_work_s", "collective_span_s", "collective_own_s")
_DECIDED = ("faster", "slower")
Cells = Mapping[int, CellResult]


def advice(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells) -> str:
    """`Try huge pages for messages >= 1 MiB: 3.24x [3.10, 3.40] on 16 MiB messages`; the slow path where nothing helps.

    Args: cells: of the run whose contrasts these are; a finding of another run is named without lengths.
    """
    if finding.run is not None:
        contrasts, cells = (), {}
    remedy = finding.lead
    if finding.ratio is None or finding.metric in _SAY_ALL:
        said = finding.text.rstrip(".")
        proven = remedy is not None and remedy.verdict == "proven"
        return f"Use {remedy.phrase or remedy.name}: {said[0].lower()}{said[1:]}" if remedy and proven else said
    if remedy is None:
        return finding.text.rstrip(".")  # it says under which condition, which a title does not
    gain = f"{ratio_words(finding.ratio, finding.interval)}{_on(finding, cells)}"
    if remedy.verdict != "proven" and not (finding.contrasts or finding.phase == "first"):
        # Nothing was compared that the remedy is about, so the ratio is no gain of it.
        return f"{finding.title}: {gain}; try {remedy.phrase or remedy.name}"
    proven = remedy.verdict == "proven"
    share = f"; removes {remedy.removed_ratio.value:.0%}" if proven and remedy.removed_ratio else ""
    word = "Use" if proven else "Try"
    return f"{word} {remedy.phrase or remedy.name}{_scope(finding, contrasts, cells)}: {gain}{share}"


def _on(finding: Finding, cells: Cells) -> str:
    """` on 16 MiB messages`: what the ratio was measured on; empty where it has no length."""
    length = _length(finding.slow_cells[0], cells) if finding.slow_cells else None
    if length is None:
        return ""
    if finding.phase == "first" and finding.metric not in _THINGS:
        return f" on the first {format_bytes(length)} message"
    return f" on {format_bytes(length)} {_things(finding)}"


def _scope(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells) -> str:
    """` for messages >= 1 MiB`: from here on every contrast was decided so; empty where fewer than two lengths were."""
    own = set(finding.contrasts)
    mine = [contrast for contrast in contrasts if contrast.id in own and contrast.metric == finding.metric]
    kinds = {_kind(contrast) for contrast in mine}
    lengths: dict[int, bool] = {}
    for contrast in contrasts:
        length = _length(contrast.b.cell, cells)
        if _kind(contrast) in kinds and contrast.verdict is not None and length is not None:
            lengths[length] = lengths.get(length, True) and contrast.id in own and contrast.verdict in _DECIDED
    decided: list[int] = []
    for length in sorted(lengths, reverse=True):
        if not lengths[length]:
            break
        decided.append(length)
    return f" for {_things(finding)} >= {format_bytes(decided[-1])}" if len(decided) > 1 else ""


def _kind(contrast: ContrastResult) -> tuple[str, str, str, str, str]:
    return contrast.group, contrast.a.value, contrast.b.value, contrast.metric, contrast.a.phase


def _things(finding: Finding) -> str:
    return _THINGS.get(finding.metric, "messages")


def _length(cell: int, cells: Cells) -> int | None:
    parameters = cells[cell].parameters if cell in cells else {}
    name = "window_bytes" if "window" in parameters.get("pattern", "") else "message_bytes"
    text = parameters.get(name, "")
    return int(text) if text.isdecimal() else None
