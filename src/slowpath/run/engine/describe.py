# SPDX-License-Identifier: Apache-2.0
"""Asking an engine: what it can do (its own `describe --json`, kept next to it), and which cells it accepts."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.engine_description import CellVerdict, CheckCells, Verdicts, nothing_checked
from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.files import read_bytes
from slowpath.core.plan import Cell
from slowpath.core.resources import data_folder
from slowpath.mpi.probe import Answer, ask, output_of
from slowpath.record.plan_files import engine_cells_text
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.engine.planned import UnbuiltEngine
from slowpath.run.engine.usable import checksum

# Asking a program of ours, with one error for all that keeps it from answering.


def answer_of(argv: Sequence[str], environ: Mapping[str, str], limit_s: float, given: bytes = b"") -> Answer:
    """Return how `argv` ended and what it printed; `given` is its stdin.  Raises: EnvironmentFailure: no start, no
    end.
    """
    try:
        return ask(argv, environ, limit_s, given)
    except subprocess.TimeoutExpired:
        raise EnvironmentFailure(f"{' '.join(argv)}: took over {limit_s:g} s") from None
    except OSError as error:
        raise EnvironmentFailure(f"{argv[0]} can't be started: {error.strerror or error}") from error


# Asks an engine which cells it accepts: `slowpath-engine check` (docs/reference/engine-interface.md).

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
        found = [msgspec.json.decode(line, type=CellVerdict) for line in done.stdout.splitlines()]
    except DAMAGE as error:
        raise _no_answer(engine, str(error)) from error
    return {verdict.cell: verdict for verdict in found}


def _no_answer(engine: UsableEngine, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"{engine.program} check did not judge the plan: {why}; build it anew: slowpath engine build --force"
    )


KEPT = "describe.json"


class _KeptDescription(msgspec.Struct, frozen=True):
    """describe.json. program: checksum of the engine that it describes; with another one it is made anew."""

    program: str
    description: dict[str, Any]


def describe(engine: UsableEngine, environ: Mapping[str, str]) -> dict[str, Any]:
    """The engine's description (docs/reference/engine-interface.md). Raises EnvironmentFailure if it can't be had."""
    if isinstance(engine, UnbuiltEngine):
        return shipped_description()
    kept = engine.program.parent / KEPT
    program = _checksum(engine)
    with contextlib.suppress(OSError, *DAMAGE, RecordError):
        found = msgspec.json.decode(read_bytes(kept), type=_KeptDescription)
        if found.program == program and _is_whole(found.description):
            return found.description
    text = output_of([str(engine.program), "describe", "--json"], environ)
    try:
        description = msgspec.json.decode((text or "").encode(), type=dict[str, Any])
    except DAMAGE:
        description = {}
    if not _is_whole(description):
        raise EnvironmentFailure(
            f"{engine.program} describe --json gave no description; build it anew: slowpath engine build --force"
        )
    _keep(kept, msgspec.json.encode(_KeptDescription(program, description)))
    return description


def _checksum(engine: UsableEngine) -> str:
    try:
        return checksum(engine.program)
    except OSError as error:
        raise EnvironmentFailure(f"{engine.program} can't be read: {error.strerror or error}") from error


def _is_whole(description: dict[str, Any]) -> bool:
    return isinstance(description.get("experiments"), list)


def shipped_description() -> dict[str, Any]:
    """Return what the engine of this version says of itself, recorded: for plans without an engine."""
    found: dict[str, Any] = msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes())
    return found


def _keep(path: Path, content: bytes) -> None:
    """A cache that can't be written only costs time."""
    with contextlib.suppress(OSError):
        handle, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, path)
