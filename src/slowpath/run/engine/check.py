# SPDX-License-Identifier: Apache-2.0
"""Asks an engine which cells it accepts: `slowpath-engine check` (docs/reference/engine-interface.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from slowpath.core.cell_check import CheckCells, Verdict, Verdicts, nothing_checked
from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Cell
from slowpath.record.plan_files import engine_cells_text
from slowpath.run.engine.asked import answer_of
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.engine.planned import UnbuiltEngine

_LIMIT_S = 120.0  # 100 000 cells take about a second
_ACCEPTED, _REFUSED = 0, 2


def checker(engine: UsableEngine, environ: Mapping[str, str]) -> CheckCells:
    """The planner's question, put to `engine`; one that is not built refuses nothing.

    It raises EnvironmentFailure if the engine does not answer.
    """

    if isinstance(engine, UnbuiltEngine):
        return nothing_checked

    def check(cells: Sequence[Cell], ranks: int) -> Verdicts:
        return _verdicts(engine, environ, cells, ranks)

    return check


def _verdicts(engine: UsableEngine, environ: Mapping[str, str], cells: Sequence[Cell], ranks: int) -> Verdicts:
    argv = [str(engine.program), "check", "--plan", "-", "--ranks", str(ranks)]
    text = engine_cells_text(cells)
    try:
        done = answer_of(argv, environ, _LIMIT_S, text.encode())
    except EnvironmentFailure as error:
        raise _no_answer(engine, str(error)) from error
    if done.return_code not in (_ACCEPTED, _REFUSED) or not done.stdout:
        raise _no_answer(engine, done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.return_code}")
    try:
        found = [msgspec.json.decode(line, type=Verdict) for line in done.stdout.splitlines()]
    except DAMAGE as error:
        raise _no_answer(engine, str(error)) from error
    return {verdict.cell: verdict for verdict in found}


def _no_answer(engine: UsableEngine, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"{engine.program} check did not judge the plan: {why}; build it anew: slowpath engine build --force"
    )
