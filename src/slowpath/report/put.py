# SPDX-License-Identifier: Apache-2.0
"""What a put costs: the rows of its comparison, the earlier study's table today and then, lines, files and the page.

The earlier study's machines differ from today's, so only the distances between its four designs can be compared: counts
of instructions can be read next to today's counts, and the study's rates say nothing about today's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowpath.core.cell_results import CellResult, Distribution, InstructionRegion, MetricEstimate
from slowpath.core.guard import line
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.core.study_results import PutCondition, PutRow, PutSplit
from slowpath.experiments.put import Kind, design_of, puts, steady
from slowpath.report import format as fmt
from slowpath.report.csv import Value, as_csv
from slowpath.report.figure import (
    STYLES,
    Axis,
    Block,
    Cell,
    Fold,
    Mark,
    Quantity,
    Row,
    Rows,
    Section,
    Shown,
    Table,
    Text,
    numbers,
)

# ---- Rows of the comparison

KINDS: dict[Kind, str] = {"library": "Libraries", "layer": "Reference layers", "limit": "Limits"}


WORDINGS: dict[str, str] = {
    "mpi": "MPI_Put",
    "openshmem_put": "OpenSHMEM put",
    "openshmem_p": "OpenSHMEM p",
    "complex": "complex",
    "simple": "simple",
    "small_args": "small_args",
    "shmem_put": "shmem_put",
    "shmem_p": "shmem_p",
    "empty_call": "empty call, 8 arguments",
    "empty_call_5": "empty call, 5 arguments",
    "memcpy": "memcpy",
    "load_store": "load and store",
    "store": "store",
    "unrolled_stores": "unrolled stores",
    "fenced_store": "store and fence",
}


def design_words(name: str) -> str:
    """Return the name of a design. Unknown designs of a newer engine keep their own name."""
    return WORDINGS.get(name, name.replace("_", " "))


def row_words(name: str, kind: Kind, parameters: Mapping[str, str]) -> str:
    """Return the name of a design, for a layer with how it is called: `complex, inlined, unchecked`."""
    if kind != "layer":
        return design_words(name)
    called = "called" if is_called(parameters) else "inlined"
    return f"{design_words(name)}, {called}, {'checked' if is_checked(parameters) else 'unchecked'}"


def is_called(parameters: Mapping[str, str]) -> bool:
    """Whether a layer's function is called in its library rather than inlined."""
    return parameters.get("call", "library") == "library"


def is_checked(parameters: Mapping[str, str]) -> bool:
    """Whether a layer checks its arguments."""
    return parameters.get("checks", "on") == "on"


@dataclass(frozen=True, slots=True)
class DesignRow:
    """A design in the launches of one MPI. `mpi` is the MPI's short name, or "" in a run of a single unnamed MPI."""

    put: PutRow
    cell: CellResult
    kind: Kind
    words: str
    mpi: str

    @property
    def estimate(self) -> MetricEstimate | None:
        """Return the steady time of a put."""
        return steady(self.cell)

    @property
    def calls(self) -> InstructionRegion | None:
        """Return the instructions of the puts, or None if they were not counted."""
        return puts(self.cell)

    @property
    def inside(self) -> Distribution | None:
        """Return the distribution of instructions inside a call, or None if not counted or nothing is called."""
        return inside(self.cell)

    @property
    def name(self) -> str:
        """Return the name of the row: a library's MPI, or the design."""
        return f"{self.words} of {self.mpi}" if self.kind == "library" and self.mpi else self.words


def rows_of(condition: PutCondition, results: Results) -> list[DesignRow]:
    """Return the rows in the order of the results."""
    rows = []
    for row in condition.rows:
        cell, kind = results.cell(row.cell), design_of(row.design).kind
        rows.append(DesignRow(row, cell, kind, row_words(row.design, kind, cell.parameters), row.mpi or ""))
    return rows


