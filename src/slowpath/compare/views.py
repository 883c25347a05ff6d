# SPDX-License-Identifier: Apache-2.0
"""Comparisons and gates as text of at most 100 columns of ASCII, and gates as JUnit XML."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Literal
from xml.etree import ElementTree

from slowpath.compare.comparison import INCOMPLETE, Comparison, ComparisonRow, RunDifference
from slowpath.compare.gate import Gate, Undecided
from slowpath.core.guard import cleaned, text
from slowpath.core.results import Brief
from slowpath.experiments.registry import experiment_named
from slowpath.report import format as fmt
from slowpath.report.figure import grouped, heading

WIDTH = 100
MOST_UNCOMPARED = 10
ORDER = ("slower", "faster", "undecided", "same")
_PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-"})
_UNLIKE = "The runs differ in more than the code, and the ratios include it"


def answer(found: Comparison) -> str:
    """Return whether B is slower than A, as one sentence."""
    rows, effect = fmt.plural(len(found.rows), "comparison"), f"{100 * found.minimum_effect:g} %"
    if not found.rows:
        return "Nothing was compared."
    if slower := found.verdicts["slower"]:
        faster = f", faster in {found.verdicts['faster']}" if found.verdicts["faster"] else ""
        return f"B is slower than A in {slower} of {rows} by more than {effect}{faster}."
    if found.verdicts["undecided"] == len(found.rows):
        return f"Undecided: none of {rows} shows whether B differs from A."
    counts = ", ".join(f"{count} {word}" for word, count in found.verdicts.items() if count)
    return f"B is not slower than A: {counts} (within {effect}) of {rows}."


def factor_sentences(found: Comparison) -> list[str]:
    """Return what all cells of a size share, a sentence each."""
    sentences = []
    for factor in found.factors:
        what = "Messages of 16 KiB and more" if factor.size == "long" else "All other calls"
        work = "copies without MPI" if factor.size == "long" else "flags that are passed without MPI"
        ratio = f"{what} share a factor of {fmt.ratio(factor.ratio)} (median of B over A)"
        if factor.yardstick_ratio is None:
            sentences.append(f"{ratio}. Work without MPI was not measured, so the machine may be the cause.")
        elif factor.is_removed:
            sentences.append(
                f"{ratio}, and so do {work} ({fmt.ratio(factor.yardstick_ratio)}): the machine changed. Rows are "
                "relative to it."
            )
        else:
            sentences.append(f"{ratio}, but not {work} ({fmt.ratio(factor.yardstick_ratio)}).")
    return sentences


def part_lines(found: Comparison) -> list[str]:
    """Return the verdicts by metric, of experiments that are compared by their parts."""
    lines = []
    for experiment, rows in grouped(found.rows, lambda row: row.experiment).items():
        by_metric = grouped(rows, lambda row: row.metric)
        for metric, own in by_metric.items() if experiment_named(experiment).compared else ():
            counted = [(word, sum(row.verdict == word for row in own)) for word in ORDER]
            lines.append(f"{heading(metric)}, {experiment}: {', '.join(f'{n} {word}' for word, n in counted if n)}.")
    return lines


@cleaned
def render_comparison_brief(found: Comparison) -> str:
    """Return whether B is slower, and what the slower cells share, on one screen; `render_comparison` has all rows."""
    worst = sorted((row for row in found.rows if row.verdict == "slower"), key=lambda row: -(row.ratio or 0.0))
    open_rows = [row for row in found.rows if row.verdict == "undecided" and row.ratio]
    apart = [] if worst else sorted(open_rows, key=lambda row: -abs(math.log(row.ratio or 1.0)))[:3]
    lacking = [f"{fmt.plural(len(found.uncompared), 'cell')} not compared"] if found.uncompared else []
    if 0 < found.verdicts["undecided"] < len(found.rows):
        lacking.insert(0, f"{found.verdicts['undecided']} of {fmt.plural(len(found.rows), 'comparison')} undecided")
    doubts = [f"{_UNLIKE}: {'; '.join(doubt.reason for doubt in found.doubts)}."] if found.doubts else []
    notes = [*factor_sentences(found), *part_lines(found), *doubts, found.caution]
    brief = Brief(
        answer=plain(answer(found)),
        measured=tuple(plain(f"Furthest apart, but undecided: {row_words(row)}.") for row in apart),
        actions=tuple(plain(words) for words in [*found.shared, *(f"{row_words(row)}." for row in worst)]),
        undecided=plain(f"{', '.join(lacking)}.").capitalize() if lacking else None,
        notes=(*map(plain, notes), "All rows: --full."),
    )
    return "\n".join(brief.lines(WIDTH)) + "\n"


@cleaned
def render_comparison(found: Comparison) -> str:
    """Return the text that `slowpath compare --full` prints, with a newline at the end."""
    head = [answer(found), *found.shared, *factor_sentences(found), *part_lines(found)]
    rows = sorted(found.rows, key=lambda row: ORDER.index(row.verdict))
    doubts = [f"{_UNLIKE}:"] if found.doubts else []
    parts = [
        "\n".join(wrap(line) for line in head),
        _sides(found),
        "\n".join([*doubts, *(wrap(doubt.reason, f"  {doubt.kind:<11}") for doubt in found.doubts)]),
        "\n".join(wrap(row_words(row), f"  {row.verdict:<11}") for row in rows),
        "\n".join(wrap(words, "  uncompared ") for words in uncompared_words(found)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


@cleaned
def render_gate(found: Gate) -> str:
    """Return the text that `slowpath gate` prints, with a newline at the end."""
    both = found.comparison
    bad = [judged for judged in found.rows if judged.outcome != "pass"] if found.judges else []
    lines = [wrap(words, "  ") for words in [*(both.shared if found.judges else []), *factor_sentences(both)]]
    lines += [wrap(f"{d.reason}{'; accepted' * d.accepted}", f"  {d.kind:<11}") for d in found.doubts]
    lines += [wrap(words, "  uncompared ") for words in uncompared_words(both)]
    lines += [wrap(f"{row_words(judged.row)}: {judged.reason}", f"  {judged.outcome:<11}") for judged in bad]
    lines += [wrap(f"{cell.label}: {cell.reason}", "  wrong      ") for cell in found.wrong]
    lines += [wrap(note, "  note       ") for note in found.notes]
    passed = f"{len(found.rows) - len(bad)} of {len(found.rows)} passed"
    lines.append(f"  {passed if found.judges else f'none of {len(found.rows)} judged'}")
    if found.open_kinds:
        kinds = ",".join(dict.fromkeys(doubt.kind for doubt in found.doubts))
        lines.append(wrap(f"Measure both runs completely and alike, or judge anyway: --accept {kinds}", "  "))
    return "\n".join([wrap(f"{found.outcome.upper()}: {headline(found)}"), *lines, "", _sides(both)]) + "\n"


def headline(found: Gate) -> str:
    """Return one sentence: the number of comparisons by outcome, and the minimum effect."""
    rows, lacking = len(found.rows), len(found.comparison.uncompared)
    slower, undecided = (sum(judged.outcome == word for judged in found.rows) for word in ("regression", "undecided"))
    what = [f"{slower} of {rows} comparisons slower"] if slower else []
    what += [f"{len(found.wrong)} cells with wrong bytes"] if found.wrong else []
    what += [f"{undecided} undecided"] if undecided and found.judges else []
    what += [f"not comparable ({', '.join(found.open_kinds)})"] if found.open_kinds else []
    what += [f"{fmt.plural(lacking, 'cell')} not compared"] if lacking else []
    effect = f"smallest difference that counts: {100 * found.comparison.minimum_effect:g} %"
    return f"{', '.join(what) or f'none of {rows} comparisons is slower'} ({effect})"


def uncompared_words(found: Comparison) -> list[str]:
    """Return a line for each of the first cells that were not compared, and the number of the others."""
    more = len(found.uncompared) - MOST_UNCOMPARED
    shown = [f"{cell.side.upper()}, {cell.label}: {cell.reason}" for cell in found.uncompared[:MOST_UNCOMPARED]]
    return shown + ([f"{more} more; --json names all"] if more > 0 else [])


def row_label(row: ComparisonRow) -> str:
    """Return cell, metric and phase of a row as text."""
    return f"{row.label}: {fmt.metric_name(row.metric)}, {row.phase}"


def row_words(row: ComparisonRow) -> str:
    """Return cell, metric, phase, both values and their ratio as text."""
    shown = f"{fmt.ratio(row.ratio, row.interval)} {fmt.ratio_interval(row.ratio, row.interval) or ''}".rstrip()
    relative = f" relative to {fmt.ratio(row.factor)}" if row.factor != 1.0 else ""
    values = f"{fmt.quantity(row.b_value, row.unit)} against {fmt.quantity(row.a_value, row.unit)}"
    return f"{row_label(row)}: {values}, {shown}{relative}"


def plain(words: str) -> str:
    """Return the text with Slowpath's own signs replaced by ASCII."""
    return words.translate(_PLAIN)


