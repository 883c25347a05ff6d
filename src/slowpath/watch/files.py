# SPDX-License-Identifier: Apache-2.0
"""MPI-IO and the start of MPI in a watch: how long they take, and by which module files go. Pure.

No rule judges either; a line says how much time it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from slowpath.core.units import format_ratio, seconds
from slowpath.mpi.applies import version_tuple
from slowpath.mpi.identify import named_in
from slowpath.watch.result_parts import FileTime
from slowpath.watch.results import BEFORE_THE_RUN, WatchResults

_ASKED: Final = "OMPI_MCA_io"
_OMPIO_SINCE: Final = (2,)  # Open MPI's default from then on
_ONLY_ROMIO: Final = ("mpich", "intelmpi", "craympich", "mvapich")  # names as in mpi.libraries


class FileModule(NamedTuple):
    """name: None: not known.  why: what says so.  other: the setting that takes another one; None: there is none."""

    name: str | None
    why: str
    other: str | None


def module_of(
    library: str | None, version: str | None, variables: Mapping[str, str], command: Sequence[str]
) -> FileModule:
    """The module by which a library's files go. Whoever asked for one needs no other named.

    No library says which one it took: it follows from what was asked for, and else from the library's own default.

    Args: variables: of the user's that steer MPI.  command: that started the program.
    """
    if library in _ONLY_ROMIO:
        return FileModule("ROMIO", "the library has no other", None)
    if library != "openmpi":
        return FileModule(None, "the library is not known", None)
    if asked := _on_command_line(command) or variables.get(_ASKED):
        names = asked.removeprefix("^").split(",")
        is_ompio = ("ompio" in names) != asked.startswith("^")
        return FileModule("ompio" if is_ompio else "ROMIO", "as was asked for", None)
    number = version_tuple(version)
    if number is None:
        return FileModule(None, "the library's version is not known", None)
    is_ompio = number >= _OMPIO_SINCE
    return FileModule("ompio" if is_ompio else "ROMIO", "the library's default, but on Lustre", _other(is_ompio))


def _on_command_line(command: Sequence[str]) -> str | None:
    """The value of `--mca io VALUE`."""
    for option, name, value in zip(command, command[1:], command[2:], strict=False):
        if option.lstrip("-") in ("mca", "gmca", "omca") and name == "io":
            return value
    return None


def _other(is_ompio: bool) -> str:
    return f"{_ASKED}={'^ompio' if is_ompio else 'ompio'}"


def file_time(results: WatchResults, variables: Mapping[str, str]) -> FileTime | None:
    """What MPI-IO takes in a program; None: it makes no such call."""
    calls = [call for call in results.calls if call.family == "files" and call.calls]
    if not calls or not results.ranks:
        return None
    known = named_in(results.program.library)
    module = module_of(
        known[0].name if known else None, known[1] if known else None, variables, results.program.command
    )
    whole_s, most = sum(call.time_s for call in calls), max(calls, key=lambda call: call.time_s)
    run_s = results.program.span_s or 0.0
    share = min(whole_s / run_s, 1.0) if run_s > 0 else 0.0
    count = sum(call.calls for call in calls)
    where = f"in {module.name} ({module.why})" if module.name else f"in a module that is not known ({module.why})"
    trial = f"; {module.other} takes the other one" if module.other else ""
    text = (
        f"MPI-IO takes {seconds(whole_s)} a rank, {format_ratio(100 * share)} % of the run, {where}: {count} "
        f"calls, most of the time in {most.name}{trial}"
    )
    return FileTime(
        seconds=whole_s,
        share=share,
        calls=count,
        call=most.name,
        module=module.name,
        module_reason=module.why,
        text=text,
    )


def start_seconds(results: WatchResults) -> float | None:
    """In the call that starts MPI, a rank."""
    found = [call.time_s for call in results.calls if call.name in BEFORE_THE_RUN and call.calls]
    return sum(found) if found else None
