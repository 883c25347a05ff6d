# SPDX-License-Identifier: Apache-2.0
"""Comparisons and gates as text for a terminal, in ASCII and at most 100 columns, and comparisons as CSV."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from slowpath.compare.comparison import Comparison, ComparisonRow, Doubt, RunDifference, Unmatched
from slowpath.compare.gate import INCOMPLETE, Gate, JudgedRow, judges
from slowpath.core.cell_results import CellResult
from slowpath.core.guard import cleaned, text
from slowpath.core.results import Brief, Results
from slowpath.report import format as fmt
from slowpath.report.cells import differences
from slowpath.report.csv import as_csv
from slowpath.report.figure import (
    Axis,
    Block,
    Cell,
    Facts,
    Figure,
    Group,
    Items,
    Page,
    Plot,
    Point,
    Quantity,
    Section,
    Series,
    Table,
    Text,
    grouped,
    heading,
    numbers,
)
from slowpath.report.page import render

if TYPE_CHECKING:
    from slowpath.compare.comparison import Doubt, Uncompared, Unmatched
    from slowpath.compare.gate import Gate, JudgedRow, Undecided


WIDTH = 100
HEAD = ("verdict", "ratio", "interval", "B", "A", "cell")
_PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-"})
MOST_UNCOMPARED, MOST_ALONE = 10, 5
ORDER = ("slower", "faster", "undecided", "same")


@cleaned
def render_comparison(found: Comparison) -> str:
    """Return the text that `slowpath compare` prints, with a newline at the end."""
    parts = [
        _sides(found),
        _alike(found),
        _counts(found),
        "\n".join(wrap(line) for line in part_lines(found)),
        _table(found.rows, shared_differences(found.rows)),
        _kinds(found.rows),
        _unmatched(found),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


@cleaned
def render_comparison_brief(found: Comparison) -> str:
    """Return whether B is slower, and where most, on one screen; `render_comparison` has all rows."""
    counts = {word: sum(row.verdict == word for row in found.rows) for word in ORDER}
    total, limit = len(found.rows), f"{100 * found.minimum_effect:g} %"
    slower, faster = counts["slower"], counts["faster"]
    if not total:
        answer = "Nothing was compared."
    elif slower:
        answer = f"B is slower than A in {slower} of {fmt.plural(total, 'comparison')} by more than {limit}"
        answer += f", faster in {faster}." if faster else "."
    elif counts["undecided"] == total:
        answer = f"Undecided: none of {fmt.plural(total, 'comparison')} shows whether B differs from A."
    else:
        answer = (
            f"B is not slower than A: {counts['same']} of {fmt.plural(total, 'comparison')} are the same within {limit}"
        )
        answer += f", {faster} faster." if faster else "."
    worst = sorted((row for row in found.rows if row.verdict == "slower"), key=lambda row: -(row.ratio or 0.0))
    actions = [_row_words(row) for row in worst]
    some_open = 0 < counts["undecided"] < total
    open_parts = [f"undecided: {counts['undecided']} of {fmt.plural(total, 'comparison')}"] if some_open else []
    open_parts += [f"{fmt.plural(len(found.uncompared), 'cell')} not compared"] if found.uncompared else []
    notes = part_lines(found)
    if found.doubts:
        notes.append(f"The runs differ in more than the code: {'; '.join(doubt.reason for doubt in found.doubts)}.")
    if found.common_ratio is not None and abs(found.common_ratio - 1.0) > found.minimum_effect:
        notes.append(
            f"The median of all ratios is {fmt.ratio(found.common_ratio)}: all cells share a part of the difference."
        )
    brief = Brief(
        answer=plain(answer),
        actions=tuple(plain(action) for action in actions),
        undecided=_sentence(", ".join(open_parts)) if open_parts else None,
        notes=(*(plain(note) for note in notes), plain(found.caution), "All rows: --full; with pictures: --html FILE."),
    )
    return "\n".join(brief.lines(WIDTH)) + "\n"


PARTS = (("multiply_s", "the whole"), ("dgemm_s", "computation"), ("exposed_s", "communication"))


def part_lines(found: Comparison) -> list[str]:
    """Return for each part of Cannon's multiplication its verdicts over all styles, and the most extreme ratios."""
    lines = []
    for metric, words in PARTS:
        rows = [row for row in found.rows if (row.experiment, row.metric) == ("cannon", metric)]
        if not rows or {row.metric for row in found.rows if row.experiment == "cannon"} == {"multiply_s"}:
            continue
        counted = [(word, sum(row.verdict == word for row in rows)) for word in ORDER]
        shown = ", ".join(f"{count} {word}" for word, count in counted if count)
        decided = [row for row in rows if row.verdict in ("slower", "faster") and row.ratio]
        lines.append(f"Cannon, {words} of all styles: {shown}" + _extremes(decided) + ".")
    return lines


