# SPDX-License-Identifier: Apache-2.0
"""Which remedies `slowpath prove` tries, each made ready for one command under one library on this machine.

They are named, or suggested by the findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.errors import UsageError
from slowpath.findings.slow_path import TUNABLES, Need, ProgramRemedy, variables_for
from slowpath.findings.slow_path import RemedyWitness as Witness
from slowpath.mpi.launchers import launcher_named
from slowpath.mpi.libraries import version_tuple
from slowpath.slowpaths.registry import codes_helped_by, find_program_remedy, program_remedies_for
from slowpath.watch.results import WatchFinding, tried_remedy
from slowpath.watch.start.environment import PRELOAD, handed_on

_THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_RESERVED = Path("/proc/sys/vm/nr_hugepages")
_GPUS = ("/dev/nvidiactl", "/dev/kfd")


@dataclass(frozen=True)
class ProgramMpi:
    """The program's MPI. name: as in mpi.libraries, None: not known.  path: of its library.  launcher: its row."""

    name: str | None = None
    version: str | None = None
    transport: str | None = None
    path: Path | None = None
    launcher: str = ""


@dataclass(frozen=True)
class Candidate:
    """A remedy that can be tried. argv: to start.  variables: to set, joined with the user's own.  unset: names.

    witness: what shows that it was taken; None: nothing is known that would.
    """

    key: str
    text: str
    rules: tuple[str, ...]
    argv: tuple[str, ...]
    variables: Mapping[str, str]
    unset: tuple[str, ...] = ()
    witness: Witness | None = None
    table: tuple[str, ...] = field(default=())

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """Of a run with it."""
        return {name: value for name, value in {**base, **self.variables}.items() if name not in self.unset}


def candidate(
    remedy: ProgramRemedy,
    command: Sequence[str],
    mpi: ProgramMpi,
    environ: Mapping[str, str],
    libraries: Sequence[Path],
) -> Candidate | str:
    """The remedy, or why it can't be tried here.  libraries: folders in which preloaded ones may lie."""
    if (missing := next((why for need in remedy.needs if (why := why_not(need)) is not None), None)) is not None:
        return missing
    for_library = variables_for(remedy, mpi.name, mpi.version, mpi.transport)
    if for_library is None:
        return f"no variable for it is known under {mpi.name or 'this library'} {mpi.version or ''}".rstrip()
    argv, variables = tuple(command), _joined(for_library, environ)
    if remedy.preload is not None:
        library = next((folder / remedy.preload for folder in libraries if (folder / remedy.preload).is_file()), None)
        if library is None:
            return f"{remedy.preload} is missing; slowpath mpi build makes it"
        preloaded = handed_on(argv, mpi.launcher, {}, environ, str(library))
        argv, variables = preloaded.argv, {**variables, **preloaded.variables}
    if remedy.bind is not None:
        bound = _bound(argv, remedy.bind, mpi.launcher)
        if isinstance(bound, str):
            return bound
        argv, more = bound
        variables = {**variables, **more}
    handed = handed_on(argv, mpi.launcher, {k: v for k, v in variables.items() if k != PRELOAD}, environ)
    variables = {**variables, **handed.variables}
    if all(environ.get(name) == value for name, value in variables.items()) and handed.argv == tuple(command):
        return "it is set already"
    rules = codes_helped_by(remedy)
    return Candidate(remedy.key, remedy.text, rules, handed.argv, variables, (), remedy.witness, remedy.table)


def of_user(
    settings: Sequence[str], unset: Sequence[str], command: Sequence[str], mpi: ProgramMpi, environ: Mapping[str, str]
) -> Candidate:
    """Settings of the user's own, NAME=VALUE, and names to take away, all at once.  Raises: UsageError."""
    variables: dict[str, str] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or not name:
            raise UsageError(f"--try '{setting}': write NAME=VALUE; to remove a variable: --unset NAME")
        variables[name] = value
    handed = handed_on(command, mpi.launcher, variables, environ)
    words = " ".join([*settings, *(f"-{name}" for name in unset)])
    text = " and ".join([*(f"set {setting}" for setting in settings), *(f"unset {name}" for name in unset)])
    absent = next((name for name in unset if name not in environ), None)
    if absent is not None:
        raise UsageError(f"--unset {absent}: is not set, so there is nothing to remove")
    return Candidate(
        words, f"{text[0].upper()}{text[1:]}.", (), handed.argv, handed.variables, tuple(unset), "control variable"
    )


