# SPDX-License-Identifier: Apache-2.0
"""Findings as cards: what to do, three marks, the lines to copy, the most informative picture, and further details.

Pictures are, the most informative first: a trial, the law, counts, both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from msgspec.structs import replace

from slowpath.core.cell_results import CallCounts, CellResult, RoleWitness
from slowpath.core.result import Role
from slowpath.core.results import (
    ContrastResult,
    ContrastSide,
    Finding,
    LawPoint,
    LawResult,
    LimitBracket,
    RemedyResult,
    Results,
    SideEffect,
)
from slowpath.core.units import more_words, share_words
from slowpath.findings.conclude import Group, group_of
from slowpath.report import format as fmt
from slowpath.report.figure import (
    Axis,
    Band,
    Block,
    Card,
    Copied,
    Facts,
    Figure,
    Heading,
    Leg,
    Mark,
    Plot,
    Point,
    Quantity,
    Row,
    Rows,
    Section,
    Series,
    Text,
    grouped,
    heading,
    times,
)

HEADINGS: Mapping[Group, str] = {
    "fault": "Faults",
    "proven": "Proven opportunities",
    "suspicion": "Possible faults",
    "untried": "Untried opportunities",
    "property": "Properties of the library",
    "apart": "Under other settings",
}
_LEAD = "Proven: a remedy removed it while a control did not change."
_STATE = {"shown": "yes", "missing": "not yet", "refuted": "refuted"}
_COPIED = ("shell", "code", "modulefile")


@dataclass(frozen=True, slots=True)
class Trial:
    """A remedy that was tried: rows of the slow cell unchanged, with the remedy, and of the fast side."""

    remedy: str
    verdict: str
    metric: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a finding's card is made from. `results` are those of the run in which it was observed, if available."""

    results: Results | None
    trials: Sequence[Trial] = ()
    limits: Sequence[str] = ()


def findings_section(
    title: str, findings: Sequence[Finding], sources: Callable[[Finding], Sources], contrasts: Iterable[str] = ()
) -> list[Section]:
    """Return the section of all findings by kind, or [] without any.  Args: contrasts: ids that have a row."""
    if not findings:
        return []
    known_contrasts = set(contrasts)
    groups = grouped(findings, group_of)
    blocks: list[Block] = []
    for group, words in HEADINGS.items():
        members = groups.get(group, [])
        blocks += [Heading(words)] if members and len(groups) > 1 else []
        blocks += [_card(finding, sources(finding), known_contrasts) for finding in members]
    return [Section("findings", title, "Findings", blocks, _LEAD)]


def _card(finding: Finding, sources: Sources, contrasts: set[str]) -> Card:
    lead, ratio = finding.lead, Quantity(finding.ratio, "×", finding.interval)
    figures = pictures(finding, sources)
    name = finding.id.replace(":", "-")
    first = copied(lead)[:1] if lead else []
    todo = "no remedy is proven" if finding.remedies else f"what to do: slowpath explain {finding.rule}"
    legs = [Leg(word, leg.state, _STATE[leg.state], leg.text) for word, leg in finding.legs.named()]
    return Card(
        f"finding-{name}",
        finding.rule,
        finding.title,
        f"{finding.title}; {todo}" if lead is None else advice(lead, lead.verdict == "proven"),
        finding.where,
        ratio.text if finding.ratio is not None else "",
        ratio.ends or "",
        legs=legs,
        blocks=[Copied(first[0].text)] if first else [],
        side=figures[:1],
        opens="Numbers, evidence and doubts",
        more=[*_details(finding, sources, contrasts), *figures[1:], *remedies(finding.remedies)],
    )


def advice(remedy: RemedyResult, proven: bool) -> str:
    """Return the advice, such as `Use huge pages`, or `Try ...` before a trial has proven it."""
    if remedy.phrase is None:
        return remedy.text
    return f"{'Use' if proven else 'Try'} {remedy.phrase}"


