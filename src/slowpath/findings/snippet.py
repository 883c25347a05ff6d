# SPDX-License-Identifier: Apache-2.0
"""A remedy as lines to copy: for a shell, for a modulefile, for the program. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from slowpath.findings.remedy import Remedy
from slowpath.mpi.launchers import binding_line

# Read by Slowpath's engine alone, so that a trial can toggle what a program writes in its code: nobody's line to copy.
ENGINE_ONLY = frozenset({"SLOWPATH_THREAD_LEVEL"})


def shell_lines(variables: Mapping[str, str], unset: Sequence[str]) -> str | None:
    """Lines for a POSIX shell; None when there is nothing to set."""
    lines = [f"unset {shlex.quote(name)}" for name in unset]
    lines += [f"export {shlex.quote(name)}={shlex.quote(value)}" for name, value in for_programs(variables).items()]
    return "\n".join(lines) or None


def modulefile_lines(variables: Mapping[str, str], unset: Sequence[str]) -> str | None:
    """Lines for a modulefile in Lua (Lmod); None when there is nothing to set."""
    lines = [f"unsetenv({_lua(name)})" for name in unset]
    lines += [f"setenv({_lua(name)}, {_lua(value)})" for name, value in for_programs(variables).items()]
    return "\n".join(lines) or None


def job_lines(
    variables: Mapping[str, str], unset: Sequence[str], bind: str | None, library: str | None
) -> dict[str, str | None]:
    """{shell, modulefile} of several remedies at once; a binding is the last line for the shell."""
    lines = [shell_lines(variables, unset), bind_line(bind, library)]
    return {"shell": "\n".join(filter(None, lines)) or None, "modulefile": modulefile_lines(variables, unset)}


def bind_line(bind: str | None, library: str | None) -> str | None:
    """How this library's launcher binds; None: not known, or nothing is bound."""
    return binding_line(library or "", bind) if bind else None


def snippet(remedy: Remedy, library: str | None = None) -> dict[str, str | None]:
    """{shell, modulefile, code}, each None where this remedy has none."""
    shell = shell_lines(remedy.variables, remedy.unset)
    if remedy.bind is not None:
        shell = bind_line(remedy.bind, library)
    return {"shell": shell, "modulefile": modulefile_lines(remedy.variables, remedy.unset), "code": remedy.code}


def for_programs(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Without what the engine alone reads."""
    return {name: value for name, value in variables.items() if name not in ENGINE_ONLY}


def _lua(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
