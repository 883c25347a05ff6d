# SPDX-License-Identifier: Apache-2.0
"""Whether a remedy's setting is taken, asked before any rerun: of the library itself, and of the launcher's ranks."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowpath.core.units import whole_number
from slowpath.mpi.control_variables import ControlVariables, read_control_variables
from slowpath.mpi.ignored import why_ignored
from slowpath.mpi.loaded import Ask
from slowpath.mpi.own_settings import OwnSetting
from slowpath.mpi.probe import output_of
from slowpath.mpi.tuning import read_replaced
from slowpath.watch.proof import ProofWitness
from slowpath.watch.prove.remedies import Candidate, ProgramMpi

_PREFIXES = {"openmpi": "OMPI_MCA_"}
_AFFINITY = "grep Cpus_allowed_list /proc/self/status"
NOTHING_SHOWS = "nothing but time shows whether it acts"


def before_runs(
    candidate: Candidate, mpi: ProgramMpi, command: Sequence[str], environ: Mapping[str, str], ask: Ask = output_of
) -> ProofWitness:
    """What can be seen without the program; not known where only its runs can show it."""
    if candidate.witness == "control variable":
        return _read_back(candidate, mpi, environ, ask)
    if candidate.witness == "affinity":
        return _affinity(candidate, command, environ, ask)
    if candidate.witness in ("faults", "pad report", "collectives report"):
        return ProofWitness(state="not known", text="its runs will show whether it acts")
    return ProofWitness(state="not known", text=NOTHING_SHOWS)


def of_collectives_report(report: Path) -> ProofWitness | None:
    """From what libslowpath-coll.so wrote when the program ended."""
    replaced = read_replaced(report)
    if replaced is None:
        return ProofWitness(state="ignored", text="libslowpath-coll.so replaced nothing: it wrote no report")
    if not replaced.calls:
        why = replaced.problem or "no call matched a row of the tuning file"
        return ProofWitness(state="ignored", text=f"libslowpath-coll.so replaced nothing: {why}")
    by = ", ".join(dict.fromkeys(f"{row.collective} by {row.mockup}" for row in replaced.rows if row.calls))
    return ProofWitness(state="taken", text=f"libslowpath-coll.so replaced {replaced.calls:,} calls: {by}")


def _read_back(candidate: Candidate, mpi: ProgramMpi, environ: Mapping[str, str], ask: Ask) -> ProofWitness:
    """What the library reads for each variable, as it is and under the remedy."""
    names = [*candidate.variables, *candidate.unset]
    if mpi.path is None or mpi.name is None:
        return ProofWitness(state="not known", text=f"the program's MPI library is not known; {NOTHING_SHOWS}")
    bare = {name: name.removeprefix(_PREFIXES.get(mpi.name, "\0")) for name in names}
    usual = read_control_variables(mpi.path, list(bare.values()), environ, ask)
    with_it = read_control_variables(mpi.path, list(bare.values()), candidate.environ(environ), ask)
    if usual is None or with_it is None:
        return ProofWitness(state="not known", text=f"{mpi.path.name} can't be asked by MPI_T; {NOTHING_SHOWS}")
    lines = [_one(name, bare[name], candidate, usual, with_it, mpi.name) for name in names]
    ignored = [text for state, text in lines if state == "ignored"]
    taken = [text for state, text in lines if state == "taken"]
    if ignored:
        return ProofWitness(state="ignored", text="; ".join(ignored))
    if len(taken) == len(lines) and lines:
        return ProofWitness(state="taken", text="; ".join(taken))
    return ProofWitness(state="not known", text="; ".join(text for state, text in lines if state == "not known"))


def _one(
    name: str, bare: str, candidate: Candidate, usual: ControlVariables, with_it: ControlVariables, library: str
) -> tuple[str, str]:
    given = candidate.variables.get(name)
    raw, before = with_it.values.get(bare), usual.values.get(bare)
    number = with_it.number(bare)
    known = dict.fromkeys(with_it.names, 0)
    if raw is None:
        reason = why_ignored(OwnSetting(name, given), library, known, {})
        return ("ignored", f"{name}: {reason}") if reason else ("not known", f"{name}: {NOTHING_SHOWS}")
    if raw != before:
        shown = f" as {number}" if given is not None and whole_number(given) == number else ""
        return "taken", f"MPI_T reads {bare}{shown} back"
    if given is not None and whole_number(given) == number:
        return "ignored", f"{name}: the library has that value already"
    return "ignored", f"{name}: MPI_T reads the same value as without it"


def _affinity(candidate: Candidate, command: Sequence[str], environ: Mapping[str, str], ask: Ask) -> ProofWitness:
    """Processors that the ranks may use, by the same launcher lines with another program behind them."""
    end = program_at(command, environ)
    if end is None:
        return ProofWitness(
            state="not known", text=f"the command does not contain the watched program; {NOTHING_SHOWS}"
        )
    added = len(candidate.argv) - len(command)
    usual = ask([*command[:end], "sh", "-c", _AFFINITY], environ)
    with_it = ask([*candidate.argv[: end + added], "sh", "-c", _AFFINITY], candidate.environ(environ))
    if usual is None or with_it is None:
        return ProofWitness(state="ignored", text="the launcher refuses it for these ranks")
    before, after = _masks(usual), _masks(with_it)
    if not before or not after:
        return ProofWitness(state="not known", text=f"the ranks' processors can't be read; {NOTHING_SHOWS}")
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
