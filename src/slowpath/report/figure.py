# SPDX-License-Identifier: Apache-2.0
"""The specification of pages: figures and tables of values with units, and the blocks around them.

Studies fill these structs from results. `slowpath.report.draw` draws figures; `templates/page.html.j2` has one macro
for each block. Styles are names of CSS classes, so that a page follows the reader's light or dark mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from slowpath.core.cell_results import MetricEstimate
from slowpath.core.result import Interval
from slowpath.core.study_results import Value
from slowpath.report import format as fmt

K = TypeVar("K")
V = TypeVar("V")
STYLES = ("s1", "s2", "s3", "s4", "s5", "s6")  # colour and marker of a series; more series go into another figure
MOST_SERIES = len(STYLES)
MOST_DOTS = 40  # of a row


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value with its unit ("s", "B/s", "1/s", "×", "%", "" or any other word) and its interval, as a cell of a table.

    Args: kind: of the interval, or why there is none; None: the interval is shown without it. reason: why the value is
          missing.
    """

    value: float | None
    unit: str = "s"
    interval: Interval | None = None
    kind: str | None = None
    reason: str | None = None

    @classmethod
    def of(cls, estimate: MetricEstimate | Value | None, unit: str = "s", reason: str | None = None) -> Quantity:
        """Return the quantity of an estimate, or a missing one."""
        if estimate is None:
            return cls(None, unit, reason=reason or "no reason was recorded")
        return cls(estimate.value, unit, estimate.interval, estimate.interval_kind)

    @property
    def text(self) -> str:
        """Return the value, rounded to its interval, or the dash."""
        if self.unit == "%":
            return fmt.percent(self.value, 2)
        shown = fmt.ratio if self.unit == "×" else lambda value, ends: fmt.quantity(value, self.unit, ends)
        return shown(self.value, self.interval)

    @property
    def ends(self) -> str | None:
        """Return the interval in the unit and digits of the value, or None."""
        if self.value is None or self.interval is None:
            return None
        if self.unit == "%":
            return f"[{fmt.percent(self.interval[0], 2)}, {fmt.percent(self.interval[1], 2)}]"
        if self.unit == "×":
            return fmt.ratio_interval(self.value, self.interval)
        return fmt.quantity_interval(self.value, self.unit, self.interval)

    @property
    def note(self) -> str:
        """Return the interval with its kind, or why the interval or the value is missing."""
        if self.value is None:
            return self.reason or ""
        return (self.ends or "") if self.kind is None else fmt.with_kind(self.ends, self.kind)

    @property
    def words(self) -> str:
        """Return the value and its interval in one line."""
        return fmt.beside(self.text, self.ends)


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell of a table: words, and a note in small print.  Args: share: a bar of this length, from 0 to 1."""

    text: str
    note: str = ""
    share: float | None = None


Cell = str | Quantity | Shown


@dataclass(frozen=True, slots=True)
class Table:
    """A table.  Args: summary: the line that opens it; "": it is open.  wide: cells wrap, the table fills the page."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    summary: str = ""
    wide: bool = False


