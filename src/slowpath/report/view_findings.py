# SPDX-License-Identifier: Apache-2.0
"""Findings as cards: what to do, a picture, three marks, the lines to copy, and further details."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from msgspec.structs import replace

from slowpath.core.results import Finding, Leg, RemedyResult, Results, Rival, SideEffect
from slowpath.core.units import more_words, share_words
from slowpath.findings.tally import Group, group_of
from slowpath.report import format as fmt
from slowpath.report import view_witness
from slowpath.report.cards.law import forecast_lines, law_picture
from slowpath.report.cards.shapes import shape_pictures
from slowpath.report.cards.sides import axis_title, sides_picture, witness_picture
from slowpath.report.svg import sides as drawn
from slowpath.report.svg.sides import SideTimes

HEADINGS: Mapping[Group, str] = {
    "fault": "Faults",
    "proven": "Proven opportunities",
    "suspicion": "What may be a fault",
    "untried": "Opportunities that no trial has proven",
    "property": "Properties of the library",
    "apart": "Slow only under settings that are not yours",
}
_STATE = {"shown": "yes", "missing": "not yet", "refuted": "refuted"}
_LAW_CAPTION = "Points are centres over launches with intervals; the line is {}."
_FORECAST_CAPTION = " Hollow: predicted, with its interval. Filled: measured."
_SIDES_CAPTION = "Dots are medians of launches; the line is their centre, the band its interval."
_COPIED = ("shell", "code", "modulefile")


@dataclass(frozen=True, slots=True)
class LegView:
    """A leg of a finding. `state` also names its mark; `word` is the state as the card shows it."""

    name: str
    state: str
    word: str
    text: str
    evidence: list[str]

    @property
    def lines(self) -> list[str]:
        """Return the text and evidence of the leg, of an observed leg the evidence only."""
        return self.evidence if self.name == "observed" and self.evidence else [self.text, *self.evidence]


@dataclass(frozen=True, slots=True)
class RemedyView:
    """A remedy with its lines to copy. `removed` states the share of the excess that it removed."""

    name: str
    verdict: str
    text: str
    removed: str | None
    lines: list[tuple[str, str]]
    side_effects: list[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a card, with its caption."""

    name: str
    drawing: Markup
    caption: str


@dataclass(frozen=True, slots=True)
class TrialView:
    """A remedy that was tried: the slow cell unchanged, with the remedy, and the fast side."""

    remedy: str
    verdict: str
    metric: str
    sides: tuple[SideTimes, ...]


@dataclass(frozen=True, slots=True)
class PictureSources:
    """The data of a finding's pictures. `results` are those of the run in which it was observed, if available."""

    results: Results | None
    trials: Sequence[TrialView] = ()


@dataclass(frozen=True, slots=True)
class FindingView:
    """A card of a finding.

    Args: id: of its element in the page. group: how it is counted. do: advice in one line. factor, interval: slow over
          usual time. copied: lines of the first remedy. picture: the picture that is shown at once. pictures: the
          others. counted: counts next to its times.
    """

    finding: Finding
    id: str
    group: Group
    do: str
    factor: str | None
    interval: str | None
    legs: list[LegView]
    picture: Picture | None
    pictures: list[Picture]
    copied: tuple[str, str] | None
    law: str | None
    forecasts: list[str]
    limits: list[str]
    rivals: list[str]
    remedies: list[RemedyView]
    counted: list[view_witness.CountedCalls]


def findings(results: Results) -> list[FindingView]:
    """Return the cards of all findings, in the order of the results."""
    return cards(results.findings, lambda _: PictureSources(results))


def cards(found: Sequence[Finding], measured: Callable[[Finding], PictureSources],
          limits: Callable[[Finding], list[str]] = lambda _: []) -> list[FindingView]:  # fmt: skip
    """Return a card for each finding.  Args: limits: limits of its law, which a diagnosis narrowed, in words."""
    return [_card(finding, measured(finding), limits(finding)) for finding in found]


def _card(finding: Finding, measured: PictureSources, limits: list[str]) -> FindingView:
    law, results = finding.law, measured.results
    pictures = _pictures(finding, measured)
    remedies = [remedy_view(remedy) for remedy in finding.remedies]
    helps = finding.lead
    first = remedies[finding.remedies.index(helps)] if helps else None
    return FindingView(
        finding=finding,
        id=finding.id.replace(":", "-"),
        group=group_of(finding),
        do=_do(helps) if helps else f"{finding.title}; no remedy is {'proven' if finding.remedies else 'known'}",
        factor=fmt.ratio(finding.ratio, finding.interval) if finding.ratio is not None else None,
        interval=fmt.ratio_interval(finding.ratio, finding.interval),
        legs=[_leg(name, leg) for name, leg in finding.legs.named()],
        picture=pictures[0] if pictures else None,
        pictures=pictures[1:],
        copied=first.lines[0] if first and first.lines else None,
        law=law.text if law and law.name else None,
        forecasts=forecast_lines(law),
        limits=limits,
        rivals=rival_lines(finding.rivals),
        remedies=remedies,
        counted=_counted(finding, results) if results else [],
    )


