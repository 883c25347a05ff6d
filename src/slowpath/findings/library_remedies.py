# SPDX-License-Identifier: Apache-2.0
"""Remedies that are environment variables of a library. Which variables those are only `slowpath.mpi` knows. Pure."""

from __future__ import annotations

from dataclasses import replace

from slowpath.findings.remedy import Control, ProgramRemedy, Remedy, Way
from slowpath.mpi.settings import SETTINGS, TUNINGS


def leaving(state: str, text: str, control: Control) -> tuple[Remedy, ...]:
    """Return the remedies that take away the variables which put a library into a state.

    Args:
        state: name of rows of mpi.settings.  text: end of the sentence "Unset X: ...".
    """
    return tuple(
        Remedy(
            name=f"unset {' '.join(row.variables)} ({row.name.replace('_', ' ')})",
            text=f"Unset {', '.join(row.variables)}: {text}.",
            axes=("environment",),
            control=control,
            side_effects=("memory of the library's shared segments", "latency of short messages"),
            sources=(f"docs/reference/launching.md, {row.verified}",),
            applies=row.applies,
            unset=tuple(row.variables),
        )
        for row in SETTINGS
        if row.name == state
    )


def tunings(common: Remedy) -> tuple[Remedy, ...]:
    """Return a remedy for each row of mpi.tunings whose purpose is the name of `common`."""
    return tuple(
        replace(
            common,
            name=row.name,
            applies=row.applies,
            variables=row.variables,
            sources=(row.source,),
            only=row.only,
            phrase=row.phrase,
        )
        for row in TUNINGS
        if row.purpose == common.name
    )


def ways_of(remedy: ProgramRemedy) -> tuple[Way, ...]:
    """Return how each library is asked; empty: it is none of a library's variables."""
    return remedy.ways or tuple(Way(row.applies, row.variables) for row in SETTINGS if row.name == remedy.state)


def variables_for(
    remedy: ProgramRemedy, library: str | None, version: str | None, transport: str | None
) -> dict[str, str] | None:
    """Return what the remedy sets under this library; None: no way is known there."""
    ways = ways_of(remedy)
    if not ways:
        return dict(remedy.variables)
    found = next((way for way in ways if way.applies.fits(library, version, transport)), None)
    return None if found is None else {**found.variables, **remedy.variables}
