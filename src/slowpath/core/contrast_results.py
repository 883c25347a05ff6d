# SPDX-License-Identifier: Apache-2.0
"""The comparisons of results.json: contrasts, and pairs of nodes. Pure."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from slowpath.core.result import Count, Interval, Name, NotNegative, Number, Phase, Result, Share, Whole, means

VerdictWord = Literal["faster", "slower", "same", "undecided"]


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
    interleaved: Annotated[bool, means("launches of both sides stand in randomised blocks")]
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
    pairs: Annotated[Count, means("with it, none of which was measured")]
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