def _details(finding: Finding, sources: Sources, contrasts: set[str]) -> list[Block]:
    law = finding.law
    blocks: list[Block] = [Text(finding.text)]
    if finding.cause:
        blocks.append(Text(finding.cause, name="Cause"))
    blocks += [Text(law.text, name="Law")] if law and law.name else []
    blocks += [Text(line, name="Limit") for line in sources.limits]
    facts: list[tuple[str, str | Sequence[str]]] = []
    for name, leg in finding.legs.named():
        facts.append((name, leg.evidence if name == "observed" and leg.evidence else [leg.text, *leg.evidence]))
    facts += [("counted", f"{side}: {words}") for side, words, _ in counted_of(finding, sources.results)]
    facts += [("doubt", doubt) for doubt in finding.doubts]
    facts += [("next", "; ".join(finding.next))] if finding.next else []
    blocks.append(Facts(facts))
    rests = [contrast for contrast in finding.contrasts if contrast in contrasts]
    return [*blocks, *([Text(f"{', '.join(rests)}.", name="Rests on")] if rests else [])]


def anchor(contrast_id: str) -> str:
    """Return an id for the contrast's place in the page: the text as one word that a link can contain."""
    return "contrast-" + quote(contrast_id, safe="").replace("%", "_")


def remedies(tried: Sequence[RemedyResult]) -> list[Block]:
    """Return each remedy with its lines to copy and the result of its trial."""
    blocks: list[Block] = []
    for remedy in tried:
        removed = removed_words(remedy)
        blocks.append(
            Text(f"{remedy.verdict}{f': removes {removed}' if removed else ''}. {remedy.text}", name=f"{remedy.name},")
        )
        blocks += [Text(remedy.reason, "sub")] if remedy.verdict != "not tried" and remedy.reason else []
        blocks += copied(remedy)
        effects = side_effects(remedy)
        blocks += [Text(f"To watch: {'; '.join(effects)}.", "sub")] if effects else []
    return blocks


def copied(remedy: RemedyResult) -> list[Copied]:
    """Return the lines to copy of a remedy. A remedy without effect has none."""
    lines = ((kind, getattr(remedy.snippet, kind)) for kind in _COPIED if remedy.verdict != "no effect")
    return [Copied(text, kind) for kind, text in lines if text]


def removed_words(remedy: RemedyResult) -> str | None:
    """Return the share of the gap that a remedy removed, or None."""
    removed = remedy.removed_ratio
    if not removed:
        return None
    return f"{share_words(removed.value, removed.interval)} of the gap{more_words(removed.beyond_s)}"


def side_effects(remedy: RemedyResult) -> list[str]:
    """Return what else a remedy changes. A remedy without effect has none."""
    effects = remedy.side_effects if remedy.verdict != "no effect" else []
    return [side_effect(effect) for effect in effects]


def side_effect(effect: SideEffect) -> str:
    """Return a side effect, such as `4 MiB messages: slower, 1.30× with the remedy`."""
    return f"{effect.where or 'a cell'}: {effect.verdict}, {fmt.ratio(effect.ratio, effect.interval)} with the remedy"


def pictures(finding: Finding, sources: Sources) -> list[Figure]:
    """Return the pictures of a finding, the most informative first."""
    results = sources.results
    helped = [trial for trial in sources.trials if trial.verdict in ("proven", "partial")]
    made: list[Figure | None] = [_trial(trial) for trial in helped]
    made.append(law_figure(finding))
    if results is not None:
        made.append(witness_figure(finding, results) if finding.legs.explained.state == "shown" else None)
        made.append(sides_figure(finding, results))
    made += [_trial(trial) for trial in sources.trials if trial not in helped]
    return [figure for figure in made if figure is not None]


def _trial(trial: Trial) -> Figure:
    caption = f"Trial of {trial.remedy}: {trial.verdict}"
    return Rows("", caption, Axis(heading(trial.metric), least=1.6), trial.rows, name="trial")


# ---- The law