def _extremes(decided: Sequence[ComparisonRow]) -> str:
    if not decided:
        return ""
    least, most = (choose(decided, key=lambda row: row.ratio or 0.0) for choose in (min, max))
    ends = list({id(row): row for row in (least, most)}.values())
    words = [
        f"{fmt.ratio(r.ratio, r.interval)} {fmt.ratio_interval(r.ratio, r.interval) or ''} ({r.label})" for r in ends
    ]
    return f"; B over A from {' to '.join(words)}" if len(ends) > 1 else f"; B over A {words[0]}"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _row_words(row: ComparisonRow) -> str:
    span = fmt.ratio_interval(row.ratio, row.interval) or ""
    values = f"{fmt.quantity(row.b_value, row.unit)} against {fmt.quantity(row.a_value, row.unit)}"
    return f"{row_label(row)}: {fmt.ratio(row.ratio, row.interval)} {span} the time, {values}."


@cleaned
def render_gate(found: Gate) -> str:
    """Return the text that `slowpath gate` prints, with a newline at the end."""
    bad = [judged for judged in found.rows if judged.outcome != "pass"]
    passed = len(found.rows) - len(bad)
    head = f"{found.outcome.upper()}: {headline(found)}"
    lines = [wrap(doubt_words(doubt), f"  {doubt.kind:<11}") for doubt in found.doubts]
    lines += [wrap(words, "  uncompared ") for words in uncompared_words(found.comparison)]
    if judges(found):
        lines += [wrap(f"{judged_label(judged)}: {judged.reason}", f"  {judged.outcome:<11}") for judged in bad]
    lines += [wrap(f"{cell.label}: {cell.reason}", "  wrong      ") for cell in found.wrong]
    lines += [wrap(note, "  note       ") for note in found.notes]
    lines += [f"  {passed} of {len(found.rows)} passed"] if judges(found) else [f"  none of {len(found.rows)} judged"]
    lines += [wrap(what_to_do(found), "  ")] if open_kinds(found) else []
    parts = [
        wrap(head) + "\n" + "\n".join(lines),
        _sides(found.comparison),
        _table([judged.row for judged in bad], shared_differences(found.comparison.rows)) if judges(found) else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(found: Gate) -> str:
    """Return one sentence: the number of comparisons by outcome, and the minimum effect."""
    counts = {word: sum(judged.outcome == word for judged in found.rows) for word in ("regression", "undecided")}
    what = [f"{counts['regression']} of {len(found.rows)} comparisons slower"] if counts["regression"] else []
    what += [f"{len(found.wrong)} cells with wrong bytes"] if found.wrong else []
    what += [f"{counts['undecided']} undecided"] if counts["undecided"] and judges(found) else []
    what += [f"not comparable ({', '.join(kinds)})"] if (kinds := open_kinds(found)) else []
    lacking = len(found.comparison.uncompared)
    what += [f"{fmt.plural(lacking, 'cell')} not compared"] if lacking else []
    counted = ", ".join(what) or f"none of {len(found.rows)} comparisons is slower"
    return f"{counted} (smallest difference that counts: {100 * found.comparison.minimum_effect:g} %)"


def open_kinds(found: Gate) -> list[str]:
    """Return the kinds of doubts that the user did not accept, each once."""
    return list(dict.fromkeys(doubt.kind for doubt in found.doubts if not doubt.accepted))


def what_to_do(found: Gate) -> str:
    """Return the advice for a gate with open doubts."""
    accepted = dict.fromkeys(doubt.kind for doubt in found.doubts)
    return f"Measure both runs completely and alike, or judge anyway: --accept {','.join(accepted)}"


def doubt_words(doubt: Doubt) -> str:
    """Return the reason of a doubt, such as `processor: X in A, Y in B; accepted`."""
    return doubt.reason + ("; accepted" if doubt.accepted else "")


def uncompared_words(found: Comparison, most: int = MOST_UNCOMPARED) -> list[str]:
    """Return a line for each of the first cells that were not compared, and the number of the others."""
    names = {"a": "A", "b": "B"}
    shown = [f"{names[cell.side]}, {cell.label}: {cell.reason}" for cell in found.uncompared[:most]]
    more = len(found.uncompared) - most
    return shown + ([f"{more} more; --json names all"] if more > 0 else [])


def judged_label(judged: JudgedRow) -> str:
    """Return cell, metric, phase, both values and their ratio as text."""
    row = judged.row
    shown = f"{plain(fmt.ratio(row.ratio, row.interval))} {plain(fmt.ratio_interval(row.ratio, row.interval) or '')}"
    values = f"{plain(fmt.quantity(row.b_value, row.unit))} against {plain(fmt.quantity(row.a_value, row.unit))}"
    return f"{row_label(row)}: {values}, {shown.rstrip()}"


def row_label(row: ComparisonRow) -> str:
    """Return cell, metric and phase of a row as text."""
    return f"{row.label}: {fmt.metric_name(row.metric)}, {row.phase}"


def plain(words: str) -> str:
    """Return the text with Slowpath's own signs replaced by ASCII."""
    return words.translate(_PLAIN)


def wrap(words: str, first: str = "") -> str:
    """Wrap a paragraph, with later lines indented to the end of `first`."""
    return textwrap.fill(
        plain(words), WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False
    )


def _sides(found: Comparison) -> str:
    lines = [f"A: {found.a.path} ({found.a.campaign}, {found.a.started or 'date unknown'})"]
    lines += [f"B: {found.b.path} ({found.b.campaign}, {found.b.started or 'date unknown'})", wrap(found.caution)]
    if found.common_ratio is not None and abs(found.common_ratio - 1.0) > found.minimum_effect:
        shown = fmt.ratio(found.common_ratio)
        words = f"The median of all ratios is {shown}: all cells share a part of the difference"
        lines.append(wrap(f"{words}, as after a change of clock frequency or load."))
    if found.differences:
        lines.append("Differences between the runs:")
        lines += [wrap(difference(differing), "  ") for differing in found.differences]
    if shared := shared_differences(found.rows):
        lines.append("Differences that all cells share:")
        lines += [wrap(difference(differing), "  ") for differing in shared]
    return "\n".join(lines)


def _alike(found: Comparison) -> str:
    """Return the doubts about comparing the two runs, and the notes."""
    lines = ["The runs differ in more than the code, and the ratios include it:"] if found.doubts else []
    lines += [wrap(doubt.reason, f"  {doubt.kind:<11}") for doubt in found.doubts]
    return "\n".join([*lines, *(wrap(note, "note: ") for note in found.notes)])


def shared_differences(rows: Sequence[ComparisonRow]) -> list[RunDifference]:
    """Return the differences that every row has, which are shown once."""
    return [
        differing for differing in (rows[0].differs if rows else []) if all(differing in row.differs for row in rows)
    ]


def difference(differing: RunDifference) -> str:
    """Return a difference as text, such as `kernel: 6.1 -> 6.12`."""
    return f"{differing.what}: {differing.a or 'not known'} -> {differing.b or 'not known'}"


def counts(found: Comparison) -> str:
    """Return the number of rows by verdict, such as `2 slower, 3 same`."""
    return ", ".join(f"{count} {word}" for word, count in found.verdicts.items() if count) or "nothing to compare"


def _counts(found: Comparison) -> str:
    counted = counts(found)
    return wrap(
        f"B against A: {counted}. A ratio above 1 means that B is worse; differences below "
        f"{100 * found.minimum_effect:g} % don't count; p values are corrected per experiment and metric."
    )


def _table(rows: Sequence[ComparisonRow], known: Sequence[RunDifference]) -> str:
    if not rows:
        return ""
    ordered = sorted(rows, key=lambda row: ORDER.index(row.verdict))
    lines = [HEAD, *(_line(row, known) for row in ordered)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD) - 1)]
    text = ["  ".join([*(w.ljust(n) for w, n in zip(line, widths, strict=False)), line[-1]]) for line in lines]
    return "\n".join(f"  {line}" for line in text)