def where(condition: PutCondition) -> str:
    """Return how a condition differs from the first one."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in condition.differs.items())


def inside(cell: CellResult) -> Distribution | None:
    """Return the instructions inside a call."""
    counted = puts(cell)
    return counted.per_call.stepped if counted else None


# ---- The earlier study

WHAT_IT_IS = "measured on another machine in another decade"
SOURCE = "Underwood and Barrett, SMARTMAP on a Cray"


@dataclass(frozen=True, slots=True)
class ReportedVariant:
    """A row of the study. `layer`: the corresponding design of the experiment put; `checked`: with its checks."""

    variant: str
    design: str
    instructions: int  # of one put
    rate_per_s: float
    layer: str
    checked: bool


STUDY: tuple[ReportedVariant, ...] = (
    ReportedVariant("complex_datatype", "complex datatype", 272, 10.16e6, "complex", True),
    ReportedVariant("simple_datatype", "simple datatype", 84, 43.07e6, "simple", True),
    ReportedVariant("small_args", "small args", 58, 53.55e6, "small_args", True),
    ReportedVariant("shmem", "SHMEM", 48, 59.38e6, "shmem_put", False),
)  # fmt: skip


NOT_MEASURED = "not measured"
_SHMEM = "openshmem_put"


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A row of the table.

    Args: variant: the study's name of the row, or the design of a library. mpi: the MPI of the launches. then: the
          study's row, or None. reason: why a rate or count is missing, or None.
    """

    variant: str
    name: str
    measured_as: str
    mpi: str
    instructions: Distribution | None
    rate_per_s: float | None
    rate_interval: Interval | None
    then: ReportedVariant | None
    reason: str | None


def study_rows(results: Results) -> list[StudyRow]:
    """Return the four designs in the launches of the first library, then every library.

    After the first of the four, whose datatype is predefined, comes the same layer with derived datatypes. After the
    libraries, the same of each library.
    """
    if results.put is None or not results.put.conditions:
        return []
    rows = rows_of(results.put.conditions[0], results)
    first = next((row.mpi for row in rows if row.kind == "library"), rows[0].mpi)
    layers = [row for row in rows if row.kind == "layer" and row.mpi == first]
    if not layers:
        return []
    four = [_four(variant, layers, first) for variant in STUDY]
    derived = _derived(results)
    four[1:1] = [row for row in derived if row.variant.startswith("complex") and row.mpi == first]
    libraries = [_measured(row, row.put.design, row.name, None) for row in rows if row.kind == "library"]
    libraries += [row for row in derived if row.variant.startswith("mpi")]
    measured = {row.put.design for row in rows}
    return [*four, *libraries, *([] if _SHMEM in measured else _no_openshmem(results))]


def _four(variant: ReportedVariant, layers: Sequence[DesignRow], mpi: str) -> StudyRow:
    """Return a design of the study measured as the corresponding layer."""

    def fits(row: DesignRow) -> tuple[bool, bool]:
        return is_called(row.cell.parameters), is_checked(row.cell.parameters) == variant.checked

    mine = [row for row in layers if row.put.design == variant.layer]
    if not mine:
        return StudyRow(variant.variant, variant.design, variant.layer, mpi, None, None, None, variant, NOT_MEASURED)
    best = max(mine, key=fits)
    checked = "checked" if is_checked(best.cell.parameters) else "unchecked"
    name = variant.design if variant.checked else f"{variant.design}, {checked}"
    return _measured(best, variant.variant, name, variant)


def _derived(results: Results) -> list[StudyRow]:
    """Return rows of derived datatypes: the same vector on both sides, and different datatypes at origin and target."""
    derived = []
    for condition in results.put.conditions if results.put else []:
        origin = condition.settings.get("datatype", "predefined")
        target = condition.settings.get("target_datatype", "same")
        usual = {name for name in condition.differs if name not in ("datatype", "target_datatype")}
        if origin != "vector" or usual:
            continue
        kind = "vector" if target in ("same", origin) else f"{origin} to {target}"
        for row in rows_of(condition, results):
            design = row.put.design
            given = row.cell.parameters
            if design == "mpi" or (design == "complex" and is_called(given) and is_checked(given)):
                words = row.name if design == "mpi" else "complex datatype"
                made = _measured(row, f"{design}_{kind.replace(' ', '_')}", f"{words}, {kind}", None)
                derived.append(replace(made, measured_as=f"{row.words}, {kind}"))
    return derived


