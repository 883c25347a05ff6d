# SPDX-License-Identifier: Apache-2.0
"""Comparisons and gates as text of at most 100 columns of ASCII, and gates as JUnit XML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Literal
from xml.etree import ElementTree

from slowpath.compare.comparison import SHARED, Comparison, ComparisonRow, RunDifference, named
from slowpath.compare.gate import LAUNCHES, NOISY, Gate, Undecided
from slowpath.core.guard import cleaned, text
from slowpath.core.results import Brief
from slowpath.experiments.registry import experiment_named
from slowpath.report import format as fmt
from slowpath.report.figure import grouped, heading
from slowpath.report.terminal import WIDTH, wrap

ORDER = ("slower", "faster", "undecided", "same")
_UNLIKE = "The runs differ in more than the code"


def answer(comparison: Comparison) -> str:
    """Return whether B is slower than A, as one sentence."""
    rows, effect = fmt.plural(len(comparison.rows), "comparison"), f"{100 * comparison.minimum_effect:g} %"
    if not comparison.rows:
        return "Nothing was compared."
    if slower := comparison.verdicts["slower"]:
        faster = f", faster in {comparison.verdicts['faster']}" if comparison.verdicts["faster"] else ""
        return f"B is slower than A in {slower} of {rows} by more than {effect}{faster}."
    counts = ", ".join(f"{n} {word}" for word, n in comparison.verdicts.items() if n and word != "undecided")
    if undecided := comparison.verdicts["undecided"]:
        others = f"; no other is slower: {counts} (within {effect})" if counts else ""
        return f"Undecided in {undecided} of {rows}{others}."
    return f"B is not slower than A: {counts} (within {effect}) of {rows}."


def factor_sentences(comparison: Comparison) -> list[str]:
    """Return what all cells of a size share, a sentence each."""
    factors = [factor for factor in comparison.factors if factor.differs(comparison.minimum_effect)]
    words = [f"{factor.sentence}{', taken off' * factor.is_removed}." for factor in factors]
    return [f"{sentence[0].upper()}{sentence[1:]}" for sentence in words]


def part_lines(comparison: Comparison) -> list[str]:
    """Return the verdicts by metric, of experiments that are compared by their parts."""
    lines = []
    for experiment, rows in grouped(comparison.rows, lambda row: row.experiment).items():
        by_metric = grouped(rows, lambda row: row.metric)
        for metric, own in by_metric.items() if experiment_named(experiment).compared else ():
            counted = [(word, sum(row.verdict == word for row in own)) for word in ORDER]
            lines.append(f"{heading(metric)}, {experiment}: {', '.join(f'{n} {word}' for word, n in counted if n)}.")
    return lines


@cleaned
def render_comparison_brief(comparison: Comparison) -> str:
    """Return whether B is slower, and what the slower cells share, on one screen; `render_comparison` has all rows."""
    worst = sorted((row for row in comparison.rows if row.verdict == "slower"), key=lambda row: -(row.ratio or 0.0))
    open_rows = [row for row in comparison.rows if row.verdict == "undecided" and row.ratio]
    apart = [] if worst else sorted(open_rows, key=lambda row: -abs(math.log(row.ratio or 1.0)))[:3]
    lacking = [f"{fmt.plural(len(comparison.uncompared), 'cell')} not compared"] if comparison.uncompared else []
    if worst and (undecided := comparison.verdicts["undecided"]):
        lacking.insert(0, f"{undecided} of {fmt.plural(len(comparison.rows), 'comparison')} undecided")
    doubts = [f"{_UNLIKE}: {'; '.join(doubt.reason for doubt in comparison.doubts)}."] if comparison.doubts else []
    notes = [*factor_sentences(comparison), *part_lines(comparison), *doubts, comparison.caution]
    brief = Brief(
        answer=answer(comparison),
        measured=tuple(f"Furthest apart, but undecided: {row_words(row)}." for row in apart),
        actions=(*comparison.shared, *(f"{row_words(row)}." for row in worst)),
        undecided=f"{', '.join(lacking)}.".capitalize() if lacking else None,
        notes=(*notes, "All rows: --full."),
    )
    return "\n".join(brief.lines(WIDTH)).translate(fmt.PLAIN) + "\n"


@cleaned
def render_comparison(comparison: Comparison) -> str:
    """Return the text that `slowpath compare --full` prints, with a newline at the end."""
    head = [answer(comparison), *comparison.shared, *factor_sentences(comparison), *part_lines(comparison)]
    rows = sorted(comparison.rows, key=lambda row: ORDER.index(row.verdict))
    doubts = [f"{_UNLIKE}:"] if comparison.doubts else []
    parts = [
        "\n".join(wrap(line) for line in head),
        _sides(comparison),
        "\n".join([*doubts, *(wrap(doubt.reason, f"  {doubt.kind:<11}") for doubt in comparison.doubts)]),
        "\n".join(wrap(row_words(row), f"  {row.verdict:<11}") for row in rows),
        "\n".join(
            wrap(f"{cell.side.upper()}, {cell.label}: {cell.reason}", "  uncompared ") for cell in comparison.uncompared
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


@cleaned
def render_gate(gate: Gate) -> str:
    """Return the text that `slowpath gate` prints: the verdict in at most 12 lines, with a newline at the end."""
    both = gate.comparison
    least = {"regression": 1, "undecided": LAUNCHES} if gate.judges else {}
    bad = [judged for judged in gate.rows if judged.outcome in least and judged.launches >= least[judged.outcome]]
    bad.sort(key=lambda judged: (judged.outcome != "regression", -(judged.row.interval_90 or (0, 0))[1]))
    wrong = [f"{cell.label}: {cell.reason}" for cell in gate.wrong]
    listed = "; ".join(f"{doubt.reason}{' (accepted)' * doubt.accepted}" for doubt in gate.doubts)
    differing = [difference(each) for each in both.differences if each.fact != "began"]
    noisy = [judged.row.label for judged in gate.rows if judged.outcome == NOISY]
    notes = [f"Too noisy to tell: {named(noisy)}."] if noisy else []
    notes += [*both.shared[: gate.judges], *gate.notes]
    notes += [f"Differences: {'; '.join(differing)}."] if differing else []
    brief = Brief(
        answer=f"{gate.outcome.upper()}: {headline(gate)}.",
        measured=(f"{listed[:1].upper()}{listed[1:]}.",) if listed else (),
        actions=tuple(f"{words}." for words in [*wrong, *(row_words(each.row) for each in bad)]),
        undecided=_what_to_do(gate) if gate.outcome == "undecided" else None,
        notes=(*notes, "All rows: --json."),
    )
    return "\n".join(brief.lines(WIDTH)).translate(fmt.PLAIN) + "\n"


def _what_to_do(gate: Gate) -> str:
    if kinds := gate.open_kinds:
        again = "Measure another baseline now and name both" if SHARED in kinds else "Measure both completely and alike"
        return f"{again}, or judge anyway: --accept {','.join(kinds)}"
    launches = max((judged.launches for judged in gate.rows), default=0)
    where = "on a quiet machine" if launches >= LAUNCHES else f"(a gate needs {LAUNCHES} launches)"
    return f"Measure both runs again {where}, with --rounds {2 * max(LAUNCHES, launches)}."


def headline(gate: Gate) -> str:
    """Return one clause: the number of comparisons by outcome, and what a pass excludes."""
    rows, lacking = fmt.plural(len(gate.rows), "comparison"), len(gate.comparison.uncompared)
    slower, undecided = (sum(judged.outcome == word for judged in gate.rows) for word in ("regression", "undecided"))
    reasons = [f"{slower} of {rows} slower"] if slower else []
    reasons += [f"{len(gate.wrong)} cells with wrong bytes"] if gate.wrong else []
    reasons += [f"{undecided}{'' if slower else f' of {rows}'} undecided"] if undecided and gate.judges else []
    unlike = [kind for kind in gate.open_kinds if kind != SHARED]
    reasons += ["the machine or all of MPI changed"] if SHARED in gate.open_kinds else []
    reasons += [f"not comparable ({', '.join(unlike)})"] if unlike else []
    reasons += [f"none of {len(gate.rows)} judged"] if not gate.judges else []
    reasons += [f"{fmt.plural(lacking, 'cell')} not compared"] if lacking else []
    if reasons:
        return ", ".join(reasons)
    decided = [judged.row for judged in gate.rows if judged.outcome != NOISY]
    most = max((row.interval_90 or (0.0, 0.0))[1] for row in decided)
    noisy = f"; {len(gate.rows) - len(decided)} are too noisy" if len(decided) < len(gate.rows) else ""
    rows = fmt.plural(len(decided), "comparison")
    return f"none of {rows} takes more than {fmt.ratio(most)} the baseline's time (95 % confidence){noisy}"


def row_words(row: ComparisonRow) -> str:
    """Return cell, metric, phase, both values and their ratio as text."""
    shown = f"{fmt.ratio(row.ratio, row.interval)} {fmt.ratio_interval(row.ratio, row.interval) or ''}".rstrip()
    relative = f" relative to {fmt.ratio(row.factor)}" if row.factor != 1.0 else ""
    values = f"{fmt.quantity(row.b_value, row.unit)} instead of {fmt.quantity(row.a_value, row.unit)}"
    metric = f": {name}" if (name := fmt.metric_name(row.metric)) not in row.label else ""
    return f"{row.label}{metric}, {row.phase}: {values}, {shown}{relative}"


def difference(differing: RunDifference) -> str:
    """Return a difference as text, such as `kernel: 6.1 -> 6.12`."""
    return f"{differing.fact}: {differing.a or 'not known'} -> {differing.b or 'not known'}"


def _sides(comparison: Comparison) -> str:
    sides = (("A", comparison.a), ("B", comparison.b))
    lines = [f"{name}: {run.path} ({run.campaign}, {run.started or 'date unknown'})" for name, run in sides]
    lines += [wrap(comparison.caution), *(["Differences:"] if comparison.differences else [])]
    return "\n".join([*lines, *(wrap(difference(differing), "  ") for differing in comparison.differences)])


# JUnit XML of a gate.

# Not even escaped: XML 1.0, section 2.2.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "slowpath gate"
Outcome = Literal["failure", "skipped"]


def render_junit(gate: Gate, undecided: Undecided = "undecided") -> str:
    """Return the gate as a JUnit document: the verdict is a test case, and each cell that fails it.

    Args: undecided: what the user takes an undecided gate for.
    """
    cases = list(_cases(gate, undecided))
    marks: tuple[Outcome, ...] = ("failure", "skipped")
    failures, skipped = (str(sum(case.find(mark) is not None for case in cases)) for mark in marks)
    head = {"name": SUITE, "tests": str(len(cases)), "failures": failures, "errors": "0", "skipped": skipped}
    suites = ElementTree.Element("testsuites", head)
    suite = ElementTree.SubElement(suites, "testsuite", head)
    both = gate.comparison
    if both.b.started:
        suite.set("timestamp", both.b.started[:19])  # the schema has no offset from UTC
    properties = ElementTree.SubElement(suite, "properties")
    facts = [("baseline", both.a.path), ("run", both.b.path), ("outcome", gate.outcome)]
    facts += [("minimum_effect", str(both.minimum_effect)), ("caution", both.caution)]
    facts += [(f"difference {i}", difference(differing)) for i, differing in enumerate(both.differences, start=1)]
    for name, value in facts:
        ElementTree.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(cases)
    ElementTree.SubElement(suite, "system-out").text = _clean(render_gate(gate))
    ElementTree.indent(suites, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _cases(gate: Gate, undecided: Undecided) -> Iterator[ElementTree.Element]:
    """Yield the verdict, skipped or failed where it is undecided, and the cells that are slower or arrived wrong."""
    mark: Outcome | None = None
    words = f"{gate.outcome}: {headline(gate)}"
    if gate.outcome == "undecided":
        mark, words = "failure" if undecided == "fail" else "skipped", f"{words}. {_what_to_do(gate)}"
    yield _case("gate", "verdict", mark, words)
    for judged in gate.rows:
        if judged.outcome == "regression":
            row = judged.row
            out = "\n".join(f"{name}: {getattr(row, name)}" for name in _NUMBERS)
            name = f"{row.label}: {row.metric}, {row.phase}"
            yield _case(row.experiment, name, "failure", row_words(row), out, judged.reason)
    for cell in gate.wrong:
        yield _case("record", f"{cell.label}: wrong bytes", "failure", cell.reason)


_NUMBERS = ("a_value", "b_value", "unit", "factor", "ratio", "interval", "interval_kind", "p_adjusted")


def _case(
    part: str, name: str, mark: Outcome | None, message: str, out: str = "", reason: str = ""
) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": _clean(f"slowpath.{part}"), "name": _clean(name)})
    if mark is not None:
        kind = {} if mark == "skipped" else {"type": part}  # only a skipped case has none
        ElementTree.SubElement(case, mark, {"message": _clean(message), **kind}).text = _clean(reason)
    if out:
        ElementTree.SubElement(case, "system-out").text = _clean(out)
    return case


def _clean(words: str) -> str:
    return _NOT_XML.sub("?", text(words))