def _line(row: ComparisonRow, known: Sequence[RunDifference]) -> tuple[str, ...]:
    own = [difference(differing) for differing in row.differs if differing not in known]
    differs = f" [{'; '.join(own)}]" if own else ""
    shown = fmt.ratio_interval(row.ratio, row.interval) or "no interval"
    values = [fmt.quantity(value, row.unit) for value in (row.b_value, row.a_value)]
    cells = (row.verdict, fmt.ratio(row.ratio, row.interval), shown, *values, row_label(row) + differs)
    return tuple(plain(cell) for cell in cells)


def _kinds(rows: Sequence[ComparisonRow]) -> str:
    kinds = dict.fromkeys(row.interval_kind for row in rows if row.interval)
    lines = [wrap(f"Intervals: {', '.join(kinds)}.")] if kinds else []
    lines += [wrap(f"No interval: {why}.") for why in dict.fromkeys(r.interval_kind for r in rows if not r.interval)]
    more = [row.more_launches for row in rows if row.verdict == "undecided" and row.more_launches]
    if more:
        lines.append(wrap(f"Undecided rows need {min(more)} to {max(more)} more launches in each run (--rounds)."))
    return "\n".join(lines)


def _unmatched(found: Comparison) -> str:
    lines = []
    for name, alone in (("A", found.only_a), ("B", found.only_b)):
        lines += [f"Only in {name}: {fmt.plural(len(alone), 'cell')}"] if alone else []
        lines += [wrap(f"{label}: {why}", "  ") for label, why in _shortened(alone)]
    return "\n".join(lines)


