# SPDX-License-Identifier: Apache-2.0
"""JUnit XML of a gate, as GitLab, Jenkins and GitHub's reporters read it: a comparison is a test case.

failure: a regression, wrong bytes.  skipped: undecided, not comparable, not compared. The numbers stand in system-out
of each case. Elements and their order are those of the schema of Jenkins' xUnit plugin (junit-10.xsd) and of Ant's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from slowpath.compare.text import difference, headline, judged_label
from slowpath.core.clean import text

if TYPE_CHECKING:
    from slowpath.compare.comparable import Doubt
    from slowpath.compare.gate import Gate, Judged
    from slowpath.compare.match import Unmatched
    from slowpath.compare.uncompared import Uncompared

# What XML 1.0 can't hold, even escaped (section 2.2).
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "slowpath gate"
SIDES = {"a": "baseline", "b": "run"}


def render(found: Gate) -> str:
    """The whole document."""
    cases = [_case(one) for one in found.rows]
    cases += [_simple(one, "wrong bytes", "failure") for one in found.wrong]
    cases += [_comparable(i, one) for i, one in enumerate(found.doubts, start=1)]
    cases += [_uncompared(one) for one in found.comparison.uncompared]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": "0",
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


def _case(one: Judged) -> ElementTree.Element:
    row = one.row
    case = _element(row.experiment, f"{row.label}: {row.metric}, {row.phase}")
    if one.outcome == "regression":
        _outcome(case, "failure", judged_label(one), one.reason, "regression")
    elif one.outcome == "undecided":
        ElementTree.SubElement(case, "skipped", {"message": _clean(f"undecided: {one.reason}")})
    ElementTree.SubElement(case, "system-out").text = _clean("\n".join(_numbers(one)))
    return case


def _numbers(one: Judged) -> list[str]:
    names = ("a_value", "b_value", "unit", "ratio", "interval", "interval_kind", "p_adjusted", "family", "family_size")
    lines = [f"{name}: {getattr(one.row, name)}" for name in names]
    return lines + ([f"again: {one.again}"] if one.again else [])


def _simple(one: Unmatched, what: str, kind: str) -> ElementTree.Element:
    case = _element("record", f"{one.label}: {what}")
    if kind == "failure":
        _outcome(case, kind, one.reason, one.reason, what)
    else:
        ElementTree.SubElement(case, kind, {"message": _clean(one.reason)})
    return case


def _comparable(number: int, one: Doubt) -> ElementTree.Element:
    """A doubt is no test case that passed, but for one that the user accepted."""
    case = _element("comparable", f"{one.kind} {number}")
    if one.accepted:
        ElementTree.SubElement(case, "system-out").text = _clean(f"accepted: {one.reason}")
    else:
        ElementTree.SubElement(case, "skipped", {"message": _clean(f"undecided: {one.reason}")})
    return case


def _uncompared(one: Uncompared) -> ElementTree.Element:
    case = _element("compared", f"{SIDES[one.side]}, cell {one.cell}, {one.label}: {one.reason}")
    ElementTree.SubElement(case, "skipped", {"message": _clean(f"not compared: {one.reason}")})
    return case


def _element(part: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", {"classname": _clean(f"slowpath.{part}"), "name": _clean(name)})


def _outcome(case: ElementTree.Element, kind: str, message: str, text: str, type_: str) -> None:
    ElementTree.SubElement(case, kind, {"message": _clean(message), "type": type_}).text = _clean(text)


def _facts(found: Gate) -> Iterable[tuple[str, str]]:
    both = found.comparison
    yield from (("baseline", both.a.path), ("run", both.b.path), ("outcome", found.outcome))
    yield from (("minimum_effect", str(both.minimum_effect)), ("caution", both.caution))
    yield from ((f"difference {i}", difference(one)) for i, one in enumerate(both.differences, start=1))


def _clean(words: str) -> str:
    return _NOT_XML.sub("?", text(words))
