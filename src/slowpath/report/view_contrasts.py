# SPDX-License-Identifier: Apache-2.0
"""Contrasts as the page shows them: words, rounded numbers and pictures. Nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg import contrast_forest, pairs
from slowpath.report.svg.scale import LogScale

WORDS = ("slower", "faster", "same", "undecided", "not measured")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a contrast."""

    cell: int
    value: str
    label: str
    phase: str
    time: str
    command: str | None


@dataclass(frozen=True, slots=True)
class ContrastView:
    """One contrast. `interval` is the interval in words, or "no interval" and why."""

    id: str
    title: str
    question: str
    detail: str
    verdict: str
    ratio: str
    interval: str
    a: Side
    b: Side
    track: Markup
    pairs: Markup | None
    facts: list[tuple[str, str]]
    pair_rows: list[tuple[str, str]]
    remedy: str | None
    suspect: list[str]
    opened: bool


@dataclass(frozen=True, slots=True)
class ContrastGroup:
    """Contrasts of one question, on one axis."""

    name: str
    question: str
    axis: Markup
    rows: list[ContrastView]
    counts: str


def interval_words(contrast: dict[str, Any]) -> str:
    """`[2.55, 2.90], signed-rank 95 %`, or why there is none."""
    shown = fmt.ratio_interval(contrast.get("ratio"), contrast.get("interval"))
    return fmt.with_kind(shown, contrast.get("interval_kind") or contrast.get("reason"))


def word(contrast: dict[str, Any]) -> str:
    """The verdict, or that there is none."""
    return contrast.get("verdict") or "not measured"


def _cell_interval(contrast: dict[str, Any], side: str, cells: dict[int, dict[str, Any]]) -> fmt.Interval:
    """Interval of a side's own estimate, for rounding only."""
    metric = cells.get(contrast[side]["cell"], {}).get("metrics", {}).get(contrast["metric"], {})
    interval: fmt.Interval = metric.get("phases", {}).get(contrast[side]["phase"], {}).get("interval")
    return interval


def _side(contrast: dict[str, Any], side: str, cells: dict[int, dict[str, Any]]) -> Side:
    given = contrast[side]
    return Side(
        given["cell"],
        str(given["value"]),
        given["label"],
        given["phase"],
        fmt.time(contrast[f"{side}_value_s"], _cell_interval(contrast, side, cells)),
        (contrast.get("reproduce") or {}).get(side),
    )


def _facts(contrast: dict[str, Any]) -> list[tuple[str, str]]:
    launches = contrast.get("launches") or 0
    together = "in the same launches" if contrast.get("within_launch") else "in launches of their own"
    mixed = (
        "interleaved in random order" if contrast.get("interleaved") else "not interleaved: includes drift over time"
    )
    facts = [
        ("Metric", fmt.metric_name(contrast["metric"])),
        ("Differs in", contrast["axis"].replace("_", " ")),
        ("Launch pairs", f"{launches}; both sides {together}, {mixed}" if launches else "none"),
    ]
    if contrast.get("p") is not None:
        adjusted = f"{contrast['p_adjusted']:.2g}" if contrast.get("p_adjusted") is not None else fmt.MISSING
        family = f"{contrast.get('family_size') or fmt.MISSING} contrasts ({contrast.get('family') or 'no family'})"
        facts.append(("p", f"{contrast['p']:.2g}; adjusted {adjusted} over {family}"))
    if contrast.get("minimum_effect") is not None:
        facts.append(("Called same", f"within {fmt.percent(contrast['minimum_effect'], 0)}"))
    if contrast.get("reason"):
        facts.append(("Why", contrast["reason"]))
    if contrast.get("more_pairs"):
        facts.append(("To decide", f"about {fmt.plural(contrast['more_pairs'], 'more launch pair')}"))
    if contrast.get("control"):
        facts.append(("Control", "both sides are the same; expected: same"))
    return facts


def anchor(contrast_id: str) -> str:
    """Id of a contrast's place in the page: any text becomes one word that a link can hold."""
    return "contrast-" + quote(contrast_id, safe="").replace("%", "_")


def title(contrast: dict[str, Any]) -> str:
    """What is compared: `small against huge`; a bare number gets the name of what it is."""
    values = [str(contrast[side]["value"]) for side in "ba"]
    axis = contrast["axis"].replace("_", " ")
    named = [f"{axis} {value}" if value.isdecimal() else value for value in values]
    return " against ".join(named)


def common(contrast: dict[str, Any]) -> str:
    """What both sides have in common; their labels, if nothing was recorded and the title does not name them."""
    a, b = contrast["a"], contrast["b"]
    labels = list(dict.fromkeys(side["label"] for side in (b, a) if side["label"] != side["value"]))
    first = ["first message"] if a["phase"] == b["phase"] == "first" else []
    return ", ".join([found for found in [contrast.get("where") or " / ".join(labels)] if found] + first)


def questions(contrasts: Sequence[dict[str, Any]]) -> list[str]:
    """The questions of a group, each once: one is its heading, several stand at their contrasts."""
    return list(dict.fromkeys(contrast["question"] for contrast in contrasts))


def _view(
    contrast: dict[str, Any], cells: dict[int, dict[str, Any]], scale: LogScale, grid: str, opened: bool
) -> ContrastView:
    a, b = _side(contrast, "a", cells), _side(contrast, "b", cells)
    return ContrastView(
        anchor(contrast["id"]),
        title(contrast),
        contrast["question"],
        common(contrast),
        word(contrast),
        fmt.ratio(contrast.get("ratio"), contrast.get("interval")),
        interval_words(contrast),
        a,
        b,
        contrast_forest.track(contrast, scale, grid),
        pairs.chart(contrast),
        _facts(contrast),
        [(fmt.time(x), fmt.time(y)) for x, y in contrast.get("pairs") or ()],
        contrast.get("remedy"),
        list(contrast.get("suspect") or ()),
        opened,
    )


def _counts(contrasts: Sequence[dict[str, Any]]) -> str:
    found = [(sum(word(c) == verdict for c in contrasts), verdict) for verdict in WORDS]
    return ", ".join(f"{count} {verdict}" for count, verdict in found if count)


def groups(results: Any) -> list[ContrastGroup]:
    """All contrasts by the campaign's contrast they come from, in the order of the results."""
    cells = {cell["cell"]: cell for cell in results["cells"]}
    opened = {line.get("contrast") for line in results["verdict"]["lines"] if line["level"] == "slow"}
    by_group: dict[str, list[dict[str, Any]]] = {}
    for contrast in results["contrasts"]:
        by_group.setdefault(contrast["group"], []).append(contrast)
    return [_group(f"grid-{i}", name, rows, cells, opened) for i, (name, rows) in enumerate(by_group.items())]


def _group(
    grid: str,
    name: str,
    contrasts: list[dict[str, Any]],
    cells: dict[int, dict[str, Any]],
    opened: Iterable[str | None],
) -> ContrastGroup:
    scale = contrast_forest.scale_of(contrasts)
    rows = [_view(contrast, cells, scale, grid, contrast["id"] in set(opened)) for contrast in contrasts]
    asked = questions(contrasts)
    return ContrastGroup(
        name, asked[0] if len(asked) == 1 else name, contrast_forest.axis(scale, grid), rows, _counts(contrasts)
    )
