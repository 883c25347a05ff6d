# SPDX-License-Identifier: Apache-2.0
"""The four ways to run a program, as variables of its ranks."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NATIVE, WATCHED, REPLACED, BOTH = "native", "watched", "replaced", "both"
WAYS: Final = (NATIVE, WATCHED, REPLACED, BOTH)
#: Ranks that wait give their core away: other programs may use it, and ranks may outnumber cores.
WAITING: Final = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "I_MPI_THREAD_YIELD": "3",
    "I_MPI_THREAD_SLEEP": "0",
}


@dataclass(frozen=True)
class Way:
    """How a program is run. libraries: the folder with both preloads.  folder: for records, tables and reports.

    first: libraries that come before all others, as that of a sanitizer.
    """

    name: str
    libraries: Path
    folder: Path
    table: str | None = None
    first: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """Of the ranks; makes what they name."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "ranks").mkdir(parents=True)
        preloads, made = list(self.first), {}
        # The watch comes last, as `slowpath watch` has it: behind it the other one replaces nothing, silently.
        if self.name in (REPLACED, BOTH):
            assert self.table is not None
            (self.folder / "tuning.json").write_text(self.table)
            preloads.append(str(self.libraries / "libslowpath-coll.so"))
            made["SLOWPATH_COLL"] = str(self.folder / "tuning.json")
            made["SLOWPATH_COLL_REPORT"] = str(self.folder / "replaced.json")
        if self.name in (WATCHED, BOTH):
            preloads.append(str(self.libraries / "libslowpath-watch.so"))
            made["SLOWPATH_WATCH"] = str(self.folder / "ranks")
        return {**made, "LD_PRELOAD": ":".join(preloads)} if preloads else made

    def replaced(self) -> Mapping[str, int]:
        """Calls of all ranks that each mock-up stood in for."""
        report = self.folder / "replaced.json"
        if not report.is_file():
            return {}
        found: Counter[str] = Counter()
        for row in json.loads(report.read_text())["rows"]:
            found[f"{row['collective']} by {row['mockup']}"] += row["calls"]
        return found