def _do(remedy: RemedyResult) -> str:
    """Return the advice, such as `Use huge pages`, or `Try ...` before a trial has proven it."""
    if remedy.phrase is None:
        return remedy.text
    return f"{'Use' if remedy.verdict == 'proven' else 'Try'} {remedy.phrase}"


def _counted(finding: Finding, results: Results) -> list[view_witness.CountedCalls]:
    """Return the counted calls of both sides, or [] if no side has any."""
    found = view_witness.of_finding(finding, {cell.cell: cell for cell in results.cells})
    return found if any(cell.calls for cell in found) else []


def _pictures(finding: Finding, measured: PictureSources) -> list[Picture]:
    """Return the pictures of a finding, the most informative first: proof, law, counts, both sides."""
    results = measured.results
    helped = [trial for trial in measured.trials if trial.verdict in ("proven", "partial")]
    made = [_trial(finding, trial) for trial in helped]
    if results is not None:
        made += shape_pictures(finding, results)
    law = law_picture(finding)
    if law is not None:
        line = "the law" if finding.law and finding.law.predicted == "held" else "a fit not yet tested by predictions"
        predicted = _FORECAST_CAPTION if law.has_predictions else ""
        shaded = " Shaded: where it changes." if law.has_limits else ""
        made.append(("law", law.drawing, _LAW_CAPTION.format(line) + predicted + shaded))
    if results is not None:
        if finding.legs.explained.state == "shown":
            made.append(
                ("witness", witness_picture(finding, results), "Share of an operation's time spent in the kernel.")
            )
        made.append(("sides", sides_picture(finding, results), _SIDES_CAPTION))
    made += [_trial(finding, trial) for trial in measured.trials if trial not in helped]
    return [Picture(name, picture, caption) for name, picture, caption in made if picture is not None]


def _trial(finding: Finding, trial: TrialView) -> tuple[str, Markup | None, str]:
    picture = drawn.chart(trial.sides, axis_title(trial.metric), f"Trial of {trial.remedy}, {finding.rule}")
    return "trial", picture, f"Trial of {trial.remedy}: {trial.verdict}. {_SIDES_CAPTION}"


def with_proven(finding: Finding, text: str) -> Finding:
    """Return the finding with another text for its third mark."""
    return replace(finding, legs=replace(finding.legs, proven=replace(finding.legs.proven, text=text)))


def _leg(name: str, leg: Leg) -> LegView:
    return LegView(name, leg.state, _STATE[leg.state], leg.text, leg.evidence)


def remedy_view(remedy: RemedyResult) -> RemedyView:
    """Return a remedy with its lines to copy and the result of its trial. A remedy without effect has no lines."""
    useful = remedy.verdict != "no effect"
    copied = ((kind, getattr(remedy.snippet, kind)) for kind in _COPIED if useful)
    removed = remedy.removed_ratio
    words = None
    if removed:
        words = f"{share_words(removed.value, removed.interval)} of the excess{more_words(removed.beyond_s)}"
    return RemedyView(
        remedy.name,
        remedy.verdict,
        remedy.text,
        words,
        [(kind, text) for kind, text in copied if text],
        [effect if isinstance(effect, str) else side_effect(effect) for effect in remedy.side_effects if useful],
        remedy.reason,
    )


def side_effect(effect: SideEffect) -> str:
    """Return a side effect, such as `4 MiB messages: slower, 1.30× with the remedy`."""
    return f"{effect.where or 'a cell'}: {effect.verdict}, {fmt.ratio(effect.ratio, effect.interval)} with the remedy"


def by_group(found: Sequence[FindingView]) -> list[tuple[str, list[FindingView]]]:
    """Return the cards under the heading of each group that has any."""
    groups = [(heading, [view for view in found if view.group == name]) for name, heading in HEADINGS.items()]
    return [(heading, cards) for heading, cards in groups if cards]


def rival_lines(rivals: Sequence[Rival]) -> list[str]:
    """Return a line for each other cause, such as `may also be cold cache: The message's bytes have left ...`."""
    return [f"may also be {rival.name}: {rival.cause}" for rival in rivals]
