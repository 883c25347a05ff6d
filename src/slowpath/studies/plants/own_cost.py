# SPDX-License-Identifier: Apache-2.0
"""What the library itself takes by the law that a finding names, from a run without a plant. Pure.

A planted cost adds to it, also where the library's own is too small, or follows the law too badly, to be named: reading
fresh pages costs 0.1 ns a byte here, a datatype's block 90 ns. So the same law is fitted to the same sweep.
"""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.core.results import Finding, Results
from slowpath.core.roles import Roles
from slowpath.findings.gather.gather import Gathered
from slowpath.findings.gather.lines import Line, excess
from slowpath.stats.laws import allocation, blocks, constant, granules, message, queue
from slowpath.stats.laws.law import Law

# Name of a law -> the law, and what varies along the sweep that it is fitted to.
_OVER: Mapping[str, tuple[Law, str]] = {
    "bytes": (message.LAW, "message_bytes"),
    "allocation": (allocation.LAW, "allocation_bytes"),
    "granules": (granules.LAW, "allocation_bytes"),
    "constant": (constant.LAW, "allocation_bytes"),
    "queue": (queue.LAW, "queue"),
    "blocks": (blocks.LAW, "blocks"),
}
# First uses by these laws are named from what the first message takes more than later ones.
_EXCESSES = ("bytes", "constant")


def own_cost(finding: Finding, planted: Results, clean: Results, per: str | None, roles: Roles) -> float | None:
    """Seconds per `per` in the clean run; None where the law knows no such sweep, or the clean run lacks it.

    Args: planted, clean: results.json of the run with the finding, and of one without a plant.
          roles: of the parameters of their cells.
    """
    name = finding.law.name if finding.law else None
    if name is None or name not in _OVER:
        return None
    law, covariate = _OVER[name]
    keys = {cell.cell: cell.key for cell in planted.cells}
    evidence = Gathered(clean, roles)
    slow = next((c for c in clean.cells if c.key == keys.get(finding.slow_cells[0])), None)
    if slow is None:
        return None
    line: Line | None = evidence.line_through(slow, covariate, finding.metric, finding.phase)
    if line is not None and finding.phase == "first" and name in _EXCESSES:
        line = excess(line, line.cells, "steady")
    if line is None:
        return None
    fits = line.choose([law]).fits
    terms = fits[0].coefficients if fits else ()
    return next((term.value for term in terms if term.per == per), None)