def numbers(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    """Return the folded numbers of a figure."""
    return Table("", head, rows, "The numbers")


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis.

    Args: unit: "s", "B" (lengths, in powers of two), "B/s", "1/s", "×", "%" (shares) or "" (numbers). ends: values that
          the axis shows in any case. ticks: the only values to mark. least: ratio of the ends of a logarithmic axis.
    """

    title: str = ""
    unit: str = "s"
    log: bool = True
    ends: tuple[float, ...] = ()
    ticks: Sequence[float] | None = None
    least: float = 1.5


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a series.  Args: area: of its circle, from 0 to 1.  words: shown when it is pointed at."""

    x: float
    y: float
    interval: Interval | None = None
    area: float | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together.

    Args: label: in the key below the figure; "": not in the key. line: joins the points, or not. marker: whether
          points are marked. style: "": the next of STYLES.
    """

    label: str
    points: Sequence[Point]
    style: str = ""
    line: Literal["", "solid", "dashed"] = "solid"
    marker: Literal["", "filled", "hollow"] = "filled"


@dataclass(frozen=True, slots=True)
class Band:
    """A range of the horizontal axis, or a line where its ends are equal.  Args: label: "": a minor one."""

    low: float
    high: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """Series over two axes.  Args: level: a horizontal line to compare with.  name: how a card calls its picture."""

    title: str
    caption: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    bands: Sequence[Band] = ()
    level: float | None = None
    table: Table | None = None
    name: str = ""
    key: Sequence[tuple[str, str]] = ()  # style and words of marks that the series don't name
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in a row.

    Args: kind: bar, band (as high as the row), line and join: from, to. tick, dot: a place. dots: places. area: triples
          of from, to and height, from 0 to 1. hatch: pairs of from and to. style: of a dot also its shape.
    """

    kind: Literal["bar", "band", "line", "join", "tick", "dot", "dots", "area", "hatch"]
    style: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of marks on the figure's axis.

    Args: value, note: beside the marks. words: the marks as text, for those who can't see them. badge: a verdict, shown
          before the value. blocks: what the row opens to.
    """

    label: str
    marks: Sequence[Mark]
    value: str = ""
    note: str = ""
    detail: str = ""
    words: str = ""
    badge: str = ""
    id: str = ""
    href: str = ""
    blocks: Sequence[Block] = ()
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of marks on one axis.  Args: head: words over the values.  narrow: labels are short.  height: of a row."""

    title: str
    caption: str
    x: Axis
    rows: Sequence[Row]
    table: Table | None = None
    key: Sequence[tuple[str, str]] = ()  # style and words
    head: str = ""
    narrow: bool = False
    name: str = ""
    height: int = 30  # pixels


@dataclass(frozen=True, slots=True)
class Square:
    """A square of a matrix.  Args: shade: from 0 to 1.  marked: has a frame."""

    shade: float
    words: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    """Squares by row and column.  Args: words: the matrix as text."""

    title: str
    caption: str
    names: Sequence[str]
    squares: Mapping[tuple[int, int], Square]
    words: str
    style: str
    table: Table | None = None


Figure = Plot | Rows | Matrix


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph.  Args: style: its class, such as lead, sub, warn, advice.  name: words in bold before it."""

    words: str
    style: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    words: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, each with a value that may have several lines."""

    facts: Sequence[tuple[str, str | Sequence[str]]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences with a level and its word.  Args: lines: style of the badge or "", word, sentence, id of evidence."""

    lines: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True, slots=True)
class Copied:
    """Lines to copy, exactly as they are.  Args: label: what they are.  id: of its element."""

    text: str
    label: str = ""
    id: str = ""
    copy: bool = True


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind a line that opens them."""

    summary: str
    blocks: Sequence[Block]
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks side by side: panels of figures, or columns of facts."""

    style: Literal["panels", "columns"]
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Leg:
    """A mark of a finding: its name, state (shown, missing, refuted), the state in words, and why."""

    name: str
    state: str
    word: str
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """A finding or a proof: what to do, how much it is about, lines to copy, a picture, and everything else folded.

    Args: code: "": none. factor, factor_note: the large number. mark: a badge and its words. side: beside the text.
          more: folded, under the line `opens`.
    """

    id: str
    code: str
    title: str
    do: str
    where: str = ""
    factor: str = ""
    factor_note: str = ""
    mark: tuple[str, str] | None = None
    legs: Sequence[Leg] = ()
    blocks: Sequence[Block] = ()
    side: Sequence[Block] = ()
    opens: str = ""
    more: Sequence[Block] = ()


Block = Plot | Rows | Matrix | Table | Text | Heading | Items | Facts | Lines | Copied | Fold | Group | Card


@dataclass(frozen=True, slots=True)
class Section:
    """A section.  Args: nav: its name in the navigation; "": it has none there.  folded: all but its title."""

    id: str
    title: str
    nav: str
    blocks: Sequence[Block]
    lead: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its head, and its sections.  Args: numbers: value and what of.  blocks: at the end of the head."""

    title: str
    brand: str
    headline: str
    foot: str
    sections: Sequence[Section]
    answers: Sequence[str] = ()
    actions: Sequence[str] = ()
    warnings: Sequence[str] = ()
    place: Sequence[str] = ()
    numbers: Sequence[tuple[str, str]] = ()
    blocks: Sequence[Block] = field(default_factory=tuple)


def grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Group values by `key`, in the order in which each key first occurs."""
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def heading(metric: str, *more: str) -> str:
    """Return the heading of a figure: the metric in words, capitalised."""
    words = ", ".join((fmt.metric_name(metric), *more))
    return words[:1].upper() + words[1:]


def times(mark_style: str, label: str, values: Sequence[float], estimate: Quantity) -> Row:
    """Return a row of launches as dots, over the interval of their centre, which is a tick.

    Of many launches those at evenly spaced ranks are drawn.
    """
    most, ordered = MOST_DOTS, sorted(values)
    if len(ordered) > most:
        ordered = [ordered[round(place * (len(ordered) - 1) / (most - 1))] for place in range(most)]
    marks = [Mark("band", f"reach {mark_style}", estimate.interval)] if estimate.interval else []
    marks += [Mark("dots", mark_style, ordered)] if ordered else []
    marks += [Mark("tick", mark_style, [estimate.value])] if estimate.value is not None else []
    return Row(label, marks, estimate.text, words=f"{estimate.words}; {fmt.plural(len(values), 'launch')}")