def _measured(row: DesignRow, variant: str, name: str, then: ReportedVariant | None) -> StudyRow:
    estimate, inside = row.estimate, row.inside
    reason = None if row.calls else row.cell.instructions_reason or "not counted"
    return StudyRow(
        variant=variant,
        name=name,
        measured_as=row.words,
        mpi=row.mpi,
        instructions=inside,
        rate_per_s=estimate.message_rate_per_s if estimate else None,
        rate_interval=estimate.message_rate_interval if estimate else None,
        then=then,
        reason=reason,
    )


def _no_openshmem(results: Results) -> list[StudyRow]:
    """Return one row that says why the table has no real OpenSHMEM, whatever number of MPIs has none."""
    words, said = design_words(_SHMEM), {skipped.cell: skipped.reason for skipped in results.skipped}
    mpis: dict[str, list[str]] = {}
    for cell in results.cells:
        if cell.parameters.get("design") == _SHMEM:
            why = said.get(cell.cell) or cell.reason or NOT_MEASURED
            mpis.setdefault(why.removeprefix(f"design={_SHMEM}: "), []).append(cell.mpi or "")
    mpis = mpis or {NOT_MEASURED: [""]}
    whose = " and ".join(mpi for of in mpis.values() for mpi in of if mpi)
    reason = "; ".join(mpis)
    return [StudyRow(_SHMEM, words, words, whose, None, None, None, None, reason)]


def count_words(distribution: Distribution | None) -> str:
    """Return the median of the instructions inside a call, and their range if calls differ."""
    if distribution is None:
        return fmt.MISSING
    return (
        f"{distribution.median:g}"
        if distribution.min == distribution.max
        else f"{distribution.median:g} ({distribution.min} to {distribution.max})"
    )


NANOSECOND = 1e-9
MILLION = 1e6


def scaled(value: float | None, interval: Interval | None, unit: float, kind: str | None = None) -> Quantity:
    """Return a value in a unit that the head of its column names, such as NANOSECOND or MILLION."""
    ends = (interval[0] / unit, interval[1] / unit) if interval else None
    return Quantity(None if value is None else value / unit, "", ends, kind)


_COLUMNS: tuple[tuple[str, Callable[[StudyRow], Value]], ...] = (
    ("variant", lambda row: row.variant),
    ("instructions_per_put", lambda row: row.instructions.median if row.instructions else None),
    ("instructions_min", lambda row: row.instructions.min if row.instructions else None),
    ("instructions_max", lambda row: row.instructions.max if row.instructions else None),
    ("instructions_mean", lambda row: row.instructions.mean if row.instructions else None),
    ("message_rate_million_per_s", lambda row: _million(row.rate_per_s)),
    ("message_rate_low", lambda row: _million(row.rate_interval[0]) if row.rate_interval else None),
    ("message_rate_high", lambda row: _million(row.rate_interval[1]) if row.rate_interval else None),
    ("mpi", lambda row: row.mpi),
    ("measured_as", lambda row: row.measured_as),
    ("reason", lambda row: row.reason),
    ("study_instructions_per_put", lambda row: row.then.instructions if row.then else None),
    ("study_message_rate_million_per_s", lambda row: _million(row.then.rate_per_s) if row.then else None),
)
_HEAD = (
    "design",
    "measured as",
    "instructions per put",
    "million puts/s",
    "then: instructions",
    "then: million puts/s",
)


NAMES = ("put-table.csv", "put-table.md")


