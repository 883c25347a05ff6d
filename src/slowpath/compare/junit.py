# SPDX-License-Identifier: Apache-2.0
"""Gates as JUnit XML.

A regression or wrong bytes is a failure. An undecided, doubtful or uncompared cell follows the exit code:
an error by default (3), skipped with `--undecided pass` (0), a failure with `--undecided fail` (1). Readers show errors
and failures as failed, and a skipped test as neither: GitLab, issue 29032. So a document without failures and errors
is a gate that ended with 0. Elements and their order follow the schemas of Jenkins' xUnit plugin (junit-10.xsd) and of
Ant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from slowpath.compare.comparison_text import difference, headline, judged_label
from slowpath.compare.gate import INCOMPLETE
from slowpath.core.guard import text

if TYPE_CHECKING:
    from slowpath.compare.comparable import Doubt
    from slowpath.compare.gate import Gate, JudgedRow, Undecided
    from slowpath.compare.pairs import Unmatched
    from slowpath.compare.uncompared import Uncompared

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
