# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/reference/alternatives.md: what a library could have chosen, library by library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from markdown_table import code, table

from slowpath.mpi.alternatives.alternative import EVERY_CALL, Alternative
from slowpath.mpi.alternatives.table import ALTERNATIVES
from slowpath.mpi.libraries import words_of


def blocks() -> dict[str, Callable[[], str]]:
    """Name of a block of the page -> what stands in it."""
    return {"alternatives": _alternatives, "alternative-counts": _counts}


def _alternatives() -> str:
    """Return every alternative of a library's choice: a heading and a table for each library, in which a row of its own
    begins each kind of job and says what shows its choices; other rows say it only where it differs.
    """
    groups: dict[str, dict[tuple[str, str], list[Alternative]]] = {}
    for row in ALTERNATIVES:
        changes = "every call" if row.operations == EVERY_CALL else ", ".join(row.operations)
        groups.setdefault(words_of(row.applies), {}).setdefault((changes, row.where.text), []).append(row)
    return "\n".join(_alternatives_of(library, jobs) for library, jobs in groups.items())


# What follows a name and says where the row is known from; the page explains the mark.
_KNOWN = {"run": " (run)", "listed": "", "documented": "\\*"}


def _alternatives_of(library: str, jobs: Mapping[tuple[str, str], Sequence[Alternative]]) -> str:
    """Return a library's heading, what its witnesses show, and its table."""
    does: dict[str, dict[str, None]] = {}
    lines = []
    for (changes, where), rows in jobs.items():
        shown = Counter(map(_shown_by, rows))
        usual = shown.most_common(1)[0][0]
        lines.append([f"**{changes}**", where, f"seen by {usual[0]}"])
        for witness, what in shown:
            does.setdefault(what, {})[witness] = None
        alike: dict[tuple[str, ...], list[Alternative]] = {}
        for row in rows:
            alike.setdefault(_but_for_its_value(row), []).append(row)
        for group in alike.values():
            some = [group] if len(group) >= _ALIKE else [[row] for row in group]
            lines += [_alternative_line(one, usual[0]) for one in some]
    notes = [f"{', '.join(witnesses)} {what}" for what, witnesses in does.items() if what]
    head = "; ".join(notes) + ".\n\n" if notes else ""
    return f"## {library[0].upper()}{library[1:]}\n\n{head}{table(['name', 'variables', 'with it'], lines)}"


_VALUE = "VALUE"
_ALIKE = 3  # rows that differ in a value alone and become one


def _but_for_its_value(row: Alternative) -> tuple[str, ...]:
    """Return all that the page says of a row, with a placeholder for the value that is its name's last word."""
    name, _, value = row.name.rpartition(" ")
    variables = " ".join(f"{variable}={setting}" for variable, setting in row.variables.items())
    spoken = value.replace("_", " ")
    if name and variables.endswith(f"={value}") and f" {spoken}" in row.does:
        variables = variables.removesuffix(value) + _VALUE
        return name, variables, row.does.replace(f" {spoken}", f" {_VALUE}"), row.source, row.known, *_shown_by(row)
    return row.name, variables, row.does, row.source, row.known, *_shown_by(row)


def _alternative_line(rows: Sequence[Alternative], usual: str) -> list[str]:
    """Return a line of the table, of one row or of several that differ in a value alone."""
    name, variables, text, source, known, witness, _ = _but_for_its_value(rows[0])
    values = "" if len(rows) == 1 else " " + ", ".join(row.name.rpartition(" ")[2] for row in rows)
    if len(rows) == 1:
        name, text = rows[0].name, rows[0].does
        variables = " ".join(f"{variable}={setting}" for variable, setting in rows[0].variables.items())
    other = "" if witness == usual else f" (seen by {witness})"
    return [f"[{name}]({source}){values}{_KNOWN[known]}{other}", code([variables]), text]


def _shown_by(row: Alternative) -> tuple[str, str]:
    """Return what shows that the choice was taken, and what it does; MPI_T alone, where it reads a variable of the row
    back.
    """
    variables = [name.removeprefix("OMPI_MCA_") for name in row.variables]
    names = [*variables, *(name.replace("MPICH_", "MPIR_", 1) for name in variables)]
    if row.seen in (f"MPI_T reads {name} back" for name in names):
        return "MPI_T", ""
    setting, _, what = row.seen.partition(" ")
    return (setting, what) if "=" in setting else (row.seen, "")


def _counts() -> str:
    """How many there are of each library."""
    counts = Counter(words_of(row.applies).split(" from ")[0] for row in ALTERNATIVES)
    return table(["library", "rows"], [[name, str(count)] for name, count in sorted(counts.items())])