def study_files(results: Results) -> dict[str, str]:
    """Return content by file name, {} in a run without puts to compare."""
    rows = study_rows(results)
    table = as_csv([name for name, _ in _COLUMNS], ([of(row) for _, of in _COLUMNS] for row in rows))
    return dict(zip(NAMES, (table, study_markdown(rows)), strict=True)) if rows else {}


def study_markdown(rows: list[StudyRow]) -> str:
    """Return the table as Markdown, with notes on missing values and on the old numbers."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD)), *(_line(_cells(row)) for row in rows)]
    missing = [f"{row.name}{f' ({row.mpi})' if row.mpi else ''}: {row.reason}." for row in rows if row.reason]
    return "\n".join([*lines, "", *map(line, missing), f"Then: {WHAT_IT_IS}; {SOURCE}."]) + "\n"


def _cells(row: StudyRow) -> list[str]:
    launches = f", in launches of {row.mpi}" if row.mpi and row.then else ""
    then = [str(row.then.instructions), f"{row.then.rate_per_s / MILLION:g}"] if row.then else [fmt.MISSING] * 2
    today = [count_words(row.instructions), scaled(row.rate_per_s, row.rate_interval, MILLION).text]
    return [line(cell).replace("|", "\\|") for cell in (row.name, f"{row.measured_as}{launches}", *today, *then)]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _million(rate_per_s: float | None) -> float | None:
    return None if rate_per_s is None else rate_per_s / MILLION


# ---- Lines for a terminal

STUDY_HEAD = ("design", "instructions", "M puts/s", "then: instructions", "M puts/s")
HEAD = ("who puts", "instructions", "with loop", "ns a put", "M puts/s", "of empty call")


def put_lines(results: Results) -> list[str]:
    """Return the tables as lines, not wrapped, or [] in a run without puts to compare."""
    if results.put is None or not results.put.conditions:
        return []
    rows = rows_of(results.put.conditions[0], results)
    first = next((row.mpi for row in rows if row.kind == "library"), rows[0].mpi)
    shown = [row for row in rows if row.kind == "library" or row.mpi == first]
    lines = _study(study_rows(results))
    lines.append("Cost of a put:")
    lines += _lines([HEAD, *(line for row in shown for line in (_row(row), *_kernel(row)))])
    return lines + busy_lines(results)


def _kernel(row: DesignRow) -> list[tuple[str, ...]]:
    """The part of a library's put that its instructions don't show; [] where processor times were not recorded."""
    origin = (row.cell.witness or {}).get("steady", {}).get("send") if row.kind == "library" else None
    if origin is None or origin.system_time_s_per_op is None:
        return []
    each_s = origin.system_time_s_per_op / int(row.cell.parameters.get("puts", "1"))
    return [("  of it in the kernel", "-", "-", f"{each_s / NANOSECOND:.3g}", "-", "-")]


def put_table(results: Results) -> list[str]:
    """Return what is on the first screen: the earlier study's designs, today and then, and the libraries."""
    rows = [row for row in study_rows(results) if is_first(row)]
    return _lines([STUDY_HEAD, *map(_study_row, rows)]) if rows else []


def is_first(row: StudyRow) -> bool:
    """Whether a row is one of the earlier study's, or a library's put of a predefined datatype."""
    return row.then is not None or (row.rate_per_s is not None and "vector" not in row.variant)


def put_answers(results: Results) -> list[str]:
    """Return what a put costs in each library, and the leanest layer next to it; [] without puts to compare."""
    if results.put is None or not results.put.conditions:
        return []
    rows = rows_of(results.put.conditions[0], results)
    answers = [_cost(row) for row in rows if row.kind == "library"]
    called = [row for row in rows if row.kind == "layer" and row.inside]
    leanest = min(called, key=lambda row: row.inside.median if row.inside else 0.0, default=None)
    return [*answers, *([_cost(leanest)] if leanest else [])]


