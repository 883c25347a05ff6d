# SPDX-License-Identifier: Apache-2.0
"""One rerun of a program, unwatched: its wall time, its end, and its output without the lines that may differ.

Whether a remedy's setting is taken, asked before any rerun: of the library itself, and of the launcher's ranks.
"""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import UsageError
from slowpath.core.units import whole_number
from slowpath.mpi.loaded import Ask
from slowpath.mpi.mpi import ControlVariables, read_control_variables
from slowpath.mpi.own_settings import OwnSetting, why_ignored
from slowpath.mpi.probe import output_of
from slowpath.run.process import JobLimits, LaunchedJob, run_jobs
from slowpath.watch.proof import ProofWitness
from slowpath.watch.prove.candidates import Candidate, ProgramMpi

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
        patterns = []
        for words in self.ignored:
            try:
                patterns.append(re.compile(words.encode()))
            except re.error as error:
                raise UsageError(f"--ignore '{words}': is no regular expression: {error}") from error
        return patterns


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


_PREFIXES = {"openmpi": "OMPI_MCA_"}
_AFFINITY = "grep Cpus_allowed_list /proc/self/status"
NOTHING_SHOWS = ProofWitness(state="not known", text="only its runs show whether it acts")


def before_runs(
    candidate: Candidate, mpi: ProgramMpi, command: Sequence[str], environ: Mapping[str, str], ask: Ask = output_of
) -> ProofWitness:
    """What can be seen without the program; not known where only its runs can show it."""
    if candidate.witness == "control variable":
        return _read_back(candidate, mpi, environ, ask)
    if candidate.witness == "affinity":
        return _affinity(candidate, command, environ, ask)
    return NOTHING_SHOWS


def _read_back(candidate: Candidate, mpi: ProgramMpi, environ: Mapping[str, str], ask: Ask) -> ProofWitness:
    """What the library reads for each variable, as it is and under the remedy."""
    names = [*candidate.variables, *candidate.unset]
    if mpi.path is None or mpi.name is None:
        return NOTHING_SHOWS
    bare = {name: name.removeprefix(_PREFIXES.get(mpi.name, "\0")) for name in names}
    usual = read_control_variables(mpi.path, list(bare.values()), environ, ask)
    with_it = read_control_variables(mpi.path, list(bare.values()), candidate.environ(environ), ask)
    if usual is None or with_it is None:
        return NOTHING_SHOWS
    lines = [_one(name, bare[name], candidate, usual, with_it, mpi.name) for name in names]
    ignored = [text for state, text in lines if state == "ignored"]
    taken = [text for state, text in lines if state == "taken"]
    if ignored:
        return ProofWitness(state="ignored", text="; ".join(ignored))
    if len(taken) == len(lines) and lines:
        return ProofWitness(state="taken", text="; ".join(taken))
    return NOTHING_SHOWS


def _one(
    name: str, bare: str, candidate: Candidate, usual: ControlVariables, with_it: ControlVariables, library: str
) -> tuple[str, str]:
    given = candidate.variables.get(name)
    raw, before = with_it.values.get(bare), usual.values.get(bare)
    number = with_it.number(bare)
    known = dict.fromkeys(with_it.names, 0)
    if raw is None:
        reason = why_ignored(OwnSetting(name, given), library, known, {})
        return ("ignored", f"{name}: {reason}") if reason else ("not known", NOTHING_SHOWS.text)
    if raw != before:
        shown = f" as {number}" if given is not None and whole_number(given) == number else ""
        return "taken", f"MPI_T reads {bare}{shown} back"
    return "ignored", f"{name}: MPI_T reads the same value as without it"


def _affinity(candidate: Candidate, command: Sequence[str], environ: Mapping[str, str], ask: Ask) -> ProofWitness:
    """Processors that the ranks may use, by the same launcher lines with another program behind them."""
    end = program_at(command, environ)
    if end is None:
        return NOTHING_SHOWS
    added = len(candidate.argv) - len(command)
    usual = ask([*command[:end], "sh", "-c", _AFFINITY], environ)
    with_it = ask([*candidate.argv[: end + added], "sh", "-c", _AFFINITY], candidate.environ(environ))
    if usual is None or with_it is None:
        return ProofWitness(state="ignored", text="the launcher refuses it for these ranks")
    before, after = _masks(usual), _masks(with_it)
    if not before or not after:
        return NOTHING_SHOWS
    words = f"processors of ranks: {' | '.join(before)} as it is, {' | '.join(after)} with the remedy"
    return ProofWitness(state="ignored" if before == after else "taken", text=words)


def _masks(said: str) -> list[str]:
    return sorted(line.partition(":")[2].strip() for line in said.splitlines() if "Cpus_allowed_list" in line)


def program_at(command: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Where the program stands in a command that begins with a launcher; None: it is not found."""
    for at, word in enumerate(command[1:], 1):
        if not word.startswith("-") and shutil.which(word, path=environ.get("PATH")) is not None:
            return at
    return None


def of_pad_report(report: Path) -> ProofWitness | None:
    """From what libslowpath-pad.so wrote; None: nothing yet."""
    try:
        lines = report.read_text(errors="replace").splitlines()
    except OSError:
        return ProofWitness(state="ignored", text="libslowpath-pad.so padded nothing: no process wrote a report")
    counts = [int(part.split()[-2]) for line in lines for part in line.split(",") if part.rstrip().endswith(" padded")]
    total = sum(counts)
    if not total:
        return ProofWitness(state="ignored", text="libslowpath-pad.so padded no allocation")
    return ProofWitness(state="taken", text=f"libslowpath-pad.so padded {total:,} allocations")