_MOST_LINES = 5
_LEVEL = 1.15  # from a single point of a law to each end of its line
_NARROW = 4.0  # from the least to the largest: an axis that spans less is linear
_ALLOCATIONS = ("allocation_bytes", "sender_allocation_bytes", "receiver_allocation_bytes")
_FOLLOW = (*_ALLOCATIONS, "buffer_bytes")  # what the length of a message may decide
_ALONG: Mapping[str, tuple[str, ...]] = {
    "bytes": ("message_bytes",),
    "segments": ("message_bytes",),
    "granules": _ALLOCATIONS,
    "allocation": _ALLOCATIONS,
}
_TITLES = {
    "message_bytes": "length of the message",
    "allocation_bytes": "length of the allocation",
    "sender_allocation_bytes": "length of the sender's allocation",
    "receiver_allocation_bytes": "length of the receiver's allocation",
    "page_bytes": "page",
}


@dataclass(frozen=True, slots=True)
class _LawLine:
    """Points that share everything that is not on the axis.  Args: joined: the law has values between the points."""

    label: str
    points: Sequence[tuple[float, LawPoint]]
    has_law: bool = True
    joined: bool = True


def law_figure(finding: Finding) -> Plot | None:
    """Return the figure of a finding's law, or None without a named law or without points at two places."""
    law = finding.law
    if law is None or law.name in (None, "constant") or not law.drawn:
        return None
    names = [name for name in _ALONG.get(law.name or "", ()) if len(_values(law.drawn, name)) > 1]
    if not names:
        return None
    lines, name = _lines(law, max(names, key=lambda name: len(_values(law.drawn, name))))
    brackets = [(place, bracket) for place, bracket in enumerate(law.brackets) if bracket.covariate == name]
    bands = [_limit(bracket, place == 0) for place, bracket in brackets]
    series = [part for place, line in enumerate(lines) for part in _drawn(line, f"s{place + 1}", bands)]
    places = sorted({x for line in lines for x, _ in line.points})
    if len(places) < 2:
        return None
    words = fmt.metric_name(finding.metric)
    y_title = words[:1].upper() + words[1:] + (" of the first message" if finding.phase == "first" else "")
    caption = "shaded: where it changes" if bands else ""
    axis = Axis(
        _TITLES.get(name, name.replace("_", " ")),
        "B" if name.endswith("_bytes") else "",
        log=not 0 < places[0] <= places[-1] < _NARROW * places[0],
    )
    title = f"Law of {finding.rule}: {finding.title}"
    return Plot(title, caption, axis, Axis(y_title, least=2.0), series, bands, name="law")


def _drawn(line: _LawLine, style: str, bands: Sequence[Band]) -> list[Series]:
    """Return the points of a line, and the law's line, broken at its limits."""
    points = sorted(line.points, key=lambda placed: placed[0])
    label = line.label
    series = [Series(label, [Point(x, point.value_s, point.interval) for x, point in points], style, "")]
    runs: list[list[Point]] = [[]]
    for x, point in points if line.has_law else ():
        last = runs[-1][-1].x if runs[-1] else x
        apart = not line.joined or any(last <= band.low and band.high <= x for band in bands)
        if apart or point.fitted_s is None:
            runs.append([])
        runs[-1] += [Point(x, point.fitted_s)] if point.fitted_s is not None else []
    alone = not line.joined or len(points) == 1
    return [*series, *(Series("", _wide(run), style, marker="") for run in runs if len(run) > 1 or (run and alone))]


def _wide(run: list[Point]) -> list[Point]:
    """Return a law's line, a short level one where it has a single point."""
    return [Point(run[0].x / _LEVEL, run[0].y), Point(run[0].x * _LEVEL, run[0].y)] if len(run) == 1 else run


def _values(points: Iterable[LawPoint], name: str) -> set[float]:
    return {point.place[name] for point in points if name in point.place}


