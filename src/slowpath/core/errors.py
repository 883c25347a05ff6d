# SPDX-License-Identifier: Apache-2.0
"""The errors a user can meet, each with its exit code.

SlowpathError
 +-- UsageError           2    a wrong argument, campaign or parameter
 +-- EnvironmentFailure   4    no MPI, no compiler, a launch or a disk that failed
 +-- RecordError          4    a run folder or log that cannot be read
 +-- Interrupted        130    Ctrl-C; what was measured is kept

A message is one line: what happened, why, and what to do. It is shown as it is, without a traceback.
"""

import difflib
from collections.abc import Iterable


class SlowpathError(Exception):
    """Base of all errors that are the user's or the machine's, not a defect of the program."""

    exit_code = 4


class UsageError(SlowpathError):
    """A wrong argument, campaign or parameter."""

    exit_code = 2


def is_not(given: object, kind: str, example: object) -> UsageError:
    """Return the error for a value of another kind than is asked for.  Args: kind: with its article."""
    return UsageError(f"'{given}' is not {kind}; write for example {example}")


def exclude(option: str, other: str) -> UsageError:
    """Return the error for two options or keys that exclude each other."""
    return UsageError(f"{option} and {other} can't be combined; leave one out")


def require_distinct(values: Iterable[object]) -> None:
    """Raise UsageError where a list has a value twice."""
    seen = set[object]()
    for value in values:
        if value in seen:
            raise UsageError(f"'{value}' is listed twice; write it once")
        seen.add(value)


def nearest(word: str, words: Iterable[str]) -> str:
    """`; did you mean 'pages'?`, or the list of words when none is near."""
    known = list(words)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; choose from: {', '.join(known)}" if known else ""


def unknown(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a name that is not there, with the nearest one that is."""
    return UsageError(f"unknown {kind}: '{name}'{nearest(name, known)}")


class EnvironmentFailure(SlowpathError):
    """The machine lacks or refuses what the run needs."""


def sets_code(where: object, setting: str) -> str:
    """Return why `where` is not run: a setting of it chooses which code runs."""
    return f"{where}: sets {setting}; check it, then add --trust"


class RecordError(SlowpathError):
    """A run folder, block file or log is missing, damaged or from a newer version."""


def unreadable(path: object, reason: object, do: str = "check its permissions") -> RecordError:
    """Return the error for a file or folder that can't be read.  Args: reason: OSError, or words."""
    words = (isinstance(reason, OSError) and reason.strerror) or reason
    return RecordError(f"{path}: cannot be read: {words}; {do}")


def is_version(kind: str, written: object, expected: object) -> str:
    """Return the reason against a file of another version.  Args: kind: of version, as "schema"."""
    return f"its {kind} is {written}, not {expected}"


class Interrupted(SlowpathError):
    """The user stopped the run."""

    exit_code = 130


def stopped(command: str) -> Interrupted:
    """Return the error for a run that the user stopped.  Args: command: that continues it."""
    return Interrupted(f"stopped; continue with: {command}")
