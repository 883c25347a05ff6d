# SPDX-License-Identifier: Apache-2.0
"""A gate for GitHub: Markdown for the step summary, and workflow commands that become annotations.

Source: GitHub Docs, "Workflow commands for GitHub Actions": data escapes % CR LF, properties also colon and comma.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slowpath.compare.gate import judges
from slowpath.compare.text import (
    difference,
    doubt_words,
    headline,
    judged_label,
    open_kinds,
    row_label,
    uncompared_words,
    what_to_do,
)
from slowpath.core.clean import markdown, text
from slowpath.report import format as fmt

if TYPE_CHECKING:
    from slowpath.compare.gate import Gate, Judged

TITLE = "slowpath gate"
MOST_ROWS = 200  # a step summary holds 1 MiB at most
_SIGN = {"pass": "✅", "regression": "❌", "undecided": "⚠️"}


def summary(found: Gate) -> str:
    """Markdown: the outcome, every comparison that did not simply pass, then others and what differs folded away."""
    loud = [one for one in found.rows if one.outcome != "pass" or one.again]
    lines = [f"{one.kind}: {doubt_words(one)}" for one in found.doubts]
    lines += [f"not compared: {words}" for words in uncompared_words(found.comparison, MOST_ROWS)]
    lines += [f"{one.label}: {one.reason}" for one in found.wrong]
    lines += [f"A is the baseline, B the run. {what_to_do(found)}"] if open_kinds(found) else []
    quiet = [one for one in found.rows if one.outcome == "pass" and not one.again]
    parts = [f"## {_SIGN[found.outcome]} {TITLE}: {found.outcome}", markdown(headline(found))]
    parts += ["\n".join(f"- {_cell(line)}" for line in lines)]
    parts += [_table(loud)] if loud else []
    parts += [_folded(f"{len(quiet)} passed", _table(quiet))] if quiet else []
    differences = "\n".join(f"- {_cell(difference(one))}" for one in found.comparison.differences)
    parts += [_folded("What differs between the runs", differences)] if differences else []
    parts += [markdown(words) for words in [found.comparison.caution, *found.notes] if words]
    return "\n\n".join(part for part in parts if part) + "\n"


def commands(found: Gate) -> str:
    """`::error` for each regression, `::warning` for what is undecided or not compared, `::notice` for a pass."""
    lines = [_command("error", judged_label(one), one.reason) for one in found.rows if one.outcome == "regression"]
    lines += [_command("error", one.label, one.reason) for one in found.wrong]
    lines += [_command("warning", one.kind, doubt_words(one)) for one in found.doubts]
    lines += [_command("warning", "not compared", words) for words in uncompared_words(found.comparison)]
    undecided = [one for one in found.rows if one.outcome == "undecided"] if judges(found) else []
    lines += [_command("warning", row_label(one.row), one.reason) for one in undecided]
    level = {"pass": "notice", "regression": "error", "undecided": "warning"}[found.outcome]
    return "\n".join([*lines, _command(level, found.outcome, headline(found))]) + "\n"


def _command(level: str, what: str, why: str) -> str:
    return f"::{level} title={_escaped(TITLE).replace(':', '%3A').replace(',', '%2C')}::{_escaped(f'{what}: {why}')}"


def _escaped(words: str) -> str:
    return text(words).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _table(rows: list[Judged]) -> str:
    lines = ["| | cell | run | baseline | ratio | why |", "|---|---|--:|--:|--:|---|"]
    lines += [f"| {' | '.join(_cell(words) for words in _row(one))} |" for one in rows[:MOST_ROWS]]
    lines += [f"| | {len(rows) - MOST_ROWS} more | | | | |"] if len(rows) > MOST_ROWS else []
    return "\n".join(lines)


def _row(one: Judged) -> list[str]:
    row, fresh = one.row, one.again
    a, b = (fresh.a_value, fresh.b_value) if fresh else (row.a_value, row.b_value)
    ratio, interval = (fresh.ratio, fresh.interval) if fresh else (row.ratio, row.interval)
    shown = f"{fmt.ratio(ratio, interval)} {fmt.ratio_interval(ratio, interval) or 'no interval'}"
    quantities = [fmt.quantity(value, row.unit) for value in (b, a)]
    return [f"{_SIGN[one.outcome]} {one.outcome}", row_label(row), *quantities, shown, one.reason]


def _cell(words: str) -> str:
    return markdown(words)


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"
