# SPDX-License-Identifier: Apache-2.0
"""Findings as cards: what to do, one picture, three marks, the lines to copy, and the rest. Nothing is judged here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from msgspec.structs import replace

from slowpath.core.results import Finding, Leg, RemedyResult, Results, SideEffect
from slowpath.core.units import share_words
from slowpath.report import format as fmt
from slowpath.report import view_witness
from slowpath.report.cards.forecasts import forecast_lines
from slowpath.report.cards.law import law_picture
from slowpath.report.cards.shapes import shape_pictures
from slowpath.report.cards.sides import axis_title, sides_picture, witness_picture
from slowpath.report.rival_lines import rival_lines
from slowpath.report.svg import sides as drawn
from slowpath.report.svg.sides import Side

STATUSES = ("observed", "explained", "proven")
_STATE = {"shown": "yes", "missing": "not yet", "refuted": "refuted"}
_LAW_CAPTION = "Points are centres over launches with their intervals; the line is {}."
_FORECAST_CAPTION = " Hollow: predicted, with its interval; filled: seen."
_SIDES_CAPTION = "A dot is the median of a launch; the line is the centre of all, the band its interval."
_COPIED = ("shell", "code", "modulefile")


@dataclass(frozen=True, slots=True)
class LegView:
    """One leg. state: also the name of its mark.  word: the state as a card has it."""

    name: str
    state: str
    word: str
    text: str
    evidence: list[str]

    @property
    def lines(self) -> list[str]:
        """What it rests on; of an observed one its evidence alone, which states the difference."""
        return self.evidence if self.name == "observed" and self.evidence else [self.text, *self.evidence]


@dataclass(frozen=True, slots=True)
class RemedyView:
    """One remedy, and what to copy for it. removed: how much of the excess it took away, in words."""

    name: str
    verdict: str
    text: str
    removed: str | None
    lines: list[tuple[str, str]]
    side_effects: list[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of a card, and what it shows in a few words."""

    name: str
    drawing: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A remedy that was tried: the slow cell as it is, the same with the remedy, and the fast side."""

    remedy: str
    verdict: str
    metric: str
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a finding's pictures are drawn from. results: of the run in which it was observed; None: not at hand."""

    results: Results | None
    trials: Sequence[Trial] = ()


@dataclass(frozen=True, slots=True)
class FindingView:
    """One card. do: what to do, one line.  factor, interval: slow over usual.  copied: lines of the first remedy.

    picture: the one that is shown; pictures: the others, behind the fold.  contrasts: anchors of those that it rests
    on.  counted: what was counted next to its times.
    """

    id: str
    rule: str
    title: str
    status: str
    usual: bool
    do: str
    factor: str | None
    interval: str | None
    text: str
    where: str
    legs: list[LegView]
    picture: Picture | None
    pictures: list[Picture]
    copied: tuple[str, str] | None
    law: str | None
    forecasts: list[str]
    limits: list[str]
    cause: str | None
    hypotheses: list[str]
    rivals: list[str]
    remedies: list[RemedyView]
    missing: list[str]
    next: list[str]
    contrasts: list[str]
    doubts: list[str]
    counted: list[view_witness.Counted]


def findings(results: Results) -> list[FindingView]:
    """All findings, in the order of the results: those on the side of users who change nothing stand first there."""
    return cards(results.findings, lambda _: Measured(results))


def cards(found: Sequence[Finding], measured: Callable[[Finding], Measured],
          limits: Callable[[Finding], list[str]] = lambda _: []) -> list[FindingView]:  # fmt: skip
    """A card for each finding.  Args: limits: of its law, in words, where a diagnosis narrowed them."""
    return [_card(one, measured(one), limits(one)) for one in found]


def _card(one: Finding, measured: Measured, limits: list[str]) -> FindingView:
    law, results = one.law, measured.results
    pictures = _pictures(one, measured)
    remedies = [remedy_view(remedy) for remedy in one.remedies]
    helps = one.lead
    first = remedies[one.remedies.index(helps)] if helps else None
    return FindingView(
        id=one.id.replace(":", "-"),
        rule=one.rule,
        title=one.title,
        status=one.status,
        usual=one.affects_default is not False,
        do=_do(helps) if helps else f"{one.title}; no remedy is {'proven' if one.remedies else 'known'}",
        factor=fmt.ratio(one.ratio, one.interval) if one.ratio is not None else None,
        interval=fmt.ratio_interval(one.ratio, one.interval),
        text=one.text,
        where=one.where,
        legs=[_leg(name, leg) for name, leg in one.legs.named()],
        picture=pictures[0] if pictures else None,
        pictures=pictures[1:],
        copied=first.lines[0] if first and first.lines else None,
        law=law.text if law and law.name else None,
        forecasts=forecast_lines(law),
        limits=limits,
        cause=one.cause,
        hypotheses=one.hypotheses,
        rivals=rival_lines(one.rivals),
        remedies=remedies,
        missing=one.missing,
        next=one.next,
        contrasts=one.contrasts,
        doubts=one.doubts,
        counted=_counted(one, results) if results else [],
    )