def _lines(law: LawResult, name: str) -> tuple[list[_LawLine], str]:
    """Return the lines, and the covariate of their axis."""
    if any(point.page_bytes for point in law.drawn):
        return _by_page(law, name)
    others = [covariate for covariate in law.drawn[0].place if covariate != name and covariate not in _FOLLOW]
    varied = [covariate for covariate in others if len(_values(law.drawn, covariate)) > 1]
    groups = grouped(law.drawn, lambda point: tuple(point.place[covariate] for covariate in varied))
    placed = [(point.place[name], point) for point in law.drawn]
    if len(groups) > _MOST_LINES:
        return [_LawLine("", placed, has_law=False)], name
    return [
        _LawLine(
            ", ".join(_value(varying, value) for varying, value in zip(varied, key, strict=True)),
            [(point.place[name], point) for point in points],
        )
        for key, points in sorted(groups.items())
    ], name


def _by_page(law: LawResult, name: str) -> tuple[list[_LawLine], str]:
    """Return a line for each page size over the length, or one over the page size if all lengths are similar."""
    lengths = sorted(_values(law.drawn, name))
    # Alignment without a remainder.
    largest = max((bracket.up_to for bracket in law.brackets if bracket.covariate != name), default=0.0)
    pages = grouped(law.drawn, lambda point: point.page_bytes or 0)
    if lengths[-1] < _NARROW * lengths[0] and len({page or largest for page in pages}) > 1:
        return [_LawLine("", [(point.page_bytes or largest, point) for point in law.drawn], joined=False)], "page_bytes"
    lines = []
    for page, points in sorted(pages.items(), key=lambda entry: entry[0] or largest):
        label = f"{fmt.count_bytes(page)} pages" if page else f"n × {fmt.count_bytes(int(largest))}"
        lines.append(_LawLine(label if len(pages) > 1 else "", [(point.place[name], point) for point in points]))
    return lines, name


def _value(name: str, value: float) -> str:
    return fmt.count_bytes(int(value)) if name.endswith("_bytes") else f"{name.replace('_', ' ')} {value:g}"


def _limit(bracket: LimitBracket, main: bool) -> Band:
    """Return a limit. Only the limit that the finding is about has a label."""
    shown = fmt.count_bytes if bracket.covariate.endswith("_bytes") else lambda value: f"{value:g}"
    low, high = shown(int(bracket.above)), shown(int(bracket.up_to))
    words = low if bracket.up_to - bracket.above <= 1 else f"{low} to {high}"
    return Band(bracket.above, bracket.up_to, words if main else "")


# ---- Both sides

_PHASES = {"first": "first message", "steady": "later messages"}
_ROLES = {"send": "sender", "receive": "receiver"}
_OF_ONE_MESSAGE = ("one_way_s", "send_s", "receive_s", "send_barrier_s")  # metrics of what a witness counts by
_AGREES = 1.5  # how far the ratio of two medians may lie from the interval of pairs, in which noise cancels
_LEAST_SYSTEM = 0.2  # share of the slow side's time: less of it is no picture
_PARTS = {"compute_s": "computation alone", "communication_s": "message alone", "overlapped_s": "both at once"}
_Side = tuple[CellResult, str, str]  # cell, phase, label


def side_row(cell: CellResult, metric: str, phase: str, label: str, style: str) -> Row | None:
    """Return a row of launches, or None if the cell has no such times."""
    estimate = cell.estimate(metric, phase)
    return times(style, label, estimate.launch_values, Quantity.of(estimate)) if estimate else None


def sides_figure(finding: Finding, results: Results) -> Rows | None:
    """Return slow and fast cell, or message, computation and both at once, or None without another side."""
    cells = {cell.cell: cell for cell in results.cells}
    ends = _ends(finding, results, cells)
    if ends is not None:
        rows = [side_row(cell, finding.metric, phase, label, style)
                for (cell, phase, label), style in zip(ends, ("slow", "fast"), strict=True)]  # fmt: skip
        if None in rows:
            return None
    else:
        rows = _parts(finding, cells)
    shown = [row for row in rows if row]
    return Rows("", "", Axis(heading(finding.metric), least=1.6), shown, name="sides") if shown else None


