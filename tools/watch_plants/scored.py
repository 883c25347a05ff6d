# SPDX-License-Identifier: Apache-2.0
"""One plant watched, and measured: what is said that its remedy saves, against what it saves."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowpath.mpi.mpi import Mpi

from .plants import Plant

LONGEST_S = 300


@dataclass(frozen=True)
class Scored:
    """One plant. Times are of the loop, seconds; said_s None: nothing was said of it, for `reason`."""

    plant: Plant
    faulty_s: float
    saved_s: float
    saved_low_s: float
    saved_high_s: float
    said_s: float | None
    said_low_s: float | None
    said_high_s: float | None
    reason: str
    others: tuple[str, ...]  # rules that were found beside

    @property
    def is_decided(self) -> bool:
        """The pairs show a saving."""
        return self.saved_low_s > 0

    @property
    def is_near(self) -> bool:
        """Within 25 % of what was measured."""
        return self.said_s is not None and abs(self.said_s - self.saved_s) <= 0.25 * abs(self.saved_s)

    @property
    def has_sign(self) -> bool:
        """Both say that the remedy helps."""
        return self.said_s is not None and self.said_s * self.saved_s > 0


def score(plant: Plant, program: Path, mpi: Mpi, folder: Path, pairs: int) -> Scored:
    """Watch the faulty run, price it, then measure both twins unwatched in interleaved pairs."""
    results, reason = watched(plant.scene + plant.faulty, program, mpi, folder)
    said, words = _said(plant, results) if results else (None, reason)
    saved, faulty = [], []
    for pair in range(pairs):
        sides = dict.fromkeys((plant.faulty, plant.remedied), 0.0)
        for words_ in sorted(sides, reverse=pair % 2 == 1):
            sides[words_] = loop_s(plant.scene + words_, program, mpi)
        faulty.append(sides[plant.faulty])
        saved.append(sides[plant.faulty] - sides[plant.remedied])
    saved.sort()
    found = () if results is None else tuple(finding["rule"] for finding in results["findings"])
    low, high = (saved[0], saved[-1]) if pairs < 6 else (saved[1], saved[-2])
    low_high = (None, None) if said is None else said[1:]
    return Scored(
        plant,
        statistics.median(faulty),
        statistics.median(saved),
        low,
        high,
        None if said is None else said[0],
        *low_high,
        words,
        tuple(rule for rule in found if rule not in plant.rules),
    )


def watched(words: tuple[str, ...], program: Path, mpi: Mpi, folder: Path) -> tuple[dict[str, Any] | None, str]:
    """results.json of a watch that was replayed, or why there is none."""
    shutil.rmtree(folder, ignore_errors=True)
    slowpath = str(Path(sys.executable).with_name("slowpath"))
    command = [str(mpi.mpiexec), "-n", "2", str(program), *words]
    for argv in ([slowpath, "watch", "-q", "-o", str(folder), "--", *command], [slowpath, "replay", "-q", str(folder)]):
        done = _run(argv, mpi)
        if done.returncode not in (0, 1, 3):
            return None, f"{argv[1]} exits {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    return json.loads((folder / "results.json").read_text()), ""


def loop_s(words: tuple[str, ...], program: Path, mpi: Mpi) -> float:
    """An unwatched run's own time."""
    done = _run([str(mpi.mpiexec), "-n", "2", str(program), *words], mpi)
    found = re.search(r"^loop ([\d.]+) s$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not found:
        raise RuntimeError(f"halo exits {done.returncode}: {done.stderr}")
    return float(found[1])


def _run(argv: list[str], mpi: Mpi) -> subprocess.CompletedProcess[str]:
    environ = mpi.environ(os.environ)
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=LONGEST_S, check=False)


def _said(plant: Plant, results: dict[str, Any]) -> tuple[tuple[float, float | None, float | None] | None, str]:
    for finding in results["findings"]:
        if finding["rule"] in plant.rules:
            if finding["saved_s"] is None:
                return None, finding["saved_reason"]
            low, high = finding["saved_interval"] or (None, None)
            return (finding["saved_s"], low, high), finding["rule"]
    for wait in results["waits"]:
        if wait["kind"] == plant.wait:  # a rank's mean; of two ranks one waits
            return (wait["seconds"] * 2, None, None), f"{wait['kind']}, rank {wait['culprit']}"
    return None, "; ".join(results["unpriced"]) or "nothing was said of it"
