# SPDX-License-Identifier: Apache-2.0
"""The earlier study's table: its four designs in instructions and million puts per second, today and then.

Today's rows are the reference layers called through a shared library, followed by the libraries of the run. The
machines differ, so only the distances between the four designs can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from slowpath.core.cell_results import Distribution
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.put.history import STUDY, ReportedVariant
from slowpath.report.put.rows import DesignRow, rows_of
from slowpath.report.put.words import design_words

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
        given = row.cell.parameters
        return given.get("call", "library") == "library", (given.get("checks", "on") == "on") == variant.checked

    mine = [row for row in layers if row.found.design == variant.layer]
    if not mine:
        return StudyRow(variant.variant, variant.design, variant.layer, mpi, None, None, None, variant, NOT_MEASURED)
    best = max(mine, key=fits)
    checked = best.cell.parameters.get("checks", "on") == "on"
    name = variant.design if variant.checked else f"{variant.design}, {'checked' if checked else 'unchecked'}"
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
            if design == "mpi" or (design == "complex" and row.words == "complex, called, checked"):
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