def _cost(row: DesignRow) -> str:
    """`MPI_Put of mpich 5.0.2: 586 instructions in the call, 41.7 ns [41.3, 42.0].`"""
    inside, estimate = row.inside, row.estimate
    count = f"{inside.median:g} instructions in the call" if inside else "instructions not counted"
    if estimate is None:
        return f"{row.name}: {count}, time not measured."
    ends = fmt.quantity_interval(estimate.value, "s", estimate.interval)
    return f"{row.name}: {count}, {fmt.beside(fmt.time(estimate.value, estimate.interval), ends)}."


def busy_lines(results: Results) -> list[str]:
    """Return what a target that computes between its calls of MPI does to a put, one line for each pair of cells."""
    lines = []
    for contrast in results.contrasts:
        if contrast.axis != "target_busy_s" or contrast.ratio is None or contrast.a.phase != "steady":
            continue
        cell, busy = results.cell(contrast.a.cell), results.cell(contrast.b.cell)
        window = cell.parameters.get("window", "allocate")
        shown = fmt.ratio(contrast.ratio, contrast.interval)
        ends = fmt.ratio_interval(contrast.ratio, contrast.interval)
        time = fmt.time(float(busy.parameters["target_busy_s"]))
        whose = f" of {cell.mpi}" if cell.mpi else ""
        lines.append(
            f"  Target busy for {time}, window {window}{whose}: a put takes {shown} times as long "
            f"{ends or contrast.reason} ({contrast.verdict})."
        )
    return lines


def _study(rows: Sequence[StudyRow]) -> list[str]:
    """Return the earlier study's four designs, today and then, and the libraries of this run."""
    if not rows:
        return []
    today = f" in launches of {rows[0].mpi}" if rows[0].mpi else ""
    lines = [f"The study's four designs of a put{today}:"]
    lines += _lines([STUDY_HEAD, *(_study_row(row) for row in rows if row.rate_per_s is not None or row.then)])
    lines += [f"  {row.name}{f' of {row.mpi}' if row.mpi else ''}: {row.reason}." for row in rows if row.reason]
    layers = "; ".join(row.measured_as for row in rows if row.then)
    lines += [f"  The four, as layers: {layers}.", f"  As files: {' and '.join(NAMES)}."]
    return [*lines, f"  Then: {WHAT_IT_IS}."]


def _study_row(row: StudyRow) -> tuple[str, ...]:
    then = (str(row.then.instructions), f"{row.then.rate_per_s / MILLION:.2f}") if row.then else ("", "")
    return (
        row.name,
        _dash(count_words(row.instructions)),
        _dash(scaled(row.rate_per_s, row.rate_interval, MILLION).text),
        *then,
    )


def _lines(table: Sequence[Sequence[str]]) -> list[str]:
    return [f"  {line}" for line in fmt.aligned(table)]


def _dash(shown: str) -> str:
    return "-" if shown == fmt.MISSING else shown


def _row(row: DesignRow) -> tuple[str, ...]:
    estimate, whole, of_empty = row.estimate, row.put.instructions_with_loop, row.put.of_empty
    return (
        row.name,
        f"{row.inside.median:g}" if row.inside else "-",
        "-" if whole is None else f"{whole:.1f}",
        scaled(estimate.value, estimate.interval, NANOSECOND).text if estimate else "-",
        scaled(estimate.message_rate_per_s, estimate.message_rate_interval, MILLION).text if estimate else "-",
        "-" if of_empty is None else fmt.ratio(of_empty.ratio, of_empty.interval),
    )


# ---- The page

_STUDY_HEAD = ["Design", "Measured as", "Instructions", "Million puts/s"]
_STUDY_HEAD += ["Then: instructions", "Then: million puts/s"]
_HEAD_OF_PAGE = ["Who puts", "Instructions", "With the loop", "Time, ns"]
_HEAD_OF_PAGE += ["Million puts/s", "Rate over empty call", "Synchronisation of a burst, ns"]
_NOT_COUNTED = f"{fmt.MISSING} not counted"
_SHOWN_FUNCTIONS = 8  # the rest is one row, and the table has them all