def _do(remedy: RemedyResult) -> str:
    """`Use huge pages`; `Try` before a trial proved it, as the headline has it."""
    if remedy.phrase is None:
        return remedy.text
    return f"{'Use' if remedy.verdict == 'proven' else 'Try'} {remedy.phrase}"


def _counted(one: Finding, results: Results) -> list[view_witness.Counted]:
    """Calls of both sides; nothing where no side has any: page faults are in the table of counters."""
    found = view_witness.of_finding(one, {cell.cell: cell for cell in results.cells})
    return found if any(cell.calls for cell in found) else []


def _pictures(one: Finding, measured: Measured) -> list[Picture]:
    """Of what a finding has, what says most first: a proof, a law, what was counted, the two sides."""
    results = measured.results
    helped = [trial for trial in measured.trials if trial.verdict in ("proven", "partial")]
    made = [_trial(one, trial) for trial in helped]
    if results is not None:
        made += shape_pictures(one, results)
    law = law_picture(one)
    shaded = " Shaded: where it changes." if law and 'class="limit' in law else ""
    predicted = _FORECAST_CAPTION if law and 'class="predicted' in law else ""
    line = "the law" if one.law and one.law.predicted == "held" else "a fit that has not predicted new points"
    made.append(("law", law, _LAW_CAPTION.format(line) + predicted + shaded))
    if results is not None:
        if one.legs.explained.state == "shown":
            made.append(("witness", witness_picture(one, results), "How much of an operation's time the kernel takes."))
        made.append(("sides", sides_picture(one, results), _SIDES_CAPTION))
    made += [_trial(one, trial) for trial in measured.trials if trial not in helped]
    return [Picture(name, picture, caption) for name, picture, caption in made if picture is not None]


def _trial(one: Finding, trial: Trial) -> tuple[str, Markup | None, str]:
    picture = drawn.chart(trial.sides, axis_title(trial.metric), f"Trial of {trial.remedy}, {one.rule}")
    return "trial", picture, f"Trial of {trial.remedy}: {trial.verdict}. {_SIDES_CAPTION}"


def with_proven(one: Finding, text: str) -> Finding:
    """The finding with other words for its third mark."""
    return replace(one, legs=replace(one.legs, proven=replace(one.legs.proven, text=text)))


def _leg(name: str, leg: Leg) -> LegView:
    return LegView(name, leg.state, _STATE[leg.state], leg.text, leg.evidence)


def remedy_view(remedy: RemedyResult) -> RemedyView:
    """A remedy with its lines to copy and what a trial showed; of one without an effect there is nothing to copy."""
    useful = remedy.verdict != "no effect"
    copied = ((kind, getattr(remedy.snippet, kind)) for kind in _COPIED if useful)
    removed = remedy.removed_ratio
    words = None
    if removed:
        words = f"{share_words(removed.value, removed.interval)} of the excess"
    return RemedyView(
        remedy.name,
        remedy.verdict,
        remedy.text,
        words,
        [(kind, text) for kind, text in copied if text],
        [one if isinstance(one, str) else side_effect(one) for one in remedy.side_effects if useful],
        remedy.reason,
    )


def side_effect(one: SideEffect) -> str:
    """`4 MiB messages: slower, 1.30× with the remedy`."""
    return f"{one.where or 'a cell'}: {one.verdict}, {fmt.ratio(one.ratio, one.interval)} with the remedy"


def headline(found: Sequence[FindingView]) -> str:
    """`2 slow paths by name: 1 proven, 1 observed; 1 only with settings that you don't use`; empty without any."""
    own = [one for one in found if one.usual]
    counts = [(sum(one.status == status for one in own), status) for status in reversed(STATUSES)]
    parts = [f"{fmt.plural(len(own), 'slow path')} by name: " * bool(own)
             + ", ".join(f"{count} {status}" for count, status in counts if count)]  # fmt: skip
    if apart := len(found) - len(own):
        parts.append(f"{apart} only with settings that you don't use")
    return "; ".join(part for part in parts if part)