def why_not(need: Need) -> str | None:
    """Why this machine lacks what a remedy needs; None: it has it."""
    if need == "glibc 2.35":
        said = (os.confstr("CS_GNU_LIBC_VERSION") or "another C library").split()
        version = version_tuple(said[-1]) if said[0] == "glibc" else None
        return (
            None if version is not None and version >= (2, 35) else f"it needs glibc 2.35, and here is {' '.join(said)}"
        )
    if need == "huge pages by madvise":
        mode = _chosen(_THP)
        return None if mode == "madvise" else f"{_THP} is '{mode}', not 'madvise'"
    if need == "reserved huge pages":
        try:
            held = int(_RESERVED.read_text())
        except (OSError, ValueError):
            held = 0
        return None if held else f"the machine reserves no huge pages ({_RESERVED} is 0)"
    return None if any(os.path.exists(path) for path in _GPUS) else "this machine has no GPU"


def _chosen(path: Path) -> str | None:
    """Of `always [madvise] never` the word in brackets."""
    try:
        return path.read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return None


def _joined(variables: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    own, wanted = environ.get(TUNABLES, ""), variables.get(TUNABLES, "")
    if not own or not wanted:
        return dict(variables)
    return {**variables, TUNABLES: own if wanted in own else f"{own}:{wanted}"}


def _bound(argv: Sequence[str], bind: str, launcher: str) -> tuple[tuple[str, ...], Mapping[str, str]] | str:
    """The command with another binding, and variables; or why the launcher can't be asked for it."""
    refusal = f"{launcher or 'the command'} can't bind ranks to a {bind}"
    try:
        row = launcher_named(launcher)
    except UsageError:
        return refusal
    if bind not in row.bind:
        return refusal
    tokens = row.bind[bind]
    if tokens and any(word.partition("=")[0] == tokens[0].partition("=")[0] for word in argv):
        return f"the command binds ranks itself with {tokens[0].partition('=')[0]}; change it there"
    variables = row.bind_variables.get(bind, {})
    if not tokens and not variables:
        return refusal
    return (argv[0], *tokens, *argv[1:]), variables


ALL = "all"


@dataclass(frozen=True)
class ReadyRemedies:
    """found: ready to be tried, best first.  left_out: key and reason of the others."""

    candidates: tuple[Candidate, ...]
    left_out: tuple[tuple[str, str], ...]


def by_name(names: Sequence[str], findings: Sequence[WatchFinding]) -> list[ProgramRemedy]:
    """Of --remedy.  Raises: UsageError: none of that name, or nothing is suggested."""
    if names and ALL not in names:
        return [find_program_remedy(name) for name in dict.fromkeys(names)]
    suggested = suggested_by(findings)
    if not suggested:
        raise UsageError(
            "no finding of this watch has a remedy without code changes; name one with --remedy, or --try NAME=VALUE"
        )
    return suggested


def suggested_by(findings: Sequence[WatchFinding]) -> list[ProgramRemedy]:
    """The first remedy of each finding, most saved first, then the second ones, ..."""
    rows = [_of_finding(finding) for finding in findings]
    longest = max((len(row) for row in rows), default=0)
    ranked = (row[place] for place in range(longest) for row in rows if place < len(row))
    return list({remedy.key: remedy for remedy in ranked}.values())


def _of_finding(finding: WatchFinding) -> list[ProgramRemedy]:
    named = tried_remedy(finding)
    fitting = program_remedies_for(finding.rule, tuple(remedy.name for remedy in finding.remedies))
    return sorted(fitting, key=lambda remedy: remedy.key != named)


def ready(
    remedies: Iterable[ProgramRemedy],
    command: Sequence[str],
    mpi: ProgramMpi,
    environ: Mapping[str, str],
    libraries: Sequence[Path],
) -> ReadyRemedies:
    """Those that can be tried here."""
    made = [(remedy.key, candidate(remedy, command, mpi, environ, libraries)) for remedy in remedies]
    return ReadyRemedies(
        tuple(prepared for _, prepared in made if isinstance(prepared, Candidate)),
        tuple((key, why) for key, why in made if isinstance(why, str)),
    )