def _ends(finding: Finding, results: Results, cells: Mapping[int, CellResult]) -> tuple[_Side, _Side] | None:
    """Return slow and fast cell that the finding's text is about.

    None if they don't show the finding's own ratio: a picture must not contradict the number next to it.
    """
    slow, fast = (cells.get(next(iter(some), -1)) for some in (finding.slow_cells, finding.fast_cells))
    if slow is None or fast is None:
        return None
    pair = {slow.cell, fast.cell}
    among = (c for c in results.contrasts if c.id in finding.contrasts and {c.a.cell, c.b.cell} == pair)
    chosen = next((contrast for contrast in among if contrast.metric == finding.metric), None)
    if chosen is not None and chosen.ratio:
        first, second = (chosen.b, chosen.a) if chosen.ratio > 1 else (chosen.a, chosen.b)
        ends = _end(chosen, first, cells), _end(chosen, second, cells)
    elif slow is fast:
        ends = (slow, "first", _PHASES["first"]), (slow, "steady", _PHASES["steady"])
    else:
        ends = (slow, finding.phase, _apart(slow, fast)), (fast, finding.phase, _apart(fast, slow))
    high, low = (cell.estimate(finding.metric, phase) for cell, phase, _ in ends)
    if high is None or low is None or not finding.ratio:
        return None
    least, most = finding.interval or (finding.ratio, finding.ratio)
    return ends if least / _AGREES <= high.value / low.value <= most * _AGREES else None


def _apart(cell: CellResult, other: CellResult) -> str:
    """Return how a cell differs from the other: in parameters, environment, placement and library."""
    own, its = ({**side.parameters, "environment": side.environment, "placement": side.placement, "mpi": side.mpi}
                for side in (cell, other))  # fmt: skip
    return ", ".join(_setting(name, value) for name, value in own.items() if value != its.get(name)) or cell.label


def _setting(name: str, value: str | None) -> str:
    if name.endswith("_bytes") and value and value.isdecimal():
        value = fmt.count_bytes(int(value))
    return f"{name.removesuffix('_bytes').replace('_', ' ')} {value}"


def _end(contrast: ContrastResult, side: ContrastSide, cells: Mapping[int, CellResult]) -> _Side:
    is_phase = contrast.axis == "phase"
    words = _PHASES.get(side.phase, side.phase) if is_phase else _setting(contrast.axis, side.value)
    return cells[side.cell], side.phase, words


def _parts(finding: Finding, cells: Mapping[int, CellResult]) -> list[Row | None]:
    """Return a message behind a computation: each separately, and both."""
    cell = cells.get(next(iter(finding.slow_cells), -1))
    if cell is None or finding.metric != "overlapped_s":
        return []
    rows = [side_row(cell, name, finding.phase, words, "slow" if name == "overlapped_s" else "fast")
            for name, words in _PARTS.items()]  # fmt: skip
    rows[1] = rows[1] or side_row(cell, "communication_s", "steady", _PARTS["communication_s"], "fast")
    return rows


def witness_figure(finding: Finding, results: Results) -> Rows | None:
    """Return the time in the kernel on both sides, or None if it was not counted or is a small part."""
    ends = _ends(finding, results, {cell.cell: cell for cell in results.cells})
    if ends is None or finding.metric not in _OF_ONE_MESSAGE:
        return None
    rows, most = [], 0.0
    for (cell, phase, label), style in zip(ends, ("slow", "fast"), strict=True):
        estimate = cell.estimate(finding.metric, phase)
        for role, witness in ((cell.witness or {}).get(phase, {}) if estimate else {}).items():
            system_s = witness.system_time_s_per_op if witness else None
            if estimate is None or witness is None or system_s is None:
                continue
            most = max(most, system_s / estimate.value if style == "slow" else 0.0)
            marks = [Mark("bar", f"{style} faint", (0, estimate.value)), Mark("bar", style, (0, system_s))]
            words = f"{fmt.time(system_s)} of {fmt.time(estimate.value)} in the kernel"
            rows.append(Row(f"{label}, {_ROLES[role]}", marks, _faults(witness), words=words))
    if most < _LEAST_SYSTEM:
        return None
    axis = Axis(f"{heading(finding.metric)}; filled: in the kernel", log=False)
    return Rows("", "Share of an operation's time spent in the kernel.", axis, rows, name="witness")