def put_section(results: Results) -> Section | None:
    """Return the section, or None in a run without measured cells of the experiment put."""
    if results.put is None:
        return None
    cells = [results.cell(number) for number in results.put.cells]
    mpis = list(dict.fromkeys(cell.mpi or "" for cell in cells))
    tables = [(where(condition), rows_of(condition, results)) for condition in results.put.conditions]
    first = tables[0][1] if tables else []
    kinds = list(dict.fromkeys(row.estimate.interval_kind for row in first if row.estimate))
    of_ratios = sorted({row.put.of_empty.interval_kind for row in first
                        if row.put.of_empty and row.put.of_empty.interval})  # fmt: skip
    blocks: list[Block] = [*_study_blocks(results)]
    if first:
        shown = [_numbers(row, len(kinds) > 1, len(of_ratios) > 1) for row in first]
        words = f"Intervals: {kinds[0]}. " if len(kinds) == 1 else ""
        words += f"Those of the ratios: {of_ratios[0]}." if len(of_ratios) == 1 else ""
        table: list[Block] = [Table("", _HEAD_OF_PAGE, shown, wide=True), Text(words, "sub")]
        blocks += [Fold("All numbers", table)] if blocks else table
    key = [(f"bar {STYLES[place % len(STYLES)]}", f"in launches of {mpi or 'this MPI'}")
           for place, mpi in enumerate(mpis)]  # fmt: skip
    charts = [_charts(words, rows, mpis, key, history=place == 0) for place, (words, rows) in enumerate(tables)]
    pictures = [block for chart in charts for block in chart]
    folded: list[Block] = [*pictures[1:]]
    folded += [_split_figure(split) for split in results.put.splits]
    folded += _others(cells, {row.cell.cell for row in first})
    blocks += pictures[:1]
    blocks += [Fold("Rates and other conditions", folded)] if folded else []
    return Section("put", "Cost of a put", "Put", blocks)


def _study_blocks(results: Results) -> list[Block]:
    """Return the earlier study's table, today and then."""
    rows: list[list[str]] = []
    more: list[list[str]] = []
    for row in study_rows(results):
        launches = f", in launches of {row.mpi}" if row.mpi and row.then else ""
        missing = f"{fmt.MISSING} {row.reason}" if row.reason else fmt.MISSING
        count = missing if row.instructions is None else count_words(row.instructions)
        rate = missing if row.rate_per_s is None else scaled(row.rate_per_s, row.rate_interval, MILLION).text
        then = [str(row.then.instructions), f"{row.then.rate_per_s / MILLION:.2f}"] if row.then else [fmt.MISSING] * 2
        (rows if is_first(row) else more).append([row.name, f"{row.measured_as}{launches}", count, rate, *then])
    if not rows:
        return []
    return [
        Table("The study's table", _STUDY_HEAD, rows, wide=True),
        Text(f"Then: {WHAT_IT_IS} ({SOURCE}).", "sub"),
        *([Fold("Vectors", [Table("", _STUDY_HEAD, more, wide=True)])] if more else []),
    ]  # fmt: skip


def _numbers(row: DesignRow, with_kind: bool, with_kind_of_ratio: bool) -> list[Shown]:
    launches = "" if row.kind == "library" or not row.mpi else f"in launches of {row.mpi}"
    whole, share = row.put.instructions_with_loop, row.put.of_empty
    counted = f"{fmt.MISSING} not reported" if whole is None else f"{whole:.1f}"
    rate = Shown(fmt.MISSING)
    if share is not None:
        ratio = Quantity(share.ratio, "×", share.interval, share.interval_kind)
        rate = Shown(ratio.text, ratio.ends if ratio.ends and not with_kind_of_ratio else ratio.note)
    elif row.put.design.startswith("empty_call"):
        rate = Shown(fmt.MISSING)
    return [
        Shown(row.name, launches),
        _inside(row.cell),
        Shown(counted if row.calls else _NOT_COUNTED),
        *_costs(row.cell, with_kind),
        rate,
        _synchronisation(row.cell),
    ]


