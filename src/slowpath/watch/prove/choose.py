# SPDX-License-Identifier: Apache-2.0
"""Which remedies a command asks for: by name, those that the findings suggest, or all that are cheap to try."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import UsageError
from slowpath.findings.program_remedy import ProgramRemedy
from slowpath.slowpaths.registry import PROGRAM_REMEDIES, find_program_remedy, program_remedies_for
from slowpath.watch.prove.candidate import Candidate, MpiFacts, candidate
from slowpath.watch.results import WatchFinding

ALL = "all"


@dataclass(frozen=True)
class Chosen:
    """found: ready to be tried, best first.  left_out: key and reason of the others."""

    found: tuple[Candidate, ...]
    left_out: tuple[tuple[str, str], ...]


def by_name(names: Sequence[str], findings: Sequence[WatchFinding]) -> list[ProgramRemedy]:
    """Of --remedy.  Raises: UsageError: none of that name, or nothing is suggested."""
    if names and ALL not in names:
        return [find_program_remedy(name) for name in dict.fromkeys(names)]
    suggested = suggested_by(findings)
    if not suggested:
        what = "has no finding yet" if not findings else "has findings, but none that a remedy without code may remove"
        raise UsageError(
            f"this watch {what}; name one with --remedy, your own with --try NAME=VALUE, or --screen all that are known"
        )
    return suggested


def suggested_by(findings: Sequence[WatchFinding]) -> list[ProgramRemedy]:
    """The first remedy of each finding, most saved first, then the second ones, ..."""
    rows = [_of_finding(one) for one in findings]
    longest = max((len(row) for row in rows), default=0)
    ranked = (row[place] for place in range(longest) for row in rows if place < len(row))
    return list({remedy.key: remedy for remedy in ranked}.values())


def _of_finding(finding: WatchFinding) -> list[ProgramRemedy]:
    """The one that it names first."""
    named = (finding.prove or "").split(" ")[-1]
    fitting = program_remedies_for(finding.rule, tuple(remedy.name for remedy in finding.remedies))
    return sorted(fitting, key=lambda one: one.key != named)


def screened() -> list[ProgramRemedy]:
    """Of --screen."""
    return [one for one in PROGRAM_REMEDIES if one.screened]


def ready(
    remedies: Iterable[ProgramRemedy],
    command: Sequence[str],
    mpi: MpiFacts,
    environ: Mapping[str, str],
    libraries: Sequence[Path],
) -> Chosen:
    """Those that can be tried here."""
    made = [(one.key, candidate(one, command, mpi, environ, libraries)) for one in remedies]
    return Chosen(
        tuple(one for _, one in made if isinstance(one, Candidate)),
        tuple((key, one) for key, one in made if isinstance(one, str)),
    )
