# SPDX-License-Identifier: Apache-2.0
"""A watch's priced collectives as a tuning file: what libslowpath-coll.so is to make of the library's other calls.

A row reaches the length class that the program's calls were counted under; that it helps there, the program's own
reruns prove.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from slowpath.core.errors import UsageError
from slowpath.core.files import write_atomically
from slowpath.findings.program_remedy import COLLECTIVES, ProgramRemedy
from slowpath.watch.prove.candidate import MpiFacts
from slowpath.watch.results import CollectiveClass, WatchResults

FILE: Final = "collectives.json"
VARIABLE: Final = "SLOWPATH_COLL"


def with_tuning(remedy: ProgramRemedy, watch: Path, results: WatchResults | None, mpi: MpiFacts) -> ProgramRemedy:
    """The remedy, with the file that the library reads written into the watch; another one as it is.

    Raises: UsageError: no collective of this watch is priced.  EnvironmentFailure: the file can't be written.
    """
    if remedy.key != COLLECTIVES:
        return remedy
    rows = tuning_rows(results)
    if not rows:
        raise UsageError(
            f"--remedy {COLLECTIVES}: no collective of {watch} is known to be slower than other calls: "
            f"slowpath replay {watch}"
        )
    content = {"schema": 1, "mpi": f"{mpi.name}-{mpi.version}", "rows": rows}
    path = (watch / FILE).resolve()
    write_atomically(path, json.dumps(content, indent=1).encode() + b"\n")
    return replace(remedy, variables={**remedy.variables, VARIABLE: str(path)})


def tuning_rows(results: WatchResults | None) -> list[dict[str, object]]:
    """One for each kind of collective with a price."""
    kinds = (results.collectives or ()) if results is not None else ()
    return [_row(one) for one in kinds if one.way is not None]


def _row(one: CollectiveClass) -> dict[str, object]:
    bits = one.bytes.bit_length()
    lengths = [1 << (bits - 1), (1 << bits) - 1] if bits else [0, 0]
    return {"collective": one.collective, "ranks": [one.ranks, one.ranks], "bytes": lengths, "mockup": one.way}
