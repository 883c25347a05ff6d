# SPDX-License-Identifier: Apache-2.0
"""The earlier study's table: its four designs in instructions and million puts per second, today and then.

Today's rows are the reference layers called through a shared library, followed by the libraries of the run. The
machines differ, so only the distances between the four designs can be compared: counts of instructions can be read next
to today's counts, and the study's rates say nothing about today's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from slowpath.core.cell_results import Distribution
from slowpath.core.guard import line
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.csv import Value, as_csv
from slowpath.report.put.rows import DesignRow, design_words, is_called, is_checked, rows_of

WHAT_IT_IS = "measured on another machine in another decade"
SOURCE = "as Underwood and Barrett reported it for SMARTMAP on a Cray; no publication with these numbers is known to us"


@dataclass(frozen=True, slots=True)
class ReportedVariant:
    """A row of the study. `layer`: the corresponding design of the experiment put; `checked`: with its checks."""

    variant: str
    design: str
    instructions: int  # of one put
    rate_per_s: float
    meaning: str
    layer: str
    checked: bool


STUDY: tuple[ReportedVariant, ...] = (
    ReportedVariant("complex_datatype", "complex datatype", 272, 10.16e6,
             "origin and target datatypes decoded on every call", "complex", True),
    ReportedVariant("simple_datatype", "simple datatype", 84, 43.07e6,
             "basic datatype whose properties are in its handle", "simple", True),
    ReportedVariant("small_args", "small args", 58, 53.55e6,
             "datatypes taken as equal and simple, and out of the call", "small_args", True),
    ReportedVariant("shmem", "SHMEM", 48, 59.38e6,
             "put of a vendor's SHMEM over the same path", "shmem_put", False),
)  # fmt: skip


NOT_MEASURED = "not measured in this run"
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
    libraries = [_measured(row, row.found.design, row.name, None) for row in rows if row.kind == "library"]
    libraries += [row for row in derived if row.variant.startswith("mpi")]
    measured = {row.found.design for row in rows}
    return [*four, *libraries, *([] if _SHMEM in measured else _no_openshmem(results))]


def _four(variant: ReportedVariant, layers: Sequence[DesignRow], mpi: str) -> StudyRow:
    """Return a design of the study measured as the corresponding layer."""

    def fits(row: DesignRow) -> tuple[bool, bool]:
        return is_called(row.cell.parameters), is_checked(row.cell.parameters) == variant.checked

    mine = [row for row in layers if row.found.design == variant.layer]
    if not mine:
        return StudyRow(variant.variant, variant.design, variant.layer, mpi, None, None, None, variant, NOT_MEASURED)
    best = max(mine, key=fits)
    checked = "checked" if is_checked(best.cell.parameters) else "unchecked"
    name = variant.design if variant.checked else f"{variant.design}, {checked}"
    return _measured(best, variant.variant, name, variant)


def _derived(results: Results) -> list[StudyRow]:
    """Return rows of derived datatypes: the same vector on both sides, and different datatypes at origin and target."""
    found = []
    for condition in results.put.conditions if results.put else []:
        origin = condition.settings.get("datatype", "predefined")
        target = condition.settings.get("target_datatype", "same")
        usual = {name for name in condition.differs if name not in ("datatype", "target_datatype")}
        if origin != "vector" or usual:
            continue
        kind = "vector" if target in ("same", origin) else f"{origin} to {target}"
        for row in rows_of(condition, results):
            design = row.found.design
            given = row.cell.parameters
            if design == "mpi" or (design == "complex" and is_called(given) and is_checked(given)):
                words = row.name if design == "mpi" else "complex datatype"
                made = _measured(row, f"{design}_{kind.replace(' ', '_')}", f"{words}, {kind}", None)
                found.append(replace(made, measured_as=f"{row.words}, {kind}"))
    return found


def _measured(row: DesignRow, variant: str, name: str, then: ReportedVariant | None) -> StudyRow:
    estimate, inside = row.estimate, row.inside
    reason = None if row.calls else row.cell.instructions_reason or "its instructions were not counted"
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


def nanoseconds(value_s: float | None, interval: Interval | None = None) -> str:
    """Return seconds as ns, rounded to their interval."""
    return _scaled(value_s, interval, NANOSECOND)


def millions(rate_per_s: float | None, interval: Interval | None = None) -> str:
    """Return a rate in million per second, rounded to its interval."""
    return _scaled(rate_per_s, interval, MILLION)


def nanoseconds_interval(value_s: float | None, interval: Interval | None) -> str | None:
    """Return the ends of an interval in ns, or None."""
    return fmt.ratio_interval(value_s, _ends(interval, NANOSECOND))


def millions_interval(rate_per_s: float | None, interval: Interval | None) -> str | None:
    """Return the ends of an interval in million per second, or None."""
    return fmt.ratio_interval(rate_per_s, _ends(interval, MILLION))


def _scaled(value: float | None, interval: Interval | None, unit: float) -> str:
    return fmt.number(None if value is None else value / unit, _ends(interval, unit))


def _ends(interval: Interval | None, unit: float) -> Interval | None:
    return (interval[0] / unit, interval[1] / unit) if interval else None


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
    return dict(zip(NAMES, (study_csv(rows), study_markdown(rows)), strict=True)) if rows else {}


def study_csv(rows: list[StudyRow]) -> str:
    """Return the table as CSV, with an empty field and a `reason` where a value is missing."""
    return as_csv([name for name, _ in _COLUMNS], ([of(row) for _, of in _COLUMNS] for row in rows))


def study_markdown(rows: list[StudyRow]) -> str:
    """Return the table as Markdown, with notes on missing values and on the old numbers."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD)), *(_line(_cells(row)) for row in rows)]
    missing = [f"{row.name}{f' ({row.mpi})' if row.mpi else ''}: {row.reason}." for row in rows if row.reason]
    return "\n".join([*lines, "", *map(line, missing), f"Then: {WHAT_IT_IS}; {SOURCE}."]) + "\n"


def _cells(row: StudyRow) -> list[str]:
    launches = f", in launches of {row.mpi}" if row.mpi and row.then else ""
    then = [str(row.then.instructions), f"{row.then.rate_per_s / MILLION:g}"] if row.then else [fmt.MISSING] * 2
    today = [count_words(row.instructions), millions(row.rate_per_s, row.rate_interval)]
    return [line(cell).replace("|", "\\|") for cell in (row.name, f"{row.measured_as}{launches}", *today, *then)]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _million(rate_per_s: float | None) -> float | None:
    return None if rate_per_s is None else rate_per_s / MILLION
