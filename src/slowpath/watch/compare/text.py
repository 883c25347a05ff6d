# SPDX-License-Identifier: Apache-2.0
"""Comparison and gate of watches for a terminal: plain ASCII where our own words are concerned."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from slowpath.core.clean import cleaned
from slowpath.report import format as fmt
from slowpath.report.csv import as_csv
from slowpath.watch.compare.comparison import (
    FEWEST_WATCHES,
    WatchComparison,
    WatchGate,
    WatchJudged,
    WatchNote,
    WatchRow,
)
from slowpath.watch.report.words import count, spelled_bytes

WIDTH = 100
MOST_CLASSES = 20  # in words; --format csv has all
HEAD = ("A", "B", "B/A", "verdict", "what")
INTERLEAVED = (
    "Seconds: Welch t 95 % on log values of watches that were not interleaved, so other changes between the dates "
    "are included."
)
DESCRIBED = (
    "Seconds are described, not judged: {} on a side. Put {} or more of each into one folder (a gate passes with "
    "8), or use slowpath prove."
)
_PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-"})


@cleaned
def render_watch_comparison(found: WatchComparison) -> str:
    """What `slowpath compare` prints of watches. Ends with a newline."""
    whole = [row for row in found.rows if row.is_judged or row.of == "the run"]
    others = [row for row in found.rows if row not in whole]
    changed = [row for row in others if row.verdict not in ("same", "described", "undecided")]
    parts = [_sides(found), _unlike(found), _table(whole), _classes(changed, others), _findings(found), _seconds(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


@cleaned
def render_watch_gate(found: WatchGate) -> str:
    """What `slowpath gate` prints of watches. Ends with a newline."""
    bad = [row for row in found.rows if row.outcome != "pass"]
    passed = len(found.rows) - len(bad)
    head = f"{found.outcome.upper()}: {found.judged} (smallest growth that counts: "
    lines = [_wrap(f"{head}{fmt.percent(found.comparison.minimum_effect, 0)})")]
    lines += [
        _wrap(f"{doubt.reason}{' (accepted)' if doubt.accepted else ''}", f"  {doubt.kind:<11}")
        for doubt in found.doubts
    ]
    if unlike := found.unlike:
        lines += [f"  none of {len(found.rows)} judged"]
        lines += [_wrap(f"Watch both alike, or judge anyway: --accept {','.join(unlike)}", "  ")]
    else:
        lines += [_wrap(_judged(judged), f"  {judged.outcome:<11}") for judged in bad]
        lines.append(f"  {passed} of {len(found.rows)} passed")
    return "\n\n".join(filter(None, ["\n".join(lines), _sides(found.comparison), _seconds(found.comparison)])) + "\n"


def render_watch_csv(found: WatchComparison) -> str:
    """The rows, unrounded."""
    rows = ([_flat(getattr(row, name)) for name in WatchRow.__struct_fields__] for row in found.rows)
    return as_csv(WatchRow.__struct_fields__, rows)


def _flat(value: object) -> str | float | int | bool | None:
    if isinstance(value, tuple):
        return " ".join(repr(part) for part in value)
    return value if isinstance(value, str | float | int | bool) else None


def _judged(judged: WatchJudged) -> str:
    row = judged.row
    return f"{row.of}, {row.name}: {_value(row, row.a)} in A, {_value(row, row.b)} in B: {judged.reason}"


def _sides(found: WatchComparison) -> str:
    return "\n".join(_wrap(_note(note), f"{name}  ") for name, note in (("A", found.a), ("B", found.b)))


def _note(note: WatchNote) -> str:
    return f"{note.path}: {fmt.plural(len(note.watches), 'watch')} of {note.program}, {note.started[:16]}"


def _unlike(found: WatchComparison) -> str:
    lines = [
        _wrap(f"{difference.what}: {difference.a} in A, {difference.b} in B", "  differs    ")
        for difference in found.differences
    ]
    known = {difference.what for difference in found.differences}
    lines += [_wrap(doubt.reason, f"  {doubt.kind:<11}") for doubt in found.doubts if doubt.fact not in known]
    return "\n".join(lines)


def _table(rows: Sequence[WatchRow]) -> str:
    if not rows:
        return ""
    cells = [_cells(row) for row in rows]
    widths = [max(len(row[i]) for row in (HEAD, *cells)) for i in range(4)]
    return "\n".join(_line(row, widths) for row in (HEAD, *cells))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    fixed = "  ".join(text.rjust(width) if place < 3 else text.ljust(width)
                      for place, (text, width) in enumerate(zip(row[:4], widths, strict=True)))  # fmt: skip
    return _wrap(row[4], f"  {fixed}  ")


def _cells(row: WatchRow) -> tuple[str, ...]:
    ratio = fmt.MISSING if row.ratio is None else f"{row.ratio:.3g}"
    if row.interval and row.ratio is not None:
        ratio += f" [{row.interval[0]:.3g}, {row.interval[1]:.3g}]"
    share = "" if row.a_share is None and row.b_share is None else _shares(row)
    cells = (_value(row, row.a), _value(row, row.b), ratio, row.verdict, f"{row.of}, {row.name}{share}")
    return tuple(cell.translate(_PLAIN) for cell in cells)


def _shares(row: WatchRow) -> str:
    return f" ({fmt.percent(row.a_share, 0)} -> {fmt.percent(row.b_share, 0)} of all)"


def _value(row: WatchRow, value: float | None) -> str:
    if value is None:
        return "-"
    if row.is_exact or row.name in ("calls", "bytes", "count"):
        return spelled_bytes(round(value)) if row.name == "bytes" else count(round(value))
    return fmt.time(value)


def _classes(changed: Sequence[WatchRow], others: Sequence[WatchRow]) -> str:
    if not others:
        return ""
    if not changed:
        return "Classes of messages: number and bytes are the same."
    rest = len(changed) - MOST_CLASSES
    more = [f"  and {rest} more: --format csv"] if rest > 0 else []
    return "\n".join(["Classes of messages that changed:", _table(changed[:MOST_CLASSES]), *more])


def _findings(found: WatchComparison) -> str:
    lines = [_wrap(", ".join(found.findings[key]), f"  {words} ") for key, words in
             (("only_a", "finding of A alone:"), ("only_b", "finding of B alone:")) if found.findings[key]]  # fmt: skip
    return "\n".join(lines)


def _seconds(found: WatchComparison) -> str:
    fewest = min(len(found.a.watches), len(found.b.watches))
    if fewest >= FEWEST_WATCHES:
        return _wrap(INTERLEAVED)
    return _wrap(DESCRIBED.format(fmt.plural(fewest, "watch"), FEWEST_WATCHES))


def _wrap(words: str, first: str = "") -> str:
    return textwrap.fill(words.translate(_PLAIN), WIDTH, initial_indent=first, subsequent_indent=" " * len(first),
                         break_long_words=False)  # fmt: skip
