# SPDX-License-Identifier: Apache-2.0
"""Plants in two pens, whose diagnoses only say that they run and then wait: `python stopped.py FOLDER`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from slowpath.core.errors import SlowpathError
from slowpath.core.signals import stop_signals
from slowpath.run.starting import start_piped
from slowpath.studies.plants import harness, measure
from slowpath.studies.plants.folder import Drawn
from slowpath.studies.plants.pens import Pen
from slowpath.studies.plants.trials import PlantCounts, draw

OUT = Path(sys.argv[1])
WAITS = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(1000)"


@contextmanager
def pens(jobs: int) -> Iterator[list[Pen]]:
    yield [Pen() for _ in range(jobs)]


def waiting(argv: Sequence[str], environ: Mapping[str, str]) -> Any:
    return start_piped([sys.executable, "-c", WAITS, f"{OUT}-{Path(argv[-1]).name}-runs"], environ)


def main() -> int:
    harness.penned = pens  # type: ignore[assignment]
    measure.start_piped = waiting  # type: ignore[assignment]
    library: Any = SimpleNamespace(mpi=SimpleNamespace(mpiexec="mpiexec"))
    ground = measure.Ground(library, OUT / "libslowpath-plant.so", ["diagnose"])
    try:
        with stop_signals():
            harness.run(ground, draw([], PlantCounts(0, 2, 4), 3), OUT, Drawn(3, "mpich", ["diagnose"]), print, jobs=2)
    except SlowpathError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    print(os.getpid(), flush=True)
    sys.exit(main())