def wrap(words: str, first: str = "") -> str:
    """Wrap a paragraph, with later lines indented to the end of `first`."""
    return textwrap.fill(
        plain(words), WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False
    )


def difference(differing: RunDifference) -> str:
    """Return a difference as text, such as `kernel: 6.1 -> 6.12`."""
    return f"{differing.what}: {differing.a or 'not known'} -> {differing.b or 'not known'}"


def _sides(found: Comparison) -> str:
    sides = (("A", found.a), ("B", found.b))
    lines = [f"{name}: {run.path} ({run.campaign}, {run.started or 'date unknown'})" for name, run in sides]
    lines += [wrap(found.caution), *(["Differences between the runs:"] if found.differences else [])]
    return "\n".join([*lines, *(wrap(difference(differing), "  ") for differing in found.differences)])


# JUnit XML of a gate.

_NOT_XML = re.compile(
    "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)  # not even escaped: XML 1.0, section 2.2
SUITE = "slowpath gate"
Outcome = Literal["failure", "error", "skipped"]


def render_junit(found: Gate, undecided: Undecided = "undecided") -> str:
    """Return the gate as a JUnit document: each comparison is a test case with its numbers in system-out.

    Args: undecided: what the user takes an undecided gate for.
    """
    cases = list(_cases(found, undecided))
    marks: tuple[Outcome, ...] = ("failure", "error", "skipped")
    failures, errors, skipped = (str(sum(case.find(mark) is not None for case in cases)) for mark in marks)
    head = {"name": SUITE, "tests": str(len(cases)), "failures": failures, "errors": errors, "skipped": skipped}
    suites = ElementTree.Element("testsuites", head)
    suite = ElementTree.SubElement(suites, "testsuite", head)
    both = found.comparison
    if both.b.started:
        suite.set("timestamp", both.b.started[:19])  # the schema has no offset from UTC
    properties = ElementTree.SubElement(suite, "properties")
    facts = [("baseline", both.a.path), ("run", both.b.path), ("outcome", found.outcome)]
    facts += [("minimum_effect", str(both.minimum_effect)), ("caution", both.caution)]
    facts += [(f"difference {i}", difference(differing)) for i, differing in enumerate(both.differences, start=1)]
    for name, value in facts:
        ElementTree.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    suite.extend(cases)
    shown = [headline(found), *both.shared, *factor_sentences(both), *found.notes]
    ElementTree.SubElement(suite, "system-out").text = _clean("\n".join(shown))
    ElementTree.indent(suites, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _cases(found: Gate, undecided: Undecided) -> Iterator[ElementTree.Element]:
    """Yield the test cases. What is not judged is marked so that its reader takes it for what the exit code says."""
    marks: Mapping[Undecided, Outcome] = {"undecided": "error", "fail": "failure", "pass": "skipped"}
    mark = marks[undecided]
    for judged in found.rows:
        row = judged.row
        out = "\n".join(f"{name}: {getattr(row, name)}" for name in _NUMBERS)
        name = f"{row.label}: {row.metric}, {row.phase}"
        if judged.outcome == "regression":
            yield _case(row.experiment, name, "failure", row_words(row), out, judged.reason)
        elif judged.outcome == "undecided":
            yield _case(row.experiment, name, mark, f"undecided: {judged.reason}", out)
        else:
            yield _case(row.experiment, name, None, "", out)
    for cell in found.wrong:
        yield _case("record", f"{cell.label}: wrong bytes", "failure", cell.reason)
    for number, doubt in enumerate(found.doubts, start=1):
        out = f"accepted: {doubt.reason}" if doubt.accepted else ""
        words = f"undecided: {doubt.reason}"
        yield _case("comparable", f"{doubt.kind} {number}", None if doubt.accepted else mark, words, out)
    lacking = mark if INCOMPLETE in found.open_kinds else "skipped"
    for alone in found.comparison.uncompared:
        name = f"{'baseline' if alone.side == 'a' else 'run'}, cell {alone.cell}, {alone.label}: {alone.reason}"
        yield _case("compared", name, lacking, f"not compared: {alone.reason}")
    if not found.rows:  # a document without any test case reads as passed
        yield _case("compared", "anything", mark, "undecided: nothing was compared")


_NUMBERS = ("a_value", "b_value", "unit", "factor", "ratio", "interval", "interval_kind", "p_adjusted")


def _case(
    part: str, name: str, mark: Outcome | None, message: str, out: str = "", reason: str = ""
) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": _clean(f"slowpath.{part}"), "name": _clean(name)})
    if mark is not None:
        # Only a skipped case has no type.
        kind = {} if mark == "skipped" else {"type": part}
        ElementTree.SubElement(case, mark, {"message": _clean(message), **kind}).text = _clean(reason)
    if out:
        ElementTree.SubElement(case, "system-out").text = _clean(out)
    return case


def _clean(words: str) -> str:
    return _NOT_XML.sub("?", text(words))