def _costs(cell: CellResult, with_kind: bool = True) -> tuple[Shown, Shown]:
    """Return time and rate with their intervals."""
    estimate = steady(cell)
    if estimate is None:
        return Shown(fmt.MISSING, "no interval"), Shown(fmt.MISSING, "no interval")
    time = scaled(estimate.value, estimate.interval, NANOSECOND, estimate.interval_kind)
    rate = scaled(estimate.message_rate_per_s, estimate.message_rate_interval, MILLION)
    return (
        Shown(time.text, time.ends if time.ends and not with_kind else time.note),
        Shown(rate.text, rate.ends or "no interval"),
    )


def _inside(cell: CellResult) -> Shown:
    """Return median and range of the instructions inside a call, or why there are none."""
    counted, distribution = puts(cell), inside(cell)
    if counted is None:
        return Shown(_NOT_COUNTED)
    if distribution is None:
        return Shown(f"{fmt.MISSING} nothing is called")
    calls = fmt.plural(counted.calls, "call")
    differ = distribution.min != distribution.max
    spread = f"{distribution.min} to {distribution.max} in {calls}" if differ else f"all {calls}"
    return Shown(f"{distribution.median:g}", spread)


def _synchronisation(cell: CellResult) -> Shown:
    """Return time and instructions of the call that ends a burst, without the puts."""
    estimate = cell.estimate("synchronisation_s", "steady")
    counted = cell.instructions.synchronisation if cell.instructions else None
    shown = scaled(estimate.value, estimate.interval, NANOSECOND).text if estimate else f"{fmt.MISSING} not timed apart"
    return Shown(shown, f"{counted.total.stepped:g} instructions" if counted else "not counted")


def _charts(
    words: str, rows: Sequence[DesignRow], mpis: Sequence[str], key: Sequence[tuple[str, str]], history: bool
) -> list[Rows]:
    kinds = {row.kind for row in rows}
    caption = f"{', '.join(KINDS[kind].lower() for kind in KINDS if kind in kinds)}; {words or 'the usual put'}"
    charts = []
    counted = [row for row in rows if row.calls]
    if counted:
        values = [v for row in counted for v in (row.inside.median if row.inside else None,
                                                 row.put.instructions_with_loop) if v]  # fmt: skip
        values += [float(known.instructions) for known in STUDY] if history else []
        low = min(values, default=1.0) / 1.8  # where bars begin, so that the shortest one is visible
        bars = [_bar_row(row, _count_marks(row, low, _style(row, mpis)), _count_words(row)) for row in counted]
        bars += [
            Row(f"History: {known.design}", [Mark("bar", "history", (low, known.instructions))],
                f"{known.instructions}", words=f"{known.instructions} instructions, in the earlier study")
            for known in (STUDY if history else ())
        ]  # fmt: skip
        table = [[row.name, row.mpi, _count_words(row)] for row in counted]
        axis = Axis("instructions, logarithmic", "", ends=(low,))
        charts.append(Rows("Instructions of a put", caption, axis, bars,
                           numbers(["Who puts", "In launches of", "Instructions"], table), key))  # fmt: skip
    timed = [(row, estimate) for row in rows if (estimate := row.estimate) and estimate.message_rate_per_s]
    if timed:
        low = min(estimate.message_rate_per_s or 1.0 for _, estimate in timed) / 1.8
        bars = [_bar_row(row, _rate_marks(estimate, low, _style(row, mpis)), _rate(estimate).text)
                for row, estimate in timed]  # fmt: skip
        table = [[row.name, row.mpi, " ".join((_costs(row.cell)[1].text, _costs(row.cell)[1].note))]
                 for row, _ in timed]  # fmt: skip
        axis = Axis("puts per second, logarithmic", "1/s", ends=(low,))
        charts.append(Rows("Rate of puts", caption, axis, bars,
                           numbers(["Who puts", "In launches of", "Puts per second"], table), key))  # fmt: skip
    return charts


