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
from slowpath.report import format as fmt
from slowpath.slowpaths.expected import expectation, library_name

LATENCY = "half_round_trip_latency_s"


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """what: the title.  code: of the slow path; empty: a plain time.  cost: in words, with intervals.  law: how it
    grows; empty: one point, or no law holds.  expected: what the library is known for, in words.  mpi: short name of
    the library, as in `run.mpis`.  about: what the slow path is about, the same for each library.
    """

    what: str
    code: str
    cost: str
    factor: str
    law: str
    expected: str
    standing: str
    mpi: str | None = None
    about: str = ""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """mpis: short names of the libraries, each a column.  rows: what costs something under one of them, with its row
    for each library; None: nothing was found there.
    """

    mpis: Sequence[str]
    rows: Sequence[Sequence[ProfileRow | None]]


def side_by_side(rows: Sequence[ProfileRow]) -> SideBySide | None:
    """The rows of several libraries, the same cost in one row; None: all are of one library."""
    mpis = list(dict.fromkeys(row.mpi for row in rows if row.mpi is not None))
    if len(mpis) < 2:
        return None
    kept: dict[tuple[str, str, str], dict[str, ProfileRow]] = {}
    for row in rows:
        if row.mpi is not None:
            kept.setdefault((row.code, row.about, "" if row.code else row.what), {}).setdefault(row.mpi, row)
    return SideBySide(mpis, [[found.get(mpi) for mpi in mpis] for found in kept.values()])


def profile(findings: Sequence[Finding], results: Results | None) -> list[ProfileRow]:
    """Rows in the order of what they cost, plain times first.

    Args: findings: of a run or a whole diagnosis.  results: of the run, or of the diagnosis' survey; None: not at hand.
    """
    rows = _plain(results.cells) if results else []
    mpis = {mpi.mpi: mpi for mpi in (results.run.mpis or [results.run.mpi])} if results else {}
    own = [finding for finding in findings if finding.kind == "property" and finding.affects_default is not False]
    return [*rows, *(_row(finding, mpis.get(finding.mpi)) for finding in own)]


def _row(finding: Finding, mpi: MpiResult | None) -> ProfileRow:
    law = finding.law.text if finding.law and finding.law.name else ""
    found = expectation(finding, library_name(mpi))
    factor = ratio_words(finding.ratio, finding.interval) if finding.ratio is not None else ""
    return ProfileRow(
        finding.title, finding.rule, finding.text, factor, law, found.words, found.standing, finding.mpi, finding.about
    )


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
    rows = []
    for what, cell in _shortest_and_longest(plain):
        steady = _steady(cell)
        if steady is None:
            continue
        value, interval = steady
        length = fmt.count_bytes(_length(cell))
        span = fmt.quantity_interval(value, "s", interval)
        cost = " ".join(filter(None, (f"{length} message: {fmt.quantity(value, 's', interval)}", span)))
        if what == "Bandwidth" and value > 0:
            cost += f", {_length(cell) / value / 1e9:.3g} GB/s"
        rows.append(ProfileRow(what, "", cost, "", "", "", "no expectation", cell.mpi))
    return rows


def _shortest_and_longest(cells: Sequence[CellResult]) -> list[tuple[str, CellResult]]:
    """The cell with the shortest message and the one with the longest, of each library."""
    found = []
    for mpi in dict.fromkeys(cell.mpi for cell in cells):
        mine = sorted((cell for cell in cells if cell.mpi == mpi), key=_length)
        found += [("Half round-trip latency", mine[0]), ("Bandwidth", mine[-1])]
    return found


def _steady(cell: CellResult) -> tuple[float, tuple[float, float] | None] | None:
    metric = cell.metrics.get(LATENCY)
    estimate = metric.phases.get("steady") if metric else None
    if estimate is None or estimate.value is None:
        return None
    return estimate.value, estimate.interval


def _length(cell: CellResult) -> int:
    text = cell.parameters.get("message_bytes", "0")
    return int(text) if text.isdecimal() else 0
