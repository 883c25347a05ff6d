# SPDX-License-Identifier: Apache-2.0
"""Comparison and gate for a terminal: plain ASCII where our own words are concerned, at most 100 columns wide prose."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from slowpath.compare.comparable import Doubt
from slowpath.compare.comparison import Comparison, Row
from slowpath.compare.facts import Difference
from slowpath.compare.gate import Gate, Judged, judges
from slowpath.compare.match import Unmatched
from slowpath.core.clean import cleaned
from slowpath.report import format as fmt

WIDTH = 100
HEAD = ("verdict", "ratio", "interval", "B", "A", "cell")
_PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-"})
MOST_UNCOMPARED = 10
ORDER = ("slower", "faster", "undecided", "same")


@cleaned
def render_comparison(found: Comparison) -> str:
    """What `slowpath compare` prints. Ends with a newline."""
    parts = [
        _sides(found),
        _alike(found),
        _counts(found),
        _table(found.rows, shared_differences(found.rows)),
        _kinds(found.rows),
        _unmatched(found),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


@cleaned
def render_gate(found: Gate) -> str:
    """What `slowpath gate` prints. Ends with a newline."""
    bad = [one for one in found.rows if one.outcome != "pass" or one.again]
    passed = len(found.rows) - sum(one.outcome != "pass" for one in found.rows)
    head = f"{found.outcome.upper()}: {headline(found)}"
    lines = [wrap(doubt_words(one), f"  {one.kind:<11}") for one in found.doubts]
    lines += [wrap(words, "  uncompared ") for words in uncompared_words(found.comparison)]
    if judges(found):
        lines += [wrap(f"{judged_label(one)}: {one.reason}", f"  {one.outcome:<11}") for one in bad]
    lines += [wrap(f"{one.label}: {one.reason}", "  wrong      ") for one in found.wrong]
    lines += [wrap(note, "  note       ") for note in found.notes]
    lines += [f"  {passed} of {len(found.rows)} passed"] if judges(found) else [f"  none of {len(found.rows)} judged"]
    lines += [wrap(what_to_do(found), "  ")] if open_kinds(found) else []
    parts = [
        wrap(head) + "\n" + "\n".join(lines),
        _sides(found.comparison),
        _table([one.row for one in bad], shared_differences(found.comparison.rows)) if judges(found) else "",
    ]
    parts.append(f"measured again in: {found.remeasured}" if found.remeasured else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(found: Gate) -> str:
    """One sentence: how many of how many, and what counts."""
    counts = {word: sum(one.outcome == word for one in found.rows) for word in ("regression", "undecided")}
    what = [f"{counts['regression']} of {len(found.rows)} comparisons slower"] if counts["regression"] else []
    what += [f"{len(found.wrong)} cells with wrong bytes"] if found.wrong else []
    what += [f"{counts['undecided']} undecided"] if counts["undecided"] and judges(found) else []
    what += [f"not comparable ({', '.join(kinds)})"] if (kinds := open_kinds(found)) else []
    lacking = len(found.comparison.uncompared)
    what += [f"{fmt.plural(lacking, 'cell')} not compared"] if lacking else []
    counted = ", ".join(what) or f"none of {len(found.rows)} comparisons is slower"
    return f"{counted} (smallest difference that counts: {100 * found.comparison.minimum_effect:g} %)"


def open_kinds(found: Gate) -> list[str]:
    """Kinds of doubts that the user did not accept, each once."""
    return list(dict.fromkeys(one.kind for one in found.doubts if not one.accepted))


def what_to_do(found: Gate) -> str:
    """Of a gate with open doubts."""
    accepted = dict.fromkeys(one.kind for one in found.doubts)
    return f"Measure both alike and whole, or judge in spite of it: --accept {','.join(accepted)}"


def doubt_words(one: Doubt) -> str:
    """`processor: X in A, Y in B; accepted`."""
    return one.reason + ("; accepted" if one.accepted else "")


def uncompared_words(found: Comparison, most: int = MOST_UNCOMPARED) -> list[str]:
    """The first of the cells that were not compared, and how many more there are; --json names all."""
    names = {"a": "A", "b": "B"}
    shown = [f"{names[one.side]}, {one.label}: {one.reason}" for one in found.uncompared[:most]]
    more = len(found.uncompared) - most
    return shown + ([f"{more} more; --json names all"] if more > 0 else [])


def judged_label(one: Judged) -> str:
    """Cell, metric, phase and by how much, with both values."""
    again = one.again
    a, b = (again.a_value, again.b_value) if again else (one.row.a_value, one.row.b_value)
    ratio, interval = (again.ratio, again.interval) if again else (one.row.ratio, one.row.interval)
    shown = f"{plain(fmt.ratio(ratio, interval))} {plain(fmt.ratio_interval(ratio, interval) or '')}".rstrip()
    values = f"{plain(fmt.quantity(b, one.row.unit))} against {plain(fmt.quantity(a, one.row.unit))}"
    return f"{row_label(one.row)}: {values}, {shown}"


def row_label(row: Row) -> str:
    """What is compared, in words."""
    return f"{row.label}: {fmt.metric_name(row.metric)}, {row.phase}"


def plain(words: str) -> str:
    """Our own signs as ASCII."""
    return words.translate(_PLAIN)


def wrap(words: str, first: str = "") -> str:
    """A paragraph, its later lines below the first word of the first."""
    return textwrap.fill(
        plain(words), WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False
    )


def _sides(found: Comparison) -> str:
    lines = [f"A: {found.a.path} ({found.a.campaign}, {found.a.started or 'date unknown'})"]
    lines += [f"B: {found.b.path} ({found.b.campaign}, {found.b.started or 'date unknown'})", wrap(found.caution)]
    if found.common_ratio is not None and abs(found.common_ratio - 1.0) > found.minimum_effect:
        shown = fmt.ratio(found.common_ratio)
        words = f"The median of all ratios is {shown}: part of what differs is common to all cells"
        lines.append(wrap(f"{words}, as when a machine changes its clock frequency or has other load."))
    if found.differences:
        lines.append("What differs between the runs:")
        lines += [wrap(difference(one), "  ") for one in found.differences]
    if shared := shared_differences(found.rows):
        lines.append("What differs between the cells, in each of them:")
        lines += [wrap(difference(one), "  ") for one in shared]
    return "\n".join(lines)


def _alike(found: Comparison) -> str:
    """What the two runs would have to share for a ratio to be of the code alone."""
    lines = ["The runs differ in more than the code, and the ratios include it:"] if found.doubts else []
    lines += [wrap(one.reason, f"  {one.kind:<11}") for one in found.doubts]
    return "\n".join([*lines, *(wrap(note, "note: ") for note in found.notes)])


def shared_differences(rows: Sequence[Row]) -> list[Difference]:
    """What every row names as different; shown once, not in each row."""
    return [one for one in (rows[0].differs if rows else []) if all(one in row.differs for row in rows)]


def difference(one: Difference) -> str:
    """`kernel: 6.1 -> 6.12`."""
    return f"{one.what}: {one.a or 'not known'} -> {one.b or 'not known'}"


def counts(found: Comparison) -> str:
    """`2 slower, 3 same`."""
    return ", ".join(f"{count} {word}" for word, count in found.verdicts.items() if count) or "nothing to compare"


def _counts(found: Comparison) -> str:
    counted = counts(found)
    return wrap(
        f"B against A: {counted}. A ratio above 1 means that B is worse; differences below "
        f"{100 * found.minimum_effect:g} % don't count; p values are corrected within each experiment and metric."
    )


def _table(rows: Sequence[Row], known: Sequence[Difference]) -> str:
    if not rows:
        return ""
    ordered = sorted(rows, key=lambda row: ORDER.index(row.verdict))
    lines = [HEAD, *(_line(row, known) for row in ordered)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD) - 1)]
    text = ["  ".join([*(w.ljust(n) for w, n in zip(line, widths, strict=False)), line[-1]]) for line in lines]
    return "\n".join(f"  {line}" for line in text)


def _line(row: Row, known: Sequence[Difference]) -> tuple[str, ...]:
    own = [difference(one) for one in row.differs if one not in known]
    differs = f" [{'; '.join(own)}]" if own else ""
    shown = fmt.ratio_interval(row.ratio, row.interval) or "no interval"
    values = [fmt.quantity(value, row.unit) for value in (row.b_value, row.a_value)]
    cells = (row.verdict, fmt.ratio(row.ratio, row.interval), shown, *values, row_label(row) + differs)
    return tuple(plain(cell) for cell in cells)


def _kinds(rows: Sequence[Row]) -> str:
    kinds = dict.fromkeys(row.interval_kind for row in rows if row.interval)
    lines = [wrap(f"Intervals: {', '.join(kinds)}.")] if kinds else []
    lines += [wrap(f"No interval: {why}.") for why in dict.fromkeys(r.interval_kind for r in rows if not r.interval)]
    more = [row.more_launches for row in rows if row.verdict == "undecided" and row.more_launches]
    if more:
        lines.append(wrap(f"Undecided ones need from {min(more)} to {max(more)} more launches in each run (--rounds)."))
    return "\n".join(lines)


def _unmatched(found: Comparison) -> str:
    lines = []
    for name, alone in (("A", found.only_a), ("B", found.only_b)):
        lines += [f"Only in {name}: {fmt.plural(len(alone), 'cell')}"] if alone else []
        lines += [wrap(f"{label}: {why}", "  ") for label, why in _shortened(alone)]
    return "\n".join(lines)


def _shortened(alone: Sequence[Unmatched], most: int = 5) -> list[tuple[str, str]]:
    shown = [(one.label, one.reason) for one in alone[:most]]
    return shown + ([("...", f"{len(alone) - most} more")] if len(alone) > most else [])
