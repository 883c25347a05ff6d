# SPDX-License-Identifier: Apache-2.0
"""The profile of a machine: what costs what under its library, and whether that is what the library is known for. Pure.

A program pays for a property or avoids it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, MpiResult, Results
from slowpath.core.units import ratio_words
from slowpath.findings.expected import expectation
from slowpath.report import format as fmt

LATENCY = "half_round_trip_latency_s"


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """what: the title.  code: of the slow path; empty: a plain time.  cost: in words, with intervals.  law: how it
    grows; empty: one point, or no law holds.  expected: what the library is known for, in words.
    """

    what: str
    code: str
    cost: str
    factor: str
    law: str
    expected: str
    standing: str


def profile(findings: Sequence[Finding], results: Results | None) -> list[ProfileRow]:
    """Rows in the order of what they cost, plain times first.

    Args: findings: of a run or a whole diagnosis.  results: of the run, or of the diagnosis' survey; None: not at hand.
    """
    rows = _plain(results.cells) if results else []
    mpis = {mpi.mpi: mpi for mpi in (results.run.mpis or [results.run.mpi])} if results else {}
    own = [finding for finding in findings if finding.kind == "property" and finding.affects_default is not False]
    return [*rows, *(_row(finding, mpis.get(finding.mpi)) for finding in own)]


def library_name(mpi: MpiResult | None) -> str | None:
    """`mpich 5.0.2`; None: not known."""
    return f"{mpi.name} {mpi.version}" if mpi and mpi.name and mpi.version else None


def _row(finding: Finding, mpi: MpiResult | None) -> ProfileRow:
    law = finding.law.text if finding.law and finding.law.name else ""
    found = expectation(finding, library_name(mpi))
    factor = ratio_words(finding.ratio, finding.interval) if finding.ratio is not None else ""
    return ProfileRow(finding.title, finding.rule, finding.text, factor, law, found.words, found.standing)


def _plain(cells: Sequence[CellResult]) -> list[ProfileRow]:
    """Latency of the shortest message and bandwidth of the longest, where they were measured as the user has them."""
    plain = [
        cell
        for cell in cells
        if cell.environment == "default"
        and cell.parameters.get("pattern") == "ping_pong"
        and cell.parameters.get("memory", "host") == "host"
        and cell.parameters.get("datatype", "contiguous") == "contiguous"
        and _steady(cell) is not None
    ]
    if not plain:
        return []
    plain.sort(key=_length)
    rows = []
    for what, cell in (("Half round-trip latency", plain[0]), ("Bandwidth", plain[-1])):
        steady = _steady(cell)
        if steady is None:
            continue
        value, interval = steady
        length = fmt.count_bytes(_length(cell))
        span = fmt.quantity_interval(value, "s", interval)
        cost = " ".join(filter(None, (f"{length} message: {fmt.quantity(value, 's', interval)}", span)))
        if what == "Bandwidth" and value > 0:
            cost += f", {_length(cell) / value / 1e9:.3g} GB/s"
        rows.append(ProfileRow(what, "", cost, "", "", "", "no expectation"))
    return rows


def _steady(cell: CellResult) -> tuple[float, tuple[float, float] | None] | None:
    metric = cell.metrics.get(LATENCY)
    estimate = metric.phases.get("steady") if metric else None
    if estimate is None or estimate.value is None:
        return None
    return estimate.value, estimate.interval


def _length(cell: CellResult) -> int:
    text = cell.parameters.get("message_bytes", "0")
    return int(text) if text.isdecimal() else 0