def _shortened(alone: Sequence[Unmatched]) -> list[tuple[str, str]]:
    shown = [(cell.label, cell.reason) for cell in alone[:MOST_ALONE]]
    more = len(alone) - MOST_ALONE
    return shown + ([("...", f"{more} more")] if more > 0 else [])


_PAIRS = ("interval", "interval_90")


def render_csv(found: Comparison) -> str:
    """Return the comparison as CSV: the fields of ComparisonRow, unrounded, each interval as columns _low and _high."""
    names = ComparisonRow.__struct_fields__
    columns = [[f"{name}_low", f"{name}_high"] if name in _PAIRS else [name] for name in names]
    rows = ([value for name in names for value in _values(name, getattr(row, name))] for row in found.rows)
    return as_csv([name for both in columns for name in both], rows)


def _values(name: str, value: Any) -> list[Any]:
    if name in _PAIRS:
        return list(value) if value else [None, None]
    if name == "differs":
        return ["; ".join(difference(differing) for differing in value)]
    return [value]


# What XML 1.0 can't hold, even escaped (section 2.2).
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "slowpath gate"
_OPEN = {"undecided": "error", "fail": "failure"}
SIDES = {"a": "baseline", "b": "run"}


def render_junit(found: Gate, undecided: Undecided = "undecided") -> str:
    """Return the gate as a JUnit document: each comparison is a test case with its numbers in system-out.

    Args: undecided: what the user takes an undecided gate for.
    """
    accepted = all(doubt.accepted for doubt in found.doubts if doubt.kind == INCOMPLETE)
    cases = [_case(judged, undecided) for judged in found.rows]
    cases += [_wrong(cell) for cell in found.wrong]
    cases += [_comparable(i, doubt, undecided) for i, doubt in enumerate(found.doubts, start=1)]
    cases += [_uncompared(cell, "pass" if accepted else undecided) for cell in found.comparison.uncompared]
    cases += [_nothing(undecided)] if not found.rows else []
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
    }
    suites = ElementTree.Element("testsuites", {"name": SUITE, **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": SUITE, **counts})
    if found.comparison.b.started:
        suite.set("timestamp", found.comparison.b.started[:19])  # the schema has no offset from UTC
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _facts(found):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(cases)
    ElementTree.SubElement(suite, "system-out").text = _clean("\n".join([headline(found), *found.notes]))
    ElementTree.indent(suites, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _case(judged: JudgedRow, undecided: Undecided) -> ElementTree.Element:
    row = judged.row
    case = _element(row.experiment, f"{row.label}: {row.metric}, {row.phase}")
    if judged.outcome == "regression":
        _outcome(case, "failure", judged_label(judged), judged.reason, "regression")
    elif judged.outcome == "undecided":
        _open(case, f"undecided: {judged.reason}", undecided)
    ElementTree.SubElement(case, "system-out").text = _clean("\n".join(_numbers(judged)))
    return case


def _numbers(judged: JudgedRow) -> list[str]:
    names = ("a_value", "b_value", "unit", "ratio", "interval", "interval_kind", "p_adjusted", "family", "family_size")
    return [f"{name}: {getattr(judged.row, name)}" for name in names]


def _wrong(cell: Unmatched) -> ElementTree.Element:
    case = _element("record", f"{cell.label}: wrong bytes")
    _outcome(case, "failure", cell.reason, cell.reason, "wrong bytes")
    return case


def _comparable(number: int, doubt: Doubt, undecided: Undecided) -> ElementTree.Element:
    """Return the test case of a doubt, which passes only if the user accepted the doubt."""
    case = _element("comparable", f"{doubt.kind} {number}")
    if doubt.accepted:
        ElementTree.SubElement(case, "system-out").text = _clean(f"accepted: {doubt.reason}")
    else:
        _open(case, f"undecided: {doubt.reason}", undecided)
    return case


def _uncompared(cell: Uncompared, undecided: Undecided) -> ElementTree.Element:
    case = _element("compared", f"{SIDES[cell.side]}, cell {cell.cell}, {cell.label}: {cell.reason}")
    _open(case, f"not compared: {cell.reason}", undecided)
    return case


def _nothing(undecided: Undecided) -> ElementTree.Element:
    """Return the one test case of a gate that compared nothing; a document without any reads as passed."""
    case = _element("compared", "anything")
    _open(case, "undecided: nothing was compared", undecided)
    return case


def _open(case: ElementTree.Element, why: str, undecided: Undecided) -> None:
    """Mark a test case as not judged, in the way that its reader takes for what the exit code says."""
    if undecided == "pass":
        ElementTree.SubElement(case, "skipped", {"message": _clean(why)})
    else:
        _outcome(case, _OPEN[undecided], why, why, "undecided")


def _element(part: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", {"classname": _clean(f"slowpath.{part}"), "name": _clean(name)})


def _outcome(case: ElementTree.Element, kind: str, message: str, text: str, type_: str) -> None:
    ElementTree.SubElement(case, kind, {"message": _clean(message), "type": type_}).text = _clean(text)


def _facts(found: Gate) -> Iterable[tuple[str, str]]:
    both = found.comparison
    yield from (("baseline", both.a.path), ("run", both.b.path), ("outcome", found.outcome))
    yield from (("minimum_effect", str(both.minimum_effect)), ("caution", both.caution))
    yield from ((f"difference {i}", difference(differing)) for i, differing in enumerate(both.differences, start=1))


def _clean(words: str) -> str:
    return _NOT_XML.sub("?", text(words))


_FEWEST = 2  # points that make a curve
_CURVE_HEAD = ["", "A", "B", "B over A", "Verdict"]
_PAGE_HEAD = ["Verdict", "Ratio", "B", "A", "Cell"]
# The parameter over which an experiment's cells form curves, and its axis.
_SWEPT = {
    "cannon": ("n", Axis("order n of the matrices", "")),
    "p2p": ("message_bytes", Axis("length of the message", "B")),
}


def figures(comparison: Comparison, a: Results, b: Results) -> list[Figure]:
    """Return a figure for each steady curve that both runs have: times, and bandwidths next to them."""
    cells_a, cells_b = ({cell.cell: cell for cell in run.cells} for run in (a, b))
    rows = [
        row
        for row in comparison.rows
        if row.phase == "steady" and row.experiment in _SWEPT
        if cells_b[row.b_cell].parameters.get(_SWEPT[row.experiment][0], "").isdecimal()
    ]
    curves = list(grouped(rows, lambda row: _key(row, cells_b[row.b_cell])).values())
    titles = _titles([(cells_b[curve[0].b_cell], curve[0]) for curve in curves])
    return [
        figure
        for curve, (title, group) in zip(curves, titles, strict=True)
        if len(curve) >= _FEWEST
        for figure in _panels(curve, cells_a, cells_b, title, group)
    ]


def _key(row: ComparisonRow, cell: CellResult) -> tuple[object, ...]:
    return (cell.group, row.experiment, row.metric, cell.copy, tuple(sorted(_settings(cell, row).items())))


def _settings(cell: CellResult, row: ComparisonRow) -> dict[str, str]:
    """Return everything that the cells of a curve share."""
    swept = _SWEPT[row.experiment][0]
    parameters = {name: value for name, value in cell.parameters.items() if name not in (swept, "repetitions")}
    return {**parameters, "mpi": cell.mpi or "", "environment": cell.environment, "placement": cell.placement}


def _titles(firsts: Sequence[tuple[CellResult, ComparisonRow]]) -> list[tuple[str, str]]:
    """Return title and group of each curve, with its differences from other curves of the group."""
    labels: dict[int, str] = {}
    for places in grouped(range(len(firsts)), lambda place: firsts[place][0].group).values():
        _, words = differences([_settings(*firsts[place]) for place in places])
        labels |= {place: label.replace("_", " ") for place, label in zip(places, words, strict=True)}
    return [
        (heading(row.metric, *([labels[place]] if labels[place] else [])), cell.group)
        for place, (cell, row) in enumerate(firsts)
    ]


def _panels(
    rows: Sequence[ComparisonRow], a: Mapping[int, CellResult], b: Mapping[int, CellResult], title: str, group: str
) -> Iterator[Figure]:
    swept, axis = _SWEPT[rows[0].experiment]
    unit, lines = rows[0].unit, list[list[Cell]]()
    times: tuple[list[Point], list[Point]] = ([], [])
    bandwidths: tuple[list[Point], list[Point]] = ([], [])
    for row in sorted(rows, key=lambda row: int(b[row.b_cell].parameters[swept])):
        place = int(b[row.b_cell].parameters[swept])
        sides = [cell.metrics[row.metric].phases["steady"] for cell in (a[row.a_cell], b[row.b_cell])]
        for side, estimate in enumerate(sides):
            times[side].append(Point(place, estimate.value, estimate.interval))
            if estimate.bandwidth_bytes_per_s:
                bandwidths[side].append(Point(place, estimate.bandwidth_bytes_per_s, estimate.bandwidth_interval))
        name = fmt.count_bytes(place) if axis.unit == "B" else f"n = {place}"
        ratio = Quantity(row.ratio, "×", row.interval)
        lines.append([name, *(Quantity.of(estimate, unit) for estimate in sides), ratio, row.verdict])
    y = Axis("time" if unit == "s" else fmt.metric_name(rows[0].metric), unit, least=3.0)
    table = numbers(_CURVE_HEAD, lines)
    yield Plot(title, group, axis, y, [Series("A", times[0]), Series("B", times[1])], table=table)
    if bandwidths[0] and bandwidths[1]:
        both = [Series("A", bandwidths[0]), Series("B", bandwidths[1])]
        yield Plot(f"{title}: bandwidth", group, axis, Axis("bandwidth", "B/s", least=3.0), both, table=table)


def render_comparison_html(comparison: Comparison, a: Results, b: Results) -> str:
    """Return the whole page.  Args: a, b: results of the two runs that are compared."""
    rows: list[list[Cell]] = [
        [
            row.verdict,
            Quantity(row.ratio, "×", row.interval, row.interval_kind),
            fmt.quantity(row.b_value, row.unit),
            fmt.quantity(row.a_value, row.unit),
            row_label(row),
        ]
        for row in sorted(comparison.rows, key=lambda row: ORDER.index(row.verdict))
    ]
    facts = [
        (name, f"{run.id}, {run.campaign}, {run.started or 'date not recorded'}")
        for name, run in (("A", comparison.a), ("B", comparison.b))
    ]
    facts += [
        (difference.what, f"{difference.a or 'not known'} → {difference.b or 'not known'}")
        for difference in comparison.differences
    ]
    blocks: list[Block] = [Facts(facts), Text(comparison.caution, "sub")]
    if comparison.doubts:
        blocks.append(Text("The runs differ in more than the code, and the ratios include it:"))
        blocks.append(Items([f"{doubt.kind}: {doubt.reason}" for doubt in comparison.doubts]))
    blocks += [Text(note, "sub") for note in comparison.notes]
    panels = figures(comparison, a, b)
    sections = [Section("curves", "Both runs over size", "", [Group("panels", panels)])] if panels else []
    sections.append(Section("rows", "Every comparison", "", [Table("", _PAGE_HEAD, rows, "Every comparison")]))
    foot = "Intervals cover the launches of each run. Differences between the runs are listed at the top."
    title, headline = f"{comparison.b.id} against {comparison.a.id}", f"B against A: {counts(comparison)}"
    return render(Page(title, "two runs compared", headline, foot, sections, blocks=blocks))
