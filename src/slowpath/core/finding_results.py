# SPDX-License-Identifier: Apache-2.0
"""Findings and laws of results.json (docs/reference/results.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from slowpath.core.result import (
    Count,
    Interval,
    Name,
    NotNegative,
    Number,
    Phase,
    Positive,
    Result,
    Share,
    Text,
    Whole,
    means,
    optional,
)


class PanelRow(Result, frozen=True, kw_only=True):
    """One kind of call beside healthy runs. Numbers are medians over the times outside, or over all where none is."""

    name: Annotated[Name, means("kind of call, in words")]
    cells: Annotated[Count, means("that were compared with healthy runs")]
    outside: Annotated[Count, means("of them slower than in any healthy run, by more than the margin")]
    ratio: Annotated[Positive, means("time here over the median of healthy runs")]
    worst_ratio: Annotated[Positive, means("the same of the slowest cell")]
    low_ratio: Annotated[NotNegative, means("fastest healthy run over the median of healthy runs")]
    high_ratio: Annotated[Positive, means("slowest healthy run over the median of healthy runs")]
    limit_ratio: Annotated[Positive, means("from where on a time lies outside, over the median of healthy runs")]
    value_s: Annotated[Positive, means("time here of the cell with this ratio, seconds")]
    source: Annotated[Name, means("of the healthy runs")]
    runs: Annotated[Count, means("healthy runs")]

    @property
    def standing(self) -> Literal["slower", "undecided", "inside"]:
        """Undecided: beyond the limit, but its interval reaches below it, or it is about nanoseconds."""
        return "slower" if self.outside else "undecided" if self.ratio > self.limit_ratio else "inside"


class LawCoefficient(Result, frozen=True, kw_only=True):
    """One term of a law."""

    name: Annotated[str, means("of the term")]
    per: Annotated[str | None, means("for each what it is paid; null: once")]
    unit: Annotated[str, means("of its value")]
    value: Annotated[Number, means("in that unit")]
    interval: Annotated[Interval | None, means("in that unit")]
    interval_kind: Annotated[str, means("how the interval was made, or why there is none")]


class LimitBracket(Result, frozen=True, kw_only=True, omit_defaults=True):
    """A limit of a law: it lies above `above` and not above `up_to`."""

    covariate: Annotated[str, means("in which the limit lies")]
    above: Annotated[Number, means("last value that is known to lie before it")]
    up_to: Annotated[Number, means("first value that is known to lie beyond it")]


class LawPoint(Result, frozen=True, kw_only=True):
    """One point of the sweep that a law was fitted to."""

    place: Annotated[dict[str, Number], means("what was varied -> its value here")]
    value_s: Annotated[NotNegative, means("centre over launches, seconds")]
    interval: Annotated[
        Interval, means("95 % of the centre, seconds: two standard errors, with 1 % for the law itself")
    ]
    fitted_s: Annotated[Number | None, means("by the law, seconds; null: no law is named")]
    page_bytes: Annotated[
        Count | None, means("law `granules`: pages with which the length is mapped; null: not by the page")
    ] = None


class LawResult(Result, frozen=True, kw_only=True):
    """A law as a finding carries it."""

    name: Annotated[str | None, means("null: no law may be named, and refused gives the reason")]
    formula: Annotated[str | None, means("with its terms by name")]
    coefficients: Annotated[list[LawCoefficient], means("its terms")]
    brackets: Annotated[list[LimitBracket], means("where a limit lies")]
    residual_ratio: Annotated[NotNegative | None, means("relative error, root mean square over points")]
    runner_up: Annotated[str | None, means("the next best law")]
    refused: Annotated[str | None, means("why no law is named")]
    points: Annotated[Count, means("that were fitted")]
    launches: Annotated[Count, means("at each point")]
    text: Annotated[Text, means("one line")]
    drawn: Annotated[tuple[LawPoint, ...], means("the points, in the order of the sweep")] = ()


VerdictWord = Literal["faster", "slower", "same", "undecided"]
FindingKind = Literal["fault", "opportunity", "property"]


class ContrastSide(Result, frozen=True, kw_only=True):
    """One side: a phase of a cell, and what the axis is set to there."""

    cell: Annotated[Count, means("number of the cell")]
    phase: Annotated[Phase, means("of its messages")]
    label: Annotated[Name, means("of the cell")]
    value: Annotated[Name, means("what the axis is set to")]


class Reproduce(Result, frozen=True, kw_only=True):
    """Command lines of both sides."""

    a: Annotated[str | None, means("of a; null: an imported log")]
    b: Annotated[str | None, means("of b; null: an imported log")]


class ContrastResult(Result, frozen=True, kw_only=True, rename={"default_side": "usual"}):
    """Two cells, or two phases of one, that differ in one thing. ratio is b over a: above 1, b takes longer."""

    id: Annotated[Name, means("unique in the run; the same when the campaign runs again")]
    group: Annotated[Name, means("the contrast's name in the campaign")]
    question: Annotated[str, means("what it answers")]
    axis: Annotated[Name, means("the one thing that differs: a parameter, mpi, environment, placement, copy or phase")]
    a: Annotated[ContrastSide, means("what b is compared with")]
    b: Annotated[ContrastSide, means("what is compared")]
    where: Annotated[str, means("what both sides have in common, in words")]
    default_side: Annotated[
        Literal["a", "b"] | None,
        means(
            "the side of users who change nothing (the environment without variables, default pages, the first "
            "message); null: neither"
        ),
    ] = None
    metric: Annotated[Name, means("name of a metric, in seconds")]
    control: Annotated[bool, means("nothing differs (A/A): expected same")]
    explains: Annotated[bool, means("states what something costs; never a slow path")]
    minimum_effect: Annotated[float, Meta(ge=0, lt=1), means("a smaller relative difference is called same, as 0.03")]
    suspect: Annotated[list[str], means("what is doubtful about its values")]
    a_value_s: Annotated[NotNegative | None, means("of a over the rounds that are used; null: not measured")] = None
    b_value_s: Annotated[NotNegative | None, means("of b over the rounds that are used; null: not measured")] = None
    ratio: Annotated[NotNegative | None, means("b over a; null: not measured")] = None
    interval: Annotated[Interval | None, means("of the ratio")] = None
    interval_kind: Annotated[str | None, means("how the interval was made, or why there is none")] = None
    level: Annotated[Share | None, means("confidence of the interval, as 0.95")] = None
    verdict: Annotated[VerdictWord | None, means("what b is; null: not measured")] = None
    reason: Annotated[str | None, means("what the verdict rests on, or why there is none")] = None
    p: Annotated[Share | None, means("of the test that a and b are the same")] = None
    p_adjusted: Annotated[Share | None, means("within its family (Benjamini-Hochberg)")] = None
    family: Annotated[str | None, means("contrasts whose p values are adjusted together")] = None
    family_size: Annotated[Count | None, means("how many those are")] = None
    launches: Annotated[Count, means("pairs used")] = 0
    pairs: Annotated[tuple[Interval, ...], means("seconds of a and of b in each round")] = ()
    within_launch: Annotated[bool | None, means("a and b ran in the same launches; null: not measured")] = None
    interleaved: Annotated[bool, means("launches of both sides were run in randomised blocks")]
    more_pairs: Annotated[Count | None, means("about how many further rounds would decide it")] = None
    remedy: Annotated[str | None, means("line to copy that moves the user to the faster side")] = None
    reproduce: Annotated[Reproduce, means("how to measure both sides again")]


class NodePair(Result, frozen=True, kw_only=True):
    """One pair of nodes against the median of all other pairs of the same round."""

    a: Annotated[str, means("name of a node")]
    b: Annotated[str, means("name of the other")]
    cell: Annotated[Whole, means("number of its cell")]
    launches: Annotated[Whole, means("that measured it")]
    value_s: Annotated[Number | None, means("over launches; null: not measured")]
    interval: Annotated[Interval | None, means("of value_s, seconds")]
    ratio: Annotated[
        Number | None, means("over the other pairs: above 1, it takes longer; null: fewer than two others")
    ]
    ratio_interval: Annotated[Interval | None, means("of the ratio")]
    interval_kind: Annotated[str | None, means("how the intervals were made, or why there is none")]
    verdict: Annotated[VerdictWord | None, means("null: not compared")]
    reason: Annotated[str | None, means("what the verdict rests on, or why there is none")]


class FailedNode(Result, frozen=True, kw_only=True):
    """A node with which no pair was measured, while others were."""

    node: Annotated[str, means("its name")]
    pairs: Annotated[Count, means("pairs with this node, none of which was measured")]
    reason: Annotated[str, means("of the first that failed")]


class NodePairs(Result, frozen=True, kw_only=True, omit_defaults=True):
    """Cells that differ in their pair of nodes alone."""

    label: Annotated[Name, means("what they have in common")]
    group: Annotated[Name, means("of the campaign")]
    metric: Annotated[str | None, means("null: no pair was measured")]
    nodes: Annotated[list[str], means("names")]
    minimum_effect: Annotated[Number, means("a smaller relative difference is called same")]
    pairs: Annotated[list[NodePair], means("every pair")]
    failed_nodes: Annotated[list[FailedNode] | None, means("no pair of theirs was measured; absent: none")] = None


class Leg(Result, frozen=True, kw_only=True, omit_defaults=True):
    """One of the three legs of a finding."""

    state: Annotated[Literal["shown", "missing", "refuted"], means("what the data say of it")]
    text: Annotated[Text, means("what is shown, or what is missing and what would supply it")]
    evidence: Annotated[list[Text], means("what it rests on")]
    untried: Annotated[bool, means("missing because no remedy was tried; absent: false")] = False


class Legs(Result, frozen=True, kw_only=True):
    """What a finding rests on."""

    observed: Annotated[Leg, means("it is slow")]
    explained: Annotated[Leg, means("something other than time shows the cause")]
    proven: Annotated[Leg, means("removing the cause removes it")]

    def named(self) -> tuple[tuple[str, Leg], ...]:
        """Return each with its name, in the order in which a page shows them."""
        return (("observed", self.observed), ("explained", self.explained), ("proven", self.proven))


class RemovedRatio(Result, frozen=True, kw_only=True):
    """The share of the gap that a remedy removed."""

    value: Annotated[Number, means("1: all of it, which is the most; negative: the gap grew")]
    interval: Annotated[Interval | None, means("of the value; an end above 1 is a gain beyond the gap")]
    beyond_s: Annotated[
        Number | None, means("seconds that it gains beyond the gap, a second effect; absent: none for sure")
    ] = None


class Snippet(Result, frozen=True, kw_only=True):
    """Lines to copy."""

    shell: Annotated[str | None, means("for a shell or a job script; null: none")] = None
    modulefile: Annotated[str | None, means("for a modulefile; null: none")] = None
    code: Annotated[str | None, means("for the program; null: none")] = None


class SideEffect(Result, frozen=True, kw_only=True):
    """A cell that a remedy made slower or faster."""

    where: Annotated[str, means("the cell, in words")]
    ratio: Annotated[Number, means("with the remedy over without")]
    interval: Annotated[Interval | None, means("of the ratio")]
    verdict: Annotated[VerdictWord, means("what the remedy made it")]


class RemedyResult(Result, frozen=True, kw_only=True):
    """A remedy of a finding, tried or not."""

    name: Annotated[Text, means("as in the table of remedies")]
    text: Annotated[Text, means("what to do")]
    phrase: Annotated[Text | None, means("what to use, as after 'Use'; null: its name")] = optional()
    snippet: Annotated[Snippet, means("lines to copy")]
    removed_ratio: Annotated[RemovedRatio | None, means("share of the gap that it removed; null: not tried")]
    side_effects: Annotated[list[SideEffect], means("that a trial measured")]
    verdict: Annotated[
        Literal["proven", "partial", "both sides", "not tried", "no effect", "worse"],
        means("what trying it showed; both sides: it speeds up the fast side as well, and the gap stays"),
    ]
    reason: Annotated[str, means("what the verdict rests on")]
    own_settings: Annotated[list[Name], means("the user's settings that it removes")] = field(default_factory=list)


class Finding(Result, frozen=True, kw_only=True, omit_defaults=True, rename={"affects_default": "usual"}):
    """A slow path by name, with its evidence (docs/reference/findings.md)."""

    id: Annotated[
        str,
        Meta(pattern="^SP[0-9]{3}:[0-9a-f]{8}$"),
        means("rule, and a hash of library, environment, placement and what it is about; the same over runs"),
    ]
    rule: Annotated[str, Meta(pattern="^SP[0-9]{3}$"), means("that made it")]
    title: Annotated[Text, means("of the rule")]
    text: Annotated[Text, means("one sentence with numbers and interval")]
    about: Annotated[Text, means("what it is about, in words that stay the same over runs")]
    where: Annotated[str, means("under which conditions, in words")]
    mpi: Annotated[str | None, means("short name as in run.mpis; null: several, or not reported")]
    environment: Annotated[str | None, means("null: several, or not reported")]
    placement: Annotated[str | None, means("null: several, or not reported")]
    status: Annotated[
        Literal["observed", "explained", "proven"], means("which legs are shown; explained: law and witness agree")
    ]
    affects_default: Annotated[
        bool | None,
        means(
            "true: users who change nothing are on the slow side; false: on the fast side; null: neither is theirs, "
            "or not reported"
        ),
    ]
    ratio: Annotated[Positive | None, means("slow over usual; null: nothing usual was measured")]
    interval: Annotated[Interval | None, means("of the ratio")]
    excess_s: Annotated[Number | None, means("slow minus usual, for each operation; null: nothing usual was measured")]
    metric: Annotated[str, means("of the strongest member")]
    phase: Annotated[Phase, means("of the strongest member")]
    law: Annotated[LawResult | None, means("null: nothing to fit")]
    legs: Annotated[Legs, means("what it rests on")]
    missing: Annotated[list[Text], means("which leg is missing, and what would supply it")]
    cause: Annotated[str | None, means("null unless explained")]
    contrasts: Annotated[list[str], means("ids of contrasts on which it rests")]
    cells: Annotated[list[Count], means("all cells on which it rests")]
    slow_cells: Annotated[list[Count], means("the first is the one that the text is about")]
    fast_cells: Annotated[list[Count], means("the first is the one that the text is about")]
    merged: Annotated[list[str], means("ids of findings folded into it")]
    doubts: Annotated[list[str], means("what speaks against it")]
    remedies: Annotated[list[RemedyResult], means("those that fit, the proven first")]
    next: Annotated[list[Text], means("what would be measured next")]
    axis: Annotated[str | None, means("the one thing in which both sides differ; absent: on no contrast")] = None
    run: Annotated[str | None, means("of a diagnosis: the step that showed it; absent: the survey")] = None
    kind: Annotated[
        FindingKind,
        means(
            "fault: this machine or its configuration is slower than it has to be; opportunity: another setting or "
            "call gives the same result faster; property: how the library works everywhere"
        ),
    ]
    needs_cause: Annotated[bool, means("a fault only once it is explained: a busy machine, or others, look so")] = False
    concerns: Annotated[Text | None, means("what a program must use for it to matter; absent: any message")] = None
    program_s: Annotated[NotNegative | None, means("a rank of the asked program saves at most; absent: none")] = None

    @property
    def lead(self) -> RemedyResult | None:
        """The remedy that headline and card name: one that a trial proved, else one that none refuted or left open.

        A trial that could not decide is no reason to do anything, but where it removed a part of the gap for sure.
        """
        order = ("proven", "not tried", "partial")
        able = [
            remedy
            for remedy in self.remedies
            if remedy.verdict in order and (remedy.verdict != "partial" or _removes(remedy))
        ]
        return min(able, key=lambda remedy: order.index(remedy.verdict), default=None)


def _removes(remedy: RemedyResult) -> bool:
    removed = remedy.removed_ratio
    return removed is not None and removed.interval is not None and removed.interval[0] > 0
