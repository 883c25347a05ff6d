# SPDX-License-Identifier: Apache-2.0
"""The errors a user can meet, each with its exit code.

SlowpathError
 +-- UsageError           2    a wrong argument, campaign or parameter
 +-- EnvironmentFailure   4    no MPI, no compiler, a launch or a disk that failed
 +-- RecordError          4    a run folder or log that cannot be read
 +-- Interrupted        130    Ctrl-C; what was measured is kept

A message is one line: what happened, why, and what to do. It is shown as it is, without a traceback.
"""


class SlowpathError(Exception):
    """Base of all errors that are the user's or the machine's, not a defect of the program."""

    exit_code = 4


class UsageError(SlowpathError):
    """A wrong argument, campaign or parameter."""

    exit_code = 2


class EnvironmentFailure(SlowpathError):
    """The machine lacks or refuses what the run needs."""


class RecordError(SlowpathError):
    """A run folder, block file or log is missing, damaged or from a newer version."""


class Interrupted(SlowpathError):
    """The user stopped the run."""

    exit_code = 130
