# SPDX-License-Identifier: Apache-2.0
"""The remedy of a violated guideline as it can be tried here: a table of one row, and the library that reads it. Pure.

The cell that stands for the finding calls the library's own collective; the preload makes the mock-up of that call.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from slowpath.diagnose.sides import Sides
from slowpath.diagnose.tune.files import PRELOAD
from slowpath.findings.remedy import Control, Remedy
from slowpath.mpi.tuning import FILE_VARIABLE, SCHEMA, TuningFile, TuningRow

_LONG, _LONGER = 65536, 262144  # bytes: of the control, far from what is replaced
_MULTIPLE: Final = 64  # of it and the length that is replaced, at least


def replaceable(remedy: Remedy, sides: Sides, identity: str, ranks: int, preload: Path | None) -> Remedy:
    """The remedy with its variables and control for these sides; another one, or one that can't be, as it is.

    Args: identity: library and version, as tuning.json has it.  ranks: where the slow side's placement states none.
          preload: libslowpath-coll.so of the engine that measures; None: it is not there.
    """
    slow, fast = sides.slow.parameters, sides.fast.parameters if sides.fast is not None else {}
    if not remedy.replaces_calls or preload is None or slow.get("way") != "library" or "way" not in fast:
        return remedy
    length, count = int(slow["message_bytes"]), sides.slow_under.at.ranks or ranks
    members = slow.get("members", "all")
    row = TuningRow(
        slow["collective"], (count, count) if members == "all" else (int(members),) * 2, (length, length), fast["way"]
    )
    table = msgspec.json.encode(TuningFile(identity, (row,), SCHEMA)).decode()
    return replace(
        remedy,
        variables={PRELOAD: str(preload), FILE_VARIABLE: table},
        untried=None,
        control=_control(slow["collective"], length),
    )


def _control(collective: str, length: int) -> Control:
    """The same collective at a length that the table leaves to the library; a barrier has no other."""
    other = "allreduce" if collective == "barrier" else collective
    far = _LONGER if length * _MULTIPLE > _LONG and length <= _LONG else _LONG
    return Control(
        f"the table has no row about {other} of {far} B",
        experiment="coll",
        parameters={"collective": other, "message_bytes": str(far)},
        metric="collective_work_s",
    )