def _style(row: DesignRow, mpis: Sequence[str]) -> str:
    return STYLES[mpis.index(row.mpi) % len(STYLES)]


def _bar_row(row: DesignRow, marks: Sequence[Mark], words: str) -> Row:
    detail = f"in launches of {row.mpi}" if row.mpi and row.kind != "library" else ""
    return Row(row.name, marks, words, detail=detail)


def _count_marks(row: DesignRow, low: float, style: str) -> list[Mark]:
    """Return instructions inside the call, lighter those with the loop, and the range over calls."""
    whole, distribution = row.put.instructions_with_loop, row.inside
    marks = [Mark("bar", f"{style} faint", (low, whole))] if whole else []
    if distribution:
        marks.append(Mark("bar", style, (low, distribution.median)))
        if distribution.min != distribution.max:
            marks.append(Mark("line", "plain", (distribution.min, distribution.max)))
    return marks


def _count_words(row: DesignRow) -> str:
    """Return the chart's text: instructions inside the call, and in total."""
    known, distribution = row.put.instructions_with_loop, row.inside
    whole = "loop not counted" if known is None else f"{known:.1f} with its loop"
    if distribution is None:
        return f"all inlined; {whole}"
    spread = f", {distribution.min} to {distribution.max}" if distribution.min != distribution.max else ""
    return f"{distribution.median:g}{spread}; {whole}"


def _rate(estimate: MetricEstimate) -> Quantity:
    return Quantity(estimate.message_rate_per_s, "1/s", estimate.message_rate_interval)


def _rate_marks(estimate: MetricEstimate, low: float, style: str) -> list[Mark]:
    rate = _rate(estimate)
    marks = [Mark("bar", style, (low, rate.value or low))]
    return [*marks, Mark("line", "plain", rate.interval)] if rate.interval else marks


def _others(cells: Sequence[CellResult], shown: set[int]) -> list[Block]:
    """Return everything that the first table leaves out: windows, info keys, synchronisations, datatypes, sizes."""
    rows: list[list[Cell]] = [
        [cell.label, _inside(cell), *_costs(cell), _synchronisation(cell)] for cell in cells if cell.cell not in shown
    ]
    head = ["Cell", *(_HEAD_OF_PAGE[place] for place in (1, 3, 4, 6))]
    summary = "Every other cell: windows, info keys, synchronisations, datatypes, sizes"
    return [Table("", head, rows, summary)] if rows else []


def _split_figure(split: PutSplit) -> Rows:
    """Return the functions in which a library's put spends its instructions."""
    entries = [(part.function, part.library, part.per_call, part.ratio) for part in split.parts[:_SHOWN_FUNCTIONS]]
    if rest := split.parts[_SHOWN_FUNCTIONS:]:
        shares = sum(part.ratio or 0.0 for part in rest)
        entries.append((fmt.plural(len(rest), "other function"), "", sum(part.per_call for part in rest), shares))
    rows = [
        Row(function, [Mark("bar", "s1", (0, per_call))], f"{per_call:.1f}, {fmt.percent(ratio, 0)}", library)
        for function, library, per_call, ratio in entries
    ]
    table = [[part.function, part.library, f"{part.per_call:.2f}", fmt.percent(part.ratio)] for part in split.parts]
    words = design_words(split.design)
    return Rows(
        f"{f'{words} of {split.mpi}' if split.mpi else words}: where the instructions go",
        "",
        Axis("instructions a call", "", log=False, ends=(0.0,)),
        rows,
        numbers(["Function", "Library", "Instructions", "Share"], table),
    )