def _page_faults(witness: RoleWitness) -> float | None:
    faults = [value for value in (witness.minor_faults_per_op, witness.major_faults_per_op) if value is not None]
    return sum(faults) if faults else None


def _faults(witness: RoleWitness) -> str:
    faults = _page_faults(witness) or 0.0
    return f"{faults:.3g} page faults" if faults >= 1 else ""


# ---- Counts next to a cell's times: calls of the C library and page faults

NOTHING = "nothing was counted"
_MOST_CALLS = 4  # of one side, those made most often
_OPERATIONS = {
    "one_way": "message",
    "ping_pong": "round trip",
    "windowed": "window",
    "overlap": "exchange",
    "burst": "burst",
}


def counted(cell: CellResult, phase: str) -> str:
    """Return counts such as `each message: receiver process_vm_readv 12, page faults 1`, or why none exist."""
    shown = [f"{_ROLES[role]} {_counts(cell, witness)}" for role, witness in _roles(cell, phase).items() if witness]
    unit = _OPERATIONS.get(cell.parameters.get("pattern", ""), "operation")
    return f"each {unit}: {'; '.join(shown)}" if shown else f"{fmt.MISSING} {_why(cell)}"


def counted_of(finding: Finding, results: Results | None) -> list[tuple[str, str, bool]]:
    """Return side, counts and whether calls were counted of both sides, or [] if no side has any."""
    cells = {cell.cell: cell for cell in results.cells} if results else {}
    slow, fast = next(iter(finding.slow_cells), None), next(iter(finding.fast_cells), None)
    phase = finding.phase
    sides = []
    for side, number, where in (("slow", slow, phase), ("fast", fast, "steady" if fast == slow else phase)):
        if number is not None and (cell := cells.get(number)):
            has_calls = any(role is not None and role.calls is not None for role in _roles(cell, where).values())
            sides.append((f"{side}: {cell.label}, {where}", counted(cell, where), has_calls))
    return sides if any(has_calls for *_, has_calls in sides) else []


def _roles(cell: CellResult, phase: str) -> Mapping[Role, RoleWitness | None]:
    return (cell.witness or {}).get(phase, {})


def calls_words(cell: CellResult, witness: RoleWitness) -> str:
    """Return the calls of one side per operation, the most frequent first, or a dash and the reason."""
    if witness.calls is None:
        return f"{fmt.MISSING} calls: {_why(cell)}"
    made = [(name, count) for name, count in witness.calls.items() if count.calls_per_op]
    made.sort(key=lambda entry: -entry[1].calls_per_op)
    shown = [_call(name, count) for name, count in made[:_MOST_CALLS]]
    more = [f"{len(made) - _MOST_CALLS} other kinds"] if len(made) > _MOST_CALLS else []
    return ", ".join([*shown, *more]) or "none counted"


def _counts(cell: CellResult, witness: RoleWitness) -> str:
    faults = _page_faults(witness)
    pages = f"{faults:.3g}" if faults is not None else f"{fmt.MISSING} (it stores no times)"
    return f"{calls_words(cell, witness)}, page faults {pages}"


def _call(name: str, count: CallCounts) -> str:
    moved = f" ({fmt.count_bytes(round(count.bytes_per_op))})" if count.bytes_per_op else ""
    waited = f" ({fmt.time(count.time_s_per_op)})" if count.time_s_per_op else ""
    failed = f", {count.failed_per_op:.3g} failed" if count.failed_per_op else ""
    return f"{name} {count.calls_per_op:.3g}{moved}{waited}{failed}"


def _why(cell: CellResult) -> str:
    return cell.calls_reason or cell.reason or NOTHING


def with_proven(finding: Finding, text: str) -> Finding:
    """Return the finding with another text for its third mark."""
    return replace(finding, legs=replace(finding.legs, proven=replace(finding.legs.proven, text=text)))
