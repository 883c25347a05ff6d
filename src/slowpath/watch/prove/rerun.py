# SPDX-License-Identifier: Apache-2.0
"""One rerun of a program, unwatched: its wall time, its end, and its output without the lines that may differ."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import UsageError
from slowpath.run.process import JobLimits, LaunchedJob, run_jobs

STDOUT = "stdout"
LEAST_LIMIT_S, LIMIT_RATIO = 120.0, 10.0
_KEEP_BYTES = 2**20  # of the output of a run that went well


@dataclass(frozen=True)
class Compared:
    """outputs: files, relative ones to the program's folder, or stdout.  ignored: lines to leave out."""

    outputs: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def patterns(self) -> list[re.Pattern[bytes]]:
        """Raises: UsageError: not a regular expression."""
        found = []
        for words in self.ignored:
            try:
                found.append(re.compile(words.encode()))
            except re.error as error:
                raise UsageError(f"--ignore '{words}': is no regular expression: {error}") from error
        return found


@dataclass(frozen=True)
class Started:
    """What all reruns share. limit_s: a run that takes longer is ended, and failed."""

    folder: Path | None
    stdin: Path | None
    compared: Compared
    limit_s: float


@dataclass(frozen=True)
class Rerun:
    """failed: why it does not count; None: it does.  interrupted: the user asked to stop, so it is no run at all."""

    wall_s: float
    exit_code: int | None
    failed: str | None
    output_sha256: str | None
    minor_faults: int | None
    interrupted: bool = False


def limit_of(usual_s: float | None) -> float:
    """After which a rerun counts as hung."""
    return max(LEAST_LIMIT_S, LIMIT_RATIO * (usual_s or 0.0))


def rerun(argv: Sequence[str], environ: Mapping[str, str], started: Started, files: Path) -> Rerun:
    """Run once. files: folder for stdout and stderr, made here."""
    files.mkdir(parents=True, exist_ok=True)
    stdout, stderr = files / STDOUT, files / "stderr"
    begun_ns, before = time.time_ns(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    limits = JobLimits(total_s=started.limit_s)
    job = LaunchedJob(argv, environ, stdout, stderr, (), limits, stdin=started.stdin, folder=started.folder)
    outcome = run_jobs([job])[0]
    faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    if outcome.ended == "interrupted":
        return Rerun(outcome.wall_s, None, "stopped by the user", None, None, interrupted=True)
    failed = None if outcome.ended == "ok" else (outcome.reason or outcome.ended)
    digest = None
    if failed is None and started.compared.outputs:
        digest, failed = _digest(started, stdout, begun_ns)
    code = outcome.return_code if outcome.return_code is not None and outcome.return_code >= 0 else None
    if failed is None:
        _shorten(stdout)
        _shorten(stderr)
    return Rerun(outcome.wall_s, code, failed, digest, faults)


def _digest(started: Started, stdout: Path, begun_ns: int) -> tuple[str | None, str | None]:
    """Of all that is compared, and why there is none: a file that the run did not write is another run's."""
    digest, patterns = hashlib.sha256(), started.compared.patterns()
    for name in started.compared.outputs:
        path = stdout if name == STDOUT else (started.folder or Path.cwd()) / name
        try:
            if path != stdout and path.stat().st_mtime_ns < begun_ns - 10**9:
                return None, f"{name}: was not written by this run"
            digest.update(name.encode() + b"\0")
            with path.open("rb") as file:
                for line in file:
                    if not any(pattern.search(line) for pattern in patterns):
                        digest.update(line)
        except OSError as error:
            return None, f"{name}: can't be read: {error.strerror or error}"
    return digest.hexdigest(), None


def _shorten(path: Path) -> None:
    if path.stat().st_size > _KEEP_BYTES:
        os.truncate(path, _KEEP_BYTES)
